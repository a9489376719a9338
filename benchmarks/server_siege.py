"""A server under siege for a minute: who asks little is answered as ever, and nothing fails.

    python -m benchmarks.server_siege --seconds 60

Two hundred connections send the head of a request a letter a second; four of one analyst's ask
questions whose conditions are 64 KB long, as fast as they are let; another analyst asks a plain
question now and then, and somebody looks at /health. All over 127.0.0.1, and bounded in time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from benchmarks.measure import Line
from benchmarks.server import server
from benchmarks.server_kills import make_database
from sfumato.statdb.access.tokens import Tokens

ATTACKERS, LONG_CLIENTS = 200, 4
QUIET = 0.2  # share of the time that is measured before
PAUSE = 0.05
PLAIN = "SELECT COUNT(*) FROM t WHERE age BETWEEN 30 AND 50 AND illness = 'flu'"


@dataclass(slots=True)
class Seen:
    """What the clients of a phase have seen."""

    plain: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


def run(folder: Path | None, seconds: float = 60.0) -> Iterator[Line]:  # noqa: ARG001
    """Failures, and how long others wait beside those who do not play fair."""
    with tempfile.TemporaryDirectory() as place:
        path = make_database(Path(place))
        with Tokens.open(path) as tokens:
            alice, bob = (tokens.create(name, "analyst")[1] for name in ("alice", "bob"))
        with server(["-m", "sfumato", "statdb", "serve", str(path), "--port", "0"]) as (_, url):
            quiet = asyncio.run(_phase(url, alice, None, QUIET * seconds))
            siege = asyncio.run(_phase(url, alice, bob, seconds))
    failed = sum(count for status, count in siege.statuses.items() if status >= 500)
    said = ", ".join(f"{count:,} x {status}" for status, count in sorted(siege.statuses.items()))
    yield Line(f"answers 5xx in {seconds:g} s of siege", failed, 0.0, "", said)
    before, beside = median(quiet.plain), median(siege.plain)
    detail = f"{1000 * before:.1f} ms quiet, {1000 * beside:.1f} ms beside the siege"
    yield Line("a plain question's median beside the siege", beside / before, 3.0, "x", detail)
    yield Line(
        "slowest /health beside the siege", max(siege.health), 1.0, "s", f"{len(siege.health)}"
    )


async def _phase(url: str, alice: str, bob: str | None, seconds: float) -> Seen:
    until, seen = time.monotonic() + seconds, Seen()
    tasks = [_plain(url, alice, until, seen), _health(url, until, seen)]
    if bob is not None:
        tasks += [_slow_head(url, until) for _ in range(ATTACKERS)]
        tasks += [_long(url, bob, at, until, seen) for at in range(LONG_CLIENTS)]
    async with asyncio.timeout(seconds + 60):
        await asyncio.gather(*tasks)
    return seen


async def _plain(url: str, token: str, until: float, seen: Seen) -> None:
    while time.monotonic() < until:
        started = time.perf_counter()
        seen.statuses[await _ask(url, _post(token, PLAIN))] += 1
        seen.plain.append(time.perf_counter() - started)
        await asyncio.sleep(PAUSE)


async def _health(url: str, until: float, seen: Seen) -> None:
    while time.monotonic() < until:
        started = time.perf_counter()
        status = await _ask(url, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        seen.health.append(time.perf_counter() - started)
        assert status == 200
        await asyncio.sleep(0.5)


async def _long(url: str, token: str, at: int, until: float, seen: Seen) -> None:
    """A condition of nearly 64 KB, the longest that is read, another one each time."""
    while time.monotonic() < until:
        parts = " OR ".join(f"age = {at + number}" for number in range(4_500))
        status = await _ask(url, _post(token, f"SELECT COUNT(*) FROM t WHERE {parts}"))
        seen.statuses[status] += 1
        at += LONG_CLIENTS
        if status == 429:
            await asyncio.sleep(PAUSE)


async def _slow_head(url: str, until: float) -> None:
    while time.monotonic() < until:
        with suppress(OSError):
            _, writer = await _opened(url)
            for letter in b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 1_000:
                if time.monotonic() > until or writer.is_closing():
                    break
                writer.write(bytes([letter]))
                await writer.drain()
                await asyncio.sleep(1.0)
            writer.close()
        await asyncio.sleep(PAUSE)


def _post(token: str, sql: str) -> bytes:
    body = json.dumps({"sql": sql}).encode()
    head = (
        "POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _ask(url: str, request: bytes) -> int:
    reader, writer = await _opened(url)
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        await reader.readexactly(int(length[1]))
        return int(head[9:12])
    finally:
        writer.close()


async def _opened(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    lines = list(run(None, parser.parse_args().seconds))
    for line in lines:
        print(f"{line.name}: {line.figure:.3g} {line.unit} ({line.detail})")
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
