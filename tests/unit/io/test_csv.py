"""Delimited text: names, types, missing values, and what is said about broken files."""

import datetime as dt
import gzip
import string
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.io.tables import read_table
from sfumato.io.writing import write_csv


def written(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def column(folder: Path, *texts: str, missing: tuple[str, ...] = ()) -> pa.ChunkedArray:
    content = "x,y\n" + "".join(f"{text},1\n" for text in texts)
    return read_table(written(folder, content), columns=["x"], missing=missing).column(0)


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_table(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "-20", "0"], pa.int64(), [1, -20, 0]),
        (["1", "2.5", "1e3", ".5", "3."], pa.float64(), [1.0, 2.5, 1000.0, 0.5, 3.0]),
        (["true", "FALSE", "True"], pa.bool_(), [True, False, True]),
        (["0", "1"], pa.int64(), [0, 1]),
        (["1", str(2**64 - 1)], pa.uint64(), [1, 2**64 - 1]),
        (["1", str(2**64)], pa.string(), ["1", str(2**64)]),
        (["-1", str(2**63)], pa.string(), ["-1", str(2**63)]),
        (["2020-02-29", "1999-12-31"], pa.date32(), [dt.date(2020, 2, 29), dt.date(1999, 12, 31)]),
        (
            ["2020-01-01 10:30", "2020-01-02T11:00:01.5", "2020-01-03"],
            pa.timestamp("us"),
            [
                dt.datetime(2020, 1, 1, 10, 30),
                dt.datetime(2020, 1, 2, 11, 0, 1, 500_000),
                dt.datetime(2020, 1, 3),
            ],
        ),
        (["a", "1"], pa.string(), ["a", "1"]),
        ([" 12", "13 "], pa.int64(), [12, 13]),
    ],
)
def test_types(tmp_path: Path, texts: list[str], kind: pa.DataType, values: list[object]) -> None:
    found = column(tmp_path, *texts)
    assert found.type == kind
    assert found.to_pylist() == values


def test_times_with_a_zone_are_one_axis(tmp_path: Path) -> None:
    found = column(tmp_path, "2020-01-01T10:00:00Z", "2020-01-01T12:00:00+02:00")
    assert found.type == pa.timestamp("us", "UTC")
    assert len(found.unique()) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["02174", "2174"],
        ["12", "-01"],
        ["007.5", "1.5"],
        ["+4930123", "1"],
        ["0x10", "11"],
        ["123456789012345678901", "123456789012345678902"],
        ["2020-02-30", "2020-01-01"],
        ["1_000", "2"],
        ["12:30", "11:00"],
        ["1.10", "1.1"],
        ["250.00", "250.0", "7.5"],
        ["1.5", "2", "2.0"],
        ["0.0", "-0.0"],
    ],
)
def test_what_would_lose_a_character_stays_text(tmp_path: Path, texts: list[str]) -> None:
    found = column(tmp_path, *texts)
    assert found.type == pa.string()
    assert found.to_pylist() == texts


@pytest.mark.slow
def test_two_spellings_of_a_number_in_two_blocks_are_seen(tmp_path: Path) -> None:
    texts = [f"{i % 80_000}.25" for i in range(300_000)]
    assert column(tmp_path, *texts).type == pa.float64()
    found = column(tmp_path, *texts, "1.250")
    assert found.num_chunks > 1
    assert found.type == pa.string()
    assert found.to_pylist() == [*texts, "1.250"]


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("a\n1\n\n2\n", [1, None, 2]),
        ("a\n1\n", [1]),
        ("a\n1", [1]),
        ("a\r\n1\r\n\r\n", [1, None]),
        ("\n\na\n\nx\n", [None, "x"]),
        ("\ufeff\na\n\n", [None]),
    ],
)
def test_a_blank_line_is_a_row_of_a_single_column(
    tmp_path: Path, content: str, values: list[object]
) -> None:
    assert read_table(written(tmp_path, content)).to_pydict() == {"a": values}


