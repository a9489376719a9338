"""Requests that come again in the same bytes: known where a request begins, and nowhere else."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.server.edge import Gate
from sfumato.server.limits import Limits
from sfumato.server.logs import Log
from sfumato.server.repeating import repeating
from sfumato.server.repeats import repeated
from sfumato.server.serving import create_app
from sfumato.statdb.access.tokens import Tokens
from tests.server.kit import COUNT, FLU, GENEROUS, copied, records, secret
from tests.server.test_reload import change
from tests.support.waiting import PATIENCE


class Pipe:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.ended = False

    def write(self, data: bytes) -> None:
        assert not self.ended
        self.written += data

    def close(self) -> None:
        self.ended = True

    abort = close

    def is_closing(self) -> bool:
        return self.ended

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 5) if name == "peername" else None

    def pause_reading(self) -> None: ...

    resume_reading = pause_reading


class Talk:
    """One connection, fed by hand."""

    def __init__(self, app: Any) -> None:
        import uvicorn
        from uvicorn.server import ServerState

        kind = repeating(Gate(app.service.limits, 10, app.service.metrics.refused), app.service)
        self.pipe: Any = Pipe()
        config = uvicorn.Config(app, ws="none", log_config=None)
        self.connection: Any = kind(config=config, server_state=ServerState(), app_state={})
        self.connection.connection_made(cast(Any, self.pipe))

    def feed(self, data: bytes) -> None:
        self.connection.data_received(data)

    async def settled(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.connection.is_idle() or self.connection.pipeline:
                await asyncio.sleep(0.001)

    async def ask(self, data: bytes) -> tuple[int, Any]:
        before = len(self.answers())
        self.feed(data)
        await self.settled()
        (answer,) = self.answers()[before:]
        return answer

    def answers(self) -> list[tuple[int, Any]]:
        """Statuses and bodies, in order."""
        found, rest = [], self.pipe.written
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
            found.append((int(head.split()[1]), json.loads(rest[:length])))
            rest = rest[length:]
        return found


def request(sql: str, lines: str = "", line: str = "POST /v1/query HTTP/1.1") -> bytes:
    body = json.dumps({"sql": sql}).encode()
    head = f"{line}\r\nHost: localhost\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


KNOWN = request(FLU)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was answered without being read."""
    found: list[bytes] = []

    def noted(service: Any, content: bytes, *others: Any) -> bool:
        is_known = repeated(service, content, *others)
        if is_known:
            found.append(content)
        return is_known

    monkeypatch.setattr("sfumato.server.repeating.repeated", noted)
    return found


@contextmanager
def application(folder: Path, limits: Limits = GENEROUS) -> Iterator[Any]:
    app = create_app([folder], limits=limits, log=Log(io.StringIO()))
    try:
        yield app
    finally:
        app.service.close()


def talked(
    folder: Path, talk: Callable[[Talk, Any], Awaitable[None]], limits: Limits = GENEROUS
) -> None:
    with application(folder, limits) as app:

        async def run() -> None:
            await talk(Talk(app), app)

        asyncio.run(run())


@pytest.fixture
def folder(folder_of_people: Path, tmp_path: Path) -> Path:
    return copied(folder_of_people, tmp_path)


def lines_of(head: bytes) -> list[bytes]:
    """A head, without what differs from answer to answer."""
    passing = (b"x-request-id", b"x-receipt", b"date")
    return sorted(one for one in head.split(b"\r\n") if not one.startswith(passing))


def test_a_request_that_comes_again_is_answered_and_recorded_alike(
    folder: Path, known: list[bytes]
) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        found = [await talk.ask(KNOWN) for _ in range(5)]
        assert known == [KNOWN] * 3
        ids, receipts = [{one.pop(name) for _, one in found} for name in ("request_id", "receipt")]
        assert len(ids) == len(receipts) == 5
        assert found == [found[0]] * 5
        heads = re.findall(rb"HTTP/1.1 .*?(?=\r\n\r\n)", talk.pipe.written, re.DOTALL)
        assert lines_of(heads[4]) == lines_of(heads[0])
        assert app.service.meter.running == 0
        app.service.log.flush()
        assert app.service.metrics.questions["people", "cached"] == 4

    talked(folder, talk)
    told = [(one.entry.question, one.entry.answer, one.entry.canonical) for one in records(folder)]
    assert told == [told[0]] * 5


