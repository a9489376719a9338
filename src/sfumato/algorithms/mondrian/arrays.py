"""What Mondrian's kernels work on: points, axes, rules, and working space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.microdata import Microdata

STACK = 64  # the smaller half is cut first, so a stack of log2(points) segments is enough


class PointArrays(NamedTuple):
    """The points; see points.Points. ``member`` remembers where each point came from."""

    codes: Codes
    weights: Counts
    member: Codes
    starts: Counts
    values: Codes
    counts: Counts


class Axes(NamedTuple):
    """Per attribute: first position in ``coordinates``, number of codes, whether it is a set."""

    coordinates: Floats
    offsets: Counts
    sizes: Counts
    is_set: Flags


class CutRules(NamedTuple):
    """What both halves of a cut must satisfy, and how cuts are looked for.

    ``rules`` and ``whole`` are those of models._rules; a group of fewer than ``least`` rows passes
    no rule, and without ``sensitive`` rules its size is all that counts.
    """

    rules: Floats
    whole: Floats
    least: int
    sensitive: bool
    relaxed: bool
    round_robin: bool
    all_cuts: bool


class Workspace(NamedTuple):
    """Working space, allocated once outside: a kernel without allocations compiles faster.

    By code: ``amounts``, ``ranks``, ``stamps``. By rank: ``present`` (codes), ``starts``,
    ``places``. By attribute: ``order``, ``widths``, ``bounds``. By point: ``by_rank``. By sensitive
    value: ``left`` and ``right`` (the halves under trial), ``scratch``. By place on the stack:
    ``stack`` (low, high, load, turn) and ``totals`` (histograms). By group, if wanted: ``turns``,
    the axis that would have been next.
    """

    amounts: Counts
    ranks: Codes
    stamps: Flags
    present: Counts
    starts: Counts
    places: Counts
    order: Counts
    widths: Floats
    bounds: Codes
    by_rank: Counts
    left: Counts
    right: Counts
    scratch: Counts
    stack: Counts
    totals: Counts
    turns: Codes


def new_workspace(n_points: int, sizes: Counts, n_values: int) -> Workspace:
    """A workspace for so many points, attributes of these sizes, and sensitive values."""
    widest, d = int(sizes.max()), len(sizes)
    return Workspace(
        amounts=np.zeros(widest, np.int64),
        ranks=np.zeros(widest, np.int32),
        stamps=np.zeros(widest, np.bool_),
        present=np.zeros(widest, np.int64),
        starts=np.zeros(widest + 1, np.int64),
        places=np.zeros(widest + 1, np.int64),
        order=np.zeros(d, np.int64),
        widths=np.zeros(d, np.float64),
        bounds=np.zeros((d, 2), np.int32),
        by_rank=np.zeros(n_points, np.int64),
        left=np.zeros(n_values, np.int64),
        right=np.zeros(n_values, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
        stack=np.zeros((STACK, 4), np.int64),
        totals=np.zeros((STACK, n_values), np.int64),
        turns=np.zeros(0, np.int32),
    )


def axes_of(table: Microdata) -> Axes:
    """The quasi-identifiers' domains, end to end."""
    sizes = table.quasi_sizes()
    return Axes(
        coordinates=np.concatenate([attribute.coordinates for attribute in table.quasi]),
        offsets=np.cumsum(sizes) - sizes,
        sizes=sizes,
        is_set=np.array([not attribute.ordered for attribute in table.quasi]),
    )
