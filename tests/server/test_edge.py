"""The edge: connections that never become requests, heads without end, proxies nobody declared."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sfumato.errors import ParameterError
from sfumato.server import costs
from sfumato.server.edge import places_for
from sfumato.server.errors import ApiError
from sfumato.server.limits import Limits, Meter
from sfumato.server.questions import Asked
from tests.server.kit import (
    COUNT,
    FLU,
    bearer,
    copied,
    get,
    process,
    require_error,
    running,
    secret,
)
from tests.support.waiting import PATIENCE, eventually

SMALL = {"head": 4_096, "connections": 20}


def connect(url: str) -> socket.socket:
    address = urlsplit(url)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=PATIENCE)


def told(connection: socket.socket) -> tuple[int, Any]:
    """What comes until the connection ends."""
    found = b""
    try:
        while part := connection.recv(65_536):
            found += part
    except ConnectionError:
        pass
    head, _, body = found.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def error_of(connection: socket.socket) -> tuple[int, str]:
    status, body = told(connection)
    assert set(body["error"]) == {"code", "message", "hint", "request_id"}
    return status, body["error"]["code"]


@pytest.fixture
def url(serve: Any, folder_of_people: Path, tmp_path: Path) -> str:
    return str(serve(copied(folder_of_people, tmp_path), limits=Limits(head_seconds=2.0, **SMALL)))


HEADS = {
    "an endless header": [b"GET / HTTP/1.1\r\nX: ", *[b"y" * 10_000] * 10_000],
    "endless headers": [b"GET / HTTP/1.1\r\n", *[b"A: b\r\n" * 2_000] * 10_000],
    "an endless address": [b"GET /", *[b"y" * 10_000] * 10_000],
    "empty lines": [b"\r\n" * 5_000] * 10_000,
    "a whole head that is too long": [b"GET / HTTP/1.1\r\nX: " + b"y" * 5_000 + b"\r\n\r\n"],
    "endless trailers": [
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        *[b"A: b\r\n" * 2_000] * 10_000,
    ],
}


@pytest.mark.parametrize("parts", HEADS.values(), ids=HEADS)
def test_a_head_without_end_is_not_read(url: str, parts: list[bytes]) -> None:
    with connect(url) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except ConnectionError:
            pass  # the server has heard enough
        else:
            assert len(parts) == 1  # a hundred million bytes were not all taken
    assert get(url, "/health")[0] == 200


def test_what_is_too_long_is_told(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * 5_000)
        assert error_of(connection) == (431, "head_too_large")


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n"])
def test_a_head_that_does_not_come_is_not_waited_for(url: str, begun: bytes) -> None:
    with connect(url) as connection:
        connection.sendall(begun)
        assert error_of(connection) == (408, "request_timeout")


def test_the_second_head_of_a_connection_has_its_time_too(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea")
        found = b""
        while part := connection.recv(65_536):
            found += part
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"408"]


def test_no_http_is_told_in_the_one_shape(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(b"\x16\x03\x01 something else\r\n\r\n")
        assert error_of(connection) == (400, "invalid_request")


QUESTION = json.dumps({"sql": FLU}).encode()
ASKED = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = b"%sContent-Length: %d\r\n\r\n%s" % (ASKED, len(QUESTION), QUESTION)


@pytest.mark.parametrize(
    "content",
    [
        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + QUESTION,
        b"Transfer-Encoding: chunked\r\n\r\n5\n12345\n0\n\n",
        b"Transfer-Encoding: nothing\r\n\r\n" + QUESTION,
    ],
)
def test_a_body_that_is_broken_is_told_in_the_one_shape(url: str, content: bytes) -> None:
    with connect(url) as connection:
        connection.sendall(ASKED + content)
        assert error_of(connection) == (400, "invalid_request")


def test_what_stands_before_broken_bytes_is_answered_first(url: str) -> None:
    for whole, statuses in (
        (WHOLE, [b"200"]),
        (2 * WHOLE, [b"200", b"200"]),
        (ASKED + b"\r\n" + QUESTION, [b"400"]),  # nobody has said that there is a body
    ):
        with connect(url) as connection:
            connection.sendall(whole + b"{no} http\r\n\r\n")
            found = b""
            while part := connection.recv(65_536):
                found += part
            assert re.findall(rb"HTTP/1.1 (\d+)", found) == statuses


def test_many_who_say_nothing_keep_nobody_out(url: str) -> None:
    with ExitStack() as silent:
        for _ in range(3 * SMALL["connections"]):
            connection = silent.enter_context(connect(url))
            connection.sendall(b"GET / HTTP/1.1\r\n")
            silent.callback(connection.close)
        assert get(url, "/health")[0] == 200
        assert get(url, "/v1/query?sql=SELECT%20COUNT(*)%20FROM%20t")[0] == 200
        shown = _metrics(url)
        assert 0 < float(shown["sfumato_connections"]) <= SMALL["connections"]
        assert float(shown['sfumato_connections_refused_total{reason="displaced"}']) > 0


def test_memory_is_flat_under_headers_and_half_open_connections(
    folder_of_people: Path, tmp_path: Path
) -> None:
    """More than the memory of the process may grow is sent, over more connections than it has."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("reads the memory of another process")
    with process(copied(folder_of_people, tmp_path), "--port", 0) as (server, url):
        assert get(url, "/health")[0] == 200
        before = _memory(server.pid)
        with ExitStack() as held:
            for _ in range(600):
                connection = held.enter_context(connect(url))
                connection.sendall(b"GET / HTTP/1.1\r\nX: ")
            threads = [threading.Thread(target=_shout, args=(url,), daemon=True) for _ in range(4)]
            for one in threads:
                one.start()
            assert get(url, "/health")[0] == 200
            for one in threads:
                one.join(PATIENCE)
            assert get(url, "/health")[0] == 200
        assert _memory(server.pid) - before < 60_000_000


