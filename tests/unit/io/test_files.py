"""Files other than text, and paths that lead nowhere."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sfumato.core.schema import Schema
from sfumato.engines.reading import read
from sfumato.errors import DataError, SchemaError
from sfumato.io.tables import read_table

TABLE = pa.table({"name": ["Ada", "Bo"], "age": [30, 41], "sick.of": ["flu", "gout"]})


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


WRITERS: dict[str, Any] = {
    "a.parquet": pq.write_table,
    "a.pq": pq.write_table,
    "a.feather": pyarrow.feather.write_feather,
    "a.arrow": pyarrow.feather.write_feather,
    "a.ipc": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_columnar_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](TABLE, path)
    assert read_table(str(path)).equals(TABLE)
    assert read_table(path, columns=["sick.of", "age"]).equals(TABLE.select(["sick.of", "age"]))


@pytest.mark.parametrize("name", WRITERS)
def test_queries_over_columnar_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](TABLE, path)
    found = read_table(path, query="SELECT age + 1 AS next FROM t WHERE name = 'Bo'")
    assert found.to_pydict() == {"next": [42]}


def test_folder_names_make_no_columns(tmp_path: Path) -> None:
    (tmp_path / "year=2020").mkdir()
    path = tmp_path / "year=2020" / "a.parquet"
    pq.write_table(TABLE, path)
    assert read_table(path).column_names == TABLE.column_names
    assert read_table(path, query="t").column_names == TABLE.column_names


@pytest.mark.parametrize("name", [*WRITERS, "a.csv"])
def test_identifiers_are_required_but_not_loaded(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.io import tables

    path = tmp_path / name
    if name == "a.csv":
        path.write_text("name,age,sick.of\nAda,30,flu\nBo,41,gout\n")
    else:
        WRITERS[name](TABLE, path)
    loaded: list[str] = []

    def spy(table: pa.Table, *_: object) -> pa.Table:
        loaded.extend(table.column_names)
        return table

    monkeypatch.setattr(tables, "normalized", spy)
    schema = Schema(identifiers=["name"], quasi=["age"], sensitive="sick.of")
    found = read(path, schema)
    assert loaded == ["age", "sick.of"]
    assert found.schema == schema
    assert found.attributes["age"].decode(found.codes["age"]).to_pylist() == [30, 41]
    with pytest.raises(SchemaError, match=r"no column 'nome' \(identifier\); did you mean 'name'"):
        read(path, Schema(identifiers=["nome"], quasi=["age"]))


def test_an_unknown_column(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match="no column 'Age'; did you mean 'age'"):
        read_table(tmp_path / "a.parquet", columns=["Age"])
    with pytest.raises(SchemaError, match=r"no column 'xyz'; it has name, age, sick\.of"):
        read_table(tmp_path / "a.parquet", columns=["xyz"])


PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
PARQUET = b"PAR1" + bytes(100)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.parquet", PNG, "is a PNG picture, not Parquet"),
        ("a.parquet", b"a,b\n1,2\n", "is something else, not Parquet"),
        ("a.parquet", PARQUET, "cannot read"),
        ("a.parquet", b"", "is empty"),
        ("a.csv", PARQUET, "is a Parquet file, not text"),
        ("a.csv", b"PK\x03\x04" + bytes(50), "Excel workbook"),
        ("a.csv", bytes(50), "a binary file"),
        ("a.csv", b"\x1f\x8b\x08" + bytes(50), "name it a.csv.gz"),
        ("a.csv.gz", b"a,b\n1,2\n", "remove .gz"),
        ("a.csv.gz", b"\x1f\x8b\x08" + bytes(50), "a.csv.gz"),
        ("a.arrow", b"ARROW1\0\0" + bytes(100), "cannot read"),
        ("a.arrow", PNG, "is a PNG picture, not Arrow"),
        ("a.xlsx", PNG, "is a PNG picture; give it its own extension"),
        ("a.xslx", PNG, "unknown extension '.xslx'"),
        ("a", PNG, "has no extension"),
        ("a.duckdb", PNG, "use duckdb:///"),
    ],
)
def test_files_that_are_not_what_they_seem(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.source == str(tmp_path / name)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"does not exist; did you mean 'patients\.csv'"):
        read_table(tmp_path / "Patient.csv")
    # the common extension does not make two names alike
    for other in ("quite different.parquet", "events.csv"):
        with pytest.raises(DataError, match="does not exist; check its name"):
            read_table(tmp_path / other)
    with pytest.raises(DataError, match="there is no folder"):
        read_table(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)


def test_a_table_without_rows(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "a.parquet")
