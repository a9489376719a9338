import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers import packing
from sfumato.answers.grouped import GroupedTables
from sfumato.core.query import Query
from sfumato.errors import DataError, QueryRefused
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.queries.workloads import anatomy_workload
from tests.support.releases import anatomized, manifest, naive_anatomized, naive_exact
from tests.support.tables import microdata

# Anatomy, Table 1.
TABLE_1 = {
    "age": [23, 27, 35, 59, 61, 65, 65, 70],
    "sex": list("MMMMFFFF"),
    "zipcode": [11000, 13000, 59000, 12000, 54000, 25000, 25000, 30000],
    "disease": ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia",
                "flu", "gastritis", "flu", "bronchitis"],
}  # fmt: skip
QUERY_A = Query({"age": range(31), "zipcode": range(10001, 20001), "disease": ["pneumonia"]})


def test_query_a_is_exactly_1_from_table_3() -> None:
    table = microdata(TABLE_1, sensitive=["disease"])
    release = anatomized(table, [0, 0, 0, 0, 1, 1, 1, 1])
    assert release.count(QUERY_A) == sf.Answer(1.0, 0, 2)
    assert table.count(QUERY_A) == sf.Answer(1.0, 1, 1)


def test_the_slides_count_of_heart_disease_at_38() -> None:
    """Three of a group's four rows are 38, two of its four have heart disease: 3 * 2/4."""
    table = microdata(
        {
            "age": [35, 35, 38, 38, 38, 39],
            "disease": ["HIV", "flu", "heart", "heart", "HIV", "flu"],
        },
        sensitive=["disease"],
    )
    query = Query({"age": [38], "disease": ["heart"]})
    release = anatomized(table, [0, 0, 1, 1, 1, 1])
    assert release.count(query).estimate == 1.5
    assert table.count(query).estimate == 2


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
    assert (
        len(GroupedTables.of_microdata(table).tables[0].packs)
        == {1: 6, 200: 3, 10_000: 2}[combinations]
    )
    for query in anatomy_workload(table, queries=20, dimensionality=4, seed=2):
        assert table.count(query).estimate == naive_exact(table, query)
        assert release.count(query).estimate == pytest.approx(naive_anatomized(release, query))


def test_groups_may_have_any_numbers_and_any_order() -> None:
    shuffled = AnatomizedTables(
        pa.table({"a": [1, 2, 1, 2], "group_id": [9, -4, -4, 9]}),
        {"s": pa.table({"group_id": [9, -4], "s": ["x", "y"], "count": [2, 2]})},
        manifest("anatomized", (), 4, 2),
    )
    assert shuffled.count(Query({"a": [1], "s": ["x"]})).estimate == 1.0
    assert shuffled.counts([Query({"s": ["y"]}), Query()]).estimate.tolist() == [2.0, 4.0]


def test_an_st_with_a_group_of_its_own_is_refused() -> None:
    broken = AnatomizedTables(
        pa.table({"a": [1], "group_id": [1]}),
        {"s": pa.table({"group_id": [1, 2], "s": ["x", "y"], "count": [1, 1]})},
        manifest("anatomized", (), 1, 1),
    )
    with pytest.raises(DataError, match="groups that the QIT lacks"):
        broken.count()


def test_insensitive_attributes_can_be_asked_about() -> None:
    rows = {"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"], "note": ["u", "v", "v", None]}
    table = microdata(rows, quasi=["a"], sensitive=["s"], insensitive=["note"])
    query = Query({"note": ["v", None], "s": ["x"]})
    assert table.count(query).estimate == 1
    assert anatomized(table, [0, 0, 1, 1]).count(query).estimate == 1.5


def test_an_unknown_attribute_is_named() -> None:
    prepared = anatomized(microdata({"a": [1], "s": ["x"]}, sensitive=["s"]), [0])
    with pytest.raises(QueryRefused, match=r"'sa'.*did you mean 's'"):
        prepared.count(Query({"sa": [1]}))
    with pytest.raises(QueryRefused, match="there are"):
        prepared.count(Query({"zipcode": [1]}))
