"""The server: processor time per answer, and how long clients wait.

600,000 rows, seven quasi-identifiers, 50 salary classes, m = 10, as in statdb.py. Server and
clients are processes of their own and talk over 127.0.0.1; a client asks again when it has its
answer. Every answer, remembered or not, is in the ledger before it leaves. Processor time is that
of the whole server process, all threads, kernel included. The peer is a constant JSON endpoint of
Starlette on the same uvicorn.

A client alone pays for a flush of the disk with every answer; clients at the same time share them.
One flush takes the kernel more processor time than the whole constant answer, so the limit is hard
to keep for one client; its line is there to be seen all the same.

Two workers are compared with one by what the busiest of them spends on an answer: where each has a
core of its own and the clients are elsewhere, that is what limits how many are given. So what the
clients spend is no part of it, and neither is what else the machine does.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import sfumato as sf
from benchmarks.measure import Line
from benchmarks.statdb import QUASI, ROWS, SALARY, M, salaries
from sfumato.queries.binding import bind
from sfumato.statdb.access.ledger import Ledger

REQUESTS = 4_000
TURNS = 3
WARM = 200
CLIENTS = (1, 16, 64)
SPREAD = 256  # clients: the system deals them out by chance, to two workers about half each
LIMITS = {1: 3.0, 16: 2.5}  # times the constant answer
PATIENCE = 60.0
UNLIMITED = [
    *("--limit-rate", "1e9", "--limit-burst", "1000000000"),
    *("--limit-concurrency", "1000", "--limit-together", "1000"),
]
CONSTANT = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def constant(request):
    return JSONResponse({"lo": 12, "hi": 30})

sock = __import__("socket").create_server(("127.0.0.1", 0))
print("on http://127.0.0.1:%d" % sock.getsockname()[1], flush=True)
app = Starlette(routes=[Route("/constant", constant)])
uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None)).run(sockets=[sock])
"""


def run(folder: Path | None) -> Iterator[Line]:
    """Processor time per cached and per fresh answer, and the slowest percent of waits."""
    rows, source = salaries(folder, ROWS)
    table = sf.read(rows, sf.Schema(quasi=QUASI, sensitive=SALARY))
    said = f"{table.n_rows:,} rows of {source}"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "salaries.statdb"
        catalog = sf.StatDB.create(path, table, m=M, seed=0, experiment=True).responder.catalog
        queries = sf.dynamic_workload(table, queries=2 * REQUESTS, seed=0)
        texts = [_text(query, catalog) for query in queries]
        del table, rows
        with server(["-m", "sfumato", "statdb", "serve", str(path), "--port", "0", *UNLIMITED]) as (
            process,
            url,
        ):
            with server(["-c", CONSTANT]) as (peer, peer_url):
                yield from _cached(process, url, peer, peer_url, texts[0], said)
            yield from _fresh(process, url, texts[:REQUESTS], said)
            for clients in CLIENTS:
                yield from _waits(url, clients, texts[:REQUESTS], said, "remembered")
            yield from _waits(url, 16, texts[REQUESTS:], said, "fresh")
        yield _kept(path)
        yield _workers(path, texts[:REQUESTS], said)


@dataclass(frozen=True, slots=True)
class Load:
    """What a run of requests was like: sorted waits in seconds, and answers by status."""

    waits: Sequence[float]
    statuses: dict[int, int]
    seconds: float

    def percentile(self, share: float) -> float:
        return self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


def load(url: str, requests: Sequence[bytes], clients: int) -> Load:
    """Send all requests, so many at a time, each over a connection that is kept."""
    return asyncio.run(_load(url, requests, clients))


async def _load(url: str, requests: Sequence[bytes], clients: int) -> Load:
    waiting = iter(requests)
    waits: list[float] = []
    statuses: dict[int, int] = {}
    host, port = urlsplit(url).hostname, urlsplit(url).port

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        for request in waiting:
            started = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            await reader.readexactly(int(length[1]))
            waits.append(time.perf_counter() - started)
            status = int(head[9:12])
            statuses[status] = statuses.get(status, 0) + 1
        writer.close()

    started = time.perf_counter()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(client() for _ in range(clients)))
    return Load(sorted(waits), statuses, time.perf_counter() - started)


