"""Taxonomies from nested files, hierarchy tables and long tables; what is refused and why."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given

from sfumato.core.attribute import Kind, encode
from sfumato.core.taxonomy import Taxonomy
from sfumato.engines.reading import read
from sfumato.errors import SchemaError
from sfumato.io.schema_files import read_schema
from sfumato.io.taxonomy_files import read_taxonomies
from tests.support.strategies import taxonomies

DATA = os.environ.get("SFUMATO_DATA")

# The shape of the hierarchies that ARX ships for the Adult table, and a value that skips a level.
WORK = """\
Private;Non-Government;Employed;*
Federal-gov;Government;Employed;*
Self-emp-inc;Non-Government;Employed;*
Local-gov;Government;Employed;*
Without-pay;Unpaid;Unpaid;*
Never-worked;Never-worked;Never-worked;*
"""
WORK_TREE: Any = {
    "*": {
        "Employed": {
            "Non-Government": ["Private", "Self-emp-inc"],
            "Government": ["Federal-gov", "Local-gov"],
        },
        "Unpaid": ["Without-pay"],
        "Never-worked": [],
    }
}
AGES = "".join(f"{age};{age // 5 * 5}+;{age // 10 * 10}+;*\n" for age in (9, 17, 12, 3, 101, 5))
LONG = """\
attribute,value,level,generalized
sex,Male,0,Male
sex,Male,1,*
sex,Female,0,Female
sex,Female,1,*
age,17,1,young
age,70,1,old
age,17,2,*
age,70,2,*
age,18,1,young
age,18,2,*
"""


def written(folder: Path, text: str, name: str = "work.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def long_table(name: str, taxonomy: Taxonomy) -> pa.Table:
    """What a tree looks like as a long table, level by level."""
    levels = range(taxonomy.height + 1)
    entries = [
        (name, str(value), level, taxonomy.labels[node])
        for level in levels
        for value, node in zip(taxonomy.leaves, taxonomy.at_level(level).tolist(), strict=True)
    ]
    names = ("attribute", "value", "level", "generalized")
    return pa.table(dict(zip(names, map(list, zip(*entries, strict=True)), strict=True)))


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_a_hierarchy_table(tmp_path: Path, separator: str) -> None:
    path = written(tmp_path, "\ufeff\n" + WORK.replace(";", f" {separator} "))
    found = read_taxonomies(path)
    assert list(found) == ["work"]
    assert found["work"].to_nested() == WORK_TREE
    assert found["work"].ragged_leaves == ("Without-pay", "Never-worked")
    assert list(read_taxonomies(path, "workclass")) == ["workclass"]


def test_labels_may_hold_the_other_separators(tmp_path: Path) -> None:
    text = '29;[20,30[;*\n43;">=40; or so";*\n22;[20,30[;*\n'
    found = read_taxonomies(written(tmp_path, text))["work"]
    assert found.to_nested() == {"*": {"[20,30[": ["22", "29"], ">=40; or so": ["43"]}}


def test_numbers_and_dates_stand_in_their_own_order(tmp_path: Path) -> None:
    found = read_taxonomies(written(tmp_path, AGES, "age.csv"))["age"]
    assert found.leaves == ("3", "5", "9", "12", "17", "101")
    days = "2020-02-01;b;*\n2020-01-09;a;*\n2020-01-01;a;*\n"
    found = read_taxonomies(written(tmp_path, days, "born.csv"))["born"]
    assert found.leaves == ("2020-01-01", "2020-01-09", "2020-02-01")


def test_numbers_stay_as_written_where_labels_do_not_cover_runs(tmp_path: Path) -> None:
    text = "2;even;*\n3;odd;*\n1;odd;*\n4;even;*\n"
    assert read_taxonomies(written(tmp_path, text))["work"].leaves == ("2", "4", "3", "1")


def test_a_folder_of_hierarchy_tables(tmp_path: Path) -> None:
    written(tmp_path, WORK)
    written(tmp_path, AGES, "age.tsv")
    written(tmp_path, "who made them", "notes.txt")
    assert list(read_taxonomies(tmp_path)) == ["age", "work"]
    assert list(read_taxonomies(tmp_path, "work")) == ["work"]
    written(tmp_path, AGES, "age.csv")
    with pytest.raises(SchemaError, match="another file of the folder has 'age'"):
        read_taxonomies(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SchemaError, match="no hierarchy tables"):
        read_taxonomies(tmp_path / "empty")


def test_a_long_table(tmp_path: Path) -> None:
    found = read_taxonomies(written(tmp_path, LONG))
    assert list(found) == ["sex", "age"]
    assert found["sex"].to_nested() == {"*": ["Male", "Female"]}
    assert found["age"].to_nested() == {"*": {"young": ["17", "18"], "old": ["70"]}}
    assert list(read_taxonomies(tmp_path / "work.csv", "age")) == ["age"]
    with pytest.raises(SchemaError, match="no taxonomy for 'ages'; did you mean 'age'"):
        read_taxonomies(tmp_path / "work.csv", "ages")


@given(taxonomies())
def test_any_tree_comes_back_from_its_long_table(taxonomy: Taxonomy) -> None:
    levels = [len(set(taxonomy.at_level(n).tolist())) for n in range(taxonomy.height + 1)]
    assume(len(taxonomy.leaves) == 1 or len(set(levels)) == len(levels))  # every level merges
    table = long_table("x", taxonomy)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        pq.write_table(table.set_column(1, "value", table["value"].dictionary_encode()), path)
        again = read_taxonomies(path)["x"]
    assert long_table("x", again).equals(table)
    assert again.to_nested() == taxonomy.to_nested()


@pytest.mark.skipif(DATA is None, reason="needs the real tables: set SFUMATO_DATA")
def test_the_hierarchies_of_the_adult_table() -> None:
    folder = Path(DATA or "")
    found = read_taxonomies(folder / "adult_hierarchies.parquet")
    heights = {name: taxonomy.height for name, taxonomy in found.items()}
    assert heights == {
        "age": 4, "education": 3, "marital_status": 2, "native_country": 2, "occupation": 2,
        "race": 1, "income": 1, "sex": 1, "workclass": 2,
    }  # fmt: skip
    assert not any(taxonomy.is_ragged for taxonomy in found.values())
    adult = pq.read_table(folder / "adult.parquet", columns=list(found))
    for name, taxonomy in found.items():
        attribute, _ = encode(name, adult[name], taxonomy=taxonomy)
        assert attribute.kind is (Kind.NUMERICAL if name == "age" else Kind.CATEGORICAL)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "it has no rows"),
        ("a\nb\n", r"'a' \(line 1\) has no label above it"),
        ("a;x;*\nb;;*\n", r"'b' \(line 2\) has no label at level 1"),
        ("a;x;*\nb;x\n", r"'b' \(line 2\) has no label at level 2, 'a' \(line 1\) has 2"),
        ("a;x;*\n;x;*\n", "line 2 has no value"),
        ("job;level1\na;*\nb;*\n", r"two roots, 'level1' above 'job' \(line 1\).*a header line"),
        ("a;x;*\nb;y;*\na;y;*\n", r"'a' has two ways up, x > \* \(line 1\) and y > \* \(line 3\)"),
        (
            "a;x;p;*\nb;y;q;*\nc;x;q;*\n",
            r"'x' is below two labels, 'p' over 'a' \(line 1\) and 'q' over 'c' \(line 3\)",
        ),
        ("a;x;*\nx;x;*\n", r"'x' \(line 2\) is a value, and also a label above 'a' \(line 1\)"),
        ("a;x;a;*\nb;x;a;*\n", r"'a' is above itself, over 'a' \(line 1\)"),
        ("a;x;y;*\nb;y;x;*\n", "'y' is below two labels|'x' is below two labels"),
        ("a;x;p;*\nb;x;p;*\nc;y;q;*\n", "level 2 merges nothing: each of its 2 labels"),
        ("a;*;*\nb;*;*\n", "level 2 merges nothing"),
        ('a;"x;*\nb;x;*\n', "line 2: unexpected end of data"),
        (LONG + "age,17,1,child\n", r"age: '17' has two labels at level 1, 'young' \(line 6\)"),
        (LONG + "age,90,1,old\n", r"age: '90' \(line 12\) has no label at level 2"),
        (LONG + "age,90,one,old\n", r"age: '90' \(line 12\) has the level 'one'"),
        (LONG + "age,90,0,old\n", r"age: '90' \(line 12\) is 'old' at level 0"),
        (LONG + ",90,0,90\n", "line 12 names no attribute"),
        (LONG + "age,90,1\n", "line 12 has 3 values, but the header has 4"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SchemaError, match=said) as caught:
        read_taxonomies(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_label_twice_in_one_branch_is_one_node(tmp_path: Path) -> None:
    found = read_taxonomies(written(tmp_path, "a;a;*\nb;x;*\nc;x;*\na;a;*\n"))["work"]
    assert found.to_nested() == {"*": {"a": [], "x": ["b", "c"]}}
    assert read_taxonomies(written(tmp_path, "a;x;*\n"))["work"].to_nested() == {"*": {"x": ["a"]}}


def test_files_that_hold_no_taxonomies(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="does not exist"):
        read_taxonomies(tmp_path / "none.csv")
    with pytest.raises(SchemaError, match=r"unknown extension; taxonomies are in \.toml, \.json"):
        read_taxonomies(written(tmp_path, "x", "x.yaml"))
    pq.write_table(pa.table({"value": ["a"]}), tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match="no column 'attribute'; a long table has"):
        read_taxonomies(tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match="not Parquet"):
        read_taxonomies(written(tmp_path, "x", "y.parquet"))
    with pytest.raises(SchemaError, match="no taxonomy for 'b'; it has a"):
        read_taxonomies(written(tmp_path, json.dumps({"a": WORK_TREE}), "x.json"), "b")


def test_leaves_take_the_type_of_the_column(tmp_path: Path) -> None:
    ages = read_taxonomies(written(tmp_path, AGES.replace("9;", "09;", 1), "age.csv"))["age"]
    attribute, codes = encode("age", pa.chunked_array([[17, 9, 101]]), taxonomy=ages)
    assert attribute.kind is Kind.NUMERICAL
    assert attribute.values.to_pylist() == [3, 5, 9, 12, 17, 101]
    assert codes.tolist() == [4, 2, 5]
    assert attribute.taxonomy is not None
    assert attribute.taxonomy.leaves == (3, 5, 9, 12, 17, 101)
    assert "9" in attribute.taxonomy.labels  # and no longer "09", which nobody asks for


def test_values_that_do_not_fit_the_column_are_named(tmp_path: Path) -> None:
    ages = read_taxonomies(written(tmp_path, AGES + "old;100+;100+;*\n", "age.csv"))["age"]
    with pytest.raises(SchemaError, match=r"'age' has type int64.*other values, such as 'old'"):
        encode("age", pa.chunked_array([[17]]), taxonomy=ages)
    with pytest.raises(SchemaError, match=r"'age' holds 18, which .* lacks; the nearest is 17"):
        encode("age", pa.chunked_array([[18]]), taxonomy=Taxonomy.from_nested({"*": [3, 17, 101]}))
    work = read_taxonomies(written(tmp_path, WORK))["work"]
    with pytest.raises(SchemaError, match=r"holds 'Local-gvo'.*did you mean 'Local-gov'"):
        encode("work", pa.chunked_array([["Local-gvo"]]), taxonomy=work)


SCHEMA = 'quasi = ["work", "age", "born"]\n[taxonomies]\n'


def test_a_schema_names_files_and_builders(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    written(tmp_path / "trees", WORK, "by_hand.csv")
    text = (
        f'{SCHEMA}work = "trees/by_hand.csv"\n'
        "age.intervals = { low = 0, high = 20, widths = [5, 10] }\n"
        "born.dates = { first = 2020-01-01, last = 2021-12-31 }\n"
    )
    trees = read_schema(written(tmp_path, text, "s.toml")).taxonomies
    assert trees["work"].to_nested() == WORK_TREE
    assert trees["age"].leaves == tuple(range(21))
    assert trees["born"].height == 4
    assert trees["born"].labels[1] == "2020s"


def test_a_root_may_be_called_like_a_builder(tmp_path: Path) -> None:
    text = f"{SCHEMA}age.intervals = {{ low = [1, 2], high = [3] }}\n"
    tree = read_schema(written(tmp_path, text, "s.toml")).taxonomies["age"]
    assert tree.to_nested() == {"intervals": {"low": [1, 2], "high": [3]}}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('age = "none.csv"', "taxonomies.age: .*none.csv does not exist"),
        ('age = "broken.csv"', r"taxonomies.age: .*broken.csv: 'a' \(line 1\) has no label above"),
        ('age = "long.csv"', "taxonomies.age: .*long.csv has no taxonomy for 'age'; it has sex"),
        ("age.intervals = { low = 1 }", "taxonomies.age.intervals lacks 'high'"),
        ("age.intervals = { low = 1, hihg = 2 }", "did you mean 'high'"),
        ("age.intervals = { low = 1, high = 0.5 }", "taxonomies.age: high = 0.5; use a whole"),
        ("age.intervals = { low = 1, high = 9, widths = [4, 5] }", "width 5 is not a multiple"),
        ("age.intervals = { low = 1, high = 9, widths = 5 }", "widths = 5"),
        ("born.dates = { first = 1, last = 2020-01-01 }", "first = 1; use a datetime.date"),
        ("age = 7", "taxonomies.age is 7; it should be a table"),
        ("job.any = ['x']", "'job' is described but is neither quasi nor sensitive"),
    ],
)
def test_mistakes_in_a_schema_are_named(tmp_path: Path, line: str, said: str) -> None:
    written(tmp_path, "a\n", "broken.csv")
    written(tmp_path, "attribute,value,level,generalized\nsex,m,1,*\n", "long.csv")
    path = written(tmp_path, SCHEMA + line, "s.toml")
    with pytest.raises(SchemaError, match=said) as caught:
        read_schema(path)
    assert str(caught.value).startswith(str(path))


def test_a_table_is_read_with_text_leaves(tmp_path: Path) -> None:
    written(tmp_path, AGES, "age.csv")
    schema = written(tmp_path, 'quasi = ["age"]\n[taxonomies]\nage = "age.csv"\n', "s.toml")
    table = read(written(tmp_path, "age\n17\n3\n", "t.csv"), read_schema(schema))
    assert table.attributes["age"].decode(table.codes["age"]).to_pylist() == [17, 3]
