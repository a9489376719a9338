"""The ledger: on disk when it says so, chained, appended to by one, and never half-written."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import LedgerError, ParameterError, StoreError
from sfumato.statdb.access.books import COLUMNS
from sfumato.statdb.access.ledger import FILE, Ledger, Verified
from sfumato.statdb.access.ledger_records import LONGEST_QUESTION, Entry, digest_of
from sfumato.statdb.store import HEADER
from tests.support.waiting import PATIENCE, eventually


def entry(number: int = 1, **changes: Any) -> Entry:
    stated: dict[str, Any] = {
        "request_id": f"r{number}",
        "who": "local",
        "role": "analyst",
        "kind": "answer",
        "question": f"SELECT COUNT(*) FROM t WHERE age < {number}",
        "canonical": f"SELECT COUNT(*) FROM t WHERE age < {number}",
        "answer": "[]",
        "generation": 1,
    }
    return Entry(**{**stated, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "some people?#.statdb"
    path.mkdir(0o700)
    (path / HEADER).write_text("{}")
    return path


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    with Ledger.open(folder) as opened:
        yield opened


def tampered(folder: Path, *statements: str) -> None:
    """What somebody does who owns the file: the triggers are no obstacle."""
    with sqlite3.connect(folder / FILE) as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_what_is_appended_can_be_read(ledger: Ledger) -> None:
    asked = [entry(number) for number in range(1, 1_300)]  # more than a page
    before = datetime.now(UTC)
    records = [*ledger.append(asked[:1]), *ledger.append(asked[1:])]
    assert [record.entry for record in ledger.records()] == asked
    assert list(ledger.records()) == records
    assert [record.number for record in records] == list(range(1, 1_300))
    assert [record.number for record in ledger.records(1_298)] == [1_298, 1_299]
    assert list(ledger.records(5_000)) == []
    assert len(ledger) == 1_299
    assert ledger.head() == (1_299, records[-1].digest)
    stated = datetime.fromisoformat(records[0].time)
    assert stated.utcoffset() == timedelta()
    assert before <= stated <= datetime.now(UTC)
    assert len(records[0].time) == len("2026-01-01T00:00:00.000000+00:00")


def test_the_chain_can_be_computed_by_anybody(ledger: Ledger) -> None:
    ledger.append([entry(1, question="'naïve' \N{SNOWMAN}\0\n"), entry(2, kind="denied")])
    previous = ledger.genesis
    for record in ledger.records():
        stated = record.to_dict()
        digest = stated.pop("digest")
        assert stated["previous"] == previous
        text = json.dumps(stated, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        previous = digest
    assert ledger.verify().ok
    assert ledger.verify().records == 2


def test_an_empty_ledger(ledger: Ledger) -> None:
    assert ledger.append([]) == []
    assert len(ledger) == 0
    assert ledger.head() == (0, ledger.genesis)
    assert list(ledger.records()) == []
    assert ledger.verify().ok


def test_every_ledger_begins_otherwise(tmp_path: Path) -> None:
    beginnings = set()
    for name in "ab":
        (tmp_path / name).mkdir(0o700)
        (tmp_path / name / HEADER).touch()
        for _ in range(2):
            with Ledger.open(tmp_path / name) as opened:
                beginnings.add(opened.genesis)
    assert len(beginnings) == 2


def test_the_chain_goes_on_after_it_was_closed(folder: Path) -> None:
    for number in range(1, 5):
        with Ledger.open(folder) as opened:
            opened.append([entry(number)])
    with Ledger.open(folder, read_only=True) as opened:
        assert opened.verify() == opened.verify()
        assert (opened.verify().ok, len(opened)) == (True, 4)


def test_only_the_owner_can_open_the_files(folder: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger.open(folder) as opened:
            opened.append([entry()])
            with Ledger.open(folder, read_only=True) as other:
                names = {path.name for path in folder.iterdir()}
                assert {FILE, f"{FILE}-wal", f"{FILE}-shm", "ledger.lock"} <= names
                for name in names - {HEADER}:
                    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600, name
                assert len(other) == 1
    finally:
        os.umask(before)


def test_rights_that_a_backup_lost_are_put_right(folder: Path) -> None:
    Ledger.open(folder).close()
    (folder / FILE).chmod(0o644)
    Ledger.open(folder).close()
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600


def test_a_folder_that_others_can_open_is_refused(folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(StoreError, match="chmod 700"):
        Ledger.open(folder)


def test_what_is_no_database_has_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(StoreError):
            Ledger.open(path)
        assert not (path / FILE).exists()


def test_there_is_one_writer(folder: Path, ledger: Ledger) -> None:
    with pytest.raises(StoreError, match=r"another process.*ask that server.*statdb log"):
        Ledger.open(folder)
    ledger.close()
    with Ledger.open(folder) as again:
        again.append([entry()])


def test_others_read_while_one_writes(folder: Path, ledger: Ledger) -> None:
    with Ledger.open(folder, read_only=True) as reader:
        for number in range(1, 6):
            ledger.append([entry(number)])
            assert len(reader) == number
        assert reader.verify().ok
        with pytest.raises(LedgerError, match="not open to be written"):
            reader.append([entry()])


def test_threads_take_turns(ledger: Ledger) -> None:
    def ask(first: int) -> None:
        for number in range(first, first + 5):
            ledger.append([entry(number), entry(number)])
            assert ledger.verify().ok

    threads = [threading.Thread(target=ask, args=(100 * one,), daemon=True) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert len(ledger) == 40
    assert ledger.verify().ok


def test_a_ledger_that_nobody_made_cannot_be_read(folder: Path) -> None:
    with pytest.raises(StoreError, match="has no ledger"):
        Ledger.open(folder, read_only=True)
    (folder / FILE).touch(0o600)  # killed before it was made
    with pytest.raises(StoreError, match="has no ledger"):
        Ledger.open(folder, read_only=True)
    with Ledger.open(folder) as opened:
        assert opened.append([entry()])


def test_a_closed_ledger(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError):
        ledger.append([entry()])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE record SET answer = '[1]' WHERE number = 1",
        "DELETE FROM record WHERE number = 2",
        "INSERT OR REPLACE INTO record SELECT 1, time, request_id, who, role, kind, question, "
        "canonical, answer, generation, previous, digest FROM record WHERE number = 2",
        "INSERT INTO record SELECT 9, time, request_id, who, role, kind, question, canonical, "
        "answer, generation, previous, digest FROM record WHERE number = 2",
        "UPDATE ledger SET name = 'other'",
        "DELETE FROM ledger",
    ],
)
def test_records_stay_as_they_are(folder: Path, ledger: Ledger, statement: str) -> None:
    ledger.append([entry(1), entry(2)])
    other = sqlite3.connect(folder / FILE)
    with pytest.raises(sqlite3.IntegrityError):
        other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE record SET answer = '[[]]' WHERE number = 3"], "record 3 was changed"),
        (["UPDATE record SET answer = NULL WHERE number = 3"], "record 3 was changed"),
        (["UPDATE record SET generation = '1a' WHERE number = 3"], "record 3 is none"),
        (["UPDATE record SET time = '2001' WHERE number = 1"], "record 1 was changed"),
        (["DELETE FROM record WHERE number = 3"], "record 3 is missing"),
        (["DELETE FROM record WHERE number < 3"], "record 1 is missing"),
        (
            [
                "UPDATE record SET number = -number WHERE number IN (3, 4)",
                "UPDATE record SET number = 7 + number WHERE number < 0",
            ],
            "record 3 was changed",
        ),
        (["UPDATE ledger SET name = 'other'"], "does not follow the beginning of this ledger"),
        (["UPDATE record SET kind = 'other' WHERE number = 3"], "after record 2"),
        (["UPDATE record SET question = x'ff' WHERE number = 3"], "after record 2"),
        (["UPDATE record SET question = CAST(x'ff' AS TEXT) WHERE number = 3"], "after record 0"),
    ],
)
def test_tampering_is_found(folder: Path, statements: list[str], problem: str) -> None:
    with Ledger.open(folder) as opened:
        opened.append([entry(number) for number in range(1, 6)])
    tampered(folder, *statements)
    with Ledger.open(folder, read_only=True) as opened:
        found = opened.verify()
    assert not found.ok
    assert problem in found.problem


@pytest.mark.parametrize("number", [3, 5])
@pytest.mark.parametrize("value", ["x'ff'", "x'31'", "1.5"])
@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "number"])
def test_a_column_of_another_type_is_tampering(
    folder: Path, column: str, value: str, number: int
) -> None:
    """SQLite keeps in any column what it is given; 1.5 becomes a text where texts are."""
    with Ledger.open(folder) as opened:
        opened.append([entry(number) for number in range(1, 6)])
    tampered(folder, f"UPDATE record SET {column} = {value} WHERE number = {number}")
    with Ledger.open(folder, read_only=True) as opened:
        found = opened.verify()
        str(opened.head())
    assert not found.ok
    assert f"record {number}" in found.problem


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE record SET digest = x'ff' WHERE number = 1",
        "UPDATE record SET time = x'ff' WHERE number = 1",
        "INSERT INTO announced VALUES ('x')",
    ],
)
def test_nothing_is_added_to_what_was_tampered_with(folder: Path, statement: str) -> None:
    with Ledger.open(folder) as opened:
        opened.append([entry(1)])
    tampered(folder, statement)
    with Ledger.open(folder) as opened, pytest.raises(LedgerError, match="is damaged"):
        opened.append([entry(2)])


def test_a_ledger_has_a_name(folder: Path) -> None:
    Ledger.open(folder).close()
    tampered(folder, "UPDATE ledger SET name = x'ff'")
    for read_only in (False, True):
        with pytest.raises(StoreError, match="not a ledger of ours"):
            Ledger.open(folder, read_only=read_only)


def test_records_of_another_place_do_not_fit(folder: Path) -> None:
    """A forged record that is whole in itself."""
    with Ledger.open(folder) as opened:
        first, second, _ = opened.append([entry(1), entry(2), entry(3)])
        stated = {**second.to_dict(), "previous": first.previous}
    del stated["digest"]
    text = json.dumps(stated, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    tampered(
        folder,
        f"UPDATE record SET previous = '{first.previous}', digest = '{digest}' WHERE number = 2",
    )
    with Ledger.open(folder, read_only=True) as opened:
        assert "record 2 does not follow record 1" in opened.verify().problem


def test_a_damaged_file_is_no_ledger(folder: Path) -> None:
    Ledger.open(folder).close()
    (folder / FILE).write_bytes(b"what is this " * 1_000)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"damaged|not a database"):
            Ledger.open(folder, read_only=read_only)
    (folder / FILE).unlink()
    other = sqlite3.connect(folder / FILE)
    other.execute("CREATE TABLE ledger (a)")
    other.commit()
    other.close()
    with pytest.raises(StoreError):
        Ledger.open(folder, read_only=True)


def test_a_newer_format_is_named(folder: Path) -> None:
    Ledger.open(folder).close()
    tampered(folder, "UPDATE ledger SET version = 3")
    for read_only in (False, True):
        with pytest.raises(StoreError, match="a newer one"):
            Ledger.open(folder, read_only=read_only)
    tampered(folder, "UPDATE ledger SET version = 2")
    Ledger.open(folder).close()  # and the lock was given back


def test_any_text_can_be_logged(ledger: Ledger) -> None:
    texts = ["", "\0", "a\ud800b", "\N{PILE OF POO}" * 50, "'; DROP TABLE record; --", "x" * 10**6]
    asked = [entry(question=text, canonical=text, answer=text, who=text) for text in texts]
    ledger.append(asked)
    assert [record.entry for record in ledger.records()] == asked
    assert ledger.verify().ok
    assert len(asked[-1].question) == LONGEST_QUESTION
    assert asked[2].question == "a\\ud800b"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="answer, refusal, denied"):
        entry(kind="other")


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow beyond a size, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def append_until_it_fails(ledger: Ledger) -> None:
    for number in range(2, 500):
        ledger.append([entry(number, answer="x" * 4_000)] * 3)


def test_a_full_disk_leaves_nothing_half_written(ledger: Ledger) -> None:
    ledger.append([entry(1)])
    with full_disk(200_000):
        with pytest.raises(LedgerError, match="cannot write the ledger"):
            append_until_it_fails(ledger)
        written = len(ledger)
        assert written > 10
        assert written % 3 == 1
        with pytest.raises(LedgerError, match="cannot write the ledger"):
            ledger.append([entry(answer="x" * 100_000)])
        assert ledger.verify().records == written
    assert ledger.append([entry(7)])[0].number == written + 1  # there is room again
    assert ledger.verify().ok


def test_a_full_disk_makes_no_ledger(folder: Path) -> None:
    with full_disk(100), pytest.raises(LedgerError, match="cannot write the ledger"):
        Ledger.open(folder)
    with Ledger.open(folder) as opened:
        assert opened.append([entry()])


def test_a_folder_that_cannot_be_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> int:
        raise OSError(30, os.strerror(30))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)  # chmod would not stop root
        with pytest.raises(LedgerError, match="Read-only file system"):
            Ledger.open(folder)
    assert not (folder / FILE).exists()


@contextmanager
def as_anybody(*paths: Path) -> Iterator[None]:
    """Root may write anywhere, so be somebody else, who owns some files."""
    if os.geteuid():
        yield
        return
    for path in paths:
        os.chown(path, 65_534, 65_534)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_ledger_on_a_disk_that_cannot_be_written_to_can_be_read() -> None:
    # not tmp_path: the folders above that are closed to others
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / HEADER).touch()
        with Ledger.open(folder) as opened:
            opened.append([entry()])
        with as_anybody(folder, *folder.iterdir()):
            folder.chmod(0o500)
            with Ledger.open(folder, read_only=True) as opened:
                assert opened.verify().records == 1
            (folder / "ledger.lock").chmod(0o400)
            with pytest.raises(LedgerError, match="Permission denied"):
                Ledger.open(folder)
            folder.chmod(0o700)


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_a_ledger_that_is_removed_while_open_takes_no_more(
    folder: Path, ledger: Ledger, ending: str
) -> None:
    ledger.append([entry()])
    (folder / f"{FILE}{ending}").rename(folder / "elsewhere")
    with pytest.raises(LedgerError, match="removed or replaced"):
        ledger.append([entry()])


def _write_for_ever(folder: str, told: Any) -> None:
    with Ledger.open(folder) as ledger:
        number = len(ledger)
        while True:
            batch = [entry(number + step) for step in range(1, 1 + number % 4 + 1)]
            ledger.append(batch)
            number += len(batch)
            told.value = number  # acknowledged


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_it_acknowledged(folder: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    last = 0
    for turn in range(8):
        told = context.Value("q", -1)
        writer = context.Process(target=_write_for_ever, args=(str(folder), told), daemon=True)
        writer.start()
        enough = last + 5 * turn
        eventually(lambda: told.value >= enough, "a written record")  # noqa: B023
        time.sleep(0.0007 * turn)
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(PATIENCE)
        with Ledger.open(folder, read_only=True) as opened:
            found = opened.verify()
            assert found.ok, found.problem
            assert found.records >= told.value > last - 1
            assert [one.entry.request_id for one in opened.records()] == [
                f"r{number}" for number in range(1, found.records + 1)
            ]
            last = found.records
    with Ledger.open(folder) as opened:
        assert opened.append([entry()])[0].number == last + 1


def test_a_clock_that_goes_back_is_recorded(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) - timedelta(hours=1)

    (first,) = ledger.append([entry(1)])
    monkeypatch.setattr("sfumato.statdb.access.ledger_records.datetime", Earlier)
    assert [one.number for one in ledger.append([entry(2), entry(3)])] == [3, 4]
    assert [one.number for one in ledger.append([entry(4)])] == [5]
    kinds = [record.entry.kind for record in ledger.records()]
    assert kinds == ["answer", "clock", "answer", "answer", "answer"]
    assert first.time in next(ledger.records(2)).entry.question
    assert ledger.verify().ok


def test_long_answers_are_kept_once_and_checked(folder: Path, ledger: Ledger) -> None:
    told = json.dumps(["x" * 5_000])
    records = [
        *ledger.append([entry(1, answer=told)]),
        *ledger.append([entry(2, answer=told)] * 50),
    ]
    assert {ledger.answer(one.entry) for one in records} == {told}
    assert {ledger.answer(one.entry) for one in ledger.records()} == {told}
    other = sqlite3.connect(folder / FILE)
    assert other.execute("SELECT count(*), max(length(text)) FROM answer").fetchone() == (1, 5_004)
    for statement in ("UPDATE answer SET text = '[]'", "DELETE FROM answer"):
        with pytest.raises(sqlite3.IntegrityError):
            other.execute(statement)
    other.close()
    assert ledger.verify().ok
    tampered(folder, "UPDATE answer SET text = '[]'")
    assert "an answer was changed or is missing" in ledger.verify().problem
    tampered(folder, "DELETE FROM answer")
    assert "an answer was changed or is missing" in ledger.verify().problem


def test_the_fast_digest_is_that_of_the_object(ledger: Ledger) -> None:
    for text in ("", "\0\x1f\x7f", "é\N{SNOWMAN}\U0001f600", '"\\/', "a\ud800b"):
        (record,) = ledger.append([entry(question=text, canonical=None, answer=None, who=text)])
        stated = record.to_dict()
        assert stated.pop("digest") == digest_of(stated)


def test_several_write_beside_each_other(folder: Path, ledger: Ledger) -> None:
    def note(first: int) -> None:
        with Ledger.open(folder, beside=True) as other:
            for number in range(first, first + 20):
                other.append([entry(number)])

    threads = [threading.Thread(target=note, args=(100 * one,), daemon=True) for one in range(3)]
    for thread in threads:
        thread.start()
    for number in range(20):
        ledger.append([entry(number)])
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert ledger.verify() == Verified(True, 80)


def test_a_ledger_of_the_first_version_goes_on(folder: Path) -> None:
    with Ledger.open(folder) as opened:
        opened.append([entry(1)])
    tampered(folder, "DROP TABLE answer", "DELETE FROM record", "UPDATE ledger SET version = 1")
    with Ledger.open(folder, read_only=True) as opened:
        assert len(opened) == 0
    with Ledger.open(folder) as opened:
        opened.append([entry(1), entry(2, answer="y" * 5_000)])
        assert opened.verify() == Verified(True, 2)
