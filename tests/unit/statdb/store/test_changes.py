"""Changes of a store: what does not change is shared, and what fails leaves nothing behind."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import LedgerError, ReleaseError, SfumatoError, StoreError
from sfumato.statdb import store
from sfumato.statdb.access.ledger import Entry, Ledger
from sfumato.statdb.access.tokens import Tokens
from sfumato.statdb.store import Changes, Contents, change_state, changing, open_store
from sfumato.statdb.store import files as store_files
from sfumato.statdb.store.files import Patch
from tests.support.waiting import PATIENCE

N = 30_000
SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="disease")


def people(n: int = N, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "age": random.integers(18, 90, n),
            "zip": random.integers(0, 300, n),
            "disease": pa.array((["flu", "cold", "cough", "ache"] * n)[:n], pa.string()),
        }
    )


def microdata(table: pa.Table) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, SCHEMA)


@pytest.fixture
def db(tmp_path: Path) -> sf.StatDB:
    return sf.StatDB.create(
        tmp_path / "people.statdb", microdata(people()), m=3, first="signatures", cohort=8
    )


def files(path: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of a folder: which one it is, when it was written, and what it holds."""
    return {
        str(one.relative_to(path)): (one.stat().st_ino, one.stat().st_mtime_ns, one.read_bytes())
        for one in path.rglob("*")
        if one.is_file()
    }


def header(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "statdb.json").read_text())
    return found


def same(one: sf.StatDB, other: sf.StatDB) -> bool:
    """Whether two databases hold the same arrays, and so have the same answers."""
    mine, theirs = one.responder.stored.named(), other.responder.stored.named()
    return mine.keys() == theirs.keys() and all(
        mine[name].dtype == theirs[name].dtype and np.array_equal(mine[name], theirs[name])
        for name in mine
    )


def test_files_of_what_does_not_change_are_shared(db: sf.StatDB) -> None:
    before = files(db.path)
    update = db.apply(inserted=microdata(people(8, 5)), deleted=microdata(people().slice(0, 3)))
    assert (update.deleted, update.inserted) == (3, 8)
    after = files(db.path)
    kept = {name for name in before if after.get(name) == before[name]}
    assert sum(len(before[name][2]) for name in kept) > 0.95 * sum(
        len(held) for _, _, held in before.values()
    )
    written = sum(len(held) for name, (_, _, held) in after.items() if name not in kept)
    assert written < 40_000
    assert header(db.path)["version"] == 3  # earlier programs would not put patches in place
    again = sf.StatDB.open(db.path)
    assert (again.generation, again.responder.n_rows) == (2, N + 5)


@pytest.mark.slow
def test_what_is_stored_is_what_was_computed(db: sf.StatDB, tmp_path: Path) -> None:
    """Twice the same changes: once through patches, once written whole each time."""
    whole = sf.StatDB.create(
        tmp_path / "whole",
        microdata(people()),
        m=3,
        first="signatures",
        cohort=8,
        seed=bytes(range(32)),
    )
    other = sf.StatDB.create(
        tmp_path / "other",
        microdata(people()),
        m=3,
        first="signatures",
        cohort=8,
        seed=bytes(range(32)),
    )
    assert same(whole, other)
    random = np.random.default_rng(3)
    for step in range(6):
        gone = whole.table().take(random.choice(whole.responder.n_rows, 5, replace=False))
        new = people(8 * (step + 1), step)
        if step == 3:  # a domain grows
            new = new.set_column(1, "zip", pa.array([5_000 + i for i in range(len(new))]))
        for one in (whole, other):
            one.apply(microdata(new), gone, seed=bytes(range(32)))
        whole.compact()
        whole, other = sf.StatDB.open(whole.path), sf.StatDB.open(other.path)
        assert same(whole, other)
        assert (whole.generation, whole.counterfeits) == (other.generation, other.counterfeits)
        assert header(whole.path).get("patch") is None
    assert header(other.path)["patch"]


