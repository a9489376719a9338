import math

import numpy as np
import pytest

import sfumato as sf
from tests.support.releases import anatomized, generalized
from tests.support.tables import microdata

ROWS = {"a": [1, 2, 3, 4], "s": ["x", "y", "x", "z"]}
GROUPS = [0, 0, 1, 1]


def table() -> sf.Microdata:
    return microdata(ROWS, sensitive=["s"])


def test_counts_beside_the_truth() -> None:
    workload: list[str | sf.Query] = [
        sf.Query({"a": [1], "s": ["x"]}),
        sf.Query({"a": [4], "s": ["x"]}),  # truly 0
        "SELECT COUNT(*) FROM t WHERE a <= 2",
    ]
    found = sf.compare(anatomized(table(), GROUPS), table(), workload)
    assert found.truth.tolist() == [1, 0, 2]
    assert found.estimate.tolist() == [0.5, 0.5, 2]
    assert (found.lo.tolist(), found.hi.tolist()) == ([0, 0, 2], [1, 1, 2])
    assert (found.average, found.median, found.zero_truth) == (0.25, 0.25, 1)
    assert (found.coverage, found.exact, found.mean_width) == (1.0, 1 / 3, 2 / 3)
    assert found.relative_width == 0.5
    assert found.quantiles((0.0, 1.0)) == {0.0: 0.0, 1.0: 0.5}
    assert found.to_dict()["bounds"]["coverage"] == 1.0


def test_groups_and_other_aggregates_are_figures_of_their_own() -> None:
    workload = ["SELECT s, COUNT(*), AVG(a) FROM t WHERE a >= 3 GROUP BY s", "SELECT MAX(a) FROM t"]
    found = sf.compare(generalized(table(), GROUPS), table(), workload)
    assert found.query.tolist() == [0, 0, 0, 0, 1]
    assert found.truth.tolist() == [1, 3, 1, 4, 4]
    assert found.coverage == 1.0


def test_a_group_that_only_the_release_has_is_truly_empty() -> None:
    found = sf.compare(
        generalized(table(), [0, 0, 0, 0]),
        table(),
        ["SELECT a, COUNT(*), SUM(a) FROM t GROUP BY a"],
    )
    assert (found.coverage, found.zero_truth) == (1.0, 0)
    wide = microdata({"a": [1, 4], "s": ["x", "y"]}, sensitive=["s"])
    found = sf.compare(generalized(wide, [0, 0]), wide, ["SELECT a, COUNT(*) FROM t GROUP BY a"])
    assert (len(found), found.zero_truth) == (4, 2)


def test_another_table_is_not_covered() -> None:
    other = microdata({"a": [1, 1, 1, 1], "s": list("xxxx")}, sensitive=["s"])
    found = sf.compare(anatomized(table(), GROUPS), other, [sf.Query({"a": [1]})])
    assert found.coverage == 0.0


def test_no_queries_no_figures() -> None:
    found = sf.compare(anatomized(table(), GROUPS), table(), [])
    assert len(found) == 0
    assert all(math.isnan(one) for one in (found.average, found.coverage, found.mean_width))


def test_every_workload_is_covered_by_every_release() -> None:
    random = np.random.default_rng(0)
    rows = {"a": random.integers(0, 40, 400), "b": random.choice(list("pqr"), 400),
            "s": random.choice(list("uvwxyz"), 400)}  # fmt: skip
    data = microdata(rows, sensitive=["s"])
    workloads = [
        sf.anatomy_workload(data, queries=40, dimensionality=2, seed=0),
        sf.dynamic_workload(data, queries=40, dimensionality=2, seed=0),
        sf.range_workload(data, queries=40, seed=0),
    ]
    for release in (
        sf.publish(data, sf.Mondrian(), sf.KAnonymity(8)),
        sf.publish(data, sf.Anatomize(), sf.LDiversity(3)),
    ):
        for workload in workloads:
            assert sf.compare(release, data, workload).coverage == 1.0


@pytest.mark.parametrize(
    ("text", "cut", "open_rows"),
    [
        ("SELECT COUNT(*) FROM t WHERE a <= 2", 0, 0),
        ("SELECT COUNT(*) FROM t WHERE a <= 3", 1, 2),
        ("SELECT COUNT(*) FROM t WHERE a = 3 AND s = 'x'", 1, 1),
        ("SELECT COUNT(*) FROM t WHERE a = 3 AND s = 'y'", 0, 0),
    ],
)
def test_queries_match_where_they_cut_no_group(text: str, cut: int, open_rows: int) -> None:
    found = sf.matching(generalized(table(), GROUPS), [text])
    assert (found.cut_groups.tolist(), found.open_rows.tolist()) == ([cut], [open_rows])
    assert found.share == (cut == 0)
