"""The cells of a column: what rows have in common, and how a value is drawn from one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.algorithms.masking.mask import numbers_of, step_of
from sfumato.core.arrays import Counts, Floats, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.stretches import stretches
from sfumato.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cell of every row, how many there are, and which share of rows had a rarer value.

    ``draw`` makes values of cells and of numbers from 0 to 1.
    """

    rows: Ints
    count: int
    lost: float
    draw: Callable[[Ints, Floats], pa.Array]


def cells_of(attribute: Attribute, codes: Ints, least: int, bins: int) -> Cells:
    """Cells of ``least`` rows or more; none where no value is as frequent."""
    if attribute.kind is Kind.NUMERICAL:
        return _of_numbers(attribute, codes, least, bins)
    counts = np.bincount(codes, minlength=attribute.size)
    kept = np.flatnonzero(counts >= least)
    if not len(kept):
        return Cells(np.zeros(len(codes), np.int64), 0, 1.0, lambda cells, _: cells)
    lost = 1 - float(counts[kept].sum() / len(codes))

    def draw(cells: Ints, _shares: Floats) -> pa.Array:
        return attribute.decode(kept[cells])

    return Cells(_nearest(kept, attribute.size)[codes], len(kept), lost, draw)


def _nearest(kept: Ints, size: int) -> Ints:
    """For every code the place of the nearest kept one."""
    codes = np.arange(size)
    after = np.searchsorted(kept, codes).clip(0, len(kept) - 1)
    before = np.maximum(after - 1, 0)
    nearer: Ints = np.where(
        np.abs(kept[before] - codes) <= np.abs(kept[after] - codes), before, after
    )
    return nearer


def _of_numbers(attribute: Attribute, codes: Ints, least: int, bins: int) -> Cells:
    """Stretches of ranks; what is missing has a cell if it is frequent, or is in the last one."""
    known = codes != attribute.missing_code
    n_missing = int((~known).sum())
    if known.sum() < least:
        return Cells(np.zeros(len(codes), np.int64), 0, 1.0, lambda cells, _: cells)
    counts = np.bincount(codes[known], minlength=len(attribute.values))
    of_code = _filled(stretches(counts, bins), counts, least)
    count = int(of_code.max()) + 1
    alone = n_missing >= least
    rows = np.append(of_code, count - (not alone))[codes]
    numbers, _ = numbers_of(attribute, codes)
    means = [averages(np.sort(numbers[known & (rows == cell)]), least) for cell in range(count)]
    _require_between(attribute.name, means)

    def draw(cells: Ints, shares: Floats) -> pa.Array:
        found = np.zeros(len(cells))
        for cell, line in enumerate(means):
            inside = cells == cell
            place = shares[inside] * len(line) - 0.5
            found[inside] = np.interp(place, np.arange(len(line)), line)
        return _typed(attribute, found, cells == count)

    return Cells(rows, count + alone, 0.0 if alone else n_missing / len(codes), draw)


def _filled(of_code: Ints, counts: Counts, least: int) -> Ints:
    """Stretches with too few rows become part of the one before, the first of the next."""
    sizes = np.bincount(of_code, counts)
    place, full, found = 0, 0.0, np.zeros(len(sizes), np.int64)
    for stretch, size in enumerate(sizes):
        if full >= least and size >= least:
            place, full = place + 1, 0.0
        found[stretch], full = place, full + size
    joined: Ints = found[of_code]
    return joined


def averages(line: Floats, least: int) -> Floats:
    """Of each ``least`` sorted numbers, or a few more."""
    groups = max(1, len(line) // least)
    of_row = np.minimum(np.arange(len(line)) // least, groups - 1)
    found: Floats = np.bincount(of_row, line) / np.bincount(of_row)
    return found


def _require_between(name: str, means: list[Floats]) -> None:
    """Raise unless every number between the averages of a cell is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        finite = all(np.isfinite(line[-1] - line[0]) for line in means)
    if not finite:
        raise DataError(
            f"the numbers of {name!r} are too large to be added up; divide them", source=name
        )


def _typed(attribute: Attribute, numbers: Floats, missing: Ints) -> pa.Array:
    """Whole numbers, dates and times as such."""
    kind, step = attribute.values.type, step_of(attribute)
    if not step:
        return pa.array(numbers + 0.0, mask=missing)
    whole = np.rint(numbers / step) * step
    if pa.types.is_integer(kind):
        return pa.array(whole + 0.0, mask=missing)
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(whole.astype(np.int64), width, mask=missing).cast(kind)
