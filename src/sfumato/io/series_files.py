"""The folder of a series of join releases: what its owner has to remember from one to the next.

    series.json     how the series is made, and the key of the hashes below
    people.parquet  everybody who has a line in a release, or a published row
    release/        the last release, as it was published

People are keyed hashes of their ids, rows of their values: the folder lists nobody,
but whoever has it can try ids one by one. It is the owner's, as the table is, and nobody else may
open it. It is replaced as a whole (folders.py), and locked while a release is made.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.core.arrays import Words
from sfumato.errors import StoreError
from sfumato.io import unfinished
from sfumato.io.folders import flush, put_in_place
from sfumato.io.locks import Busy, take_lock

FORMAT, VERSION = "sfumato-join-series", 1
RELEASE = "release"
_MADE, _PEOPLE = "series.json", "people.parquet"


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """How a series is made (``settings``), and its people: hashes of their ids, and of the rows
    that were published of them, 0 where there is none.
    """

    settings: Mapping[str, Any]
    key: bytes
    people: Words
    rows: Words

    @property
    def name(self) -> str:
        """What tells it from other series, also of one that began anew in the same folder."""
        return hashlib.blake2b(self.key, digest_size=16).hexdigest()

    def __repr__(self) -> str:
        """Sizes only."""
        return f"Remembered({len(self.people):,} people)"

    def with_people(self, people: Words, rows: Words) -> Remembered:
        """With more of them; who is there already gets a row."""
        fresh = ~np.isin(people, self.people)
        known = self.rows.copy()
        order = np.argsort(self.people)
        places = order[np.searchsorted(self.people, people[~fresh], sorter=order)]
        known[places] = np.maximum(known[places], rows[~fresh])
        return replace(
            self,
            people=np.append(self.people, people[fresh]),
            rows=np.append(known, rows[fresh]),
        )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else continues the series meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.parent / f".{path.name}.lock"
    try:
        handle = take_lock(beside)
    except Busy as error:
        raise StoreError(
            f"{path} is in use: another release of the series is made", path=path
        ) from error
    try:
        yield
    finally:
        os.close(handle)


def remembered(path: Path) -> Remembered | None:
    """What a folder remembers; None if there is no such folder."""
    if not path.exists():
        return None
    try:
        stated = json.loads((path / _MADE).read_text(encoding="utf-8"))
        if stated["format"] != FORMAT or stated["version"] != VERSION:
            raise ValueError("another format, or a newer one")
        people = pq.read_table(path / _PEOPLE)
        columns = [people.column(name).to_numpy().astype(np.uint64) for name in ("person", "row")]
        return Remembered(stated["settings"], bytes.fromhex(stated["key"]), *columns)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise StoreError(f"{path} is not a series of join releases: {error}", path=path) from error


@contextmanager
def rewritten(path: Path, now: Remembered) -> Iterator[Path]:
    """Yield where to write the release; then all of it takes the place of what was there."""
    target = path.resolve()
    unfinished.clear(target)
    temp = unfinished.beside(target, unfinished.NEW)
    with unfinished.begun(temp, target):
        temp.mkdir(mode=0o700)
        try:
            stated = {
                "format": FORMAT, "version": VERSION,
                "settings": now.settings, "key": now.key.hex(),
            }  # fmt: skip
            (temp / _MADE).write_text(json.dumps(stated, indent=2) + "\n", encoding="utf-8")
            order = np.argsort(now.people)  # by hash, so that the order tells nothing
            people = {"person": pa.array(now.people[order]), "row": pa.array(now.rows[order])}
            pq.write_table(pa.table(people), temp / _PEOPLE)
            yield temp / RELEASE
            flush(temp)
            put_in_place(temp, target)
        except BaseException:
            shutil.rmtree(temp, ignore_errors=True)
            raise
