"""Limits per token, overload without lost records, and a ledger that cannot be written."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sfumato.errors import LedgerError, ParameterError
from sfumato.server import answering, outcomes
from sfumato.server.errors import ApiError
from sfumato.server.limits import Limits, Meter
from sfumato.statdb.access.ledger import Ledger
from tests.server.kit import (
    COUNT,
    FLU,
    Kit,
    bearer,
    copied,
    get,
    process,
    records,
    require_error,
    running,
    secret,
)
from tests.support.waiting import PATIENCE, eventually


def test_a_bucket_fills_again(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    one, other = secret(folder, "analyst"), secret(folder, "analyst")
    with running(folder, limits=Limits(rate=0.5, burst=3)) as kit:
        for _ in range(3):
            kit.answer(FLU, headers=bearer(one))
        reply = kit.ask(FLU, headers=bearer(one))
        require_error(reply, 429, "rate_limited")
        assert 1 <= int(reply.headers["retry-after"]) <= 4
        # another token has its own
        kit.answer(FLU, headers=bearer(other))
        batch = {"queries": [{"sql": FLU}] * 3}
        reply = kit.http.post("/v1/query", json=batch, headers=bearer(other))
        require_error(reply, 429, "rate_limited")
        assert len(kit.records()) == 4


def test_the_meter_counts_time() -> None:
    now = 0.0
    meter = Meter(Limits(rate=2, burst=4), clock=lambda: now)
    meter.take("a", 4)
    with pytest.raises(Exception, match="questions a second") as caught:
        meter.take("a", 3)
    assert caught.value.retry_after == pytest.approx(1.5)  # type: ignore[attr-defined]
    now = 1.5
    meter.take("a", 3)
    now = 100.0
    meter.take("a", 1_000)  # a batch beyond the bucket takes all of it
    with pytest.raises(Exception, match="questions a second"):
        meter.take("a", 1)


@pytest.mark.parametrize("bad", [{"rate": 0}, {"groups": -1}, {"seconds": 0.0}])
def test_limits_that_let_nothing_through(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="more than 0"):
        Limits(**bad)


def test_a_question_that_takes_too_long(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, finished = threading.Event(), threading.Event()

    def reading(*arguments: Any) -> Any:
        slow.wait(PATIENCE)
        finished.set()
        return read(*arguments)

    read = answering.read
    with running(copied(folder_of_people, tmp_path), limits=Limits(seconds=2.0)) as kit:
        monkeypatch.setattr(outcomes, "read", reading)
        require_error(kit.ask(FLU), 504, "timeout")
        assert not finished.is_set()  # it was not waited for
        slow.set()
        last = kit.records()[-1].entry
        assert (last.kind, last.answer) == ("refusal", "timeout")
        kit.answer(COUNT)


@pytest.mark.parametrize("length", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_a_body_that_does_not_come_gives_its_place_back(
    serve: Any, folder_of_people: Path, tmp_path: Path, length: str
) -> None:
    url = serve(copied(folder_of_people, tmp_path), limits=Limits(seconds=5.0, concurrency=1))
    address = urlsplit(url)
    head = f"POST /v1/query HTTP/1.1\r\nHost: {address.netloc}\r\n{length}\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as slow:
        slow.sendall(head.encode())
        # the only place is taken
        eventually(lambda: get(url, "/v1/databases")[0] != 200)
        told = b""
        while part := slow.recv(65_536):  # and the connection ends
            told += part
    start, _, body = told.partition(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["error"]["code"] == "request_timeout"
    assert get(url, "/v1/databases")[0] == 200


def test_strangers_are_told_to_wait_and_others_are_not(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    own = bearer(secret(folder, "analyst"))
    with running(folder, limits=Limits(failures=0.3)) as kit:
        for number in range(3):
            stranger = bearer(f"sfu_{number:012}_{'x' * 43}") if number else {}
            require_error(kit.ask(FLU, headers=stranger), 401, "unauthorized")
        for headers in ({}, bearer("sfu_0123456789ab_" + "x" * 43)):
            reply = kit.ask(FLU, headers=headers)
            require_error(reply, 429, "rate_limited")
            assert 1 <= int(reply.headers["retry-after"]) <= 4
        kit.answer(FLU, headers=own)
        assert kit.http.get("/health").status_code == 200
        assert len(kit.records()) == 1


def test_failures_are_forgotten() -> None:
    now = 0.0
    meter = Meter(Limits(failures=2), clock=lambda: now)
    for _ in range(20):
        meter.fail("a")
    with pytest.raises(ApiError, match="without a valid token") as caught:
        meter.fail("a")
    assert caught.value.retry_after == pytest.approx(0.5)
    meter.fail("b")
    now = 0.5
    meter.fail("a")


def test_many_groups_stop_in_the_middle(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.statdb.responder import Responder

    counted = Responder.counted

    def slowly(self: Responder, conditions: Any) -> Any:
        asked_for.append(conditions)
        if len(asked_for) > 1:  # the first question is quick
            time.sleep(0.1)
        return counted(self, conditions)

    asked_for: list[Any] = []

    asked = {"queries": [{"sql": FLU}, {"sql": "SELECT age, COUNT(*) FROM t GROUP BY age"}]}
    with running(copied(folder_of_people, tmp_path), limits=Limits(seconds=3.0)) as kit:
        monkeypatch.setattr(Responder, "counted", slowly)
        told = kit.http.post("/v1/query", json=asked).json()["results"]
        assert "rows" in told[0]
        assert told[1]["error"]["code"] == "timeout"
        # the thread gave up, too: nothing of it is left in the way
        kit.answer(f"{COUNT} WHERE sex = 'male'")


def test_overload_gives_429_and_loses_no_record(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    limits = Limits(rate=150, burst=60, concurrency=4, together=8)
    with running(folder, limits=limits) as kit:
        answered, refused = asyncio.run(_storm(kit, requests=400, clients=40))
    logged = {record.entry.request_id for record in records(folder)}
    assert answered
    assert refused
    assert answered <= logged
    assert not refused & logged


async def _storm(kit: Kit, requests: int, clients: int) -> tuple[set[str], set[str]]:
    answered, refused = set[str](), set[str]()
    waiting = iter(range(requests))
    transport = httpx.ASGITransport(app=kit.app)

    async def client(http: httpx.AsyncClient) -> None:
        for number in waiting:
            sql = f"{COUNT} WHERE age > {number % 90}"
            reply = await http.post("/v1/query", json={"sql": sql})
            if reply.status_code == 200:
                answered.add(reply.json()["request_id"])
            else:
                assert reply.status_code == 429, reply.text
                assert int(reply.headers["retry-after"]) >= 1
                assert reply.json()["error"]["code"] in ("busy", "rate_limited")
                refused.add(reply.headers["x-request-id"])

    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        await asyncio.gather(*(client(http) for _ in range(clients)))
    return answered, refused


def test_a_full_disk_stops_answering_and_says_so(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = True
    append = Ledger.append

    def appending(self: Ledger, entries: Any) -> Any:
        if full:
            raise LedgerError("no space left on device", path=tmp_path)
        return append(self, entries)

    with running(copied(folder_of_people, tmp_path)) as kit:
        known = kit.answer(FLU)
        assert kit.http.get("/ready").status_code == 200
        monkeypatch.setattr(Ledger, "append", appending)
        monkeypatch.setattr("sfumato.statdb.access.ledger.can_write", lambda _: not full)
        for sql in (FLU, COUNT, "SELECT nothing"):
            reply = kit.ask(sql)
            require_error(reply, 503, "ledger_unavailable")
            assert int(reply.headers["retry-after"]) >= 1
            assert str(known["rows"]) not in reply.text
        require_error(kit.http.get("/ready"), 503, "ledger_unavailable")
        assert kit.http.get("/health").status_code == 200
        assert 'sfumato_database_ready{database="people"} 0' in kit.http.get("/metrics").text
        full = False
        assert kit.http.get("/ready").status_code == 200
        assert kit.answer(FLU)["rows"] == known["rows"]
        assert len(kit.records()) == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits another process")
def test_a_disk_that_takes_nothing_more(folder_of_people: Path, tmp_path: Path) -> None:
    """A real one: the process may not make any file longer, as on a full disk."""
    import resource

    folder = copied(folder_of_people, tmp_path)
    with process(folder, "--port", 0) as (server, url):
        path = "/v1/query?sql=SELECT%20COUNT(*)%20FROM%20t"
        known = get(url, path)[1]["rows"]
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        for _ in range(3):
            status, told = get(url, path)
            assert (status, told["error"]["code"]) == (503, "ledger_unavailable")
        status, told = get(url, "/ready")
        assert (status, told["error"]["code"]) == (503, "ledger_unavailable")
        assert get(url, "/health")[0] == 200
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        assert get(url, "/ready")[0] == 200
        assert get(url, path)[1]["rows"] == known
    assert [one.entry.kind for one in records(folder)] == ["answer", "answer"]


def test_a_disk_without_room_is_not_ready(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        monkeypatch.setattr("sfumato.statdb.access.ledger_files._ROOM", 2**80)
        require_error(kit.http.get("/ready"), 503, "ledger_unavailable")


def test_a_ledger_that_is_taken_away_stops_answering(
    folder_of_people: Path, tmp_path: Path
) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        kit.answer(FLU)
        (kit.folder / "ledger.sqlite").rename(tmp_path / "elsewhere")
        require_error(kit.ask(FLU), 503, "ledger_unavailable")
        (tmp_path / "elsewhere").rename(kit.folder / "ledger.sqlite")
        assert json.loads(kit.ask(FLU).text)["rows"]
