"""Local recoding against its plain twin, against every level vector, and on the trees it is for."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms.ladders import ladder
from sfumato.algorithms.recoding import local
from sfumato.algorithms.recoding.local import LocalRecoding
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError
from tests.support.models import needs_of, passing
from tests.support.strategies import tables, taxonomies
from tests.support.tables import attribute, groups_of, microdata

JOBS = Taxonomy.from_nested({"any": {"art": ["dancer", "writer"], "office": ["clerk", "lawyer"]}})


@given(taxonomies(), st.booleans())
def test_ladders_grow_coarser_step_by_step(tree: Taxonomy, missing: bool) -> None:
    leaves = attribute(len(tree.leaves), taxonomy=tree, missing=missing)
    steps = ladder(leaves)
    assert (steps.classes[0] == steps.classes[0]).all()
    for finer, coarser in itertools.pairwise(steps.classes):
        pairs = {(int(a), int(b)) for a, b in zip(finer, coarser, strict=True)}
        assert len(pairs) == len({a for a, _ in pairs})  # a class lies in one class above
        assert len({b for _, b in pairs}) < len(pairs)
    for lower, upper in itertools.pairwise(steps.penalties):
        assert (lower <= upper + 1e-12).all()
    assert len(set(steps.classes[-1].tolist())) == 1


def test_ordered_values_stand_in_blocks_and_unordered_ones_alone_or_together() -> None:
    numbers = microdata({"x": list(range(20)), "y": list("ab") * 10}).quasi
    assert [len(set(level.tolist())) for level in ladder(numbers[0]).classes] == [20, 5, 2, 1]
    assert [len(set(level.tolist())) for level in ladder(numbers[1]).classes] == [2, 1]
    assert ladder(numbers[0]).penalties[1][0] == pytest.approx(3 / 19)


@pytest.mark.slow
@given(tables(max_rows=25), st.integers(2, 4), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_the_kernel_and_numpy_settle_the_same_rows(table: Microdata, k: int, seed: int) -> None:
    model: Any = sf.KAnonymity(k) & sf.DistinctLDiversity(2, on="e")
    needs = needs_of(model, table)
    algorithm = LocalRecoding()
    try:
        compiled = algorithm.partition(table, needs, Randomness(seed))
    except sf.errors.Infeasible:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "compile_rules", lambda *_: None)
        plain = algorithm.partition(table, needs, Randomness(seed))
    assert groups_of(compiled.groups) == groups_of(plain.groups)
    assert passing(needs, table, compiled).all()


def test_common_rows_stay_exact_and_rare_ones_climb() -> None:
    jobs = ["dancer"] * 4 + ["writer"] + ["clerk"] * 2 + ["lawyer"] * 2
    table = microdata({"job": jobs}, taxonomies={"job": JOBS})
    release = sf.publish(table, LocalRecoding(), sf.KAnonymity(2), seed=0)
    shown = sorted(release.table.column("job").to_pylist())
    # the writer alone is left, and joins the group that came last
    assert shown.count("dancer") + shown.count("clerk") + shown.count("lawyer") in (7, 6)
    assert release.metrics["group_sizes"]["smallest"] >= 2
    assert release.manifest.search["complete"] is True


def test_labels_are_taxonomy_labels_unless_told_otherwise() -> None:
    table = microdata({"job": ["dancer", "writer"], "age": [1, 2]}, taxonomies={"job": JOBS})
    release = sf.publish(table, LocalRecoding(), sf.KAnonymity(2))
    assert release.table.column("job").to_pylist() == ["art", "art"]
    sets = sf.publish(table, LocalRecoding(), sf.KAnonymity(2), labels="sets")
    assert sets.table.column("job").to_pylist() == [["dancer", "writer"]] * 2


@pytest.mark.parametrize("visits", [1, 5, 20_000])
def test_a_lattice_too_large_is_climbed(visits: int) -> None:
    random = np.random.default_rng(0)
    columns = {f"q{j}": random.integers(0, 6, 300) for j in range(6)}
    table = microdata({**columns, "s": random.choice(list("abcde"), 300)}, sensitive=["s"])
    needs = needs_of(sf.KAnonymity(4) & sf.LDiversity(2), table)
    found = LocalRecoding(visits=visits).partition(table, needs, Randomness(1))
    assert passing(needs, table, found).all()
    assert found.notes["complete"] == (found.notes["level_vectors"] <= visits)
    assert 0 < found.notes["visited"] <= found.notes["level_vectors"]


def test_it_loses_less_than_cuts_that_do_not_know_the_trees() -> None:
    random = np.random.default_rng(1)
    weights = 0.6 ** np.arange(16)
    columns, trees = {}, {}
    for name in "abcd":
        tree = {"any": {f"{name}{i}": [f"{name}{i}{j}" for j in range(4)] for i in range(4)}}
        trees[name] = Taxonomy.from_nested(tree)
        leaves = random.permutation(trees[name].leaves)
        columns[name] = random.choice(leaves, 2000, p=weights / weights.sum())
    table = microdata(columns, taxonomies=trees)
    losses = [
        sf.publish(table, algorithm, sf.KAnonymity(5), labels="taxonomy", seed=0).metrics["ncp"]
        for algorithm in (LocalRecoding(), sf.Mondrian())
    ]
    assert losses[0] < 0.7 * losses[1]


def test_nothing_to_visit_is_refused() -> None:
    with pytest.raises(ParameterError, match="visits must be 1 or more"):
        LocalRecoding(visits=0)
