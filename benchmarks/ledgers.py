"""A ledger: processor time of a record, of checking a million, and of what came since a known head.

600,000 rows as in server.py. Records are appended as the server does, 4,096 a commit: different
questions in random order, each asked about 50 times. A check computes every digest again, asks the
store every different question, and makes 20 versions. A record by itself stands beside a page
that is written to a plain file and to the disk.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import sfumato as sf
from benchmarks.measure import Line, in_turns
from benchmarks.server import _text
from benchmarks.statdb import QUASI, ROWS, SALARY, M, salaries
from sfumato.core.answer import plain
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_checks import check_log
from sfumato.statdb.access.ledger_records import Entry

RECORDS = 1_000_000
QUESTIONS = 20_000
LATER = 1_000
ALONE = 1_000
_BATCH = _PAGE = 4_096


def run(folder: Path | None) -> Iterator[Line]:
    """A whole check, and one from a head that is remembered."""
    rows, source = salaries(folder, ROWS)
    table = sf.read(rows, sf.Schema(quasi=QUASI, sensitive=SALARY))
    said = f"{table.n_rows:,} rows of {source}, {QUESTIONS:,} different questions"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "salaries.statdb"
        database = sf.StatDB.create(path, table, m=M, seed=0, experiment=True)
        queries = sf.dynamic_workload(table, queries=QUESTIONS, seed=0)
        entries = [_entry(database, _text(one, database.responder.catalog)) for one in queries]
        yield _alone(path, entries[0])
        _fill(path, entries, RECORDS)
        spent, found = _checked(path)
        yield Line(f"{RECORDS:,} records, processor time", spent, 60.0, "s", said)
        _fill(path, entries, LATER)
        later, _ = _checked(path, since=found)
        name = f"{LATER:,} records since a remembered head, opening included"
        yield Line(name, later, 2.0, "s")


def _alone(path: Path, entry: Entry) -> Line:
    """What a single client pays for its answer to be on disk."""
    page = bytes(_PAGE)
    with Ledger.open(path) as ledger, tempfile.TemporaryFile(dir=path.parent) as file:

        def recorded() -> None:
            for _ in range(ALONE):
                ledger.append([entry])

        def flushed() -> None:
            for _ in range(ALONE):
                os.write(file.fileno(), page)
                os.fdatasync(file.fileno())

        ours, plain_file = in_turns(recorded, flushed, clock=time.process_time)
    detail = f"{1e6 * ours / ALONE:.0f} µs against {1e6 * plain_file / ALONE:.0f} µs"
    name = "a record by itself / a page of a plain file, on disk, processor time"
    return Line(name, ours / plain_file, float("inf"), detail=detail)


def _entry(database: sf.StatDB, text: str) -> Entry:
    one = database.query(text).answer
    told = {"lo": one.lo, "hi": one.hi, "estimate": plain(one.estimate), "nullable": False}
    answer = json.dumps([{"key": {}, "answers": {"count": told}}])
    return Entry("0" * 16, "0" * 12, "analyst", "answer", text, text, answer, 1)


def _fill(path: Path, entries: Sequence[Entry], records: int) -> None:
    drawn = np.random.default_rng(1).integers(0, len(entries), records)
    with Ledger.open(path) as ledger:
        for first in range(0, records, _BATCH):
            ledger.append([entries[at] for at in drawn[first : first + _BATCH]])


def _checked(path: Path, since: str | None = None) -> tuple[float, str]:
    started = time.process_time()
    found = check_log(path, seed=1, since=since)
    spent = time.process_time() - started
    found.require()
    return spent, str(found.head)
