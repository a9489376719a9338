"""CSV files in other encodings, with a decimal comma, with the day first."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.rows import open_columns
from sfumato.errors import DataError, ParameterError
from sfumato.io.dialects import Dialect
from sfumato.io.tables import read_table
from tests.support.commands import sfumato


def values(path: Path, **written: Any) -> dict[str, list[Any]]:
    """The columns of a file, which are the same read whole and part by part."""
    whole = read_table(path, trim=True, **written)
    parts = open_columns(path, dialect=Dialect.said(**written))
    streamed = pa.concat_tables(parts.scan(whole.column_names, ()))
    assert streamed.equals(whole)
    found: dict[str, list[Any]] = whole.to_pydict()
    return found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "windows-1252", "latin-1", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("größe;ort\n1;Jülich\n2;Köln\n", encoding=encoding)
    expected = {"größe": [1, 2], "ort": ["Jülich", "Köln"]}
    assert values(path, encoding=encoding) == expected


def test_another_encoding_is_suggested_and_works(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ort\nKöln\n", encoding="windows-1252")
    with pytest.raises(DataError, match=r"encoding='windows-1252' \(--encoding windows-1252\)"):
        read_table(path)
    assert values(path, encoding="windows-1252") == {"ort": ["Köln"]}
    with pytest.raises(DataError, match="not written in ascii"):
        read_table(path, encoding="ascii")


def test_a_decimal_comma(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b;c;d;e\n1,5;1;1.5;1,10;x\n-0,25;2;2,5;1,1;y\n,5e3;3;3;2,0;\n")
    found = values(path, decimal=",")
    assert found["a"] == [1.5, -0.25, 500.0]
    assert found["b"] == [1, 2, 3]
    assert found["c"] == ["1.5", "2,5", "3"]  # a point is not before decimals here
    assert found["d"] == ["1,10", "1,1", "2,0"]  # two texts would be one number
    assert values(path)["a"] == ["1,5", "-0,25", ",5e3"]


def test_the_day_first(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "a,b,c,d,e\n31.12.2020,1/2/2021,01-02-2020 10:30,2020-12-31,31.02.2020\n"
        "1.2.2020,13/12/2021,31.12.1999 23:59:59,1.1.2021,01.01.2020\n"
    )
    found = values(path, day_first=True)
    assert found["a"] == [date(2020, 12, 31), date(2020, 2, 1)]
    assert found["b"] == [date(2021, 2, 1), date(2021, 12, 13)]
    assert found["c"] == [datetime(2020, 2, 1, 10, 30), datetime(1999, 12, 31, 23, 59, 59)]
    assert found["d"] == ["2020-12-31", "1.1.2021"]  # two ways of writing
    assert found["e"] == ["31.02.2020", "01.01.2020"]  # no such day
    assert values(path)["a"] == ["31.12.2020", "1.2.2020"]


@pytest.mark.parametrize(
    ("written", "parameter"),
    [
        ({"encoding": "klingon"}, "encoding"),
        ({"encoding": "base64"}, "encoding"),
        ({"decimal": ";"}, "decimal"),
    ],
)
def test_what_means_nothing_is_refused(written: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Dialect.said(**written)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "written", [{"encoding": "latin-1"}, {"decimal": ","}, {"day_first": True}, {"names": ["a"]}]
)
def test_what_has_no_effect_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="for CSV files"):
        read_table(pa.table({"a": [1]}), **written)


def test_the_same_is_published_from_either_way_of_writing(tmp_path: Path) -> None:
    rows = [(f"{row % 28 + 1:02}.03.1980", f"{row % 7},5", f"d{row % 4}") for row in range(80)]
    (tmp_path / "theirs.csv").write_bytes(
        b"born;pay;krank\n" + "".join(f"{';'.join(row)}\n" for row in rows).encode()
    )
    (tmp_path / "plain.csv").write_text(
        "born,pay,krank\n"
        + "".join(f"1980-03-{b[:2]},{p.replace(',', '.')},{d}\n" for b, p, d in rows)
    )
    schema = sf.Schema(quasi=["born", "pay"], sensitive="krank")
    plain = sf.read(tmp_path / "plain.csv", schema)
    for engine in ("memory", "stream"):
        theirs = sf.read(
            tmp_path / "theirs.csv", schema, decimal=",", day_first=True, engine=engine
        )
        assert theirs.attributes["born"].values.equals(plain.attributes["born"].values)
        assert theirs.codes["pay"].tolist() == plain.codes["pay"].tolist()
    sf.write_schema(tmp_path / "s.toml", schema)
    done = sfumato(
        tmp_path, "publish", "theirs.csv", "-s", "s.toml", "--decimal", ",", "--day-first",
        "--encoding", "latin-1", "--k", "4", "--no-audit", "-o", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sf.load(tmp_path / "out").manifest.columns[0].kind == "numerical"
    seen = sfumato(tmp_path, "inspect", "theirs.csv")
    assert "born holds dates" in seen.stdout
    assert "pay holds numbers with a comma" not in seen.stdout  # too few to tell
