"""Values that were swapped with others near by in rank: cells of ranks, and how they were mixed.

Ranks are known exactly, as swapping keeps all values of a column, and those of every group inside
which it happened. Pairs at a distance of u reaches are swapped with a density that grows like 2^u
(swap.py in algorithms/masking); summed over two cells of ranks it is the share of rows that went
from one to the other. At the ends of a line there is less room: lines and columns are made to add
up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.core.arrays import Codes, Flags, Floats, Ints
from sfumato.forms.compact import number_lines
from sfumato.forms.manifest import PublishedColumn, encoded
from sfumato.forms.masked.blurs import Blur, Cells
from sfumato.forms.masked.deconvolution import Channel
from sfumato.forms.masked.release import MaskedTable
from sfumato.queries.values import Values

_MOST = 120  # cells of a group
_LN2 = log(2.0)
_TIMES = 60  # that lines and columns are made to add up


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """Groups of rows, each with cells of its own."""

    rows: tuple[Ints, ...]
    parts: tuple[Cells, ...]

    def weights(self, wanted: Values, edge: int = 0) -> Floats:
        """Of each group."""
        return self._joined([part.weights(wanted, edge) for part in self.parts])

    def chances(self, wanted: Values, edge: int = 0) -> Floats:
        """The same."""
        return self._joined([part.chances(wanted, edge) for part in self.parts])

    def _joined(self, found: list[Floats]) -> Floats:
        joined = np.empty(sum(map(len, self.rows)))
        for rows, one in zip(self.rows, found, strict=True):
            joined[rows] = one
        return joined


def swapped(release: MaskedTable, column: PublishedColumn) -> Blur:
    """A column, group by group."""
    attribute, codes = encoded(column, release.table.column(column.name))
    stated, domain = release.distortions[column.name], Domain(attribute)
    groups = _groups(release, stated.inside)
    order = np.argsort(groups, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(groups))[:-1])
    return Parted(tuple(rows), tuple(_cells(domain, codes[one], stated.reach) for one in rows))


def _groups(release: MaskedTable, inside: tuple[str, ...]) -> Codes:
    if not inside:
        return np.zeros(release.table.num_rows, np.int32)
    groups, _ = number_lines(release.table.select(list(inside)))
    return groups


def _cells(domain: Domain, codes: Ints, reach: float) -> Cells:
    """The values of a group, neighbours in one cell where there are too many."""
    counts = np.bincount(codes, minlength=domain.size)
    seat = (np.cumsum(counts) - counts) * _MOST // len(codes)
    # a value that is as frequent as a cell is large has one for itself
    heavy = counts * _MOST >= len(codes)
    seat = 2 * np.cumsum(heavy) + (_MOST * 2 + 2) * seat - heavy
    _, cell_of = np.unique(np.where(counts > 0, seat, seat[codes[0]]), return_inverse=True)
    sizes = np.bincount(cell_of, counts)

    def shares(wanted: Values) -> Floats:
        marks = domain.marks(wanted).astype(np.float64)
        found: Floats = np.bincount(cell_of, counts * marks) / np.maximum(sizes, 1.0)
        return found

    prior = sizes / len(codes)
    moved = mixed(prior, max(reach, 1 / len(codes)))
    known: Flags = np.ones(len(codes), np.bool_)
    return Cells(cell_of[codes], known, Channel.of(moved, prior, prior, len(codes)), shares)


def mixed(prior: Floats, reach: float) -> Floats:
    """The chance of a value of each cell to be shown in each; cells are stretches of ranks."""
    ends = np.append(0.0, np.cumsum(prior))
    risen = _twice_risen((ends[:, None] - ends[None, :]) / reach)
    joint = -np.diff(np.diff(risen, axis=0), axis=1)
    joint = np.maximum(joint, 1e-15)
    for _ in range(_TIMES):
        joint = joint * (prior / joint.sum(axis=1))[:, None]
        joint = joint * (prior / joint.sum(axis=0))[None, :]
    chances: Floats = joint / joint.sum(axis=1)[:, None]
    return chances


def _twice_risen(apart: Floats) -> Floats:
    """The double integral of the density 2^|u| ln 2 / 2 on either side of 0, up to 1."""
    u = np.minimum(np.abs(apart), 1.0)
    risen: Floats = (2.0**u - 1) / _LN2 / 2 - u / 2 + np.maximum(np.abs(apart) - 1, 0.0) / 2
    return risen
