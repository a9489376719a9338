"""The first line of a CSV file: a header, or already a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engines.rows import open_rows
from sfumato.errors import DataError, ParameterError
from sfumato.io.csv_headers import require_header
from sfumato.io.dialects import Dialect
from sfumato.io.tables import read_table

PEOPLE = "34,F,53711,flu\n36,M,53712,gout\n35,F,53711,flu\n"
NAMES = ["age", "sex", "zip", "disease"]


def written(folder: Path, content: str) -> Path:
    path = folder / "people.csv"
    path.write_text(content, encoding="utf-8")
    return path


def refused(path: Path, **said: Any) -> str:
    """What is said about a file, by both readers alike."""
    messages = []
    for read in (
        lambda: read_table(path, **said),
        lambda: open_rows(path, sf.Schema(quasi=["x"]), dialect=Dialect.said(**said)),
    ):
        with pytest.raises(DataError) as caught:
            read()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    return messages[0]


@pytest.mark.parametrize(
    ("first", "place"),
    [
        ("34,F,x,flu", 1),
        ("Ada,02174,x,flu", 2),
        ("Ada,sex,1980-02-29,flu", 3),
        ("Ada,sex,31/12/1980,flu", 3),
        ("Ada,sex,1980-02-29T10:30:00Z,flu", 3),
        ("Ada,sex,+49 30 123,flu", 3),
        ("Ada,sex,zip,1e5", 4),
        ("Ada,TRUE,zip,flu", 2),
        ("Ada,sex,NA,flu", 3),
        ("Ada,ada@example.org,zip,flu", 2),
        ("Ada,,zip,flu", 2),
        ("Ada,sex,zip,", 4),
        (",,zip,flu", 2),
        ('Ada," ",zip,flu', 2),
        ("Ada,sex,2020,2021", 3),
    ],
)
def test_a_line_that_looks_like_a_row_is_refused(tmp_path: Path, first: str, place: int) -> None:
    message = refused(written(tmp_path, f"{first}\na,b,c,d\n"))
    assert f"column {place} " in message
    assert "header=True (--header)" in message
    assert "names=[...] (--names)" in message
    assert "Ada" not in message
    assert "flu" not in message


def test_a_headerless_file_of_texts_is_refused(tmp_path: Path) -> None:
    towns = ["Bonn", "Köln", "Trier"]
    rows = "".join(f"P{n},{'FM'[n % 2]},{towns[n % 3]},flu\n" for n in range(9))
    message = refused(written(tmp_path, rows))
    assert "columns 2, 3 occurs there again" in message
    assert "Bonn" not in message


def test_one_telling_column_is_enough(tmp_path: Path) -> None:
    """All other texts of the person are rare; a column called like a value of its own says so."""
    towns = ["Bonn", "Trier", "Ulm"]
    rows = "".join(
        f"{towns[n % 3]},job {n % 7},{'male' if n % 2 else 'female'}\n" for n in range(60)
    )
    path = written(tmp_path, "Little Snoring,apiarist,female\n" + rows)
    assert "column 3 occurs there again" in refused(path)
    named = read_table(path, names=["town", "job", "sex"])
    assert named.num_rows == 61
    real = written(tmp_path, "state,job\nstate,a\nprivate,b\nstate,a\n")
    assert "column 1 occurs there again" in refused(real)
    assert read_table(real, header=True).num_rows == 3


def test_two_columns_of_one_name_are_told_by_their_places(tmp_path: Path) -> None:
    message = refused(written(tmp_path, "Ada,F,F,flu\nBob,M,M,gout\n"))
    assert "columns 2 and 3" in message
    assert "Ada" not in message


@pytest.mark.parametrize(
    "content",
    [
        "age,sex\n34,F\n36,M\n35,F\n",
        "inf,c1,q_2020,P001\n1,2,3,4\n",
        "Nurse,Cook,sex\nNurse,,F\n,Cook,M\nNurse,,F\n",
        "name,town\nAda,Bonn\nBob,Bonn\nEve,Trier\n",
        "Alter;Straße\n34;a\n35;b\n",
        "a\n1\n2\n",
    ],
)
def test_headers_are_not_taken_for_rows(tmp_path: Path, content: str) -> None:
    assert read_table(written(tmp_path, content)).num_rows == content.count("\n") - 1


def test_the_index_that_pandas_writes_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    frame = pd.DataFrame({"age": [34, 36, 35], "disease": ["flu", "gout", "flu"]})
    frame.to_csv(path)
    assert read_table(path).to_pydict() == frame.to_dict("list")
    table = sf.read(path, sf.Schema(quasi=["age"], sensitive="disease"))
    assert table.n_rows == 3
    rows = open_rows(path, sf.Schema(quasi=["age"], sensitive="disease"))
    scanned = pa.concat_tables(rows.scan(["age", "disease"]))
    assert scanned.to_pydict() == frame.to_dict("list")


def test_names_are_given_to_a_file_without_a_header(tmp_path: Path) -> None:
    path = written(tmp_path, PEOPLE)
    expected = {"age": [34, 36, 35], "disease": ["flu", "gout", "flu"]}
    assert read_table(path, columns=[*expected], names=NAMES).to_pydict() == expected
    schema = sf.Schema(quasi=["age"], sensitive="disease")
    table = sf.read(path, schema, names=NAMES)
    assert table.attributes["age"].decode(table.codes["age"]).to_pylist() == expected["age"]
    rows = open_rows(path, schema, dialect=Dialect(tuple(NAMES)))
    assert pa.concat_tables(rows.scan([*expected])).to_pydict() == expected


def test_a_header_that_looks_like_a_row_can_be_kept_or_replaced(tmp_path: Path) -> None:
    path = written(tmp_path, "town,2020,2021\nBonn,1,2\nKöln,3,4\n")
    assert "column 2 " in refused(path)
    assert read_table(path, header=True).column_names == ["town", "2020", "2021"]
    replaced = read_table(path, header=True, names=["town", "then", "now"])
    assert replaced.to_pydict() == {"town": ["Bonn", "Köln"], "then": [1, 3], "now": [2, 4]}
    rows = open_rows(path, sf.Schema(quasi=["2020"]), dialect=Dialect(header=True))
    assert pa.concat_tables(rows.scan(["2020"])).to_pydict() == {"2020": [1, 3]}


def test_names_for_a_file_that_has_a_header_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"Age,sex,zip,disease\n{PEOPLE}")
    assert "it is a header and not a row" in refused(path, names=NAMES)
    assert "3 names are given, and the first line has 4" in refused(path, names=NAMES[:3])
    assert "columns 1 and 2 have the same name" in refused(path, names=["a", "a", "b", "c"])


@pytest.mark.parametrize(
    ("said", "parameter"),
    [
        ({"names": "age"}, "names"),
        ({"names": ["age", " "]}, "names"),
        ({"header": False}, "header"),
    ],
)
def test_impossible_words_about_the_first_line(said: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Dialect.said(**said)
    assert caught.value.parameter == parameter


def test_other_sources_have_names_of_their_own(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1]})
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", frame, "duckdb:///x.db"):
        with pytest.raises(ParameterError, match="names is for CSV files"):
            read_table(source, names=["age"])


def test_a_header_over_several_lines_and_blank_lines_before_it(tmp_path: Path) -> None:
    path = written(tmp_path, '\n \n"age\nin years",sex\n34,F\n\n36,M\n')
    assert read_table(path).to_pydict() == {"age\nin years": [34, 36], "sex": ["F", "M"]}
    path = written(tmp_path, "\n34,F\n\n36,M\n")
    assert read_table(path, names=["a", "s"]).to_pydict() == {"a": [34, 36], "s": ["F", "M"]}
    assert read_table(written(tmp_path, "7"), names=["a"]).to_pydict() == {"a": [7]}


@given(st.lists(st.tuples(st.integers(20, 60), st.sampled_from("FM")), min_size=1))
def test_no_file_whose_rows_hold_a_number_passes_without_a_header(
    people: list[tuple[int, str]],
) -> None:
    first, *rest = [[str(age), sex] for age, sex in people]
    with pytest.raises(DataError, match="column 1 "):
        require_header("people.csv", first, rest)