def _shout(url: str) -> None:
    """32 MB of a header, as far as anybody listens."""
    with connect(url) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\n")
            for _ in range(500):
                connection.sendall(b"X: " + b"y" * 65_536 + b"\r\n")
        except ConnectionError:
            pass


def _memory(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return 1_024 * int(found[1])


def _metrics(url: str) -> dict[str, str]:
    with connect(url) as connection:
        connection.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
        found = b""
        while part := connection.recv(65_536):
            found += part
    lines = found.decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if line.startswith("sfumato_"))


def test_busy_connections_are_not_displaced(
    serve: Any, folder_of_people: Path, tmp_path: Path
) -> None:
    limits = Limits(connections=8, seconds=PATIENCE)
    url = serve(copied(folder_of_people, tmp_path), limits=limits)
    body = json.dumps({"sql": FLU}).encode()
    head = f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with ExitStack() as held:
        busy = [held.enter_context(connect(url)) for _ in range(8)]
        for one in busy:
            one.sendall(head.encode())

        def is_full() -> bool:
            with connect(url) as more:
                more.sendall(
                    b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                )
                return told(more)[0] == 429

        eventually(is_full)
        for one in busy:
            one.sendall(body)
            assert b" 200 " in one.recv(65_536)


def test_places_leave_room_for_files() -> None:
    assert 8 <= places_for(Limits()) <= Limits().connections
    assert places_for(Limits(connections=9)) == 9


@pytest.mark.parametrize(
    "lines",
    [
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: localhost\r\nhost: localhost\r\n",
        "Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
        "",
    ],
)
def test_a_request_that_reads_in_two_ways_is_refused(url: str, lines: str) -> None:
    for path in ("/health", "/", "/v1/schema"):
        with connect(url) as connection:
            head = f"GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"
            connection.sendall(head.encode())
            assert error_of(connection) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("http://evil.example/health", 400),
        ("http://localhost@evil.example/health", 400),
        ("http://localhost.evil.example/health", 400),
        ("ftp://localhost/health", 400),
        ("http://localhost/health", 200),
        ("HTTP://LOCALHOST/health", 200),
        ("/health?at=http://evil.example/", 200),
    ],
)
def test_an_address_with_a_host_names_the_same_one(url: str, address: str, status: int) -> None:
    with connect(url) as connection:
        lines = "Host: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(f"GET {address} HTTP/1.1\r\n{lines}".encode())
        assert told(connection)[0] == status


