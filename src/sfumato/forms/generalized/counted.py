"""A generalized table of which rows are counted and not kept: what guessing values needs.

Rows of a group stand together, so a table is read piece by piece, and of every run of equal rows
its box is kept, its length, and how often each value of a sensitive column occurs in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import count_values
from sfumato.core.arrays import Codes, Counts
from sfumato.core.compiled import announce
from sfumato.core.histograms import Histograms
from sfumato.errors import OutOfMemory
from sfumato.forms.compact import Runs, number_lines
from sfumato.forms.evidence import codes_of, require_sound, sensitive_column
from sfumato.forms.files import Files
from sfumato.forms.generalized.evidence import table_flaws
from sfumato.forms.generalized.release import STEM
from sfumato.forms.manifest import Manifest
from sfumato.io.plain import plain_table

_ENTRY_BYTES = 64  # what it takes to count one value of one group
_SHARE = 2  # of the memory, one part in so many is for boxes and counts


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """The boxes of a generalized table, their sizes, and the values of a sensitive column."""

    kind: ClassVar[str] = "generalized"
    groups: pa.Table
    sizes: Counts
    values: Histograms
    manifest: Manifest

    @classmethod
    def read(cls, files: Files, on: str, memory: int) -> CountedTable:
        """Read the table of a release folder, unless it is not what release.json says."""
        announce(count_values)
        manifest = files.manifest
        runs, values = Runs(), _Values(memory, manifest.rows)
        found: list[str] = []
        for piece in files.pieces(STEM, coded=manifest.quasi_columns):
            found = piece.column_names
            if on not in found or not set(manifest.quasi_columns) <= set(found):
                break
            first, lengths = runs.add(piece.select(manifest.quasi_columns))
            values.add(first, lengths, plain_table(piece.select([on])).column(on))
            values.require_memory(runs.heads[-1].nbytes)
        lines = files.typed(STEM, pa.concat_tables(runs.heads)) if runs.n_runs else pa.table({})
        groups = len(number_lines(lines)[1]) if runs.n_runs else 0
        require_sound(table_flaws(manifest, found, values.rows, runs.n_runs, groups))
        typed = files.typed(STEM, pa.table({on: values.known})).column(on)
        attribute, codes = codes_of(sensitive_column(manifest, on), typed)
        counted = Histograms.of_keys(attribute, *values.keys(codes, attribute.size), groups)
        return cls(lines, np.concatenate(runs.lengths), counted, manifest)

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The boxes, once for each group."""
        return (self.groups,)


class _Values:
    """How often each value of a column occurs in each run, counted piece by piece."""

    def __init__(self, memory: int, stated: int) -> None:
        self.known: pa.Array | None = None
        self.rows = 0
        self._runs: list[Codes] = []
        self._values: list[Codes] = []
        self._counts: list[Codes] = []
        self._memory, self._stated, self._bytes = memory, stated, 0

    def add(self, first: int, lengths: Counts, column: pa.ChunkedArray) -> None:
        """Count the values of rows that stand in runs of these lengths."""
        places = self._places(column)
        starts = np.append(0, np.cumsum(lengths))
        heads, values, counts, _ = count_values(places, starts, len(self.known or ()))
        n, of_run = int(heads[-1]), np.arange(first, first + len(lengths), dtype=np.int32)
        self._runs.append(np.repeat(of_run, np.diff(heads)))
        self._values.append(values[:n].copy())
        self._counts.append(counts[:n].astype(np.int32))
        self.rows += len(places)
        self._bytes += n * _ENTRY_BYTES

    def keys(self, codes: Codes, size: int) -> tuple[Counts, Counts]:
        """Ascending keys, run * size + code, and their counts; place i of a value has codes[i]."""
        keys = np.concatenate(self._runs) * np.int64(size) + codes[np.concatenate(self._values)]
        # a run that goes on in the next piece has its values in both; so have two writings of one
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], np.concatenate(self._counts)[order]
        heads = np.flatnonzero(np.diff(keys, prepend=-1))
        return keys[heads], np.add.reduceat(counts, heads, dtype=np.int64)

    def require_memory(self, more: int) -> None:
        """Raise where boxes, and counts of values, take too much."""
        self._bytes += more
        if self._bytes > self._memory // _SHARE:
            least = _SHARE * self._bytes * max(1, self._stated // max(1, self.rows))
            raise OutOfMemory(
                f"{self._memory:,} bytes of memory are too few for the groups of this release and "
                f"their values; allow {least:,} bytes",
                doing="guessing values",
            )

    def _places(self, column: pa.ChunkedArray) -> Codes:
        """The places of values among the known ones; new ones become known."""
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        if self.known is None:
            self.known = coded.dictionary
        places = pc.index_in(coded.dictionary, self.known)
        if places.null_count:
            fresh = coded.dictionary.filter(places.is_null())
            self.known = pa.concat_arrays([self.known, fresh])
            places = pc.index_in(coded.dictionary, self.known)
        found: Codes = places.to_numpy().astype(np.int32)[coded.indices.to_numpy()]
        return found
