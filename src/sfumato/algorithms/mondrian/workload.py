"""Which cuts serve a workload, for Mondrian.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 5, states the task, a list of
regions with weights; "Workload-aware anonymization", KDD 2006, is theirs as well.

A query is *in doubt* about a group if it wants part of the group's box: the bounds of its COUNT are
then further apart, by as many rows as the group has. A cut gains, per query, the rows of a half
that it is no longer in doubt about, because the half lies wholly outside of what it wants or wholly
inside; times its weight, and over the number of rows that it wants, for a hundred rows of doubt are
much or little beside the answer. (Expected variance, n p (1 - p), was tried instead: the errors of
wide conditions became somewhat smaller, those of narrow ones much larger, and bounds wider.)

Only conditions on quasi-identifiers count. A cut inside a *cell*, codes that no query tells apart,
serves nobody; so a workload is turned into cells once, and few cuts remain to be scored.

Cost: per region, its points and axes, and the cells that the queries in doubt have conditions on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.arrays import Axes
from sfumato.algorithms.mondrian.workload_kernel import Asked, rows_wanted
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.moments import comparable
from sfumato.core.query import Query
from sfumato.engines.base import Engine
from sfumato.engines.coded import quasi_codes, row_numbers
from sfumato.errors import ParameterError
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog
from sfumato.queries.values import Range, Values

_SCARCE = 0.001  # of all rows: to want fewer makes no query more important
_SAMPLE = 2**16  # rows that tell well enough how many rows a query wants
_LARGEST = 2**61  # sums of weights times rows must fit into 64 bits


def require_workload(workload: Sequence[Query], weights: Sequence[float] | None) -> None:
    """Refuse anything but queries, each with a weight above zero if any has one."""
    if not all(isinstance(query, Query) for query in workload):
        raise ParameterError(
            "workload is a list of Query objects, as read_workload gives", parameter="workload"
        )
    if weights is None:
        return
    if len(weights) != len(workload):
        raise ParameterError(
            f"{len(workload)} queries have {len(weights)} weights", parameter="weights"
        )
    if not all(0 < weight < float("inf") for weight in weights):
        raise ParameterError("weights must be finite numbers above 0", parameter="weights")


def asked_of(
    workload: Sequence[Query],
    weights: Sequence[float] | None,
    table: Microdata,
    n_rows: int,
    count: Callable[[Asked, int], Counts],
) -> Asked | None:
    """The workload as the kernel reads it; None if it asks nothing of quasi-identifiers.

    ``table`` has the domains of ``n_rows`` rows, of which ``count`` looks at every so many
    (``wanted_in``, ``wanted_beyond``).
    """
    catalog, names = Catalog.of_table(table), table.schema.quasi
    bound = [bind(query, catalog).where for query in workload]
    kept = [place for place, where in enumerate(bound) if any(name in where for name in names)]
    if not kept:
        return None
    asked = _in_cells(table, [bound[place] for place in kept])
    *wanted, looked_at = count(asked, -(-n_rows // _SAMPLE)).tolist()
    given = np.ones(len(workload)) if weights is None else np.array(weights, np.float64)
    found = _whole_weights(given[kept], np.array(wanted) / looked_at, n_rows)
    order = np.argsort(-found, kind="stable")
    return Asked(asked.cells, asked.axis_of, asked.wanted[order], asked.asks[order], found[order])


def wanted_in(
    table: Microdata, weights: Counts | None, axes: Axes
) -> Callable[[Asked, int], Counts]:
    """Counts rows of a table; with ``weights`` each stands for so many."""

    def count(asked: Asked, step: int) -> Counts:
        columns = [table.codes[name][::step] for name in table.schema.quasi]
        codes = np.stack(columns, axis=1, dtype=np.int32)
        times = np.ones(len(codes), np.int64) if weights is None else weights[::step]
        return _wanted(codes, times, axes.offsets, asked)

    return count


def wanted_beyond(engine: Engine, axes: Axes) -> Callable[[Asked, int], Counts]:
    """Counts the same rows in parts."""

    def count(asked: Asked, step: int) -> Counts:
        found: Counts = engine.reduce(wanted_of_part, np.add, axes.offsets, asked, step)
        return found

    return count


def wanted_of_part(part: pa.Table, offsets: Counts, asked: Asked, step: int) -> Counts:
    """The task: of the rows whose number is a multiple of the step."""
    codes = quasi_codes(part)[row_numbers(part) % step == 0]
    return _wanted(codes, np.ones(len(codes), np.int64), offsets, asked)


def _wanted(codes: Codes, times: Counts, offsets: Counts, asked: Asked) -> Counts:
    """How many rows satisfy each query, and how many there are."""
    return np.append(rows_wanted(codes, times, offsets, asked), times.sum())


def _in_cells(table: Microdata, bound: Sequence[Mapping[str, Values]]) -> Asked:
    cells, wanted = [], []
    n_cells = 0
    for attribute in table.quasi:
        of_codes, flags = _cells(attribute, [where.get(attribute.name) for where in bound])
        cells.append(of_codes + n_cells)
        wanted.append(flags)
        n_cells += flags.shape[1]
    return Asked(
        cells=np.concatenate(cells).astype(np.int32),
        axis_of=np.repeat(np.arange(len(wanted)), [part.shape[1] for part in wanted]),
        wanted=np.concatenate(wanted, axis=1),
        asks=np.array([[name in where for name in table.schema.quasi] for where in bound]),
        weights=np.zeros(len(bound), np.int64),
    )


def _cells(attribute: Attribute, conditions: Sequence[Values | None]) -> tuple[Counts, Flags]:
    """The cell of every code, and which cells each condition wants."""
    domain = _Domain(attribute)
    different = dict.fromkeys(values for values in conditions if values is not None)
    marks = [domain.marks(values) for values in different]
    cells = _runs(marks, attribute.size) if attribute.ordered else _alike(marks, attribute.size)
    _, firsts = np.unique(cells, return_index=True)
    lines = {values: mark[firsts] for values, mark in zip(different, marks, strict=True)}
    whole = np.ones(len(firsts), np.bool_)
    return cells, np.stack([whole if one is None else lines[one] for one in conditions])


def _runs(marks: Iterable[Flags], size: int) -> Counts:
    """Neighbours that are marked alike share a cell."""
    changes = np.zeros(size, np.int64)
    for mark in marks:
        changes[1:] |= mark[1:] != mark[:-1]
    return np.cumsum(changes)


def _alike(marks: Iterable[Flags], size: int) -> Counts:
    """Codes that are marked alike share a cell, wherever they lie."""
    cells = np.zeros(size, np.int64)
    for mark in marks:
        _, cells = np.unique(2 * cells + mark, return_inverse=True)
    return cells


def _whole_weights(weights: Floats, wanted: Floats, n_rows: int) -> Counts:
    shares = weights / np.maximum(wanted, _SCARCE)
    whole: Counts = np.maximum(shares / shares.sum() * (_LARGEST // n_rows), 1).astype(np.int64)
    return whole


class _Domain:
    """Finds the codes of wanted values."""

    def __init__(self, attribute: Attribute) -> None:
        values = comparable(attribute.values)
        self.attribute = attribute
        self.code_of = {value: code for code, value in enumerate(values)}
        # ranges lie on the natural line, whatever the order of the codes
        self.codes = sorted(range(len(values)), key=values.__getitem__)
        self.values = [values[code] for code in self.codes]

    def marks(self, wanted: Values) -> Flags:
        """Which codes are wanted."""
        marks = np.zeros(self.attribute.size, np.bool_)
        found = [self.code_of[value] for value in wanted.points if value in self.code_of]
        marks[found] = True
        for part in wanted.ranges:
            marks[self.codes[self._between(part)]] = True
        if self.attribute.has_missing:
            marks[self.attribute.missing_code] = wanted.missing
        return marks

    def _between(self, part: Range) -> slice:
        first, last = 0, len(self.values)
        if part.low is not None:
            first = (bisect_right if part.low_open else bisect_left)(self.values, part.low)
        if part.high is not None:
            last = (bisect_left if part.high_open else bisect_right)(self.values, part.high)
        return slice(first, last)
