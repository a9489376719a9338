"""The PostgreSQL protocol beside HTTP: processor time per answer to the same questions.

The same server, database and questions as in server.py; clients of both protocols take turns in one
run. A question is sent as psql and most drivers send it, as one message, and its answer read to the
end. Every answer is in the ledger before it leaves, whichever way it goes.
"""

from __future__ import annotations

import asyncio
import statistics
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import sfumato as sf
from benchmarks.measure import Line
from benchmarks.server import (
    PATIENCE,
    UNLIMITED,
    _processor_time,
    _text,
    load,
    question,
    server,
)
from benchmarks.statdb import QUASI, ROWS, SALARY, M, salaries
from sfumato.server.serving import listen

REQUESTS = 2_000
TURNS = 5
LIMIT = 1.5


def run(folder: Path | None) -> Iterator[Line]:
    """Processor time of an answer over that of the same answer over HTTP."""
    rows, source = salaries(folder, ROWS)
    table = sf.read(rows, sf.Schema(quasi=QUASI, sensitive=SALARY))
    said = f"{table.n_rows:,} rows of {source}"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "salaries.statdb"
        catalog = sf.StatDB.create(path, table, m=M, seed=0, experiment=True).responder.catalog
        queries = sf.dynamic_workload(table, queries=2 * TURNS * REQUESTS, seed=0)
        texts = [_text(query, catalog) for query in queries]
        del table, rows
        with listen("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        arguments = ["statdb", "serve", str(path), "--port", "0", "--postgres-port", str(port)]
        with server(["-m", "sfumato", *arguments, *UNLIMITED]) as (process, url):
            for clients in (16, 1):
                same = [[texts[0]] * REQUESTS] * TURNS
                yield _compared("remembered answer", process, url, port, clients, same, same, said)
            half = [texts[at * REQUESTS : (at + 1) * REQUESTS] for at in range(2 * TURNS)]
            yield _compared("fresh count", process, url, port, 4, half[:TURNS], half[TURNS:], said)


def _compared(
    name: str,
    process: subprocess.Popen[str],
    url: str,
    port: int,
    clients: int,
    ours: Sequence[Sequence[str]],
    theirs: Sequence[Sequence[str]],
    said: str,
) -> Line:
    mine, its = [], []
    for own, other in zip(ours, theirs, strict=True):
        before = _processor_time(process.pid)
        found = load(url, [question(text) for text in other], clients)
        assert set(found.statuses) == {200}, found.statuses
        between = _processor_time(process.pid)
        asyncio.run(_ask(port, own, clients))
        its.append((between - before) / len(other))
        mine.append((_processor_time(process.pid) - between) / len(own))
    each, http = statistics.median(mine), statistics.median(its)
    detail = f"{1e6 * each:.0f} µs against {1e6 * http:.0f} µs; {said}"
    return Line(
        f"{name} over the PostgreSQL protocol over HTTP, processor time, clients: {clients}",
        each / http,
        LIMIT,
        "x",
        detail,
    )


async def _ask(port: int, texts: Sequence[str], clients: int) -> None:
    """Ask all questions, so many at a time, each over a connection that is kept."""
    waiting = iter(texts)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = struct.pack("!I", 196608) + b"user\0benchmark\0database\0salaries\0\0"
        writer.write(struct.pack("!I", len(body) + 4) + body)
        assert await _until_ready(reader) == 0
        for text in waiting:
            sql = text.encode() + b"\0"
            writer.write(struct.pack("!cI", b"Q", len(sql) + 4) + sql)
            assert await _until_ready(reader) == 1
        writer.close()

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(client() for _ in range(clients)))


async def _until_ready(reader: asyncio.StreamReader) -> int:
    """Read to the end of an answer; how many rows it had."""
    rows = 0
    while True:
        kind, length = struct.unpack("!cI", await reader.readexactly(5))
        body = await reader.readexactly(length - 4)
        assert kind != b"E", body
        rows += int(kind == b"D")
        if kind == b"Z":
            return rows
