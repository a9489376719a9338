from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers import packing
from sfumato.asking.ask import answerer
from sfumato.core.query import Query
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError, QueryRefused, SchemaError
from sfumato.forms.columns import Labels
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import PublishedColumn
from tests.support.releases import generalized, naive_generalized, of_rows
from tests.support.seeds import long_seed
from tests.support.tables import microdata
from tests.unit.forms.anatomized.test_answers import QUERY_A, TABLE_1


def table_2() -> GeneralizedTable:
    """Anatomy, Table 2: its boxes are wider than the rows in them."""
    rows = pa.table(
        {
            "age_min": [21] * 4 + [61] * 4,
            "age_max": [60] * 4 + [70] * 4,
            "sex": [["M"]] * 4 + [["F"]] * 4,
            "zipcode_min": [10001] * 8,
            "zipcode_max": [60000] * 8,
            "disease": TABLE_1["disease"],
        }
    )
    columns = (
        PublishedColumn("age", "quasi", "range", ("age_min", "age_max"), "numerical"),
        PublishedColumn("sex", "quasi", "set", ("sex",), "categorical"),
        PublishedColumn("zipcode", "quasi", "range", ("zipcode_min", "zipcode_max"), "numerical"),
        PublishedColumn("disease", "sensitive", "value", ("disease",), "categorical"),
    )
    return of_rows(rows, columns)


def test_query_a_is_0_1_from_table_2() -> None:
    """Two pneumonia patients, each in the query with probability 10/40 * 10000/50000."""
    assert table_2().count(QUERY_A).estimate == pytest.approx(0.1)
    women = Query({**QUERY_A.where, "sex": ["F"]})
    assert table_2().count(women).estimate == 0.0


def test_the_slides_count_of_heart_disease_at_38() -> None:
    """Two patients with heart disease, equally likely 35, 36, 37, 38 or 39: 2 * 1/5."""
    table = microdata(
        {
            "age": [35, 38, 38, 38, 39, 35],
            "disease": ["HIV", "heart", "heart", "HIV", "flu", "flu"],
        },
        sensitive=["disease"],
    )
    release = generalized(table, [0] * 6)
    query = Query({"age": [38], "disease": ["heart"]})
    assert release.count(query).estimate == 0.4


@pytest.mark.parametrize(
    ("values", "asked", "share"),
    [
        ([1, 10], [2, 3, 99], 0.2),  # every whole number between
        ([1, 10], [2.0, 2.5, None], 0.1),
        ([date(2024, 2, 28), date(2024, 3, 1)], [date(2024, 2, 29), date(2024, 3, 2)], 1 / 3),
        ([0.5, 4.0], [0.5, 1.0], 0.5),  # fractions: those that are shown
        ([-(2**62) - 2**61, 2**62 + 2**61], [0], 1 / (2**63 + 2**62 + 1)),
    ],
)
def test_the_domain_of_numbers(values: list[object], asked: list[object], share: float) -> None:
    release = generalized(microdata({"v": values, "d": ["a", "b"]}, sensitive=["d"]), [0, 0])
    found = release.count(Query({"v": asked, "d": ["a"]})).estimate
    assert found == pytest.approx(share)


def test_a_declared_order_counts_with_values_that_no_row_has() -> None:
    order = ["none", "school", "college", "university", "doctorate"]
    table = microdata(
        {"e": ["school", "doctorate"], "d": ["a", "b"]}, sensitive=["d"], orders={"e": order}
    )
    release = generalized(table, [0, 0])
    assert release.count(Query({"e": ["none", "college"]})).estimate == 0.5


TREE = Taxonomy.from_nested({"any": {"north": ["a", "b"], "south": ["c", "d", "e"]}})


@pytest.mark.parametrize(("labels", "south"), [("taxonomy", 1.0), ("ranges", 1.0), ("sets", 1.0)])
def test_missing_is_one_more_value(labels: Labels, south: float) -> None:
    rows = {"v": ["c", "d", "a", None, "b", None], "s": list("xxxxxx")}
    table = microdata(rows, sensitive=["s"], taxonomies={"v": TREE})
    release = generalized(table, [0, 0, 1, 1, 2, 3], labels)
    for asked in (["c", "d", "e"], [None], ["a"], ["a", None], ["b", "c"]):
        query = Query({"v": asked})
        assert release.count(query).estimate == pytest.approx(naive_generalized(release, query))
    assert release.count(Query({"v": [None]})).estimate == 2.0
    assert release.count(Query({"v": TREE.leaves})).estimate == 4.0
    assert release.count(Query({"v": ["c", "d", "e"]})).estimate == 2 * south