@pytest.mark.parametrize(
    "bytes_of_one",
    [
        request(FLU, "Connection: close\r\n"),
        request(FLU, "Expect: 100-continue\r\n"),
        request(FLU, "Connection: upgrade\r\nUpgrade: h2c\r\n"),
        request(FLU, line="POST /v1/query?format=csv HTTP/1.1"),
        request(FLU, line="POST /v1/query HTTP/1.0"),
        request(FLU, f"X: {'y' * 10_000}\r\n"),
        b"HEAD /v1/query?sql=SELECT%20COUNT(*)%20FROM%20t HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_not_plain_is_read_each_time(
    folder: Path, known: list[bytes], bytes_of_one: bytes
) -> None:
    with application(folder) as app:

        async def run() -> None:
            for _ in range(4):
                talk = Talk(app)
                await talk.ask(KNOWN)
                talk.feed(bytes_of_one)
                await talk.settled()

        asyncio.run(run())
    assert bytes_of_one not in known


def test_the_bytes_of_a_known_request_inside_of_another_are_its_body(
    folder: Path, known: list[bytes]
) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        for _ in range(3):
            await talk.ask(KNOWN)
        known.clear()
        head = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n"
        for path, status in (("/v1/query", 400), ("/nowhere", 404), ("/v1/explain", 400)):
            talk.feed(head.format(path, len(KNOWN)).encode())
            await asyncio.sleep(0.01)  # what does not wait for its body is answered now
            before = talk.pipe.written.count(b"HTTP/1.1 200")
            talk.feed(KNOWN)
            await talk.settled()
            assert talk.pipe.written.count(b"HTTP/1.1 200") == before
            assert talk.answers()[-1][0] == status
        talk.feed(KNOWN[:20])
        talk.feed(KNOWN)  # the rest of a head that is none
        assert known == []

    talked(folder, talk)


def test_two_requests_that_come_at_once_are_two(folder: Path, known: list[bytes]) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        for turn in range(4):
            talk.feed(2 * KNOWN)
            async with asyncio.timeout(PATIENCE):
                while len(talk.answers()) < 2 * (turn + 1):
                    await asyncio.sleep(0.001)
        await talk.settled()
        assert len(talk.answers()) == 8

    talked(folder, talk)
    assert 2 * KNOWN not in known


def test_a_revoked_token_opens_nothing(folder: Path, known: list[bytes]) -> None:
    own = request(FLU, f"Authorization: Bearer {secret(folder, 'analyst')}\r\n")

    async def talk(talk: Talk, app: Any) -> None:
        for _ in range(3):
            assert (await talk.ask(own))[0] == 200
        with Tokens.open(folder) as tokens:
            tokens.revoke(tokens.all()[0].id)
        (served,) = app.service.databases.values()
        async with asyncio.timeout(PATIENCE):
            while (await talk.ask(own))[0] == 200:
                await asyncio.sleep(0.01)
        assert talk.answers()[-1][1]["error"]["code"] == "unauthorized"
        assert served.ledger.writable()

    talked(folder, talk)
    assert own in known


def test_who_is_over_the_limit_is_told(folder: Path, known: list[bytes]) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        statuses = [(await talk.ask(KNOWN))[0] for _ in range(7)]
        assert statuses == [200] * 5 + [429] * 2
        assert app.service.meter.running == 0

    talked(folder, talk, Limits(rate=0.001, burst=5))
    assert len(known) == 3


def test_nothing_leaves_that_cannot_be_recorded(
    folder: Path, known: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise OSError("no room")

    async def talk(talk: Talk, app: Any) -> None:
        for _ in range(3):
            await talk.ask(KNOWN)
        (served,) = app.service.databases.values()
        with monkeypatch.context() as patched:
            patched.setattr(type(served.ledger._ledger), "append", broken)
            status, told = await talk.ask(KNOWN)
            assert (status, told["error"]["code"]) == (503, "ledger_unavailable")
        assert (await talk.ask(KNOWN))[0] == 200
        assert app.service.meter.running == 0

    talked(folder, talk)
    assert len(known) == 3


def test_rows_that_no_longer_hold_are_not_answered_from(folder: Path, known: list[bytes]) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        for _ in range(3):
            assert (await talk.ask(KNOWN))[1]["generation"] == 1
        await asyncio.to_thread(change, folder, 0)
        talk.feed(KNOWN)  # nobody has looked yet: only the ledger knows
        assert len(known) == 2
        watching = asyncio.create_task(app.service.watch())
        await talk.settled()
        assert talk.answers()[-1][1]["generation"] == 2
        assert (await talk.ask(KNOWN))[1]["generation"] == 2
        assert (await talk.ask(KNOWN))[1]["generation"] == 2
        assert len(known) == 4
        watching.cancel()

    talked(folder, talk)
    assert [one.entry.generation for one in records(folder)] == [1, 1, 1, 2, 2, 2]


def test_a_server_that_stops_gives_the_answer_that_is_under_way(
    folder: Path, known: list[bytes]
) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        for _ in range(3):
            await talk.ask(KNOWN)
        talk.feed(KNOWN)
        assert len(known) == 2
        assert not talk.connection.is_idle()
        talk.connection.shutdown()
        await talk.settled()
        assert talk.pipe.ended
        assert len(talk.answers()) == 4
        assert b"connection: close" in talk.pipe.written

    talked(folder, talk)


def test_who_hangs_up_meanwhile_is_forgotten(folder: Path, known: list[bytes]) -> None:
    async def talk(talk: Talk, app: Any) -> None:
        for _ in range(3):
            await talk.ask(KNOWN)
        talk.feed(KNOWN)
        assert len(known) == 2
        talk.pipe.close()
        talk.connection.connection_lost(None)
        await talk.settled()
        assert len(talk.answers()) == 3
        assert app.service.meter.running == 0

    talked(folder, talk)
    assert len(records(folder)) == 4


OTHERS = [
    request(COUNT),
    request("SELECT COUNT(*) FROM nowhere WHERE"),
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\r\n" + KNOWN,
    b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%s\r\n0\r\n\r\n" % (len(KNOWN), KNOWN),
]
STATUSES = {KNOWN: 200, **dict(zip(OTHERS, (200, 422, 200, 200, 400), strict=True))}


@pytest.fixture(scope="module")
def shared(folder_of_people: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with application(copied(folder_of_people, tmp_path_factory.mktemp("shared"))) as app:
        yield app


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sequence=st.lists(st.one_of(st.just(KNOWN), st.sampled_from(OTHERS)), min_size=1, max_size=8),
    cuts=st.lists(st.tuples(st.integers(0, 2_000), st.booleans()), max_size=6),
    at_ends=st.booleans(),
)
def test_however_the_bytes_come_every_request_has_its_own_answer_in_turn(
    shared: Any, sequence: list[bytes], cuts: list[tuple[int, bool]], at_ends: bool
) -> None:
    whole = b"".join(sequence)
    places = {at % len(whole): waits for at, waits in cuts}
    if at_ends:  # requests come one by one, but some in pieces
        end = 0
        for number, one in enumerate(sequence):
            end += len(one)
            places.setdefault(end, number % 3 != 0)

    async def run() -> None:
        talk, before = Talk(shared), 0
        for at in sorted({*places, len(whole)}):
            if whole[before:at]:
                talk.feed(whole[before:at])
            if places.get(at):
                await asyncio.sleep(0.002)
            before = at
        async with asyncio.timeout(PATIENCE):
            while len(talk.answers()) < len(sequence):
                await asyncio.sleep(0.002)
        await talk.settled()
        assert [status for status, _ in talk.answers()] == [STATUSES[one] for one in sequence]
        asked = [told.get("canonical") for _, told in talk.answers()]
        for one, canonical in zip(sequence, asked, strict=True):
            if one.endswith(KNOWN):
                assert "flu" in canonical
            elif one == OTHERS[0]:
                assert "flu" not in canonical

    asyncio.run(run())
