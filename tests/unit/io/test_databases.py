"""Databases: a real PostgreSQL server, and DuckDB files."""

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sfumato.core.schema import Schema
from sfumato.engines.reading import read
from sfumato.errors import DataError, MissingExtra, ParameterError
from sfumato.io.databases import _without_secrets, shown_source
from sfumato.io.tables import read_table
from tests.support.postgres import postgres_server

SETUP = '''
CREATE TYPE mood AS ENUM ('calm', 'cross');
CREATE TABLE patients (
    name text, age int, weight numeric(5, 2), visits numeric, share numeric, born date,
    feels mood, code uuid, tags text[], stay interval, note json
);
INSERT INTO patients VALUES
    ('Ada', 30, 61.50, 12, 'NaN', '1990-05-01', 'calm', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
     '{a,b}', '1 day', '{"a": 1}'),
    ('Bo', NULL, NULL, NULL, 0.25, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE SCHEMA ward;
CREATE TABLE ward."Odd name" ("Quoted ""column""" int);
INSERT INTO ward."Odd name" VALUES (7);
CREATE SEQUENCE numbers;
'''


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    import adbc_driver_postgresql.dbapi as driver

    with postgres_server() as server:
        url = server.get_uri()
        with driver.connect(url) as connection, connection.cursor() as cursor:
            for statement in SETUP.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
            connection.commit()
        yield url


@pytest.mark.slow
def test_postgres_types(postgres: str) -> None:
    table = read_table(postgres, query="patients")
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["age"] == pa.int32()
    assert kinds["weight"] == pa.float64()
    assert kinds["visits"] == pa.int64()
    assert kinds["born"] == pa.date32()
    rows = table.to_pylist()
    assert rows[0] == {
        "name": "Ada",
        "age": 30,
        "weight": 61.5,
        "visits": 12,
        "share": None,
        "born": dt.date(1990, 5, 1),
        "feels": "calm",
        "code": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "tags": "{a,b}",
        "stay": "1 day",
        "note": '{"a": 1}',
    }
    assert {name for name, value in rows[1].items() if value is not None} == {"name", "share"}
    assert all(field.metadata is None for field in table.schema)


def test_postgres_queries(postgres: str) -> None:
    schema = Schema(identifiers=["name"], quasi=["age"], sensitive="feels")
    table = read(postgres, schema, query="SELECT * FROM patients WHERE age > 1 -- adults\n;")
    assert len(table) == 1
    found = read_table(postgres, query='ward."Odd name"')
    assert found.to_pydict() == {'Quoted "column"': [7]}
    assert read_table(postgres, query="TABLE patients", columns=["age"]).num_rows == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("patiens", "\"patiens\" does not exist; did you mean 'patients'"),
        ("SELECT * FROM zzzzzz", '"zzzzzz" does not exist$'),
        ("SELECT nope FROM patients", 'column "nope" does not exist'),
        ("SELCT 1", "syntax error"),
        ("DELETE FROM patients", "syntax error"),
        (
            "WITH d AS (DELETE FROM patients RETURNING *) SELECT * FROM d",
            "must be at the top level",
        ),
        ("SELECT nextval('numbers')", "read-only transaction"),
        ("SELECT age, age FROM patients", "2 columns named 'age'"),
        ("SELECT age / 0 AS x FROM patients", "division by zero"),
        ("SELECT * FROM patients WHERE age < 0", "no rows"),
    ],
)
def test_postgres_refuses(postgres: str, query: str, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read_table(postgres, query=query)
    assert "\n" not in str(caught.value)
    assert "LIMIT 0" not in str(caught.value)
    assert read_table(postgres, query="patients").num_rows == 2


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("localhost:1/db", "no server is listening"),
        ("nowhere.invalid/db", "the host is unknown"),
        ("nowhere.invalid/db?sslmode=nonsense", "cannot connect"),
    ],
)
@pytest.mark.parametrize("password", ["topsecret", "top%zzsecret", "top@secret", "top?sec/ret", ""])
def test_passwords_are_not_repeated(place: str, said: str, password: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(f"postgresql://user:{password}@{place}", query="patients")
    error = caught.value
    if password == "topsecret":
        assert said in str(error)
    for text in (str(error), error.source or "", repr(error.__cause__), repr(error.args)):
        for part in ("top", "sec", "ret"):
            assert part not in text
    assert error.__suppress_context__


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:pw@host:5432/db", "postgresql://host:5432/db"),
        ("postgres://host/db?user=u&password=p@w", "postgresql://host/db"),
        ("postgresql://u:p@w/x@host/db?sslpassword=a", "postgresql://host/db"),
        ("postgresql:///db?host=/tmp", "postgresql:///db"),
    ],
)
def test_what_is_shown_of_a_url(url: str, shown: str) -> None:
    assert _without_secrets(url) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("postgresql://u:pw@host:5432/db", "postgresql://u:***@host:5432/db"),
        ("postgresql://u@host:5432/db", "postgresql://u@host:5432/db"),
        ("postgres://host/db?user=u&password=p@w&x=1", "postgres://host/db?user=u&password=***"),
        (
            "postgresql://u:p@w/x@host/db?sslpassword=pw",
            "postgresql://u:***@host/db?sslpassword=***",
        ),
        ("postgresql://u:pw?password=pw@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u:top?pw/pw@host/db", "postgresql://u:***@host/db"),
        ("mysql://u:pw@host/db", "mysql://u:***@host/db"),
        ("duckdb:///a/b.db", "duckdb:///a/b.db"),
        ("a b/c:d@e.csv", "a b/c:d@e.csv"),
    ],
)
def test_a_source_is_shown_without_its_password(source: str, shown: str) -> None:
    assert shown_source(source) == shown


def test_the_driver_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[postgres\]"):
        read_table("postgresql://localhost/db", query="patients")


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE patients AS SELECT 30 AS age, 'flu' AS disease")
    return path


def test_duckdb_files(duck: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = duck.read_bytes()
    rows = [{"age": 30, "disease": "flu"}]
    assert read_table(f"duckdb://{duck}", query="patients").to_pylist() == rows
    assert read_table(f"duckdb:///{duck}", query="SELECT * FROM patients;").to_pylist() == rows
    monkeypatch.chdir(duck.parent)
    assert read_table("duckdb:///a.db", query="patients").to_pylist() == rows
    assert duck.read_bytes() == before


def test_duckdb_refuses(duck: Path) -> None:
    with pytest.raises(DataError, match="patiens does not exist"):
        read_table(f"duckdb://{duck}", query="patiens")
    with pytest.raises(DataError, match=r"did you mean 'a\.db'"):
        read_table(f"duckdb://{duck.with_name('b.db')}", query="patients")
    duck.write_text("not a database")
    with pytest.raises(DataError, match="not a valid DuckDB database") as caught:
        read_table(f"duckdb://{duck}", query="patients")
    assert "\n" not in str(caught.value)


def test_a_database_needs_a_query() -> None:
    with pytest.raises(ParameterError, match="query='table'"):
        read_table("postgresql://localhost/db")


@pytest.mark.parametrize("start", ["postgresql:", "postgres:/", "PostgreSQL:"])
def test_a_mistyped_url_is_not_repeated(start: str) -> None:
    with pytest.raises(DataError, match="a database URL starts with postgres") as caught:
        read_table(f"{start}user:topsecret@host/db", query="patients")
    assert "topsecret" not in str(caught.value)


def test_other_schemes() -> None:
    with pytest.raises(DataError, match="cannot read from ftp://; use a local file"):
        read_table("ftp://host/a.parquet")