def test_a_label_stands_for_all_its_leaves() -> None:
    rows = {"v": ["c", "d"], "s": ["x", "y"]}
    table = microdata(rows, sensitive=["s"], taxonomies={"v": TREE})
    release = generalized(table, [0, 0], "taxonomy")
    assert release.count(Query({"v": ["e"], "s": ["x"]})).estimate == pytest.approx(1 / 3)


def test_means_and_order_of_rows_change_nothing() -> None:
    table = microdata(TABLE_1, sensitive=["disease"])
    release = generalized(table, [0, 0, 0, 0, 1, 1, 1, 1], means=["age"])
    order = pa.array([7, 0, 5, 2, 1, 4, 3, 6])
    mixed = of_rows(release.table.take(order), release.manifest.columns)
    plain = generalized(table, [0, 0, 0, 0, 1, 1, 1, 1])
    query = Query({**QUERY_A.where, "sex": ["M"]})
    answers = {one.count(query).estimate for one in (release, mixed, plain)}
    assert len(answers) == 1


@pytest.mark.parametrize("combinations", [1, 2**15])
def test_conditions_on_several_exact_attributes_hold_together(
    combinations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike in an anatomized release: values of one row stand together, packed or not."""
    monkeypatch.setattr(packing, "_COMBINATIONS", combinations)
    rows = {
        "a": [1, 2, 3, 4, 1, 2],
        "s": ["x", "x", "y", "y", "x", "x"],
        "t": ["u", "v", "u", None, "u", "u"],
        "note": [7, 7, 7, 7, 8, 7],
    }
    table = microdata(rows, quasi=["a"], sensitive=["s", "t"], insensitive=["note"])
    release = generalized(table, [0] * 6)
    asked: list[dict[str, list[Any]]] = [
        {"s": ["x"], "t": ["u"]},
        {"s": ["x"], "t": ["u"], "note": [7]},
        {"a": [1], "s": ["x", "y"], "t": [None, "u"], "note": [7]},
        {"s": ["y"], "note": [8]},
    ]
    for conditions in asked:
        query = Query(conditions)
        assert release.count(query).estimate == pytest.approx(naive_generalized(release, query))


def test_text_is_refused() -> None:
    table = microdata(TABLE_1, sensitive=["disease"])
    release = generalized(table, [0] * 8, "text")
    assert release.count("disease = 'flu'") == sf.Answer(2.0, 2, 2)
    with pytest.raises(QueryRefused, match="made for reading"):
        release.count("age = 23")


def test_sets_in_csv_files_answer_as_in_parquet_files(tmp_path: Path) -> None:
    jobs = ["nurse, night", "cook", "missing", "nurse, night", None, "cook", '"x"', "cook"]
    table = microdata({**TABLE_1, "job": jobs}, sensitive=["disease"])
    release = generalized(table, [0, 0, 0, 0, 1, 1, 1, 1])
    asked = ["sex = 'F'", "job = 'nurse, night'", "job = 'missing'", "job IS NULL", "job = '\"x\"'"]
    for form in ("parquet", "csv"):
        loaded = sf.load(release.write(tmp_path / form, format=form))
        for condition in asked:
            assert loaded.count(condition) == release.count(condition), (form, condition)
            assert loaded.count(condition).hi > 0


def test_a_label_outside_the_taxonomy_is_told() -> None:
    table = microdata({"v": ["c", "d"], "s": ["x", "y"]}, sensitive=["s"], taxonomies={"v": TREE})
    release = generalized(table, [0, 0], "taxonomy")
    wrong = release.table.set_column(0, "v", pa.array(["south", "moon"]))
    with pytest.raises(SchemaError, match="moon"):
        of_rows(wrong, release.manifest.columns).count("v = 'c'")


def test_an_unknown_attribute_is_named() -> None:
    with pytest.raises(QueryRefused, match="did you mean 'age'"):
        table_2().count(Query({"ages": [1]}))


def test_releases_from_files_answer_like_those_in_memory(tmp_path: Path) -> None:
    table = microdata(TABLE_1, sensitive=["disease"], orders={"sex": ["F", "M"]})
    query = Query({"age": range(40), "sex": ["M"], "disease": ["dyspepsia", "flu"]})
    for name, algorithm in (("boxes", sf.Mondrian()), ("apart", sf.Anatomize())):
        release = sf.publish(table, algorithm, sf.LDiversity(2), seed=long_seed(1))
        release.write(tmp_path / name)
        assert sf.load(tmp_path / name).count(query) == release.count(query)


def test_other_things_cannot_be_asked() -> None:
    with pytest.raises(ParameterError, match="cannot be asked"):
        answerer("out/")  # type: ignore[arg-type]
