"""sf.connect("postgresql://...") gives the very answers that HTTP and the database give."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.server.wire.startup import tls_context
from tests.server.kit import copied, records, secret
from tests.server.wire.kit import Served, serving
from tests.server.wire.test_door import certificate

QUESTIONS = (
    "SELECT COUNT(*) FROM t",
    "SELECT sex, since, COUNT(*) FROM t WHERE age < 40 GROUP BY sex, since",
    "SELECT age, COUNT(*) AS n FROM t WHERE age IS NULL OR age < 20 GROUP BY age",
)


def test_answers_are_those_of_http(served: Served, folder_of_people: Path) -> None:
    with (
        sf.connect(f"postgresql://127.0.0.1:{served.port}/people") as db,
        sf.connect(served.url, database="people") as http,
    ):
        for sql in QUESTIONS:
            mine, other = db.query(sql), http.query(sql)
            assert mine.table.equals(other.table)
            assert (mine.by, mine.names, mine.keys, mine.answers, mine.types) == (
                other.by, other.names, other.keys, other.answers, other.types
            )  # fmt: skip
        where = "age BETWEEN 30 AND 50 AND disease = 'flu'"
        assert db.count(where) == http.count(where)
        query = sf.Query({"home town": ['the "hill"'], "sex": ["female"]})
        assert db.count(query) == http.count(query)
        texts = [f"SELECT COUNT(*) FROM t WHERE age < {age}" for age in range(20, 90)]
        many, others = db.counts(texts), http.counts(texts)
        for one in ("estimate", "lo", "hi"):
            assert (getattr(many, one) == getattr(others, one)).all()
        assert db.schema() == http.schema()
        assert db.databases() == [one for one in http.databases() if one["name"] == "people"]


def test_averages_too(served: Served) -> None:
    sql = "SELECT sex, AVG(wage), MAX(wage), SUM(wage) FROM t GROUP BY sex"
    with (
        sf.connect(f"postgresql://127.0.0.1:{served.port}/wages") as db,
        sf.connect(served.url, database="wages") as http,
    ):
        assert db.query(sql).table.equals(http.query(sql).table)


def test_a_token_over_tls_and_what_is_refused(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    token = secret(folder, "analyst")
    chain, key = certificate(tmp_path)
    with serving(folder, tls=tls_context(chain, key)) as served:
        url = f"postgresql://127.0.0.1:{served.port}/people"
        with sf.connect(f"{url}?sslrootcert={chain}", token=token) as db:
            assert db.count().lo == 600
            with pytest.raises(sf.errors.QueryRefused, match="did you mean 'age'"):
                db.query("SELECT COUNT(*) FROM t WHERE agee = 3")
            assert db.count().lo == 600
            db.close()  # as if it had been lost
            assert db.count().lo == 600
        with pytest.raises(sf.errors.RemoteError, match="token is unknown"):
            sf.connect(url, token="sfu_")
    assert len(records(folder)) == 4
    with pytest.raises(sf.errors.RemoteError, match="no answer"):
        sf.connect(url, token=token)
    with pytest.raises(sf.errors.ParameterError, match="names no database"):
        sf.connect("postgresql://127.0.0.1")


def test_every_answer_has_its_receipt(served: Served) -> None:
    with (
        served.connected("people") as connection,
        sf.connect(served.url, database="people") as http,
    ):
        sql = b"SELECT COUNT(*) FROM people WHERE age = 44"
        connection.execute(sql)
        ((receipt,),) = connection.execute("SHOW sfumato.receipt").fetchall()
        assert connection.pgconn.parameter_status(b"sfumato.receipt") == receipt.encode()
        told = http.check(receipt)
        assert told is not None
        assert told["record"]["question"] == sql.decode()