def test_a_single_column_with_missing_values_comes_back(tmp_path: Path) -> None:
    write_csv(pa.table({"a": ["x", None, "y", None]}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").to_pydict() == {"a": ["x", None, "y", None]}


def test_one_leading_zero_at_the_end_of_a_long_file_is_seen(tmp_path: Path) -> None:
    # more than one block of the parser, whose guess rests on the first
    texts = [str(10_000 + i % 80_000) for i in range(300_000)]
    found = column(tmp_path, *texts, "02174")
    assert found.type == pa.string()
    assert found[-1].as_py() == "02174"
    assert found.to_pylist()[:-1] == texts


def test_a_long_run_of_missing_values_does_not_hide_the_type(tmp_path: Path) -> None:
    # more than one block of the parser without any number
    found = column(tmp_path, "7", *["NA"] * 1_000_000, "8")
    assert found.num_chunks > 2
    assert found.type == pa.int64()
    assert found.null_count == 1_000_000


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "NULL", "null", "NaN", "nan", "#N/A"])
def test_null_markers_are_missing_numbers(tmp_path: Path, marker: str) -> None:
    assert column(tmp_path, "1", marker).to_pylist() == [1, None]
    assert column(tmp_path, "1.5", marker).to_pylist() == [1.5, None]
    assert column(tmp_path, "2020-01-01", marker).to_pylist() == [dt.date(2020, 1, 1), None]


def test_in_texts_only_the_empty_text_is_missing(tmp_path: Path) -> None:
    found = column(tmp_path, "NA", "DE", "", '""', "null", "  ")
    assert found.to_pylist() == ["NA", "DE", None, None, "null", None]
    assert column(tmp_path, "NA", "NA").to_pylist() == ["NA", "NA"]


def test_markers_of_the_caller_are_missing_everywhere(tmp_path: Path) -> None:
    assert column(tmp_path, "a", "?", missing=("?",)).to_pylist() == ["a", None]
    assert column(tmp_path, "1", "?", missing=("?",)).to_pylist() == [1, None]
    assert column(tmp_path, "1", "-9", missing=("-9",)).to_pylist() == [1, None]
    assert column(tmp_path, "a", " ?", missing=("?",)).to_pylist() == ["a", None]


def test_one_marker_may_be_given_bare(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y\nNA,1\nN,2\nA,3\n")
    assert read_table(path, missing="NA").column("x").to_pylist() == [None, "N", "A"]


def test_a_column_of_nothing_is_text(tmp_path: Path) -> None:
    found = column(tmp_path, "", "")
    assert found.type == pa.string()
    assert found.null_count == 2


def test_blanks_around_a_value_make_no_second_value(tmp_path: Path) -> None:
    assert column(tmp_path, "flu", "flu ", " flu").unique().to_pylist() == ["flu"]


def test_infinite_numbers_do_not_turn_a_column_into_categories(tmp_path: Path) -> None:
    assert column(tmp_path, "1", "inf").type == pa.float64()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    header = delimiter.join(["age", '"a,b;c"', "disease"])
    row = delimiter.join(["30", "x", '"1,5|;"'])
    table = read_table(written(tmp_path, f"{header}\n{row}\n"))
    assert table.to_pylist() == [{"age": 30, "a,b;c": "x", "disease": "1,5|;"}]


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.tsv", "a.txt"])
def test_names_of_text_files(tmp_path: Path, name: str) -> None:
    assert read_table(written(tmp_path, "a\tb\n1\tx\n", name)).num_columns == 2


def test_byte_order_mark_blanks_and_windows_lines(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfage, sex \r\n30, F\r\n\r\n31, M\r\n")
    assert read_table(path).to_pydict() == {"age": [30, 31], "sex": ["F", "M"]}


def test_line_breaks_inside_quotes(tmp_path: Path) -> None:
    path = written(tmp_path, '"first\nname",b\n"x\ny",1\n')
    assert read_table(path).to_pylist() == [{"first\nname": "x\ny", "b": 1}]


def test_gzip(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a,b\n1,x\n"), "a.csv.gz")
    assert read_table(path).to_pylist() == [{"a": 1, "b": "x"}]


def test_columns_are_chosen_and_ordered(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "a,b,c\n1,2,3\n"), columns=["c", "a"])
    assert table.to_pydict() == {"c": [3], "a": [1]}


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("a,b\n1,2\n3\n4,5\n", "line 3", "1 values"),
        ("a,b\n1,2\n3,4,5\n", "line 3", "3 values"),
        ('a,b\n"1\n1",2\n\n3,4,5\n', "line 5", "3 values"),
    ],
)
def test_ragged_rows_are_located(tmp_path: Path, content: str, line: str, found: str) -> None:
    message = refused(written(tmp_path, content))
    assert line in message
    assert found in message
    assert "the first line has 2" in message


