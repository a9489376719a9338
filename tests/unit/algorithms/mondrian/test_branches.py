"""Cuts along branches: by hand, against the plain twin, and on trees that a median would cross."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms.mondrian import branches
from sfumato.algorithms.mondrian.branches import BranchMondrian
from sfumato.algorithms.mondrian.branches_kernel import new_workspace
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.taxonomy import Taxonomy
from tests.support.models import needs_of
from tests.support.strategies import nested_trees, tables
from tests.support.tables import groups_of, microdata

JOBS = Taxonomy.from_nested({"any": {"art": ["dancer", "writer"], "office": ["clerk", "lawyer"]}})


def shown(jobs: list[str], k: int) -> list[str]:
    table = microdata({"job": jobs}, taxonomies={"job": JOBS})
    release = sf.publish(table, BranchMondrian(), sf.KAnonymity(k), seed=0)
    return sorted(release.table.column("job").to_pylist())


@pytest.mark.parametrize(
    ("jobs", "labels"),
    [
        (["dancer", "dancer", "writer", "writer"], ["dancer", "dancer", "writer", "writer"]),
        # a median would put the clerk with the artists
        (["dancer", "dancer", "dancer", "clerk", "lawyer"], ["dancer"] * 3 + ["office"] * 2),
        # the writer alone cannot stay: the dancers join the rest of their branch
        (["dancer", "dancer", "writer", "clerk", "clerk"], ["art"] * 3 + ["clerk"] * 2),
        # the rest is one row; the smaller branch joins it
        (["dancer", "dancer", "clerk"], ["any"] * 3),
    ],
)
def test_by_hand(jobs: list[str], labels: list[str]) -> None:
    assert shown(jobs, 2) == sorted(labels)


@st.composite
def tables_with_trees(draw: st.DrawFn) -> Microdata:
    trees = {name: Taxonomy.from_nested(draw(nested_trees())) for name in "ab"}
    n = draw(st.integers(1, 25))
    columns: dict[str, Any] = {
        name: draw(st.lists(st.sampled_from(tree.leaves) | st.none(), min_size=n, max_size=n))
        for name, tree in trees.items()
    }
    for name, tree in trees.items():
        columns[name][0] = tree.leaves[0]
    columns["e"] = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return microdata(columns, sensitive=["e"], taxonomies=trees)


@pytest.mark.slow
@given(tables(max_rows=25) | tables_with_trees(), st.integers(2, 4), st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_kernel_and_numpy_make_the_same_cuts(table: Microdata, k: int, diverse: bool) -> None:
    anonymous: Any = sf.KAnonymity(k)
    model = anonymous & sf.DistinctLDiversity(2, on="e") if diverse else anonymous
    needs = needs_of(model, table)
    try:
        compiled = BranchMondrian().partition(table, needs, Randomness(0))
    except sf.errors.Infeasible:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches, "compile_rules", lambda *_: None)
        plain = BranchMondrian().partition(table, needs, Randomness(0))
    assert groups_of(compiled.groups) == groups_of(plain.groups)


def test_room_grows_with_classes_and_values_not_with_their_product() -> None:
    """A histogram per class of a level was emptied for every region, however few rows it had."""
    workspace = new_workspace(n_points=1_000, n_classes=60_000, n_values=1_024)
    assert sum(array.nbytes for array in workspace) < 10_000_000


def test_the_smallest_parts_join_the_rest_and_of_equals_the_first() -> None:
    """Classes a to d of 2, 2, 3 and 3 rows, and one row that has to go somewhere."""
    place = [*"aabbcccddd", "e"]
    sick = ["x", "y", "x", "y", "x", "y", "y", "x", "y", "x", "x"]
    people = sf.Microdata.from_arrow(
        pa.table({"place": place, "ill": sick}), sf.Schema(quasi=["place"], sensitive="ill")
    )
    needs = needs_of(sf.DistinctLDiversity(2), people)
    found = sf.BranchMondrian().partition(people, needs, Randomness(0))
    assert sorted(map(len, groups_of(found.groups))) == [2, 3, 3, 3]
    together = next(rows for rows in groups_of(found.groups) if 10 in rows)
    assert {place[row] for row in together} == {"a", "e"}
