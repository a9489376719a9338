"""Kill the server with signal 9 at random moments under load, again and again.

    python -m benchmarks.server_kills --kills 1000
    python -m benchmarks.server_kills --several --kills 200

After every kill: each answer that a client has received whole is in the ledger, as it was sent; the
chain of records continues; and every question has the answer that it had before the first kill.

``--several`` runs two servers with one ledger in PostgreSQL, and kills either of them, while the
clients go on asking both. At the end the same must hold of all answers, whoever gave them.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import Line
from sfumato.statdb.access.places import Place

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from sfumato.server.limits import Limits

CLIENTS = 8
QUESTIONS = 300
LIFE = (0.0, 0.5)  # seconds from the first answers to the kill
PATIENCE = 600.0  # seconds; a machine that is busy otherwise is slow


@dataclass(slots=True)
class Tally:
    """What came of all kills so far."""

    kills: int = 0
    answers: int = 0
    records: int = 0
    missing: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not (self.missing or self.different or self.broken)


def run(
    folder: Path | None,  # noqa: ARG001
    kills: int = 30,
    *,
    several: bool = False,
) -> Iterator[Line]:
    """Answers lost by so many kills, of which there must be none."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        path = make_database(Path(place))
        started = time.perf_counter()
        if several:
            from tests.support.postgres import postgres_server

            url = stack.enter_context(postgres_server()).get_uri()
            tally = kill_several(path, url, kills, random.Random(1))
        else:
            tally = kill(path, kills, random.Random(1))
    detail = (
        f"{tally.answers:,} answers received, {tally.records:,} records, "
        f"{time.perf_counter() - started:.0f} s"
    )
    for name, found in (
        ("answers missing in the ledger", tally.missing),
        ("answers that differ", tally.different),
        ("breaks of the chain", tally.broken),
    ):
        of = " of two servers" if several else ""
        yield Line(f"{name}, kill -9{of} x {tally.kills:,}", float(len(found)), 0.0, "", detail)


def make_database(folder: Path, rows: int = 2_000) -> Path:
    """A table of people who do not exist."""
    generator = np.random.default_rng(0)
    table = pa.table(
        {
            "age": generator.integers(18, 90, rows),
            "sex": pa.array(generator.choice(["female", "male"], rows)),
            "illness": pa.array(generator.choice(["asthma", "cold", "flu", "gout"], rows)),
        }
    )
    schema = sf.Schema(quasi=["age", "sex"], sensitive="illness")
    path = folder / "killed.statdb"
    sf.StatDB.create(path, sf.Microdata.from_arrow(table, schema), m=3)
    return path


def kill(path: Path, kills: int, chance: random.Random) -> Tally:
    """Start, load and kill a server so many times."""
    place, context = Place.of(path), _context()
    expected = _expected(path, chance)
    tally, seen = Tally(), _Seen()
    for _ in range(kills):
        process, url = _started(context, place)
        assert process.pid is not None
        answered = asyncio.run(_load(url, list(expected), process.pid, chance))
        process.join(PATIENCE)
        tally.kills += 1
        _check(place, answered, expected, seen, tally)
    _check_chain(place, tally)
    return tally


def kill_several(path: Path, ledger: str, kills: int, chance: random.Random) -> Tally:
    """Load two servers with one ledger, and kill either of them so many times."""
    place, context = Place.of(path, ledger), _context()
    expected = _expected(path, chance)
    servers = [_started(context, place) for _ in range(2)]
    tally = Tally()
    try:
        answered = asyncio.run(_load_both(context, place, servers, list(expected), kills, chance))
    finally:
        for process, _ in servers:
            process.kill()
            process.join(PATIENCE)
    tally.kills = kills
    _check(place, answered, expected, _Seen(), tally)
    _check_chain(place, tally)
    return tally


def _check_chain(place: Place, tally: Tally) -> None:
    with place.ledger(read_only=True) as ledger:
        checked = ledger.verify()
        if not checked.ok:
            tally.broken.append(checked.problem)


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sfumato.server.serving", "uvicorn"])
    return context


def _started(context: Any, place: Place) -> tuple[BaseProcess, str]:
    """A server and its address."""
    ours, theirs = context.Pipe()
    arguments = (str(place.folder), place.url, theirs)
    process = context.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    theirs.close()
    if not ours.poll(PATIENCE):
        raise TimeoutError("the server did not start")
    return process, ours.recv()


@dataclass(slots=True)
class _Seen:
    """How far the ledger was read."""

    number: int = 0
    digest: str = ""


def _expected(path: Path, chance: random.Random) -> dict[str, list[dict[str, Any]]]:
    """Questions, and what a server must answer: lo and hi per group."""
    database = sf.StatDB.open(path)
    found = {}
    for _ in range(QUESTIONS):
        low = chance.randint(18, 80)
        what = chance.choice(["asthma", "cold", "flu", "gout"])
        where = f"age BETWEEN {low} AND {low + chance.randint(0, 30)} AND illness = '{what}'"
        if chance.random() < 0.8:
            text = f"SELECT COUNT(*) FROM t WHERE {where}"
        else:
            text = f"SELECT sex, COUNT(*) FROM t WHERE {where} GROUP BY sex"
        result = database.query(text)
        found[text] = [{"lo": line[0].lo, "hi": line[0].hi} for line in result.answers]
    return found


