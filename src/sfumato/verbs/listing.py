"""Microdata joined to a list beyond memory: the same table as core.joined.join makes, merged.

    1. read    the list once, part by part, as codes (engines/lists.py); rows go to buckets by id
    2. match   bucket by bucket: whose ids are the microdata's, whose are there twice
    3. count   the vectors of all others (engines/vectors.py), which is all that is kept of them

Cost: two passes over the list, one of them on disk, and memory for its different vectors. Workers
of a cluster find the values of the list before they read it as codes, which is one pass more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

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
from sfumato.engines.choice import CLUSTERS, require_engine
from sfumato.engines.coded import row_numbers
from sfumato.engines.lists import ID, CodedList, KnownList, known_list, list_engine
from sfumato.engines.parts import Work
from sfumato.engines.room import Room
from sfumato.engines.rows import NamedRows, needs_streaming, open_named, stored_size
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.engines.vectors import added_up, counted, times_of, vector_codes
from sfumato.errors import ParameterError
from sfumato.io.dialects import Dialect
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

    def stream(
        self,
        table: Microdata,
        external: str | Path,
        memory: int,
        tell: Stages,
        work: Work | None = None,
    ) -> Joined:
        """Join the table to the list within so much memory, here or by workers."""
        ids, dialect = require_joinable(table), Dialect.said(None, self.header)
        found = open_file(Path(external), self.missing, dialect).names
        called = names_there(found, (ids.name, *table.schema.quasi), self.columns)
        rows = open_named(external, called, self.missing, dialect)
        about = stored_size(external, _schema(called.values()))
        return join_list(table, rows, about, memory, tell, work)

    def names(self, table: Microdata) -> list[str]:
        """The columns that are read."""
        ids = require_joinable(table)
        return [self.columns.get(name, name) for name in (ids.name, *table.schema.quasi)]


def is_streamed(external: object, names: Collection[str], engine: str) -> bool:
    """Whether columns of a list are to be read part by part; raise if they must be and cannot."""
    require_engine(engine, more=CLUSTERS)
    in_file = isinstance(external, str | Path) and "://" not in str(external)
    insists = engine in ("stream", *CLUSTERS)
    if insists and not in_file:
        raise ParameterError(
            "streaming is for a list in a file; use the in-memory engine", parameter="engine"
        )
    return insists or (engine == "auto" and needs_streaming(external, _schema(names)))


def join_list(
    table: Microdata,
    listed: NamedRows,
    about: tuple[int, int],
    memory: int,
    tell: Stages,
    work: Work | None = None,
) -> Joined:
    """Join a table to a list of about so many rows and bytes, within so much memory."""
    ids = require_joinable(table)
    own_ids, own = own_keys(ids), own_values(table)
    n = _n_buckets(about, memory)
    with _opened(listed, list(own), ids.name, work) as (coded, known):
        buckets = coded.exchange(_buckets, n, _as_it_is, n)
        people = known()
        _require_ids(people, ids, listed)
        theirs = {
            name: alike(name, pa.chunked_array([values]), own[name].type)
            for name, values in people.values.items()
        }
        tell("matching", 0.0)
        own_rows = rows_by_group(_buckets_of(own_ids, n), n)
        asked = _Asked(own_ids, own, theirs, people.sizes, n, *own_rows)
        fitting, others = _matched(buckets, asked, work is None)
        require_keys(0, fitting.repeated, EXTERNAL, ids.name)
        room = Room.of(memory, len(own))
        vectors = added_up(others, people.sizes, people.n_rows, room, EXTERNAL)
    return _joined(table, own, theirs, vectors, fitting.matching(table, people.n_rows))


@contextmanager
def _opened(
    listed: NamedRows, names: list[str], id: str, work: Work | None
) -> Iterator[tuple[Engine, Callable[[], CodedList | KnownList]]]:
    """The list as codes, and what is known of it once these have passed."""
    if work is None:
        with TemporaryDirectory() as place, Scratch(Path(place)) as scratch:
            people = CodedList(listed, names, id)
            yield StreamEngine(people.parts, scratch, lambda: None), lambda: people
        return
    with list_engine(listed, work.workers, work.beside) as engine:
        known, coded = known_list(listed, names, id, engine)
        yield coded, lambda: known


class _Asked(NamedTuple):
    """What buckets are compared with: the microdata's ids and values, the list's values, and the
    rows of the microdata that are in each of ``n`` buckets.
    """

    own_ids: pa.Array
    own: Mapping[str, pa.Array]
    theirs: Mapping[str, pa.Array]
    sizes: Counts
    n: int
    own_rows: Codes
    starts: Counts

    def rows_like(self, ids: pa.Array) -> Codes:
        """The microdata's rows in the bucket of these ids."""
        if not len(ids):
            return self.own_rows[:0]
        number = int(_buckets_of(ids.slice(0, 1), self.n)[0])
        return self.own_rows[self.starts[number] : self.starts[number + 1]]


