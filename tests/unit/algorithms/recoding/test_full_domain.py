"""FullDomain: options, missing values, rows left out, and what a release says of it."""

from typing import Any

import pytest

import sfumato as sf
from sfumato.algorithms.recoding import full_domain
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.core.randomness import Randomness
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import Infeasible, ParameterError, SchemaError
from sfumato.models.requirements import requirements
from tests.support.tables import microdata

JOBS = Taxonomy.from_nested({"any": {"hand": ["cook", "smith"], "head": ["judge", "poet"]}})


def jobs(values: list[Any], **columns: list[Any]) -> sf.Microdata:
    return microdata({"job": values, **columns}, taxonomies={"job": JOBS})


def solved(table: sf.Microdata, k: int, **options: Any) -> full_domain.Solution:
    return FullDomain(**options).solve(table, requirements(sf.KAnonymity(k), table.schema))


def published(table: sf.Microdata, k: int, **options: Any) -> list[dict[str, Any]]:
    release = sf.publish(table, FullDomain(**options), sf.KAnonymity(k), seed=3)
    rows: list[dict[str, Any]] = release.table.to_pylist()
    return sorted(rows, key=str)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"suppress": -0.1}, "suppress"),
        ({"suppress": 1.0}, "suppress"),
        ({"suppress": float("nan")}, "suppress"),
        ({"cost": "beauty"}, "cost"),
        ({"qids": [[]]}, "qids"),
        ({"qids": ["age", "sex"]}, "qids"),
        ({"qids": [["a"]], "suppress": 0.1}, "suppress"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        FullDomain(**options)
    assert caught.value.parameter == parameter


def test_a_qid_of_unknown_columns() -> None:
    with pytest.raises(SchemaError, match="'salary', which is no quasi-identifier"):
        solved(jobs(["cook", "smith"]), 2, qids=[["job", "salary"]])


def test_infeasible() -> None:
    with pytest.raises(Infeasible):
        solved(jobs(["cook"]), 2)


def test_every_value_moves_to_the_same_level() -> None:
    rows = published(jobs(["cook", "smith", "judge", "judge", "poet"]), 2)
    assert [row["job"] for row in rows] == ["hand", "hand", "head", "head", "head"]


def test_a_column_without_a_taxonomy_is_shown_or_suppressed() -> None:
    table = microdata({"sex": ["f", "f", "m", "m"], "age": [1, 2, 3, 4]})
    rows = published(table, 2)
    assert [(row["sex"], row["age"], row["age_suppressed"]) for row in rows] == [
        ("f", None, True),
        ("f", None, True),
        ("m", None, True),
        ("m", None, True),
    ]


def test_rows_that_fail_are_left_out_if_they_are_few() -> None:
    table = jobs(["cook"] * 5 + ["judge"] * 4 + ["poet"])
    release = sf.publish(table, FullDomain(suppress=0.1), sf.KAnonymity(4))
    assert release.manifest.suppressed == 1
    assert {row["job"] for row in release.table.to_pylist()} == {"cook", "judge"}
    assert release.metrics["ncp"] == pytest.approx(0.1)
    with_all = sf.publish(table, FullDomain(suppress=0.09), sf.KAnonymity(4))
    assert with_all.manifest.suppressed == 0


def test_a_share_of_the_rows_is_not_lost_to_rounding() -> None:
    values = ["cook"] * 71 + ["judge"] * 29  # 0.29 * 100 is 28.999999999999996
    assert solved(jobs(values), 30, suppress=0.29).levels == {"job": 0}
    assert solved(jobs(values), 30, suppress=0.28).levels == {"job": 2}


def test_never_are_all_rows_left_out() -> None:
    table = jobs(["cook", "smith", "judge", "poet"])
    release = sf.publish(table, FullDomain(suppress=0.99), sf.KAnonymity(2))
    assert len(release.table) == 4


def test_a_missing_value_joins_the_others_at_the_top_only() -> None:
    apart = published(jobs(["cook", "smith", None, None]), 2)
    assert [(row["job"], row["job_missing"]) for row in apart] == [
        ("hand", False),
        ("hand", False),
        (None, True),
        (None, True),
    ]
    joined = published(jobs(["cook", "cook", "cook", None]), 2)
    assert {(row["job"], row["job_missing"]) for row in joined} == {("any", True)}


def test_a_tree_of_one_value_has_a_level_for_missing_values() -> None:
    table = microdata(
        {"x": ["only", "only", None, None]}, taxonomies={"x": Taxonomy.from_nested({"only": []})}
    )
    assert solved(table, 2).levels == {"x": 0}
    assert solved(table, 3).levels == {"x": 1}


def test_closeness_is_to_the_rows_that_are_published() -> None:
    """Leaving rows out changes the table that the others are compared with."""
    groups = {"a": "uuuuvvvv", "b": "uuuuvvvvvv", "c": "uuuuu"}
    table = microdata(
        {"q": [q for q in groups for _ in groups[q]], "s": list("".join(groups.values()))},
        sensitive=["s"],
    )
    # a is 13/23 - 1/2 = 0.07 away from all rows, and 1/2 - 8/18 = 0.06 away from a and b
    near = sf.publish(table, FullDomain(suppress=0.3), sf.TCloseness(0.17, "equal"))
    assert near.manifest.suppressed == 5
    assert {row["q"] for row in near.table.to_pylist()} == {"a", "b"}
    # b is 0.165 away from all rows, so that too few are left
    nearer = sf.publish(table, FullDomain(suppress=0.3), sf.TCloseness(0.16, "equal"))
    assert nearer.manifest.suppressed == 0


def test_discernibility_may_choose_otherwise() -> None:
    """Precise labels for groups of 6 and 2 rows, or less precise ones for groups of 4."""
    values = [job for job in JOBS.leaves for _ in range(4)]
    table = jobs(values, age=[1, 1, 1, 2] * 4)
    assert solved(table, 2).levels == {"job": 1, "age": 0}
    smaller = solved(table, 2, cost="discernibility")
    assert smaller.levels == {"job": 0, "age": 1}
    assert smaller.cost == 4 * 4**2


class NoPairs:
    """A model that merging breaks: two single rows pass, together they do not."""

    def passes(self, groups: sf.Histograms) -> Any:
        return groups.sizes != 2


def test_no_failure_dooms_under_a_model_that_merging_breaks() -> None:
    """Level vector (0, 0, 0) fails and so does one above the best, (0, 1, 0)."""
    table = microdata({"a": [1, 1, 2, 1, 0], "b": [1, 1, 1, 0, 0], "c": [0, 0, 1, 0, 1]})
    found = FullDomain().solve(table, requirements(NoPairs(), table.schema))
    assert found.cost == pytest.approx(1 / 3)


def test_a_large_lattice_is_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_domain, "_SEARCHED", 1)
    table = jobs(["cook", "smith", "judge", "judge", "poet"])
    found = solved(table, 2)
    assert found.levels == {"job": 1}
    assert found.bound <= found.cost
    assert found.level_vectors == 3


def test_more_columns_than_an_array_has_axes() -> None:
    table = microdata({f"c{j}": [0, 0, 1, j % 2] for j in range(66)})
    found = solved(table, 2)
    assert found.level_vectors == 2**66
    assert found.bound <= found.cost
    assert found.cost == pytest.approx(0.5)  # the last two rows differ on every other column
    assert found.optimal


def test_a_release_states_how_good_it_is(tmp_path: Any) -> None:
    table = jobs(["cook", "smith", "judge", "judge", "poet"])
    partition = FullDomain().partition(
        table, requirements(sf.KAnonymity(2), table.schema), Randomness(1)
    )
    assert partition.notes["levels"] == {"job": 1}
    assert partition.notes["optimal"] is True
    release = sf.publish(table, FullDomain(), sf.KAnonymity(2))
    assert sf.verify(release.write(tmp_path / "out")).ok
