"""The client gives what the local responder gives, over a real server."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import client
from sfumato.client import Connection, connect
from sfumato.core.answer import Result
from sfumato.errors import ParameterError, QueryRefused, RemoteError, SfumatoWarning
from tests.support.waiting import PATIENCE

CONDITIONS = [
    "",
    "  ",
    "disease = 'flu'",
    "age BETWEEN 30 AND 50 AND disease IN ('flu', 'cold')",
    "since >= DATE '2020-06-01' AND disease <> 'flu'",
    "(age < 30 OR age IS NULL)\nAND \"home town\" = 'the \"hill\"' AND disease = 'gout'",
    "disease = 'no such'",
]
QUERIES = [
    "SELECT COUNT(*) FROM t",
    "SELECT sex, disease, COUNT(*) FROM t WHERE age >= 40 GROUP BY sex, disease",
    "SELECT since, COUNT(*) AS n FROM t WHERE disease = 'flu' GROUP BY since",
    "SELECT age, COUNT(*), COUNT(age) FROM t WHERE disease = 'cold' GROUP BY age",
    'SELECT "home town", COUNT(*) FROM t WHERE disease = \'cold\' GROUP BY "home town"',
]
WAGE_QUERIES = [
    "SELECT SUM(wage), AVG(wage), MIN(wage), MAX(wage), COUNT(*) FROM t WHERE age > 30",
    "SELECT sex, AVG(wage) AS mean FROM t GROUP BY sex",
    "SELECT AVG(wage) FROM t WHERE age = 30 AND wage > 9000",
    "SELECT AVG(wage) FROM t WHERE age > 1000",
]


@pytest.fixture(scope="module")
def address(serve: Any, folder_of_people: Path, folder_of_wages: Path) -> str:
    return str(serve(folder_of_people, folder_of_wages))


@pytest.fixture(scope="module")
def people(address: str) -> Iterator[Connection]:
    with connect(address, database="people") as db:
        yield db


@pytest.fixture(scope="module")
def local(folder_of_people: Path) -> sf.StatDB:
    return sf.StatDB.open(folder_of_people)


def same(one: Result, other: Result) -> bool:
    assert one.table.equals(other.table)
    facts = [(r.by, r.names, r.keys, r.answers, r.types) for r in (one, other)]
    return facts[0] == facts[1]


@pytest.mark.parametrize("where", CONDITIONS)
def test_counts_are_those_of_the_local_engine(
    people: Connection, local: sf.StatDB, where: str
) -> None:
    found = people.count(where)
    assert found == local.count(where)
    assert [type(found.estimate), type(found.lo), type(found.hi)] == [float, int, int]


@pytest.mark.parametrize("sql", QUERIES)
def test_results_are_those_of_the_local_engine(
    people: Connection, local: sf.StatDB, sql: str
) -> None:
    assert same(people.query(sql), local.query(sql))
    assert people.query(sql).to_pandas().equals(local.query(sql).to_pandas())


@pytest.mark.parametrize("sql", WAGE_QUERIES)
def test_sums_and_averages_too(address: str, folder_of_wages: Path, sql: str) -> None:
    with connect(address, database="wages") as db:
        assert same(db.query(sql), sf.StatDB.open(folder_of_wages).query(sql))


def test_queries_may_be_objects(people: Connection, local: sf.StatDB) -> None:
    query = sf.Query({"since": sf.between(date(2020, 2, 1), date(2020, 5, 1)), "disease": ["flu"]})
    assert people.count(query) == local.count(query)
    split = sf.Query(query.where, by=["since"])
    found = people.query(split)
    assert same(found, local.query(split))
    assert found.keys[0] == (date(2020, 2, 1),)


def test_workloads_come_as_arrays(
    people: Connection, local: sf.StatDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_BATCH", 7)
    queries: list[str | sf.Query] = [
        f"SELECT COUNT(*) FROM t WHERE age < {age} AND disease = 'flu'" for age in range(20, 40)
    ]
    queries.append(sf.Query({"disease": ["gout", "cold"], "job": ["cook"]}))
    found, wanted = people.counts(queries), local.counts(queries)
    for name in ("estimate", "lo", "hi"):
        got, told = getattr(found, name), getattr(wanted, name)
        assert got.dtype == told.dtype
        assert np.array_equal(got, told)
    assert len(people.counts([])) == 0


def test_long_workloads_are_cut_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_BATCH_BYTES", 100)
    questions = [{"sql": "x" * 60} for _ in range(3)]
    assert [len(batch) for batch in client._batches(questions)] == [1, 1, 1]


@pytest.mark.parametrize(
    "where",
    ["age < 30 AND deseaze = 'flu'", "age < ", "age < 3 GROUP BY sex", "since = 'yesterday'"],
)
def test_refusals_are_those_of_the_local_engine(
    people: Connection, local: sf.StatDB, where: str
) -> None:
    with pytest.raises(QueryRefused) as here:
        local.count(where)
    with pytest.raises(QueryRefused) as there:
        people.count(where)
    assert str(there.value) == str(here.value)
    assert there.value.position == here.value.position


def test_refused_queries_keep_their_place(people: Connection) -> None:
    with pytest.raises(QueryRefused, match="did you mean 'sex'") as refusal:
        people.query("SELECT COUNT(*) FROM t WHERE sexx = 'male'")
    assert refusal.value.position == 30
    with pytest.raises(QueryRefused) as refusal:
        people.counts(["SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t WHERE sexx = 'male'"])
    assert refusal.value.position == 30


def test_counts_refuse_what_is_no_count(people: Connection) -> None:
    for ask in (people.count, lambda query: people.counts([query])):
        with pytest.raises(QueryRefused, match="use query for the rest"):
            ask(sf.Query(by=["sex"]))
    with pytest.raises(QueryRefused, match="use query for the rest"):
        people.counts(["SELECT sex, COUNT(*) FROM t GROUP BY sex"])


def test_what_the_server_tells_about_itself(people: Connection) -> None:
    schema = people.schema()
    assert schema["database"] == "people"
    assert {one["name"] for one in schema["attributes"]} >= {"age", "home town", "disease"}
    assert [one["name"] for one in people.databases()] == ["people", "wages"]
    assert repr(people) == "Connection(database='people')"


def test_a_database_has_to_be_chosen(address: str) -> None:
    with pytest.raises(ParameterError, match=r"choose one; the server has 'people', 'wages'"):
        connect(address)
    with pytest.raises(ParameterError, match=r"there is no 'other'"):
        connect(address, database="other")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "http://", "http://host:port"])
def test_addresses_are_checked(url: str) -> None:
    with pytest.raises(ParameterError, match="no address of a server"):
        connect(url)


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(RemoteError, match="is the server running") as error:
            connect(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (error.value.status, error.value.code) == (0, "unreachable")


def test_tokens(serve: Any, folder_of_wages: Path, tmp_path: Path) -> None:
    from sfumato.statdb.access.tokens import Tokens

    folder = tmp_path / "guarded.statdb"
    shutil.copytree(folder_of_wages, folder, ignore=shutil.ignore_patterns("access*", "ledger*"))
    _, secret = Tokens.open(folder).create("a test", "analyst")
    address = serve(folder, require_tokens=True)
    for token in (None, "sfu_wrong"):
        with pytest.raises(RemoteError) as error:
            connect(address, token)
        assert (error.value.status, error.value.code) == (401, "unauthorized")
        assert error.value.hint
        assert error.value.request_id
    with connect(address, secret) as db:
        assert db.count().lo == 400
    with pytest.raises(ParameterError, match="this is no token"):
        connect(address, "sfu_\nX: y")


# ----- a server that misbehaves


COUNT_OF_2 = {"count": {"lo": 1, "hi": 3, "estimate": 2}}
ANSWER = {"by": [], "aggregates": ["count"], "rows": [{"answers": COUNT_OF_2}]}


class Moody(BaseHTTPRequestHandler):
    """Answers as told: a status with Retry-After, "cut" for a lost connection, or an answer."""

    protocol_version = "HTTP/1.1"
    moods: list[Any]
    connections: set[Any]

    def do_GET(self) -> None:
        self.reply(200, {"databases": [{"name": "only"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.connections.add(self.client_address)
        mood = self.moods.pop(0) if self.moods else 200
        if mood == "cut":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif mood == 200:
            self.reply(200, ANSWER)
        elif mood == "html":
            self.reply(502, "<html>bad gateway</html>")
        else:
            error = {"code": "busy", "message": "too many", "hint": "wait", "request_id": "7"}
            self.reply(429, {"error": error}, {"Retry-After": str(mood)})

    def reply(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def moody() -> Iterator[str]:
    Moody.moods, Moody.connections = [], set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Moody) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("sfumato.client.time.sleep", found.append)
    return found


def test_one_connection_is_kept(moody: str) -> None:
    with connect(moody) as db:
        for _ in range(5):
            assert db.count().hi == 3
        assert len(Moody.connections) == 1


def test_a_busy_server_is_asked_again_when_it_says_so(moody: str, pauses: list[float]) -> None:
    Moody.moods = [2, 1]
    with connect(moody) as db:
        assert db.count().hi == 3
    assert pauses == [2, 1]


def test_patience_ends(moody: str, pauses: list[float]) -> None:
    Moody.moods = [1] * 9
    with connect(moody) as db, pytest.raises(RemoteError, match="too many; wait") as error:
        db.count()
    assert len(pauses) == 4
    assert (error.value.status, error.value.code, error.value.request_id) == (429, "busy", "7")
    Moody.moods = [3600]
    with connect(moody) as db, pytest.raises(RemoteError):
        db.count()
    assert len(pauses) == 4


def test_a_lost_connection_is_made_again(moody: str, pauses: list[float]) -> None:
    Moody.moods = ["cut", "cut"]
    with connect(moody) as db:
        assert db.count().hi == 3
        Moody.moods = ["cut"] * 9
        with pytest.raises(RemoteError, match="no answer from"):
            db.count()
        Moody.moods = []
        assert db.count().hi == 3


def test_a_proxy_that_speaks_html(moody: str) -> None:
    Moody.moods = ["html"]
    with connect(moody) as db, pytest.raises(RemoteError, match="status 502") as error:
        db.count()
    assert (error.value.status, error.value.code) == (502, "unexpected")


def test_tokens_are_not_sent_in_the_open_without_a_word() -> None:
    with pytest.warns(SfumatoWarning, match="use https"):
        client._Line.to("http://example.org", "sfu_x", 1.0, 1.0)