@pytest.mark.slow
def test_patches_add_up_and_become_a_state_of_their_own(db: sf.StatDB) -> None:
    truth, states = people(), set()
    for _ in range(8):
        sf.StatDB.open(db.path).apply(deleted=microdata(truth.slice(0, 60)))
        truth = truth.slice(60)
        found = header(db.path)
        states.add(found["state"])
        patch = found.get("patch")
        held = (db.path / found["state"] / patch["file"]).stat().st_size if patch else 0
        assert held < 2**17  # so small a database may have 64 KiB, and the heads of arrays
        assert sf.StatDB.open(db.path).responder.n_rows == truth.num_rows
        assert len(list(db.path.glob("state-*/patch-*"))) == bool(patch)
    assert 1 < len(states) < 8


def test_a_change_of_what_was_opened_reads_nothing_again(
    db: sf.StatDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    real = store_files.checksum_of

    def noting(path: Path) -> int:
        read.append(path)
        return real(path)

    monkeypatch.setattr(store_files, "checksum_of", noting)
    db.apply(deleted=microdata(people().slice(0, 3)))
    assert read == []
    db.apply(deleted=microdata(people().slice(3, 3)))  # now it was changed by somebody else
    assert len(read) > len(header(db.path)["files"])


def test_damage_is_found_after_changes_that_did_not_look(db: sf.StatDB) -> None:
    found = header(db.path)
    name = next(n for n, one in found["files"].items() if one.get("array") == "codes.age")
    path = db.path / found["state"] / name
    raw = bytearray(path.read_bytes())
    raw[-1000] ^= 1
    path.write_bytes(raw)
    db.apply(deleted=microdata(people().slice(0, 3)))
    with pytest.raises(StoreError, match=rf"damaged: {name} was changed"):
        sf.StatDB.open(db.path)


def test_damage_to_a_patch_is_found(db: sf.StatDB) -> None:
    db.apply(deleted=microdata(people().slice(0, 3)))
    (path,) = db.path.glob("state-*/patch-*")
    raw = bytearray(path.read_bytes())
    raw[-3] ^= 1
    path.write_bytes(raw)
    with pytest.raises(StoreError, match=r"damaged: patch-.* was changed"):
        sf.StatDB.open(db.path)


def test_who_has_opened_a_database_keeps_it(db: sf.StatDB) -> None:
    asked = ["age < 40 AND disease = 'flu'", "zip > 100"]
    reader = sf.StatDB.open(db.path)
    before = [reader.count(query) for query in asked]
    db.apply(deleted=microdata(people().slice(0, 9_000)))
    assert [reader.count(query) for query in asked] == before
    assert reader.responder.n_rows == N


def test_compacting_leaves_nothing_of_who_left(db: sf.StatDB) -> None:
    """Of somebody of an age that nobody else has, the code stays until files are written anew."""
    table = people().set_column(0, "age", pa.array([99, *people()["age"].to_pylist()[1:]]))
    path = db.path.with_name("other.statdb")
    other = sf.StatDB.create(path, microdata(table), m=3, first="signatures", cohort=8)
    code = other.responder.attributes["age"].size - 1
    other.apply(deleted=microdata(table.slice(0, 1)))

    def held() -> bool:
        found = header(path)
        name = next(n for n, one in found["files"].items() if one.get("array") == "codes.age")
        return bool((np.load(path / found["state"] / name) == code).any())

    assert held()
    before = sf.StatDB.open(path)
    before.compact()
    after = sf.StatDB.open(path)
    assert not held()
    assert same(before, after)
    assert (after.generation, after.info()) == (before.generation, before.info())
    assert header(path)["version"] == 1


def contents() -> Contents:
    return Contents(
        {"number": 0}, {"a": np.zeros((300, 200)), "b": np.arange(5)}, {"y": pa.array([1])}
    )


def test_patches_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "some.statdb"
    store.create_store(path, contents())
    first, second = (
        {"a": Patch(np.array([3, 59_999]), np.array([one, 2 * one]))} for one in (1.0, 5.0)
    )
    for patch in (first, {"a": Patch(np.array([0]), np.array([9.0]))}, second):
        with changing(path):
            change_state(path, Changes({"number": 1}, patch, {}), contents)
    held, generation, _ = open_store(path)
    expected = np.zeros((300, 200))
    expected.reshape(-1)[[0, 3, 59_999]] = 9.0, 5.0, 10.0
    assert (held.arrays["a"] == expected).all()
    assert (generation, held.facts["number"]) == (4, 1)
    with changing(path):  # an array that is written anew has no patch any more
        anew = {"a": np.ones(3), "b": np.arange(7)}
        change_state(path, Changes({"number": 2}, anew, {"y": pa.array([5])}), contents)
    held = open_store(path).contents
    assert held.arrays["a"].tolist() == [1, 1, 1]
    assert (len(held.arrays["b"]), held.domains["y"].to_pylist()) == (7, [5])
    assert header(path)["version"] == 1


class FullDisk:
    """Opens files until so many bytes were written; then the disk is full, within a write."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.written = 0
        self._real = store_files.private_file

    def __call__(self, path: Path) -> Any:
        file = self._real(path)
        real = file.write

        class Limited:
            def write(_, data: Any) -> int:  # noqa: N805
                left = self.room - self.written
                self.written += len(data)
                if len(data) > left:
                    real(bytes(data)[: max(left, 0)])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return int(real(data))

            def __getattr__(_, name: str) -> Any:  # noqa: N805
                return getattr(file, name)

        return Limited()


def rooms(total: int) -> list[int]:
    """Where a disk may be full: in every file, and at its ends."""
    last = total - 100  # checksums in the header have not always as many digits
    return sorted({0, 1, *np.linspace(0, last, 25).astype(int).tolist()})


def limited(monkeypatch: pytest.MonkeyPatch, room: int) -> FullDisk:
    disk = FullDisk(room)
    monkeypatch.setattr(store_files, "private_file", disk)
    monkeypatch.setattr(store, "private_file", disk)
    return disk


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["patch", "whole", "waiting", "grown"])
def test_a_disk_that_is_full_leaves_a_store_as_it_was(
    db: sf.StatDB, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    batch = people(8, 5)
    if kind == "grown":
        batch = batch.set_column(1, "zip", pa.array([7_000] * 8))
    inserted, deleted = {
        "patch": (microdata(batch), microdata(people().slice(0, 5))),
        "whole": (None, microdata(people().slice(0, 20_000))),
        "waiting": (microdata(people(1, 5)), None),
        "grown": (microdata(batch), None),
    }[kind]
    monkeypatch.undo()
    before = files(db.path)
    with monkeypatch.context() as measured:
        disk = limited(measured, 2**40)
        copy = _copied(db)
        copy.apply(inserted, deleted)
        total = disk.written
    for room in rooms(total):
        with monkeypatch.context() as full:
            limited(full, room)
            with pytest.raises(StoreError, match=r"No space left.*free some space.*as it was"):
                db.apply(inserted, deleted)
        assert files(db.path) == before
        assert same(sf.StatDB.open(db.path), db)
    assert db.apply(inserted, deleted).rows == copy.apply().rows


def _copied(db: sf.StatDB) -> sf.StatDB:
    path = db.path.with_name("copy.statdb")
    shutil.copytree(db.path, path)
    return sf.StatDB.open(path)


def test_a_disk_that_is_full_leaves_nothing_of_a_new_store(
    db: sf.StatDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = sum(len(held) for _, _, held in files(db.path).values())
    table, path = microdata(people()), db.path.with_name("new.statdb")
    beside = set(db.path.parent.iterdir())
    for room in rooms(total)[::5]:
        with monkeypatch.context() as full:
            limited(full, room)
            with pytest.raises(ReleaseError, match=r"cannot write .*No space left.*free some"):
                sf.StatDB.create(path, table, m=3)
        assert set(db.path.parent.iterdir()) == beside


def test_a_header_that_was_replaced_is_not_taken_back(
    db: sf.StatDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk fails after the switch, the new files stay: the header names them."""
    calls = []

    def fails(folder: Path) -> None:
        calls.append(folder)
        if folder == db.path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("sfumato.statdb.store.header.flush_entry", fails)
    with pytest.raises(StoreError, match="has changed, and a power cut may undo that"):
        db.apply(deleted=microdata(people().slice(0, 5)))
    monkeypatch.undo()
    assert calls
    again = sf.StatDB.open(db.path)
    assert (again.generation, again.responder.n_rows) == (2, N - 5)


def _under_a_limit(path: str, queue: Any) -> None:
    """Change and log under a limit on the size of files; the errors that come of it."""
    other = f"{path}.other"  # has no ledger yet
    shutil.copytree(path, other)
    leavers = microdata(people().slice(0, 50))
    kinds = []
    with Ledger.open(path) as ledger:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        entry = Entry("r", "w", "owner", "answer", "q" * 9_000, None, None, 1)
        works: list[Any] = [
            lambda: sf.StatDB.open(other).apply(deleted=leavers),
            lambda: sf.StatDB.open(path).apply(deleted=leavers),
            lambda: sf.StatDB.create(f"{path}.new", microdata(people()), m=3),
            lambda: ledger.append([entry]),
            lambda: Tokens.open(path),
            lambda: Ledger.open(other),
        ]
        for work in works:
            try:
                work()
                kinds.append("done")
            except SfumatoError as error:
                kinds.append(f"{type(error).__name__}: {error}")
    queue.put(kinds)


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_one_clear_error(db: sf.StatDB) -> None:
    """The system's own refusal, not one that a test makes up; the ledger and tokens, too."""
    before = files(db.path)
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    child = context.Process(target=_under_a_limit, args=(str(db.path), queue), daemon=True)
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == 0
    applied, told, created, logged, _, begun = queue.get()
    assert "StoreError: cannot change" in applied
    assert "File too large" in applied
    assert "the database is as it was" in applied
    assert f"{LedgerError.__name__}: cannot write the ledger" in told  # before anything else
    assert "ReleaseError: cannot write" in created
    assert f"{LedgerError.__name__}: cannot write the ledger" in logged
    assert "free some space" in logged
    assert f"{LedgerError.__name__}: cannot write the ledger" in begun
    other = db.path.with_name(f"{db.path.name}.other")
    assert not list(other.glob("ledger.sqlite*"))
    copied = files(other)
    assert all(copied[name][1:] == one[1:] for name, one in before.items())
    assert copied.keys() - before.keys() <= {"ledger.lock"}
    after = files(db.path)
    assert {name: after[name] for name in before} == before
    assert {name.partition("/")[0].partition(".")[0] for name in after.keys() - before.keys()} <= {
        "ledger",
        "access",
    }
    assert {*db.path.parent.iterdir()} == {db.path, other}


def _apply_for_ever(path: str, started: Any) -> None:
    truth = people()
    for step in range(10_000):
        sf.StatDB.open(path).apply(
            inserted=microdata(people(8, 5)), deleted=microdata(truth.slice(8 * step, 8))
        )
        if step == 1:
            started.set()


@pytest.mark.slow
def test_a_killed_change_leaves_one_database_or_the_other(db: sf.StatDB) -> None:
    """Through patches: rows that are in or wait stay the same number."""
    context = multiprocessing.get_context("spawn")
    generation = 1
    for pause in np.random.default_rng(1).uniform(0, 0.2, 4):
        path = db.path.with_name(f"{generation}.statdb")
        sf.StatDB.create(path, microdata(people()), m=3)
        started = context.Event()
        writer = context.Process(target=_apply_for_ever, args=(str(path), started), daemon=True)
        writer.start()
        assert started.wait(PATIENCE)
        time.sleep(pause)
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(PATIENCE)
        found = sf.StatDB.open(path)
        assert found.generation >= 3
        assert found.responder.n_rows + found.waiting.num_rows == N
        exact = microdata(found_rows(found))
        for query in ("age < 40", "zip > 100 AND disease = 'flu'"):
            answer = found.count(query)
            assert answer.lo <= exact.count(query).estimate <= answer.hi
        found.apply(inserted=microdata(people(8, 5)))
        named = header(path)
        state = path / named["state"]
        beside = (named.get("patch"), named.get("waiting"))
        expected = {*named["files"], *(one["file"] for one in beside if one)}
        assert {one.name for one in state.iterdir()} == expected
        generation += 1


def found_rows(db: sf.StatDB) -> pa.Table:
    table = db.table()
    return pa.table({n: table.attributes[n].decode(codes) for n, codes in table.codes.items()})
