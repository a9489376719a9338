"""Cuts that tell most about a target, for Mondrian.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 8, names releases for
decision trees as future work; "Workload-aware anonymization", KDD 2006, is theirs as well.

A cut gains as many bits about the target as its halves have fewer, over all rows (N times entropy);
of all allowable cuts along all axes that gains most is made. Values without an order are put into
that of their share of the region's most frequent target value, as in learning/tree.py. Where
values have nothing to do with a cut, twice its gain in nats is about chi-square; what gains no more
than that would is left to the usual cuts, which keep groups small along every axis.

Cost: per region, its points times axes, and the values present times those of the target.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes
from sfumato.algorithms.mondrian.guided_kernel import Target
from sfumato.algorithms.points import Points
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.microdata import Microdata
from sfumato.errors import ParameterError
from sfumato.io.hints import did_you_mean

MOST_VALUES = 1_000
_UNIT = 2.0**-16  # nats: of ten million rows the sums fit into 64 bits many times
_DEVIATIONS = 3.0  # of chi-square above its mean


def target_of(name: str, table: Microdata, points: Points, weights: Counts | None) -> Target:
    """The target as the kernel reads it, or a refusal."""
    known = table.schema.sensitive
    if name not in known:
        hint = did_you_mean(name, known) or f"sensitive are {', '.join(known) or 'none'}"
        raise ParameterError(
            f"no sensitive column {name!r} as a target; {hint}", parameter="target"
        )
    size = table.attributes[name].size
    if size > MOST_VALUES:
        raise ParameterError(
            f"{name!r} has {size:,} values, and a target at most {MOST_VALUES:,}; declare bins for "
            "it in the schema",
            parameter="target",
        )
    freedom = size - 1
    least = (freedom + _DEVIATIONS * np.sqrt(2 * freedom)) / 2
    amounts = np.arange(int(points.weights.sum()) + 1, dtype=np.float64)
    n_log_n = np.rint(amounts * np.log(np.maximum(amounts, 1)) / _UNIT).astype(np.int64)
    return Target(*points.counted(table, name, weights), n_log_n, int(least / _UNIT), size)


def telling_cuts(
    points: Points, axes: Axes, region: Codes, target: Target
) -> Iterator[tuple[int, Flags]]:
    """Axes and masks of the left half, the cut that gains most first; the twin of guided_kernel."""
    values, weights = _matrix(region, target), points.weights[region]
    found: list[tuple[int, int, int, Flags]] = []
    for axis in range(len(axes.sizes)):
        codes = points.codes[region, axis]
        line = _line(codes, weights, values, bool(axes.is_set[axis]))
        place = np.argsort(line)[np.searchsorted(np.sort(line), codes)]
        for cut in range(len(line) - 1):
            left = place <= cut
            gain = _gain(values, left, target)
            if gain > target.least:
                found.append((-gain, axis, int(line[cut]), left))
    found.sort(key=lambda one: one[:3])
    yield from ((axis, left) for _, axis, _, left in found)


def _matrix(region: Codes, target: Target) -> Counts:
    """Rows of every value, point by point."""
    matrix = np.zeros((len(region), target.n_values), np.int64)
    for line, point in zip(matrix, region, strict=True):
        entries = slice(target.starts[point], target.starts[point + 1])
        line[target.values[entries]] = target.counts[entries]
    return matrix


def _line(codes: Codes, weights: Counts, values: Counts, is_set: bool) -> Codes:
    present, which = np.unique(codes, return_inverse=True)
    if not is_set:
        return present
    usual = int(values.sum(axis=0).argmax())
    share = np.bincount(which, values[:, usual]) / np.bincount(which, weights)
    return present[np.argsort(-share, kind="stable")]


def _gain(values: Counts, left: Flags, target: Target) -> int:
    def information(rows: Counts) -> int:
        counts = rows.sum(axis=0)
        return int(target.n_log_n[counts.sum()] - target.n_log_n[counts].sum())

    return information(values) - information(values[left]) - information(values[~left])