def test_a_quote_that_is_never_closed_is_located(tmp_path: Path) -> None:
    assert "line 3" in refused(written(tmp_path, 'a,b\n1,2\n"3,4\n5,6\n'))
    long = 'a,b\n1,2\n"3,4\n' + "5,6\n" * 1_000_000
    assert "line 3" in refused(written(tmp_path, long))


def test_duplicate_names(tmp_path: Path) -> None:
    message = refused(written(tmp_path, "age,sex,age \n1,2,3\n"))
    assert "columns 1 and 3 have the same name" in message
    assert "--names" in message


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_nothing_in_the_file(tmp_path: Path, content: str) -> None:
    assert "is empty" in refused(written(tmp_path, content))


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n"])
def test_a_header_only(tmp_path: Path, content: str) -> None:
    assert "no rows" in refused(written(tmp_path, content))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("cp1252", "WINDOWS-1252"), ("utf-16", "UTF-16"), ("utf-16-le", "binary")],
)
def test_other_encodings_are_named(tmp_path: Path, encoding: str, said: str) -> None:
    path = written(tmp_path, "name,age\nMeier,1\nMüller,2\n".encode(encoding))
    assert said in refused(path)


def test_the_line_of_a_stray_byte(tmp_path: Path) -> None:
    assert "line 3" in refused(written(tmp_path, b"a,b\nx,1\n\xfc,2\n"))
    path = written(tmp_path, gzip.compress(b"a,b\nx,1\n\xfc,2\n"), "a.csv.gz")
    assert "line 3" in refused(path)


def test_a_gzip_file_cut_short(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i}\n" for i in range(9999))
    whole = gzip.compress(f"a,b\n{rows}".encode())
    refused(written(tmp_path, whole[: len(whole) // 2], "a.csv.gz"))


PLAIN = st.text(string.ascii_letters + string.digits + " ,;|'\"\n\t.-äß中", max_size=8)


@pytest.mark.slow
@given(st.lists(st.tuples(PLAIN, st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=20))
def test_what_is_written_is_read_again(rows: list[tuple[str, int]]) -> None:
    # a letter in front keeps the texts from being numbers, dates or empty
    texts = [f"x{text.strip()}" for text, _ in rows]
    numbers = [number for _, number in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        write_csv(pa.table({"t": texts, "n": numbers}), path)
        assert read_table(path).to_pydict() == {"t": texts, "n": numbers}


@pytest.mark.slow
@given(st.lists(st.from_regex(r"\A-?[0-9]{1,20}\Z"), min_size=1, max_size=10))
def test_no_digit_is_ever_lost(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), "x,y\n" + "".join(f"{text},1\n" for text in texts))
        found = read_table(path).column("x")
    assert [str(value).lstrip("-") for value in found.to_pylist()] == [
        text.lstrip("-") for text in texts
    ]
