"""Which published rows a person could be, by what the person is known for.

A *cell* is what published rows show on the known columns: a vector of values in a QIT, a box in a
generalized table. Each cell has entries (group, number of its rows in the cell). A person matches
the one cell that equals the known values, or every box that covers them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audits.breach.kernel import covering, mark_ranges, mark_sets
from sfumato.audits.breach.persons import Persons, quasi_column, shared_domain
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Flags, Words
from sfumato.core.boxes import Cells, Nodes, Ranges, ValueSets
from sfumato.forms.anatomized.release import GROUP
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.reading import read_side
from sfumato.forms.registry import Guessed, form_of

# Codes on an axis: a missing value, a value no published row can have, and then the values.
_MISSING, _NOWHERE, _FIRST = 0, 1, 2
_TOP = np.int32(2**31 - 1)
_HITS_AT_ONCE = 2**25
_BITS_AT_ONCE = 2**31

Lists: TypeAlias = tuple[Counts, Codes]


class Matches(NamedTuple):
    """Vector ``low + v`` matches the cells ``cells[starts[v]:starts[v + 1]]``."""

    low: int
    starts: Counts
    cells: Codes

    @property
    def vectors(self) -> Counts:
        """The vector of every match."""
        n = len(self.starts) - 1
        return np.repeat(np.arange(self.low, self.low + n), np.diff(self.starts))


class ShownCells(Protocol):
    """The seam between the forms of a release and what an adversary makes of them."""

    @property
    def starts(self) -> Counts:
        """Where the entries of each cell start."""
        ...

    @property
    def groups(self) -> Codes:
        """The group of every entry."""
        ...

    @property
    def rows(self) -> Counts:
        """The number of rows of every entry."""
        ...

    def match(self, persons: Persons) -> Iterator[Matches]:
        """The cells of each person, some persons at a time."""
        ...


def cells_of(release: Guessed, names: Sequence[str]) -> ShownCells:
    """What a release shows on the known columns."""
    return (_BoxCells if form_of(release).boxes else _Vectors).of(release, names)


@dataclass(frozen=True, slots=True, eq=False)
class _Vectors:
    """Cells of a QIT: its different vectors, as codes of the values it holds."""

    starts: Counts
    groups: Codes
    rows: Counts
    domains: dict[str, pa.Array]
    vectors: Codes

    @classmethod
    def of(cls, release: Any, names: Sequence[str]) -> _Vectors:
        encoded = {name: release.qit[name].combine_chunks().dictionary_encode() for name in names}
        domains = {name: column.dictionary for name, column in encoded.items()}
        matrix = np.stack([_coded(column.indices) for column in encoded.values()], axis=1)
        cells, first, _ = number_rows(matrix, _sizes(domains))
        groups = release.qit[GROUP].to_numpy() - 1  # they are numbered 1, 2, ...
        n = int(groups.max(initial=0)) + 1
        keys, rows = np.unique(cells.astype(np.int64) * n + groups, return_counts=True)
        starts = np.searchsorted(keys // n, np.arange(len(first) + 1))
        return cls(starts, (keys % n).astype(np.int32), rows, domains, matrix[first])

    def match(self, persons: Persons) -> Iterator[Matches]:
        points = _points(
            persons, [_codes_in(persons.values[n], d) for n, d in self.domains.items()]
        )
        # equal rows get equal numbers, and the QIT's vectors come first
        numbers, _, _ = number_rows(np.concatenate([self.vectors, points]), _sizes(self.domains))
        found = numbers[len(self.vectors) :]
        known = found < len(self.vectors)
        yield Matches(0, np.append(0, np.cumsum(known)), found[known])


class _Side(NamedTuple):
    """The boxes along one column, and where the persons' values lie on the same axis.

    Where ``lists`` is given, box b covers exactly the codes ``items[starts[b]:starts[b + 1]]``.
    """

    low: Codes
    high: Codes
    missing: Flags
    lists: Lists | None
    points: Codes


@dataclass(frozen=True, slots=True, eq=False)
class _BoxCells:
    """Cells of a generalized table: its groups, one entry each; ``boxes`` has a row for each."""

    starts: Counts
    groups: Codes
    rows: Counts
    boxes: pa.Table
    columns: tuple[PublishedColumn, ...]

    @classmethod
    def of(cls, release: Any, names: Sequence[str]) -> _BoxCells:
        columns = tuple(quasi_column(release.manifest, name) for name in names)
        shown = [shown for column in columns for shown in column.columns]
        n = release.groups.num_rows
        boxes = release.groups.select(shown)
        return cls(np.arange(n + 1), np.arange(n, dtype=np.int32), release.sizes, boxes, columns)

    def match(self, persons: Persons) -> Iterator[Matches]:
        sides = [_side(c, self.boxes, persons.values[c.name]) for c in self.columns]
        points = _points(persons, [side.points for side in sides])
        order = _neighbours(sides)
        # a column's codes are at most its values and at most the points: both bound the bits
        values = sum(len(side.points) + 1 for side in sides)
        room = max(1, _BITS_AT_ONCE // len(order))
        step = len(points) if values <= room else max(1, room // len(sides))
        for low in range(0, len(points), max(1, step)):
            part = points[low : low + step]
            yield from _covered(part, low, sides, order)


def _side(column: PublishedColumn, boxes: pa.Table, asked: pa.Array) -> _Side:
    side = read_side(column, boxes)
    if isinstance(side, Nodes):
        return _label_side(side, asked)
    domain = shared_domain(column, side.attribute, asked)
    places = np.append(_ends(side.attribute.values, domain), np.int32(_MISSING))
    points = _codes_in(asked.cast(domain.type), domain)
    if isinstance(side, Ranges):
        return _Side(places[side.low], places[side.high], side.missing, None, points)
    if isinstance(side, Cells):
        return _cell_side(side, places, points)
    assert isinstance(side, ValueSets)
    return _set_side(side, places, points)


def _label_side(side: Nodes, asked: pa.Array) -> _Side:
    ends = (side.taxonomy.first_leaf, side.taxonomy.last_leaf)
    low, high = (np.where(side.nodes < 0, _MISSING, leaf[side.nodes] + _FIRST) for leaf in ends)
    points = _codes_in(asked, side.attribute.values)
    return _Side(low.astype(np.int32), high.astype(np.int32), side.missing, None, points)


def _cell_side(side: Cells, places: Codes, points: Codes) -> _Side:
    """A suppressed cell covers whatever is asked."""
    hidden, codes = side.codes < 0, places[side.codes]
    low = np.where(hidden, _FIRST, codes).astype(np.int32)
    high = np.where(hidden, _TOP, codes).astype(np.int32)
    return _Side(low, high, hidden | (codes == _MISSING), None, points)


def _set_side(side: ValueSets, places: Codes, points: Codes) -> _Side:
    items, heads = places[side.codes], side.starts[:-1]
    low, high = np.minimum.reduceat(items, heads), np.maximum.reduceat(items, heads)
    return _Side(low, high, low == _MISSING, (side.starts, items), points)


def _covered(points: Codes, low: int, sides: Sequence[_Side], order: Codes) -> Iterator[Matches]:
    """The boxes that cover each point, in portions that fit into memory."""
    places, bits, summary = _bits(points, sides, order)
    none: Codes = np.empty(0, np.int32)
    ends = np.cumsum(covering(places, bits, summary, order, none))
    first = 0
    while first < len(points):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _HITS_AT_ONCE, side="right")))
        hits = np.empty(int(ends[last - 1]) - before, np.int32)
        covering(places[first:last], bits, summary, order, hits)
        yield Matches(low + first, np.append(0, ends[first:last] - before), hits)
        first = last


def _bits(points: Codes, sides: Sequence[_Side], order: Codes) -> tuple[Counts, Words, Words]:
    """Per column and value the boxes that cover it, and the rows of them that each point needs."""
    n_words = -(-len(order) // 4096) * 64
    places = np.empty(points.shape, np.int64)
    bits: list[Words] = []
    offset = 0
    for column, side in enumerate(sides):
        codes, places[:, column] = np.unique(points[:, column], return_inverse=True)
        marked = np.zeros((len(codes), n_words), np.uint64)
        if side.lists is None:
            mark_ranges(codes, side.low, side.high, side.missing, order, marked)
        else:
            mark_sets(codes, *side.lists, order, marked)
        places[:, column] += offset
        offset += len(codes)
        bits.append(marked)
    every = np.concatenate(bits)
    summary = np.packbits(every != 0, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    return places, every, summary


def _neighbours(sides: Sequence[_Side]) -> Codes:
    """The boxes in an order that keeps near ones together: halved where they spread the most."""
    middle = np.stack([side.low.astype(np.float64) + side.high for side in sides], axis=1)
    middle /= np.maximum(1.0, np.ptp(middle, axis=0))
    order = np.arange(len(middle), dtype=np.int32)
    n_runs = 1
    while n_runs * 64 < len(order):
        runs = np.arange(n_runs) * len(order) // n_runs
        here = middle[order]
        spread = np.maximum.reduceat(here, runs) - np.minimum.reduceat(here, runs)
        run = np.repeat(np.arange(n_runs), np.diff(np.append(runs, len(order))))
        keys = here[np.arange(len(order)), np.argmax(spread, axis=1)[run]]
        order = order[np.lexsort((keys, run))]
        n_runs *= 2
    return order


def _points(persons: Persons, places: Sequence[Codes]) -> Codes:
    """The persons' codes on the axes of the release."""
    lookups = [np.append(codes, np.int32(_MISSING)) for codes in places]
    columns = [lookup[persons.codes[n]] for n, lookup in zip(persons.names, lookups, strict=True)]
    return np.stack(columns, axis=1, dtype=np.int32)


def _coded(places: pa.Array) -> Codes:
    """Codes of places in a domain; null is a missing value."""
    codes: Codes = places.fill_null(_MISSING - _FIRST).to_numpy() + np.int32(_FIRST)
    return codes


def _ends(values: pa.Array, domain: pa.Array) -> Codes:
    return _coded(pc.index_in(values, domain))


def _codes_in(asked: pa.Array, domain: pa.Array) -> Codes:
    """Codes of known values; a value that is not in the domain is nowhere."""
    places = pc.index_in(asked, domain).fill_null(_NOWHERE - _FIRST)
    codes: Codes = places.to_numpy() + np.int32(_FIRST)
    return codes


def _sizes(domains: dict[str, pa.Array]) -> Counts:
    return np.array([len(domain) + _FIRST for domain in domains.values()], np.int64)
