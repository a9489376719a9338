"""Subtree and Sibling: cuts, missing values, rows left out."""

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.algorithms.recoding.cuts import SIBLING, SUBTREE, Cut, Scheme, open_nodes
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.core.arrays import Floats
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import Infeasible, ParameterError
from tests.support.tables import microdata

# A ragged tree: "retired" lies right below the root.
JOBS = Taxonomy.from_nested(
    {"any": {"hand": ["cook", "smith"], "head": ["judge", "poet", "seer"], "retired": []}}
)


def jobs(values: list[Any], **columns: list[Any]) -> sf.Microdata:
    return microdata({"job": values, **columns}, taxonomies={"job": JOBS})


def published(table: sf.Microdata, algorithm: Any, k: int) -> list[Any]:
    release = sf.publish(table, algorithm, sf.KAnonymity(k), seed=3)
    return sorted((row["job"] for row in release.table.to_pylist()), key=str)


@pytest.mark.parametrize("scheme", [Subtree, Sibling])
def test_options_that_mean_nothing(scheme: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        scheme(suppress=1.5)
    assert caught.value.parameter == "suppress"


@pytest.mark.parametrize("scheme", [Subtree, Sibling])
def test_infeasible(scheme: Any) -> None:
    with pytest.raises(Infeasible):
        published(jobs(["cook"]), scheme(), 2)


def test_branches_are_told_apart_at_different_depths() -> None:
    values = ["cook", "cook", "smith", "smith", "judge", "poet", "retired", "retired"]
    assert published(jobs(values), Subtree(), 2) == [
        "cook", "cook", "head", "head", "retired", "retired", "smith", "smith",
    ]  # fmt: skip


def test_siblings_that_are_left_share_a_set() -> None:
    values = ["judge", "judge", "poet", "seer", "cook", "smith"]
    assert published(jobs(values), Sibling(), 2) == [
        ["cook", "smith"],
        ["cook", "smith"],
        ["judge"],
        ["judge"],
        ["poet", "seer"],
        ["poet", "seer"],
    ]


def test_a_missing_value_is_a_child_of_the_root() -> None:
    apart = ["cook", "cook", None, None]
    assert published(jobs(apart), Subtree(), 2) == [None, None, "cook", "cook"]
    joined = ["cook", "cook", "judge", None]
    assert published(jobs(joined), Subtree(), 2) == ["any"] * 4
    rest = ["judge", "poet", "seer", "retired", None]
    assert published(jobs(joined), Sibling(), 2) == [["cook"]] * 2 + [rest] * 2


def test_a_column_without_a_taxonomy() -> None:
    table = microdata({"job": list("aaabbcd")})
    assert published(table, Subtree(), 2) == [None] * 7
    assert published(table, Sibling(), 2) == [["a"]] * 3 + [["b"]] * 2 + [["c", "d"]] * 2


def test_rows_are_left_out_only_where_that_pays() -> None:
    table = jobs(["cook"] * 5 + ["judge"] * 4 + ["poet"])
    release = sf.publish(table, Subtree(suppress=0.1), sf.KAnonymity(4))
    assert release.manifest.suppressed == 1
    assert {row["job"] for row in release.table.to_pylist()} == {"cook", "judge"}
    # as head, four rows cost 2/5 each; left out, they would cost 1 each
    few = jobs(["judge"] * 2 + ["poet"] * 2 + ["cook"] * 6)
    assert "head" in published(few, Subtree(suppress=0.5), 3)


def test_subtrees_are_never_worse_than_levels() -> None:
    """The greedy way from the roots can end badly; the way from the best levels cannot."""
    generator = np.random.default_rng(8)
    for _ in range(20):
        table = jobs(
            generator.choice(JOBS.leaves, 30).tolist(), age=generator.integers(0, 3, 30).tolist()
        )
        losses = [
            sf.publish(table, algorithm, sf.KAnonymity(3)).metrics["ncp"]
            for algorithm in (FullDomain(), Subtree(), Sibling())
        ]
        assert losses[0] >= losses[1] - 1e-12
        assert losses[1] >= losses[2] - 1e-12


def steps(scheme: Scheme, cut: Cut, counts: Floats) -> list[tuple[int, int, float]]:
    """Nodes and names of all steps, with what they win."""
    found = []
    for node in open_nodes(cut, counts).tolist():
        names, gains = scheme.options(cut, node, counts)
        found += [(node, *step) for step in zip(names.tolist(), gains.tolist(), strict=True)]
    return found


def test_steps_of_a_cut() -> None:
    attribute = jobs(["cook", None]).attributes["job"]
    root = Cut.at_root(attribute)
    everybody = np.ones(attribute.size)
    assert root.shown.tolist() == [0] * 7
    ((node, name, _),) = steps(SUBTREE, root, everybody)
    children = root.deeper(SUBTREE.taken(root, node, name))
    labels = [(*JOBS.labels, "missing")[node] for node in children.shown]
    assert labels == ["hand", "hand", "head", "head", "head", "retired", "missing"]
    assert len(steps(SUBTREE, children, everybody)) == 2
    assert len(steps(SIBLING, root, everybody)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [SUBTREE, SIBLING], ids=["subtree", "sibling"])
def test_what_a_step_wins_is_what_its_recoding_saves(scheme: Scheme) -> None:
    attribute = jobs(["cook", None]).attributes["job"]
    counts = np.array([3.0, 0, 1, 4, 1, 5, 9])
    cuts = [Cut.at_root(attribute)]
    for cut in cuts:
        before = scheme.recoding(cut).penalties
        for node, name, gain in steps(scheme, cut, counts):
            cuts.append(cut.deeper(scheme.taken(cut, node, name)))
            saved = counts @ (before - scheme.recoding(cuts[-1]).penalties)
            assert gain == pytest.approx(saved, abs=1e-12)
    assert len(cuts) > 3


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_level_is_a_cut(level: int) -> None:
    attribute = jobs(["cook"]).attributes["job"]
    cut = Cut.at_level(attribute, level)
    assert cut.shown.tolist() == JOBS.at_level(level).tolist()


@pytest.mark.parametrize("scheme", [Subtree, Sibling])
def test_what_is_published_can_be_verified(scheme: Any, tmp_path: Any) -> None:
    table = jobs(["judge", "judge", "poet", "seer", "cook", None, None])
    release = sf.publish(table, scheme(suppress=0.2), sf.KAnonymity(2))
    assert sf.verify(release.write(tmp_path / "out")).ok
