"""Counts from a release that is larger than memory: its slices are asked one by one, by whoever.

A count is a sum over groups, in the estimate as in both bounds (answers/group_bounds.py), so the
counts of slices add up to that of the release; of estimates the last digit may be rounded otherwise
than in memory. Sums and extremes are about all rows that may be chosen, and are not asked so.
Checksums are not looked at: verify does that.

Reading takes far longer than counting, so whoever has prepared a slice keeps it, if memory allows,
with the columns that were asked about so far.

Slices are cut when a release is opened. Another release that takes its place would be counted by
the cuts of the first, so whoever reads a slice looks whether it is still the same.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from sfumato.answers.answerer import Answerer, Certain
from sfumato.answers.group_bounds import Counted, Found, Scope
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts
from sfumato.answers.sides import MAX_KEYS
from sfumato.core.askable import Askable
from sfumato.core.foreign import our_errors
from sfumato.engines.choice import CLUSTERS, address_of, require_engine
from sfumato.engines.cluster import Workers
from sfumato.engines.kept import KEPT
from sfumato.engines.memory import memory_or_half
from sfumato.engines.opening import open_workers
from sfumato.engines.pieces import Job, Said
from sfumato.errors import ParameterError, QueryRefused, ReleaseError
from sfumato.forms.files import Files
from sfumato.forms.form import Form
from sfumato.forms.load import form_in
from sfumato.forms.manifest import FILE
from sfumato.forms.slices import NOTHING, Slice, Slices
from sfumato.forms.stated import read_manifest
from sfumato.io.paths import usable
from sfumato.queries.columns import Catalog, Column

SLICE_ROWS = 2**21
# of the memory of a task; another part is needed to read a slice
_KEPT_SHARE = 2
_SUPPRESSED = "cell"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class FoldedRelease(Askable):
    """A release whose tables stay where they are; see ``open_release``."""

    files: Files
    digest: str
    slices: Sequence[Slice]
    catalog: Catalog
    room: int
    workers: Workers | None = None
    asker: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)
    _shown: dict[str, pa.Array] = field(default_factory=dict, repr=False)

    def about(self, names: Collection[str]) -> Folded:
        """Prepared for questions about these columns."""
        return Folded(self, frozenset(names), self.catalog)

    def told(self, names: frozenset[str], where: Where, by: str | None) -> _Told:
        """A question, as each slice is told it."""
        shown = self._shown_by(names)
        return _Told(self.digest, names, where, by, shown, self.asker, self.room)

    def _shown_by(self, names: Collection[str]) -> dict[str, pa.Array]:
        """The values that suppressed cells of these columns may have, and of all that were asked
        about before: those that other cells show.
        """
        for column in self.files.manifest.columns:
            if (
                column.form == _SUPPRESSED
                and column.name in names
                and column.name not in self._shown
            ):
                told = _Column(self.digest, column.name)
                found = self.results(_Showing, "values shown", told)
                self._shown[column.name] = pa.concat_arrays(list(found)).unique()
        return dict(self._shown)

    def results(self, kind: type[Job], name: str, told: Any) -> Iterator[Any]:
        """What is found in every slice."""
        job = kind(Said(told), self.files.folder)
        workers = self.workers
        found = workers.run(name, job, self.slices) if workers else map(job, self.slices)
        for done in found:
            if done.error is not None:
                raise done.error
            yield done.result


@our_errors("reading a release")
def open_release(
    path: str | Path,
    *,
    engine: str = "stream",
    scheduler: str | None = None,
    master: str | None = None,
    memory_limit: int | None = None,
) -> Any:
    """A release that is asked where it lies, slice by slice, to be used in a with statement.

    Counts, grouped or not, are those that ``load`` would answer with. ``engine`` "stream" reads the
    slices in this process, "dask" and "spark" have workers do it (docs/cluster.md); they stay until
    the end of the statement.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> folder = sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10)).write("out")
    >>> with sf.open_release(folder) as release:
    ...     release.count("age <= 30").hi == sf.load(folder).count("age <= 30").hi
    True
    """
    require_engine(engine, None, CLUSTERS)
    if engine in ("auto", "memory"):
        raise ParameterError(
            f'the engine {engine!r} reads a whole release: use load; here it is "stream", "dask" '
            'or "spark"',
            parameter="engine",
        )
    address = address_of(engine, scheduler, master)
    folder = usable(path).resolve()
    files, digest = _read_files(folder)
    slices = form_in(files).slices
    if slices is None:
        raise ParameterError(
            f"a {files.manifest.kind} release is asked as a whole; load it into memory",
            parameter="engine",
        )
    names = [column.name for column in files.manifest.columns]
    empty = slices.read(files, NOTHING, names)
    catalog = form_in(files).answerer(empty).catalog
    cut = slices.cut(files, SLICE_ROWS)
    return _opened(files, digest, cut, catalog, engine, address, memory_limit)


@contextmanager
def _opened(
    files: Files,
    digest: str,
    cut: Sequence[Slice],
    catalog: Catalog,
    engine: str,
    address: str | None,
    memory: int | None,
) -> Iterator[FoldedRelease]:
    with open_workers(engine, address, memory) as workers:
        most = memory_or_half(memory) if workers is None else workers.memory
        release = FoldedRelease(files, digest, cut, catalog, most // _KEPT_SHARE, workers)
        try:
            yield release
        finally:
            KEPT.forget(release.asker)


@dataclass(frozen=True, slots=True, eq=False)
class Folded(Certain):
    """A release prepared for questions about some columns; every slice is asked each time."""

    release: FoldedRelease
    names: frozenset[str]
    catalog: Catalog

    def find(self, where: Where) -> Found:
        """Each slice as one group, of which as much is known as of all its groups together."""
        found: list[Counted] = [*self._asked("count", where, None)]
        hi = np.array([one.hi for one in found], np.int64)
        lack = hi - np.array([one.lo for one in found], np.int64)
        estimates = np.array([one.estimate for one in found])
        share = np.divide(estimates, hi, out=np.zeros(len(hi)), where=hi > 0)
        return Found(hi, Scope(share, lack, hi), self._left_out)

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """The keys of all slices, in the order of the domain."""
        total: dict[Any, list[tuple[float, int, int]]] = {}
        for found in self._asked("count by value", where, name):
            for key, *counted in zip(*(_listed(part) for part in found), strict=True):
                total.setdefault(key, []).append(tuple(counted))
            if len(total) > MAX_KEYS:
                raise QueryRefused(f"{name} has more than {MAX_KEYS:,} values", clause=name)
        keys = _ordered(total, self.catalog.columns[name])
        sums = [_added(total[key]) for key in keys]
        estimate, lo, hi = np.array(sums, np.float64).reshape(-1, 3).T
        counts = KeyCounts(keys, estimate, lo.astype(np.int64), hi.astype(np.int64))
        return counts.with_left_out(self._left_out)

    def choices(self, where: Where, name: str, function: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        raise QueryRefused(
            f"{function.upper()} is about all rows together, and a release that is asked piece by "
            "piece only counts; load it into memory",
            clause=function.upper(),
        )

    def _asked(self, stage: str, where: Where, by: str | None) -> Iterator[Any]:
        return self.release.results(_Asking, stage, self.release.told(self.names, where, by))

    @property
    def _left_out(self) -> int:
        return self.release.files.manifest.suppressed


class _Column(NamedTuple):
    """A column of the release with this digest."""

    digest: str
    name: str


class _Told(NamedTuple):
    """A question: which release was opened, the columns it names, its conditions, what it counts
    by, what suppressed cells may be; who asks, and the bytes that may be kept for it.
    """

    digest: str
    names: frozenset[str]
    where: Where
    by: str | None
    shown: Mapping[str, pa.Array]
    asker: str
    room: int


class _Prepared(NamedTuple):
    """A slice, prepared for questions about some columns; ``full`` if more of them do not fit."""

    names: frozenset[str]
    asked: Answerer
    full: bool = False


class _Reading(Job):
    """Something about the slices of a folder."""

    __slots__ = ()

    def read(self, item: Slice, names: Collection[str]) -> tuple[Form, Slices, Any]:
        """Columns of a slice, and the form of the release that it is one of: the one that was
        opened, at the end of reading as at the beginning.
        """
        stamp = self.stamp()
        # to look at every word of it again takes longer than many a slice
        files, digest = _files(self.folder, stamp)
        form = form_in(files)
        assert form.slices is not None
        if digest != self.told().digest:
            raise _changed(self.folder)
        found = form.slices.read(files, item, names)
        if stamp != self.stamp():
            raise _changed(self.folder)
        return form, form.slices, found

    def stamp(self) -> tuple[int, ...]:
        """What tells a release from another one in its place."""
        try:
            said = (self.folder / FILE).stat()
        except OSError as error:
            raise _changed(self.folder) from error
        return said.st_ino, said.st_size, said.st_mtime_ns


@lru_cache(1)
def _files(folder: Path, _stamp: tuple[int, ...]) -> tuple[Files, str]:
    """What was read for an earlier slice, unless another release took the place of this one."""
    return _read_files(folder)


def _read_files(folder: Path) -> tuple[Files, str]:
    """The files of a release, and a digest of what it says, checksums of its tables included."""
    # the digest first: of a release that is replaced in between, it is then not that of the files
    path = folder / FILE
    said = path.read_bytes() if path.is_file() else b""
    return Files(folder, read_manifest(folder)), hashlib.blake2b(said, digest_size=16).hexdigest()


def _changed(folder: Path) -> ReleaseError:
    return ReleaseError(f"{folder} changed since it was opened; open it again", path=folder)


class _Asking(_Reading):
    """A question."""

    __slots__ = ()
    returns = True

    def run(self, item: Slice) -> tuple[Counted | KeyCounts, int]:
        """What the slice answers."""
        told: _Told = self.told()
        asked = self._prepared(item, told)
        _require_answered(asked, told.names)
        if told.by is None:
            return asked.find(told.where).counted(), 1
        return asked.counts_by(told.where, told.by), 1

    def _prepared(self, item: Slice, told: _Told) -> Answerer:
        """As it was kept, or with the columns of all questions so far, or with those of this one
        where that is too much.
        """
        key = (self.stamp(), item)
        known: _Prepared | None = KEPT.get(told.asker, key)
        if known is not None and told.names <= known.names:
            return known.asked
        names = told.names if known is None or known.full else told.names | known.names
        form, slices, found = self.read(item, names)
        shown = {name: values for name, values in told.shown.items() if name in names}
        asked = form.answerer(slices.knowing(found, shown))
        if known is None or not known.full:
            kept = KEPT.put(told.asker, key, _Prepared(names, asked), told.room)
            if known is not None and not kept:
                KEPT.put(told.asker, key, known._replace(full=True), told.room)
        return asked


class _Showing(_Reading):
    """The values that a column shows."""

    __slots__ = ()

    def run(self, item: Slice) -> tuple[pa.Array, int]:
        """Those of a slice."""
        name = self.told().name
        _, slices, found = self.read(item, [name])
        assert slices.shown is not None
        return slices.shown(found, name), 1


def _require_answered(asked: Answerer, names: Collection[str]) -> None:
    """A column may hold what cannot be asked about, in this slice and not in others."""
    for name in names:
        refusal = asked.catalog.columns[name].refusal
        if refusal is not None:
            raise QueryRefused(refusal, clause=name)


def _listed(part: Any) -> Sequence[Any]:
    listed: Sequence[Any] = part.tolist() if isinstance(part, np.ndarray) else part
    return listed


def _added(found: Sequence[tuple[float, int, int]]) -> tuple[float, int, int]:
    estimates, lo, hi = zip(*found, strict=True)
    return math.fsum(estimates), sum(lo), sum(hi)


def _ordered(keys: Collection[Any], column: Column) -> list[Any]:
    """As in one domain: in the declared order or the natural one, the missing value last."""
    known = [key for key in keys if key is not None]
    ranks = column.ranks
    rank: Callable[[Any], Any] | None = ranks.__getitem__ if ranks else None
    return [*sorted(known, key=rank), *([None] if len(known) < len(keys) else [])]