@pytest.fixture
def proxied(folder_of_people: Path, tmp_path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    folder = copied(folder_of_people, tmp_path)
    own = bearer(secret(folder, "analyst"))
    limits = Limits(failures=0.2)
    with running(folder, proxies=["127.0.0.1", "10.0.0.0/8"], limits=limits) as kit:
        kit.http._transport.client = ("127.0.0.1", 5)
        yield kit, own


def test_behind_a_declared_proxy_tokens_let_in_and_nothing_else(proxied: Any) -> None:
    kit, own = proxied
    forwarded = {"X-Forwarded-For": "203.0.113.9", "Host": "data.example.org"}
    kit.answer(FLU, headers={**own, **forwarded})
    assert kit.http.get("/", headers=forwarded).status_code == 200
    for headers in (forwarded, {}):  # a proxy that says nothing lets nobody in as local
        require_error(kit.ask(FLU, headers=headers), 401, "unauthorized")


def test_one_stranger_behind_a_proxy_does_not_use_up_the_others_tries(proxied: Any) -> None:
    kit, own = proxied

    def tried(forwarded: str) -> int:
        return int(kit.ask(FLU, headers={"X-Forwarded-For": forwarded}).status_code)

    assert [tried("203.0.113.9") for _ in range(4)] == [401, 401, 429, 429]
    # what stands before the last address is the client's own invention
    assert tried("198.51.100.1, 203.0.113.9") == 429
    # known proxies on the way are none of them
    assert tried("203.0.113.9, 10.1.2.3") == 429
    assert tried("198.51.100.1") == 401
    assert [tried(f"2001:db8::{number}") for number in range(3)] == [401, 401, 429]
    kit.answer(FLU, headers={**own, "X-Forwarded-For": "203.0.113.9"})


def test_a_proxy_needs_an_address_and_the_database_a_token(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    with pytest.raises(ParameterError, match="no valid token"), running(folder, proxies=["::1"]):
        pass
    with pytest.raises(ParameterError, match="no address"), running(folder, proxies=["nginx"]):
        pass


def test_questions_are_paid_for_by_their_work(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    one, other = bearer(secret(folder, "analyst")), bearer(secret(folder, "analyst"))
    ages = ", ".join(str(18 + number % 70) for number in range(4_000))
    long = f"{COUNT} WHERE age IN ({ages})"
    with running(folder, limits=Limits(rate=0.001, burst=200)) as kit:
        kit.answer(long, headers=one)
        require_error(kit.ask(long, headers=one), 429, "rate_limited")
        for _ in range(100):
            kit.answer(FLU, headers=other)
        # many groups cost more than they look; what is remembered costs the same
        grouped = "SELECT age, job, COUNT(*) FROM t GROUP BY age, job"
        for _ in range(10):
            kit.ask(grouped, headers=other)
        require_error(kit.ask(FLU, headers=other), 429, "rate_limited")


def test_a_plain_question_costs_one() -> None:
    assert costs.of_reading(Asked(FLU, is_sql=True)) == 1
    assert costs.of_reading(Asked("x" * 65_536, is_sql=True)) == 512


def test_debt_is_paid_off_and_is_never_more_than_the_bucket() -> None:
    now = 0.0
    meter = Meter(Limits(rate=1, burst=10), clock=lambda: now)
    meter.take("a", 1)
    meter.charge("a", 1_000)
    with pytest.raises(ApiError) as caught:
        meter.take("a", 1)
    assert caught.value.retry_after == pytest.approx(11)
    now = 11.0
    meter.take("a", 1)
    meter.take("b", 10)
