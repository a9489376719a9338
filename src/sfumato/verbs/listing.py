"""Microdata joined to a list beyond memory: the same table as core.joined.join makes, merged.

    1. read    the list once, part by part, as codes (engines/lists.py); rows go to buckets by id
    2. match   bucket by bucket: whose ids are the microdata's, whose are there twice
    3. count   the vectors of all others (engines/vectors.py), which is all that is kept of them

Cost: two passes over the list, one of them on disk, and memory for its different vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.algorithms.base import Stages
from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.fingerprint import text_hashes
from sfumato.core.joined import (
    EXTERNAL,
    Joined,
    Matching,
    alike,
    keys,
    names_there,
    own_keys,
    own_values,
    require_joinable,
    require_keys,
    require_same_ids,
    together,
)
from sfumato.core.microdata import Ids, Microdata
from sfumato.core.schema import Schema
from sfumato.engines.base import Engine
from sfumato.engines.choice import require_engine
from sfumato.engines.coded import row_numbers
from sfumato.engines.lists import ID, CodedList
from sfumato.engines.room import Room
from sfumato.engines.rows import NamedRows, needs_streaming, open_named, stored_size
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.engines.vectors import added_up, counted, times_of, vector_codes
from sfumato.errors import ParameterError
from sfumato.io.csv_headers import FirstLine
from sfumato.io.files import open_file

# what a row of a bucket takes, and one part in so many of the memory is for a bucket
_ROW_BYTES, _SHARE = 200, 4
_MOST_BUCKETS = 1024
_NO_SECRET = np.zeros(2, np.uint64)
_MULTIPLIER, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a list is read: what our ``columns`` are called there, and see ``read``."""

    columns: Mapping[str, str]
    missing: Collection[str]
    header: bool | None

    def stream(self, table: Microdata, external: str | Path, memory: int, tell: Stages) -> Joined:
        """Join the table to the list within so much memory."""
        ids, first = require_joinable(table), FirstLine.said(None, self.header)
        found = open_file(Path(external), self.missing, first).names
        called = names_there(found, (ids.name, *table.schema.quasi), self.columns)
        rows = open_named(external, called, self.missing, first)
        return join_list(table, rows, stored_size(external, _schema(called.values())), memory, tell)

    def names(self, table: Microdata) -> list[str]:
        """The columns that are read."""
        ids = require_joinable(table)
        return [self.columns.get(name, name) for name in (ids.name, *table.schema.quasi)]


def is_streamed(external: object, names: Collection[str], engine: str) -> bool:
    """Whether columns of a list are to be read part by part; raise if they must be and cannot."""
    require_engine(engine)
    in_file = isinstance(external, str | Path) and "://" not in str(external)
    if engine == "stream" and not in_file:
        raise ParameterError(
            "streaming is for a list in a file; use the in-memory engine", parameter="engine"
        )
    return engine == "stream" or (engine == "auto" and needs_streaming(external, _schema(names)))


def join_list(
    table: Microdata, listed: NamedRows, about: tuple[int, int], memory: int, tell: Stages
) -> Joined:
    """Join a table to a list of about so many rows and bytes, within so much memory."""
    ids = require_joinable(table)
    own_ids, own = own_keys(ids), own_values(table)
    n = _n_buckets(about, memory)
    with TemporaryDirectory() as place, Scratch(Path(place)) as scratch:
        people = CodedList(listed, list(own), ids.name)
        buckets = _engine(people.parts, scratch).exchange(_buckets, n, _as_it_is, n)
        _require_ids(people, ids, listed)
        theirs = {
            name: alike(name, pa.chunked_array([values]), own[name].type)
            for name, values in people.values.items()
        }
        tell("matching", 0.0)
        matched = _Matched(own_ids, own, theirs, people.sizes, n)
        others = _engine(lambda: matched.others(buckets), scratch).keep(_same)
        require_keys(0, matched.repeated, EXTERNAL, ids.name)
        room = Room.of(memory, len(own))
        vectors = added_up(others, people.sizes, people.n_rows, room, EXTERNAL)
    return _joined(table, own, theirs, vectors, matched.matching(table.n_rows, people.n_rows))


