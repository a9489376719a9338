"""Real clients: psql, SQLAlchemy and the JDBC driver; skipped where they are not there."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import MetaData, Table, create_engine, func, inspect, select
from sqlalchemy.types import BIGINT, DATE, TEXT

from tests.server.wire.kit import Served
from tests.support.waiting import PATIENCE

PSQL, JAVA = shutil.which("psql"), shutil.which("java")
DRIVER = Path("/usr/share/java/postgresql.jar")
COLUMNS = ["age", "sex", "job", "since", "home town", "disease"]

needs_psql = pytest.mark.skipif(
    PSQL is None, reason="psql is not there (Debian: postgresql-client)"
)
needs_jdbc = pytest.mark.skipif(
    JAVA is None or shutil.which("javac") is None or not DRIVER.exists(),
    reason="a JDK and the driver are not there (Debian: openjdk-17-jdk libpostgresql-jdbc-java)",
)


def psql(served: Served, *commands: str) -> subprocess.CompletedProcess[str]:
    told = [part for one in commands for part in ("-c", one)]
    return subprocess.run(
        [str(PSQL), served.address("people"), "--no-psqlrc", "--csv", "-w", *told],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@needs_psql
def test_psql_asks(served: Served) -> None:
    done = psql(
        served,
        "SELECT sex, count(*) n FROM people GROUP BY 1 ORDER BY n DESC",
        "BEGIN", "SET extra_float_digits = 3", "SHOW server_version", "COMMIT",
        "SELECT 1; SELECT COUNT(*) FROM people;",
    )  # fmt: skip
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "sex,n_lo,n_hi"
    assert {line.split(",")[0] for line in lines[1:3]} == {"male", "female"}
    assert lines[3:5] == ["BEGIN", "SET"]
    assert lines[6].startswith("14.0 (sfumato")
    assert lines[7:] == ["COMMIT", "?column?", "1", "count_lo,count_hi", "600,600"]


@needs_psql
def test_psql_looks_around(served: Served) -> None:
    done = psql(served, r"\dt", r"\d people", r"\d+ people", r"\l", r"\dn", r"\du", r"\df", r"\z",
                r"\dT", r"\dx", r"\dp", r"\conninfo")  # fmt: skip
    assert done.stderr == ""
    assert "public,people,table,sfumato" in done.stdout
    assert "home town,text,default,," in done.stdout


@needs_psql
def test_psql_shows_where_a_question_is_wrong(served: Served) -> None:
    done = psql(served, "SELECT COUNT(*) FROM people WHERE agee > 3")
    assert done.returncode == 1
    assert "no column 'agee'; did you mean 'age'?" in done.stderr
    first, second = done.stderr.splitlines()[1:3]
    assert first.index("agee") == second.index("^")


def test_sqlalchemy_reflects_and_asks(served: Served) -> None:
    engine = create_engine(f"postgresql+psycopg://tester@127.0.0.1:{served.port}/people")
    seen = inspect(engine)
    assert seen.get_table_names() == ["people"]
    assert seen.has_table("people")
    assert not seen.has_table("others")
    kinds = {one["name"]: type(one["type"]) for one in seen.get_columns("people")}
    assert list(kinds) == COLUMNS
    assert (kinds["age"], kinds["sex"], kinds["since"]) == (BIGINT, TEXT, DATE)
    assert seen.get_pk_constraint("people")["constrained_columns"] == []
    assert not seen.get_foreign_keys("people")
    assert not seen.get_indexes("people")
    table = Table("people", MetaData(), autoload_with=engine)
    asked = (
        select(table.c.sex, func.count().label("n"))
        .where(table.c.age >= 30, table.c.since < datetime.date(2020, 6, 1))
        .group_by(table.c.sex)
        .order_by(func.count().desc())
        .limit(1)
    )
    with engine.connect() as connection:
        (found,) = connection.execute(asked).all()
        plain = (
            "SELECT COUNT(*) FROM people WHERE age >= 30 AND since < DATE '2020-06-01' AND sex ="
        )
        assert served.rows("people", f"{plain} '{found[0]}'") == [tuple(found[1:])]
    engine.dispose()


@needs_jdbc
def test_jdbc_asks_for_all_metadata_and_for_binary(served: Served) -> None:
    done = subprocess.run(
        [str(JAVA), "-Xshare:auto", "-cp", DRIVER, Path(__file__).parent / "Metadata.java",
         f"jdbc:postgresql://127.0.0.1:{served.port}/people?user=tester", "people"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert told["catalogs"] == " [people]"
    assert "|public|people|TABLE|" in told["tables"]
    assert all(f"|people|{name}|" in told["columns"] for name in COLUMNS)
    plain = "sex = 'female' AND age >= 30 AND since = DATE '2020-03-01'"
    ((lo, hi),) = served.rows("people", f"SELECT COUNT(*) FROM people WHERE {plain}")
    asked = [line for line in done.stdout.splitlines() if line.startswith("asked")]
    assert asked == [f"asked: [2020-03-01|{lo}|{hi}]"] * 7
