"""Bytes that are no protocol, too much of everything, and clients that stop half-way."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.server.limits import Limits
from tests.server.kit import GENEROUS, copied, get
from tests.server.wire.kit import Raw, Served, fields, framed, serving, startup
from tests.support.waiting import eventually

COUNT = b"SELECT COUNT(*) FROM people\0"


@pytest.fixture(scope="module")
def impatient(folder_of_people: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that waits for nothing longer than a moment."""
    folder = copied(folder_of_people, tmp_path_factory.mktemp("impatient"))
    limits = Limits(rate=1e9, burst=10**9, head_seconds=0.3, seconds=5, failures=1e9)
    with serving(folder, limits=limits) as running:
        yield running


def answers(served: Served) -> bool:
    """Whether others are answered."""
    return served.rows("people", "SELECT COUNT(*) FROM people") == [(600, 600)]


@pytest.mark.parametrize(
    "content",
    [
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        (2**20).to_bytes(4) + b"x" * 100,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        struct.pack("!II", 8, 131072),
        struct.pack("!II", 8, 196608),
        struct.pack("!II", 12, 196608) + b"user",
        struct.pack("!II", 8, 80877103) * 5,
        struct.pack("!IIII", 16, 80877102, 1, 2),
        startup("people", replication="database"),
        startup("x" * 9_000),
    ],
)
def test_a_bad_beginning_ends_the_connection(impatient: Served, content: bytes) -> None:
    with Raw(impatient.port) as raw:
        raw.send(content)
        found = raw.stream.read(10_000)  # to the end
        assert len(found) < 2_000
    assert answers(impatient)


def test_who_says_nothing_is_sent_away(impatient: Served) -> None:
    with Raw(impatient.port) as silent, Raw(impatient.port) as half:
        half.send(startup("people")[:-5])
        assert silent.stream.read() == b""
        assert half.stream.read() == b""
    assert answers(impatient)


def test_the_longest_statement_is_read_and_no_longer_message(impatient: Served) -> None:
    values = ", ".join(f"'{at}'" for at in range(8_000))
    sql = f"SELECT COUNT(*) FROM people WHERE job IN ('nurse', {values})"
    assert len(sql) < 65_536
    assert impatient.rows("people", sql) == impatient.rows(
        "people", "SELECT COUNT(*) FROM people WHERE job = 'nurse'"
    )
    with Raw(impatient.port) as raw:
        raw.begin("people")
        raw.send(b"Q" + (2**30).to_bytes(4))
        kind, body = raw.until(b"E")[-1]
        assert (kind, fields(body)["C"], fields(body)["S"]) == (b"E", "54000", "FATAL")
        assert raw.message() is None


@pytest.mark.parametrize(
    ("message", "state"),
    [
        (framed(b"Q", b"SELECT 1"), "08P01"),
        (framed(b"Q", b"SELECT 1\0SELECT 2\0"), "08P01"),
        (framed(b"Q", b"SELECT \xff\0"), "22021"),
        (framed(b"?", b""), "08P01"),
        (framed(b"P", b"\0SELECT 1\0\xff\xff"), "08P01"),
        (framed(b"B", b"\0nothing\0\0\0\0\0\0\0"), "26000"),
        (framed(b"E", b"nothing\0\0\0\0\0"), "34000"),
        (framed(b"D", b"Xnothing\0"), "34000"),
        (b"Q\0\0\0\3", "08P01"),
    ],
)
def test_a_damaged_message_is_told(impatient: Served, message: bytes, state: str) -> None:
    with Raw(impatient.port) as raw:
        raw.begin("people")
        raw.send(message)
        kind, body = raw.until(b"E")[-1]
        assert (kind, fields(body)["C"]) == (b"E", state)
        if fields(body)["S"] == "ERROR" and message[:1] != b"Q":
            raw.send(framed(b"S", b""))
            assert raw.until(b"Z")[-1] == (b"Z", b"I")
    assert answers(impatient)