def question(text: str) -> bytes:
    """A POST of a question in SQL."""
    body = json.dumps({"sql": text}).encode()
    head = (
        "POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _cached(
    process: subprocess.Popen[str],
    url: str,
    peer: subprocess.Popen[str],
    peer_url: str,
    text: str,
    said: str,
) -> Iterator[Line]:
    ours = [question(text)] * REQUESTS
    theirs = [b"GET /constant HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"] * REQUESTS
    load(url, ours[:WARM], 4), load(peer_url, theirs[:WARM], 4)
    for clients in (16, 1):
        mine, its = [], []
        for _ in range(TURNS):
            its.append(_spent(peer, peer_url, theirs, clients))
            mine.append(_spent(process, url, ours, clients))
        each, constant = sorted(mine)[TURNS // 2], sorted(its)[TURNS // 2]
        detail = f"{1e6 * each:.0f} µs against {1e6 * constant:.0f} µs; {said}"
        yield Line(
            f"remembered answer over constant JSON, processor time, clients: {clients}",
            each / constant,
            LIMITS[clients],
            "x",
            detail,
        )


def _fresh(
    process: subprocess.Popen[str], url: str, texts: Sequence[str], said: str
) -> Iterator[Line]:
    each = _spent(process, url, [question(text) for text in texts], 4)
    yield Line("fresh count, ledger included, processor time", 1000 * each, 2.5, "ms", said)


def _waits(url: str, clients: int, texts: Sequence[str], said: str, kind: str) -> Iterator[Line]:
    found = load(url, [question(text) for text in texts], clients)
    assert set(found.statuses) == {200}, found.statuses
    detail = (
        f"median {1000 * found.percentile(0.5):.1f} ms, {len(texts) / found.seconds:,.0f} answers "
        f"a second, clients on the same two cores; {said}"
    )
    name = f"p99 of {kind} answers, clients: {clients}"
    slowest, usual = found.percentile(0.99), found.percentile(0.5)
    yield Line(name, 1000 * slowest, float("inf"), "ms", detail)
    if clients == max(CLIENTS):
        yield Line(f"p99 over median, {kind} answers, clients: {clients}", slowest / usual, 8.0)


def _workers(path: Path, texts: Sequence[str], said: str) -> Line:
    """Fresh counts by one worker over those by two, in processor time of the busiest."""
    requests, spent, told = [question(text) for text in texts], [], []
    for count in (1, 2):
        command = ["-m", "sfumato", "statdb", "serve", str(path), "--port", "0", *UNLIMITED]
        with server([*command, "--workers", str(count)]) as (process, url):
            load(url, requests[:WARM], SPREAD)
            pids = _children(process.pid) if count > 1 else [process.pid]
            before = [_processor_time(pid) for pid in pids]
            found = load(url, requests[WARM:], SPREAD)
            assert set(found.statuses) == {200}, found.statuses
            after = [_processor_time(pid) for pid in pids]
            spent.append(max(b - a for a, b in zip(before, after, strict=True)))
            told.append(f"{len(requests[WARM:]) / found.seconds:,.0f}")
    detail = (
        f"{1e6 * spent[0] / len(texts):.0f} µs against {1e6 * spent[1] / len(texts):.0f} µs; "
        f"{' and '.join(told)} answers a second with the clients on the same two cores; {said}"
    )
    share = spent[1] / spent[0]
    return Line("busiest of two workers over one alone, fresh counts", share, 1 / 1.6, "x", detail)


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(one) for one in text.split()]


def _kept(path: Path) -> Line:
    """Every answer that was received is in the ledger, and the chain holds."""
    with Ledger.open(path, read_only=True) as ledger:
        checked = ledger.verify()
        assert checked.ok, checked.problem
        asked = WARM + 2 * TURNS * REQUESTS + REQUESTS * (1 + len(CLIENTS) + 1)
        there = sum(record.entry.kind == "answer" for record in ledger.records())
        return Line("answers missing in the ledger", asked - there, 0.0, "", f"of {asked:,}")


def _spent(
    process: subprocess.Popen[str], url: str, requests: Sequence[bytes], clients: int
) -> float:
    """Processor seconds of the server per request."""
    before = _processor_time(process.pid)
    found = load(url, requests, clients)
    assert set(found.statuses) == {200}, found.statuses
    return (_processor_time(process.pid) - before) / len(requests)


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _text(query: sf.Query, catalog: object) -> str:
    parts = [
        f"{name} BETWEEN {part.low} AND {part.high}"
        for name, one in bind(query, catalog).where.items()  # type: ignore[arg-type]
        for part in one.all_ranges()
    ]
    return f"SELECT COUNT(*) FROM t WHERE {' AND '.join(parts)}"


@contextmanager
def server(arguments: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python program that says on which address it serves."""
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = re.search(r"on (http://\S+)", process.stdout.readline())
            assert url is not None, "the server did not start"
            _wait_for(url[1])
            yield process, url[1]
        finally:
            process.terminate()


def _wait_for(url: str) -> None:
    host, port = urlsplit(url).hostname, urlsplit(url).port
    assert host is not None
    assert port is not None
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            socket.create_connection((host, port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(url)