class _Fitting(NamedTuple):
    """How a part of the list fits to the microdata."""

    repeated: int
    shared: int
    skipped: int
    incomplete: int
    disagreements: Counter[str]

    def together(self, other: _Fitting) -> _Fitting:
        """With another part."""
        return _Fitting(
            self.repeated + other.repeated,
            self.shared + other.shared,
            self.skipped + other.skipped,
            self.incomplete + other.incomplete,
            self.disagreements + other.disagreements,
        )

    def matching(self, table: Microdata, external: int) -> Matching:
        """The sums, once all buckets have passed."""
        names = (name for name in table.schema.quasi if self.disagreements[name])
        differ = {name: self.disagreements[name] for name in names}
        return Matching(table.n_rows, external, self.shared, self.skipped, self.incomplete, differ)


def _matched(buckets: Engine, asked: _Asked, alone: bool) -> tuple[_Fitting, Engine]:
    """How the list fits, and the vectors of people who are not the microdata's.

    One process finds both while buckets pass; workers match them once for each.
    """
    if not alone:
        fitting = buckets.reduce(_fitting, _Fitting.together, asked)
        return fitting, buckets.keep(_others, asked)
    assert isinstance(buckets, StreamEngine)
    found: list[_Fitting] = []

    def passing() -> Iterator[pa.Table]:
        for rows in buckets.parts():
            fitting, others = _match(rows, asked)
            found.append(fitting)
            yield others

    others = replace(buckets, scan=passing).keep(_same)
    return reduce(_Fitting.together, found), others


def _fitting(rows: pa.Table, asked: _Asked) -> _Fitting:
    return _match(rows, asked)[0]


def _others(rows: pa.Table, asked: _Asked) -> pa.Table:
    return _match(rows, asked)[1]


def _match(rows: pa.Table, asked: _Asked) -> tuple[_Fitting, pa.Table]:
    """How a bucket fits, and the vectors of complete rows that are not about the microdata."""
    codes, ids = vector_codes(rows), keys(rows.column(ID).combine_chunks())
    complete = np.ones(len(codes), np.bool_)
    for j, column in enumerate(asked.theirs.values()):
        complete &= column.is_valid().to_numpy(zero_copy_only=False)[codes[:, j]]
    own_rows = asked.rows_like(ids)
    at = pc.index_in(ids, asked.own_ids.take(pa.array(own_rows))).fill_null(-1).to_numpy()
    places: Codes = np.append(own_rows, np.int32(-1))[at]
    found = places >= 0
    fitting = _Fitting(
        repeated=len(ids) - len(pc.unique(ids)),
        shared=int(found.sum()),
        skipped=int((~found & ~complete).sum()),
        incomplete=int((found & ~complete).sum()),
        disagreements=_disagreements(asked, codes, places, found & complete),
    )
    added = ~found & complete
    return fitting, counted(row_numbers(rows)[added], codes[added], asked.sizes)


def _disagreements(asked: _Asked, codes: Codes, places: Codes, shared: Flags) -> Counter[str]:
    """In how many rows about the same person each column differs."""
    here, differ = pa.array(places[shared]), Counter[str]()
    for j, (name, theirs) in enumerate(asked.theirs.items()):
        there = theirs.take(pa.array(codes[shared, j]))
        differs = pc.not_equal(asked.own[name].take(here).cast(theirs.type), there)
        differ[name] = pc.sum(differs).as_py() or 0
    return differ


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


def _require_ids(people: CodedList | KnownList, ids: Ids, listed: NamedRows) -> None:
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


def _as_it_is(bucket: pa.Table, number: int, n: int) -> pa.Table:  # noqa: ARG001
    return bucket


def _same(part: pa.Table) -> pa.Table:
    return part