def limits(**others: Any) -> Limits:
    """Limits that stop nobody."""
    from sfumato.server.limits import Limits

    return Limits(
        **{"rate": 1e9, "burst": 10**9, "concurrency": 1_000, "together": 1_000, **others}
    )


def _serve(path: str, ledger: str | None, pipe: Connection) -> None:
    from sfumato.server.logs import Log
    from sfumato.server.serving import address_of, create_app, listen, run

    app = create_app([path], limits=limits(), log=Log(io.StringIO()), ledger=ledger)
    sock = listen("127.0.0.1", 0)
    pipe.send(address_of(sock))
    run(app, sock)


async def _load(
    url: str, texts: Sequence[str], pid: int, chance: random.Random
) -> list[dict[str, Any]]:
    """Ask until the server is dead; all answers that came whole."""
    answered: list[dict[str, Any]] = []

    async def killer() -> None:
        until = time.monotonic() + PATIENCE
        while not answered and time.monotonic() < until:
            await asyncio.sleep(0.001)
        await asyncio.sleep(chance.uniform(*LIFE))
        os.kill(pid, signal.SIGKILL)

    async with asyncio.timeout(2 * PATIENCE):
        await asyncio.gather(
            killer(), *(_client(url, texts, chance, answered) for _ in range(CLIENTS))
        )
    return answered


async def _load_both(
    context: Any,
    place: Place,
    servers: list[tuple[BaseProcess, str]],
    texts: Sequence[str],
    kills: int,
    chance: random.Random,
) -> list[dict[str, Any]]:
    """Ask two servers until there were so many kills; one that is killed is started again."""
    answered: list[dict[str, Any]] = []
    done = False

    async def client(at: int) -> None:
        while not done:
            await _client(servers[at][1], texts, chance, answered, most=20)
            at = chance.randrange(2)
            await asyncio.sleep(0)

    async def killer() -> None:
        nonlocal done
        for _ in range(kills):
            known, until = len(answered), time.monotonic() + PATIENCE
            while len(answered) == known and time.monotonic() < until:
                await asyncio.sleep(0.001)
            await asyncio.sleep(chance.uniform(*LIFE))
            at = chance.randrange(2)
            servers[at][0].kill()
            await asyncio.to_thread(servers[at][0].join, PATIENCE)
            servers[at] = await asyncio.to_thread(_started, context, place)
        done = True

    async with asyncio.timeout(PATIENCE + 30 * kills):
        await asyncio.gather(killer(), *(client(one % 2) for one in range(CLIENTS)))
    return answered


async def _client(
    url: str,
    texts: Sequence[str],
    chance: random.Random,
    answered: list[dict[str, Any]],
    most: int | None = None,
) -> None:
    """Ask one after the other until the server is gone, or so often."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError:
        return
    with suppress(OSError, asyncio.IncompleteReadError):
        for _ in count() if most is None else range(most):
            text = chance.choice(texts)
            body = json.dumps({"sql": text}).encode()
            writer.write(_HEAD % len(body) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            told = json.loads(await reader.readexactly(int(length[1])))
            assert head[9:12] == b"200", told
            answered.append({"text": text, **told})
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


_HEAD = (
    b"POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


def _check(
    place: Place,
    answered: Sequence[Mapping[str, Any]],
    expected: Mapping[str, list[dict[str, Any]]],
    seen: _Seen,
    tally: Tally,
) -> None:
    logged: dict[str, tuple[str, str | None]] = {}
    with place.ledger(read_only=True) as ledger:
        for record in ledger.records(seen.number + 1):
            if seen.digest and record.previous != seen.digest:
                tally.broken.append(f"record {record.number}")
            seen.number, seen.digest = record.number, record.digest
            logged[record.entry.request_id] = (record.entry.question, ledger.answer(record.entry))
    tally.records = seen.number
    tally.answers += len(answered)
    for one in answered:
        known = logged.get(one["request_id"])
        if known is None:
            tally.missing.append(one["request_id"])
        elif known[0] != one["text"] or json.loads(known[1] or "null") != one["rows"]:
            tally.different.append(f"{one['request_id']}: logged otherwise")
        if _ends(one["rows"]) != expected[one["text"]]:
            tally.different.append(f"{one['request_id']}: {one['text']}")


def _ends(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{end: row["answers"]["count"][end] for end in ("lo", "hi")} for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--several", action="store_true", help="two servers, one PostgreSQL")
    asked = parser.parse_args()
    lines = list(run(None, asked.kills, several=asked.several))
    for line in lines:
        print(f"{line.name}: {line.figure:g} ({line.detail})")
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
