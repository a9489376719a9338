import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError, SchemaError
from sfumato.queries import bits, packing
from sfumato.queries.anatomized import AnatomizedEstimator
from sfumato.queries.bits import GroupBits
from sfumato.queries.cells import Cells
from sfumato.queries.count import CountQuery
from sfumato.queries.exact import ExactCounts
from sfumato.queries.workloads import anatomy_workload
from sfumato.releases.anatomized import AnatomizedTables
from tests.support.tables import microdata
from tests.unit.queries.releases import anatomized, manifest, naive_anatomized, naive_exact

# Anatomy, Table 1.
TABLE_1 = {
    "age": [23, 27, 35, 59, 61, 65, 65, 70],
    "sex": list("MMMMFFFF"),
    "zipcode": [11000, 13000, 59000, 12000, 54000, 25000, 25000, 30000],
    "disease": ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia",
                "flu", "gastritis", "flu", "bronchitis"],
}  # fmt: skip
QUERY_A = CountQuery({"age": range(31), "zipcode": range(10001, 20001), "disease": ["pneumonia"]})


def test_query_a_is_exactly_1_from_table_3() -> None:
    table = microdata(TABLE_1, sensitive=["disease"])
    release = anatomized(table, [0, 0, 0, 0, 1, 1, 1, 1])
    assert AnatomizedEstimator.of(release).estimate(QUERY_A) == 1.0
    assert ExactCounts.of(table).estimate(QUERY_A) == 1.0


def test_the_slides_count_of_heart_disease_at_38() -> None:
    """Three of a group's four rows are 38, two of its four have heart disease: 3 * 2/4."""
    table = microdata(
        {
            "age": [35, 35, 38, 38, 38, 39],
            "disease": ["HIV", "flu", "heart", "heart", "HIV", "flu"],
        },
        sensitive=["disease"],
    )
    query = CountQuery({"age": [38], "disease": ["heart"]})
    release = anatomized(table, [0, 0, 1, 1, 1, 1])
    assert AnatomizedEstimator.of(release).estimate(query) == 1.5
    assert ExactCounts.of(table).estimate(query) == 2


def random_release(rows: int = 3000, values: int = 50) -> AnatomizedTables:
    """Groups of ten with ten different values each, as Anatomize makes them."""
    random = np.random.default_rng(0)
    sick = np.concatenate([random.permutation(values)[:10] for _ in range(rows // 10)])
    table = microdata(
        {"a": random.integers(0, 90, rows), "b": random.integers(0, 3, rows), "s": sick},
        sensitive=["s"],
    )
    return anatomized(table, np.repeat(np.arange(rows // 10), 10).tolist())


@pytest.mark.parametrize("values", [50, 64, 65, 200, 300])
def test_bits_and_counts_say_the_same(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    release = random_release(values=values)
    asked = CountQuery({"a": range(40), "s": range(0, values, 3)})
    prepared = AnatomizedEstimator.of(release)
    assert isinstance(prepared.sts[0], GroupBits if values <= 256 else Cells)
    monkeypatch.setattr(bits, "_MOST_WORDS", 0)
    by_counts = AnatomizedEstimator.of(release)
    assert isinstance(by_counts.sts[0], Cells)
    assert prepared.estimate(asked) == pytest.approx(by_counts.estimate(asked))
    assert prepared.estimate(asked) == pytest.approx(naive_anatomized(release, asked))


@pytest.mark.parametrize("combinations", [1, 200, 10_000])
def test_packing_does_not_change_answers(
    combinations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attribute per column, some together, all together."""
    random = np.random.default_rng(1)
    rows = {name: random.integers(0, 6, 300) for name in "abcdes"}
    table = microdata(rows, sensitive=["s"])
    release = anatomized(table, (np.arange(300) % 40).tolist())
    monkeypatch.setattr(packing, "_COMBINATIONS", combinations)
    exact, prepared = ExactCounts.of(table), AnatomizedEstimator.of(release)
    assert len(exact.table.packs) == {1: 6, 200: 3, 10_000: 2}[combinations]
    for query in anatomy_workload(table, queries=20, dimensionality=4, seed=2):
        assert exact.estimate(query) == naive_exact(table, query)
        assert prepared.estimate(query) == pytest.approx(naive_anatomized(release, query))


def test_groups_may_have_any_numbers_and_any_order() -> None:
    shuffled = AnatomizedTables(
        pa.table({"a": [1, 2, 1, 2], "group_id": [9, -4, -4, 9]}),
        {"s": pa.table({"group_id": [9, -4], "s": ["x", "y"], "count": [2, 2]})},
        manifest("anatomized", (), 4, 2),
    )
    prepared = AnatomizedEstimator.of(shuffled)
    assert prepared.estimate(CountQuery({"a": [1], "s": ["x"]})) == 1.0
    assert prepared.estimates([CountQuery({"s": ["y"]}), CountQuery({})]).tolist() == [2.0, 4.0]


def test_an_st_with_a_group_of_its_own_is_refused() -> None:
    broken = AnatomizedTables(
        pa.table({"a": [1], "group_id": [1]}),
        {"s": pa.table({"group_id": [1, 2], "s": ["x", "y"], "count": [1, 1]})},
        manifest("anatomized", (), 1, 1),
    )
    with pytest.raises(DataError, match="groups that the QIT lacks"):
        AnatomizedEstimator.of(broken)


def test_insensitive_attributes_can_be_asked_about() -> None:
    rows = {"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"], "note": ["u", "v", "v", None]}
    table = microdata(rows, quasi=["a"], sensitive=["s"], insensitive=["note"])
    query = CountQuery({"note": ["v", None], "s": ["x"]})
    assert ExactCounts.of(table).estimate(query) == 1
    assert AnatomizedEstimator.of(anatomized(table, [0, 0, 1, 1])).estimate(query) == 1.5


def test_an_unknown_attribute_is_named() -> None:
    prepared = AnatomizedEstimator.of(random_release())
    with pytest.raises(SchemaError, match=r"'sa'.*did you mean 's'"):
        prepared.estimate(CountQuery({"sa": [1]}))
    with pytest.raises(SchemaError, match="there are"):
        prepared.estimate(CountQuery({"zipcode": [1]}))