@dataclass(slots=True)
class _Matched:
    """How the list fits to the microdata, found out while its buckets pass."""

    own_ids: pa.Array
    own: Mapping[str, pa.Array]
    theirs: Mapping[str, pa.Array]
    sizes: Counts
    n: int
    repeated: int = 0
    shared: int = 0
    skipped: int = 0
    incomplete: int = 0
    disagreements: Counter[str] = field(default_factory=Counter)

    def others(self, buckets: Engine) -> Iterator[pa.Table]:
        """The vectors of complete rows that are not about people of the microdata."""
        known = [
            column.is_valid().to_numpy(zero_copy_only=False) for column in self.theirs.values()
        ]
        own_rows, starts = rows_by_group(_buckets_of(self.own_ids, self.n), self.n)
        for number, rows in enumerate(buckets.parts()):
            codes = vector_codes(rows)
            places = self._places(rows, own_rows[starts[number] : starts[number + 1]])
            complete = np.ones(len(codes), np.bool_)
            for j, valid in enumerate(known):
                complete &= valid[codes[:, j]]
            found = places >= 0
            self.shared += int(found.sum())
            self.incomplete += int((found & ~complete).sum())
            self.skipped += int((~found & ~complete).sum())
            self._compare(codes, places, found & complete)
            added = ~found & complete
            yield counted(row_numbers(rows)[added], codes[added], self.sizes)

    def matching(self, microdata: int, external: int) -> Matching:
        """The sums, once all buckets have passed."""
        differ = {name: self.disagreements[name] for name in self.own if self.disagreements[name]}
        return Matching(microdata, external, self.shared, self.skipped, self.incomplete, differ)

    def _places(self, rows: pa.Table, own_rows: Codes) -> Codes:
        """For each row of a bucket, the microdata's row about the same person, or -1."""
        ids = keys(rows.column(ID).combine_chunks())
        self.repeated += len(ids) - len(pc.unique(ids))
        found = pc.index_in(ids, self.own_ids.take(pa.array(own_rows))).fill_null(-1).to_numpy()
        places: Codes = np.append(own_rows, np.int32(-1))[found]
        return places

    def _compare(self, codes: Codes, places: Codes, shared: Flags) -> None:
        here = pa.array(places[shared])
        for j, (name, theirs) in enumerate(self.theirs.items()):
            there = theirs.take(pa.array(codes[shared, j]))
            differs = pc.not_equal(self.own[name].take(here).cast(theirs.type), there)
            self.disagreements[name] += pc.sum(differs).as_py() or 0


def _joined(
    table: Microdata,
    own: Mapping[str, pa.Array],
    theirs: Mapping[str, pa.Array],
    vectors: pa.Table,
    matching: Matching,
) -> Joined:
    """The table and the vectors, in the domains of all who are among them."""
    codes = vector_codes(vectors)
    places = np.empty_like(codes)
    values = {}
    for j, (name, column) in enumerate(theirs.items()):
        used, places[:, j] = np.unique(codes[:, j], return_inverse=True)
        values[name] = column.take(pa.array(used))
    found = together(table, own, values, places, matching)
    # values that are spelled differently are one by now
    return found.with_outside(np.arange(len(codes)), times_of(vectors)).merged()


def _schema(names: Collection[str]) -> Schema:
    return Schema(quasi=list(dict.fromkeys(names)))


def _require_ids(people: CodedList, ids: Ids, listed: NamedRows) -> None:
    require_keys(people.n_without_id, 0, EXTERNAL, ids.name)
    if people.n_rows:
        require_same_ids(ids, listed.types[ids.name])


def _n_buckets(about: tuple[int, int], memory: int) -> int:
    rows, stored = about
    taken = max(rows * _ROW_BYTES, 4 * stored)
    return min(1 + _SHARE * taken // memory, _MOST_BUCKETS)


def _buckets(part: pa.Table, n: int) -> Codes:
    return _buckets_of(keys(part.column(ID).combine_chunks()), n)


def _buckets_of(ids: pa.Array, n: int) -> Codes:
    """Equal ids are in one bucket."""
    if pa.types.is_integer(ids.type):
        words = ids.fill_null(0).to_numpy().view(np.uint64) * _MULTIPLIER
    else:
        # 0.0 and -0.0 are equal
        even = pc.add(ids, 0.0) if pa.types.is_floating(ids.type) else ids
        words = text_hashes(even.cast(pa.large_string()), _NO_SECRET)
    buckets: Codes = ((words >> _SHIFT) % np.uint64(n)).astype(np.int32)
    return buckets


def _engine(scan: Callable[[], Iterator[pa.Table]], scratch: Scratch) -> StreamEngine:
    return StreamEngine(scan, scratch, lambda: None)


def _as_it_is(bucket: pa.Table, number: int, n: int) -> pa.Table:  # noqa: ARG001
    return bucket


def _same(part: pa.Table) -> pa.Table:
    return part