def test_what_follows_an_error_is_passed_over(served: Served) -> None:
    with Raw(served.port) as raw:
        raw.begin("people")
        ask = framed(b"P", b"a\0" + COUNT + b"\0\0") + framed(b"B", b"\0a\0\0\0\0\0\0\0")
        raw.send(framed(b"P", b"\0SELEC\0\0\0") + framed(b"B", b"\0\0\0\0\0\0\0\0")
                 + framed(b"E", b"\0\0\0\0\0") + framed(b"S", b""))  # fmt: skip
        raw.send(ask + framed(b"E", b"\0\0\0\0\0") + framed(b"S", b""))
        first, second = raw.until(b"Z"), raw.until(b"Z")
        assert [kind for kind, _ in first] == [b"1", b"2", b"E", b"Z"]
        kinds = [kind for kind, _ in second if kind != b"S"]
        assert kinds == [b"1", b"2", b"D", b"C", b"Z"]


def test_rows_come_in_portions(served: Served) -> None:
    sql = b"SELECT job, COUNT(*) FROM people GROUP BY job\0"
    with Raw(served.port) as raw:
        raw.begin("people")
        execute = framed(b"E", b"\0\0\0\0\6") + framed(b"H", b"")
        raw.send(framed(b"P", b"\0" + sql + b"\0\0") + framed(b"B", b"\0\0\0\0\0\0\0\0") + execute)
        assert [kind for kind, _ in raw.until(b"s")].count(b"D") == 6
        raw.send(execute + framed(b"S", b""))
        assert [kind for kind, _ in raw.until(b"Z")] == [b"D"] * 4 + [b"C", b"Z"]


def test_prepared_statements_are_bounded(served: Served) -> None:
    with Raw(served.port) as raw:
        raw.begin("people")
        for at in range(1_001):
            raw.send(framed(b"P", f"s{at}\0SELECT 1\0\0\0".encode()))
        raw.send(framed(b"S", b""))
        (error,) = [body for kind, body in raw.until(b"Z") if kind == b"E"]
        assert fields(error)["C"] == "54000"


def test_half_open_connections_make_room(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with serving(folder, limits=Limits(connections=20)) as served:
        silent = [Raw(served.port) for _ in range(60)]
        idle = []
        for _ in range(30):
            raw = Raw(served.port)
            raw.begin("people")
            idle.append(raw)
        assert answers(served)
        assert get(served.url, "/health")[0] == 200
        assert len(served.app.beside[0].gate) <= 20  # type: ignore[attr-defined]
        for raw in (*silent, *idle):
            raw.__exit__()


def test_who_does_not_read_the_answers_is_sent_away(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    sql = b"SELECT job, age, COUNT(*) FROM people GROUP BY job, age\0"
    limits = Limits(seconds=2, rate=GENEROUS.rate, burst=GENEROUS.burst)
    with serving(folder, limits=limits) as served, Raw(served.port) as raw:
        raw.begin("people")
        gate = served.app.beside[0].gate  # type: ignore[attr-defined]
        raw.socket.settimeout(0.2)
        until = time.monotonic() + 60
        try:
            while time.monotonic() < until:
                raw.send(framed(b"Q", sql) * 10)
        except OSError:
            pass
        eventually(lambda: len(gate) == 0)
        assert answers(served)


_PARTS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            framed(b"Q", COUNT),
            framed(b"P", b"\0" + COUNT + b"\0\0"),
            framed(b"B", b"\0\0\0\0\0\0\0\0"),
            framed(b"D", b"P\0"),
            framed(b"D", b"S\0"),
            framed(b"E", b"\0\0\0\0\0"),
            framed(b"C", b"S\0"),
            framed(b"S", b""),
            framed(b"H", b""),
        ]
    ),
    st.builds(framed, st.sampled_from([bytes([one]) for one in b"QPBDECSHpfdcF?"]), st.binary()),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(_PARTS, max_size=8), cut=st.integers(0, 200), begins=st.booleans())
def test_no_bytes_break_the_server(
    impatient: Served, parts: list[bytes], cut: int, begins: bool
) -> None:
    content = b"".join(parts)
    with Raw(impatient.port) as raw:
        if begins:
            raw.begin("people")
        raw.send(content[: len(content) - min(cut, len(content)) // 4])
        raw.socket.shutdown(1)
        for kind, body in raw.until(b"?"):
            assert len(body) < 10_000
            if kind == b"E":
                told = fields(body)
                assert told["C"] != "XX000", told
                assert "Traceback" not in told["M"]
    assert '"failure"' not in impatient.log()
    assert answers(impatient)
