"""A table for those who only look at it: whole, or part by part where it does not fit.

Whoever audits a release wants to know of the true table how many rows it has, which values, and
then each row once or a few times. In memory a table is its own single part; so what is computed
part by part is the same function either way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.askable import Askable
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import count_codes
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.schema import Schema
from sfumato.engines.base import Engine
from sfumato.engines.cluster import Workers, cluster_engine
from sfumato.engines.coded import microdata
from sfumato.engines.domains import count_values, open_engine
from sfumato.engines.rows import Rows, needed_memory, needs_streaming, open_rows, together
from sfumato.engines.stream import Scratch
from sfumato.errors import OutOfMemory, ParameterError
from sfumato.io.dialects import Dialect, Written
from sfumato.io.tables import Source, markers, read_whole

Found = TypeVar("Found")

_ODD = np.uint64(0x9E3779B97F4A7C15)


class Work(NamedTuple):
    """Workers of a cluster; what they exchange lies beside a folder that all of them see."""

    workers: Workers
    beside: Path


@dataclass(frozen=True, slots=True, eq=False)
class TableParts(Askable):
    """A table in parts of coded rows; without an ``engine`` it is ``domain``, and in memory.

    Else ``domain`` has the schema and the domains, and no rows, and what is found out about the
    rows may take ``memory`` bytes. ``value_counts`` are those of the values of each column in
    the whole table, by code.
    """

    domain: Microdata
    n_rows: int
    value_counts: Mapping[str, Counts]
    engine: Engine | None = None
    memory: int = 0

    @classmethod
    def of(cls, table: Microdata) -> TableParts:
        """A table in memory."""
        require_microdata(table)
        counts = {
            name: count_codes(codes, table.attributes[name].size)
            for name, codes in table.codes.items()
        }
        return cls(table, table.n_rows, counts)

    @property
    def schema(self) -> Schema:
        """The schema of the table."""
        return self.domain.schema

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """The domains of the whole table."""
        return self.domain.attributes

    def parts(self) -> Iterator[Microdata]:
        """Part after part, each with the domains of the whole table."""
        if self.engine is None:
            yield self.domain
            return
        for part in self.engine.parts():
            yield microdata(part, self.schema, self.attributes)

    def folded(
        self, task: Callable[..., Found], merge: Callable[[Found, Found], Found], *shared: Any
    ) -> Found:
        """``task(part, *shared)`` of every part, merged; done where the rows are."""
        if self.engine is None:
            return task(self.domain, *shared)
        shape = (self.schema, self.attributes)
        found: Found = self.engine.reduce(_of_part, merge, *shape, task, shared)
        return found

    def dealt(self, names: Sequence[str], n: int) -> TableParts:
        """The rows in ``n`` buckets: those that are alike on the named columns are in one.

        In memory ``n`` is 1, and nothing is moved.
        """
        if self.engine is None:
            assert n == 1
            return self
        shape = (self.schema, self.attributes, names, n)
        return replace(self, engine=self.engine.exchange(_bucket, n, _as_they_are, *shape))

    def buckets(self, row_bytes: int, memory: int) -> int:
        """Into how many to deal rows that take so much each, for one to fit into the memory."""
        return 1 if self.engine is None else 1 + row_bytes * self.n_rows // max(1, memory)


def buckets_of(columns: Iterable[Ints], n: int) -> Codes:
    """The bucket of each row of these columns of codes."""
    words: Any = np.uint64(0)
    for codes in columns:
        words = (words ^ codes.astype(np.uint64)) * _ODD
        words ^= words >> np.uint64(32)
    hashed: Codes = (words % np.uint64(n)).astype(np.int32)
    return hashed


@contextmanager
def open_parts(
    source: Source,
    schema: Schema,
    memory: int,
    *,
    query: str | None = None,
    missing: str | Collection[str] = (),
    work: Work | None = None,
    **written: Unpack[Written],
) -> Iterator[TableParts]:
    """A table, in parts if it is a file that seems not to fit into so much memory; see ``read``.

    With ``work`` it is in parts whatever it takes, and those are looked at by workers.
    """
    absent, dialect = markers(missing), Dialect.said(**written)
    if work is not None and query is not None:
        raise ParameterError(
            "workers read files, not the result of a query; store it in a file", parameter="engine"
        )
    if work is None and (query is not None or not needs_streaming(source, schema, memory)):
        whole = together(source, absent, dialect)
        table = read_whole(whole, schema, query=query, missing=missing, **written)
        yield TableParts.of(table)
        return
    rows = open_rows(source, schema, absent, dialect)
    with _engine(rows, work) as engine:
        memory = memory if work is None else min(memory, work.workers.memory)
        counted = count_values(engine, rows, memory)
        yield TableParts(
            counted.domain(), counted.n_rows, counted.counts, counted.encoded(engine), memory
        )


@contextmanager
def _engine(rows: Rows, work: Work | None) -> Iterator[Engine]:
    if work is not None:
        with cluster_engine(rows, work.workers, work.beside, _silent) as engine:
            yield engine
        return
    # rows with their sensitive values: only its owner may look into such a folder
    with TemporaryDirectory(prefix="sfumato-") as folder, Scratch(Path(folder)) as scratch:
        yield open_engine(rows, scratch, _silent)


def require_in_memory(source: Source, schema: Schema, memory: int, doing: str) -> None:
    """Raise if a file is likely not to fit into so much memory, and is needed there."""
    if needs_streaming(source, schema, memory):
        least = needed_memory(source, schema)
        raise OutOfMemory(
            f"{memory:,} bytes of memory are too few: {doing} needs the whole table there; allow "
            f"{least:,} bytes",
            doing=doing,
        )


def _of_part(
    part: pa.Table,
    schema: Schema,
    attributes: Mapping[str, Attribute],
    task: Callable[..., Found],
    shared: tuple[Any, ...],
) -> Found:
    return task(microdata(part, schema, attributes), *shared)


def _silent() -> None:
    """Nobody listens."""


def _bucket(
    part: pa.Table,
    schema: Schema,
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
    n: int,
) -> Codes:
    table = microdata(part, schema, attributes)
    return buckets_of((table.codes[name] for name in names), n)


def _as_they_are(part: pa.Table, _number: int, *_: Any) -> pa.Table:
    return part
