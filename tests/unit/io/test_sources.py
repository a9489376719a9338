"""Tables from wherever they are: several files, other kinds of files, addresses, lazy frames."""

from __future__ import annotations

import gzip
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.rows import open_rows
from sfumato.errors import DataError, MissingExtra, ParameterError, SfumatoWarning
from sfumato.io.remote import shown_address
from sfumato.io.tables import read_table
from tests.support.commands import sfumato
from tests.support.waiting import PATIENCE

PEOPLE = pa.table(
    {
        "name": [f"p{row}" for row in range(12)],
        "age": [20 + row for row in range(12)],
        "sex": ["F", "M"] * 6,
        "disease": ["flu", "gout", "asthma"] * 4,
    }
)
SCHEMA = sf.Schema(quasi=["age", "sex"], sensitive="disease")
LABELS = {"sex": {1: "F", 2: "M"}}


def texts(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def ages(table: sf.Microdata) -> list[Any]:
    found: list[Any] = table.attributes["age"].decode(table.codes["age"]).to_pylist()
    return found


def write_parts(folder: Path) -> list[Path]:
    folder.mkdir()
    paths = [folder / "part-1.csv", folder / "part-2.csv"]
    for path, low in zip(paths, (0, 5), strict=True):
        path.write_bytes(texts(PEOPLE.slice(low, 5 if low == 0 else 7)))
    (folder / "_SUCCESS").touch()
    (folder / ".notes").touch()
    return paths


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_list_a_folder_and_a_pattern_are_one_table(tmp_path: Path, engine: Any) -> None:
    paths = write_parts(tmp_path / "parts")
    for source in (paths, [str(path) for path in paths], tmp_path / "parts",
                   str(tmp_path / "parts" / "part-*.csv")):  # fmt: skip
        found = sf.read(source, SCHEMA, engine=engine)
        assert ages(found) == PEOPLE["age"].to_pylist()
    assert ages(sf.read(paths[::-1], SCHEMA, engine=engine))[0] == 25  # as they are given


def test_a_list_of_files_is_published_and_looked_at(tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts")
    made = sf.publish_file(paths, SCHEMA, sf.Mondrian(), sf.KAnonymity(3), tmp_path / "out")
    assert made.rows == 12
    assert [one.name for one in sf.profile(paths)] == PEOPLE.column_names


def test_folders_that_are_no_table(tmp_path: Path) -> None:
    write_parts(tmp_path / "parts")
    pq.write_table(PEOPLE, tmp_path / "parts" / "more.parquet")
    with pytest.raises(DataError, match="files of different kinds"):
        sf.read(tmp_path / "parts", SCHEMA)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="a folder without files"):
        sf.read(tmp_path / "empty", SCHEMA)
    release = sf.publish(sf.read(PEOPLE, SCHEMA), sf.Mondrian(), sf.KAnonymity(3))
    with pytest.raises(DataError, match=r"is a release.*sf\.load"):
        sf.read(release.write(tmp_path / "out"), SCHEMA)


def test_files_packed_with_zstandard(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.zst"
    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(texts(PEOPLE))
    assert read_table(path).equals(PEOPLE)
    rows = open_rows(path, SCHEMA)
    assert pa.concat_tables(rows.scan(["age", "sex"])).equals(PEOPLE.select(["age", "sex"]))
    path.rename(tmp_path / "people.csv")
    with pytest.raises(DataError, match=r"zstd file; name it people\.csv\.zst"):
        read_table(tmp_path / "people.csv")
    whole = (tmp_path / "people.csv").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot read"):
        read_table(path)
    path.write_bytes(texts(PEOPLE))
    with pytest.raises(DataError, match=r"not a zstd file; remove \.zst"):
        read_table(path)


def test_lines_of_json(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in PEOPLE.to_pylist())
    (tmp_path / "people.jsonl").write_text(lines)
    (tmp_path / "people.ndjson.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("people.jsonl", "people.ndjson.gz"):
        assert read_table(tmp_path / name).equals(PEOPLE)
    (tmp_path / "people.jsonl").write_text(lines + '{"age": 99}\n')
    found = read_table(tmp_path / "people.jsonl").to_pylist()
    assert found[-1] == {"name": None, "age": 99, "sex": None, "disease": None}
    (tmp_path / "people.jsonl").write_text("no json\n")
    with pytest.raises(DataError, match="cannot read"):
        read_table(tmp_path / "people.jsonl")


def write_workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """The least that is a workbook: cells in place, texts inline."""

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    def sheet(rows: list[list[Any]]) -> str:
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    names = list(sheets)
    with zipfile.ZipFile(path, "w") as book:
        kinds = "".join(
            f'<Override PartName="/xl/worksheets/s{n}.xml" ContentType="application/vnd.openxml'
            'formats-officedocument.spreadsheetml.worksheet+xml"/>'
            for n in range(len(names))
        )
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="'
            'application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/'
            'workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
            f'spreadsheetml.sheet.main+xml"/>{kinds}</Types>',
        )
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type="{office}/'
            'officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(
            f'<sheet name="{name}" sheetId="{n + 1}" r:id="r{n}"/>' for n, name in enumerate(names)
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        )
        targets = "".join(
            f'<Relationship Id="r{n}" Type="{office}/worksheet" Target="worksheets/s{n}.xml"/>'
            for n in range(len(names))
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{targets}</Relationships>',
        )
        for n, rows in enumerate(sheets.values()):
            book.writestr(f"xl/worksheets/s{n}.xml", sheet(rows))


def test_workbooks(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [PEOPLE.column_names, *[list(row.values()) for row in PEOPLE.to_pylist()]]
    write_workbook(tmp_path / "one.xlsx", {"people": rows})
    assert ages(sf.read(tmp_path / "one.xlsx", SCHEMA)) == PEOPLE["age"].to_pylist()
    older = read_table(tmp_path / "one.xlsx", query="SELECT name FROM t WHERE age > 29")
    assert older.num_rows == 2
    write_workbook(tmp_path / "two.xlsx", {"notes": [["a"], [1]], "people": rows})
    with pytest.raises(DataError, match="2 sheets, notes, people; name one"):
        read_table(tmp_path / "two.xlsx")
    assert read_table(tmp_path / "two.xlsx", query="people").num_rows == 12
    with pytest.raises(DataError, match="no sheet 'peple'; did you mean 'people'"):
        read_table(tmp_path / "two.xlsx", query="peple")
    (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04 nothing of the kind")
    with pytest.raises(DataError, match="cannot read"):
        read_table(tmp_path / "bad.xlsx")


def test_files_of_statistics_packages(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    coded = PEOPLE.to_pandas()
    coded["sex"] = [1, 2] * 5 + [3, None]
    writers = {
        "people.sav": partial(pyreadstat.write_sav, variable_value_labels=LABELS),
        "people.dta": partial(pyreadstat.write_dta, variable_value_labels=LABELS),
    }
    for name, write in writers.items():
        write(coded, str(tmp_path / name))
        found = read_table(tmp_path / name, columns=["age", "sex"])
        assert found["age"].to_pylist() == PEOPLE["age"].to_pylist()
        assert found["sex"].to_pylist() == [*["F", "M"] * 5, "3", None]
    (tmp_path / "bad.sav").write_bytes(b"$FL2 nothing of the kind")
    with pytest.raises(DataError, match="cannot read"):
        read_table(tmp_path / "bad.sav")


@pytest.mark.parametrize(("name", "library"), [("a.xlsx", "fastexcel"), ("a.dta", "pyreadstat")])
def test_a_missing_library_is_named(
    tmp_path: Path, name: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    (tmp_path / name).write_bytes(b"something")
    with pytest.raises(MissingExtra, match=r"sfumato\[formats\]"):
        read_table(tmp_path / name)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def test_addresses_are_fetched_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    pq.write_table(PEOPLE, tmp_path / "served" / "people.parquet")
    (tmp_path / "served" / "people.csv").write_bytes(texts(PEOPLE))
    with served(tmp_path / "served") as address:
        for name in ("people.parquet", "people.csv"):
            assert ages(sf.read(f"{address}/{name}", SCHEMA)) == PEOPLE["age"].to_pylist()
        query = "SELECT age, sex, disease FROM t WHERE age < 25"
        assert len(sf.read(f"{address}/people.csv", SCHEMA, query=query)) == 5
        made = sf.publish_file(
            f"{address}/people.csv", SCHEMA, sf.Mondrian(), sf.KAnonymity(3), tmp_path / "out"
        )
        assert made.rows == 12
        with pytest.raises(DataError, match="the server says 404"):
            sf.read(f"{address}/nothing.csv?key=hush", SCHEMA)
    with pytest.raises(DataError, match="cannot fetch") as caught:
        sf.read(f"{address}/people.csv?key=hush", SCHEMA)
    assert "hush" not in str(caught.value)
    assert not [*(tmp_path / "temporary").iterdir()]


def test_keys_in_addresses_are_not_shown() -> None:
    assert shown_address("s3://key:secret@bucket/a.csv?token=x") == "s3://bucket/a.csv"


def test_plain_text_on_the_way_is_warned_of() -> None:
    address = "http://nowhere.invalid/people.csv"  # a name that no resolver has
    with pytest.warns(SfumatoWarning, match="without encryption"), pytest.raises(DataError):
        sf.read(address, SCHEMA)


def test_lazy_frames_compute_what_is_wanted() -> None:
    lazy = pl.DataFrame(PEOPLE).lazy()
    bad = pl.col("name").str.to_integer()  # fails when it is computed
    assert ages(sf.read(lazy.with_columns(bad), SCHEMA)) == PEOPLE["age"].to_pylist()
    with pytest.raises(DataError, match="cannot compute the polars LazyFrame"):
        read_table(lazy.with_columns(bad))


def test_duckdb_connections_and_relations() -> None:
    with duckdb.connect() as connection:
        connection.register("arrow_people", PEOPLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM arrow_people")
        for found in (
            sf.read(connection, SCHEMA, query="people"),
            sf.read(connection, SCHEMA, query="SELECT * FROM people ORDER BY age"),
            sf.read(connection.table("people"), SCHEMA),
        ):
            assert sorted(ages(found)) == PEOPLE["age"].to_pylist()
        with pytest.raises(ParameterError, match=r"connection\.table"):
            sf.read(connection, SCHEMA)
        with pytest.raises(DataError, match="the query on the DuckDB connection failed"):
            sf.read(connection, SCHEMA, query="nothing")


def test_commands_take_several_files_and_what_is_piped_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(path) for path in write_parts(tmp_path / "parts")]
    sf.write_schema(tmp_path / "s.toml", SCHEMA)
    options = ["-s", "s.toml", "--k", "3", "--no-audit", "--json"]
    done = sfumato(tmp_path, "publish", *paths, *options, "-o", "several")
    assert json.loads(done.stdout)["rows"] == 12
    sink = pa.BufferOutputStream()
    pq.write_table(PEOPLE, sink)
    piped = {
        "csv": texts(PEOPLE),
        "parquet": sink.getvalue().to_pybytes(),
        "jsonl": "".join(json.dumps(row) + "\n" for row in PEOPLE.to_pylist()).encode(),
        "gz": gzip.compress(texts(PEOPLE)),
    }
    for name, content in piped.items():
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        done = sfumato(tmp_path, "publish", "-", *options, "-o", name)
        assert json.loads(done.stdout)["rows"] == 12, done.stderr
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(texts(PEOPLE))))
    assert "12 rows" in sfumato(tmp_path, "inspect", "-").stdout
    refused = sfumato(tmp_path, "inspect", "-", paths[0])
    assert refused.returncode == 2
    assert "standard input" in refused.stderr


def test_frames_still_work() -> None:
    assert ages(sf.read(pd.DataFrame(PEOPLE.to_pydict()), SCHEMA)) == PEOPLE["age"].to_pylist()
