"""How far the published joint distribution is from the true one: Kullback-Leibler divergence.

Kifer, Gehrke: "Injecting utility into anonymized datasets", SIGMOD 2006. All quasi-identifiers
together with a sensitive column, in the bins of the charts:

    KL = sum over vectors and values of P log2(P / Q)

P is their share in the table, Q the share that COUNT expects from the release (``answers.lines``).
It is the number of bits by which somebody who takes Q for the truth is surprised too often, per
person; 0 where nothing is lost. Beside it stands the same for the product of the single columns,
the Q of somebody who knows each of them exactly and nothing of what goes with what: a release above
that is worth less, to who looks at all columns together, than a table of marginals.

Of large tables the sum is estimated by 2,000 people, evenly spaced in the order of their vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.answers.axes import Axis, is_line
from sfumato.answers.lines import BY_ROWS, Lines
from sfumato.asking.ask import answerer, answerer_about
from sfumato.audits.bins import bins_of
from sfumato.audits.evaluation.kernel import expected_counts
from sfumato.core.arrays import Codes, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.moments import comparable
from sfumato.core.schema import Role
from sfumato.engines.parts import TableParts
from sfumato.errors import OutOfMemory
from sfumato.forms.registry import Release, form_of
from sfumato.queries.binding import wanted_values
from sfumato.queries.columns import Catalog

_BINS = 20
_PEOPLE = 2_000


@dataclass(frozen=True, slots=True)
class Joint:
    """Bits of divergence of the release, and of the product of the single columns."""

    sensitive: str
    divergence: float
    marginals: float

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "sensitive": self.sensitive,
            "kl_bits": self.divergence,
            "kl_bits_of_marginals": self.marginals,
        }


def joints_of(release: Release, table: TableParts, refused: dict[str, str]) -> tuple[Joint, ...]:
    """One for every sensitive column of a release that is read line by line; none beyond memory."""
    if form_of(release).lines is None:
        return ()
    quasi, sensitive = (
        [one.name for one in release.manifest.of_role(role) if one.name not in refused]
        for role in (Role.QUASI, Role.SENSITIVE)
    )
    if not quasi:
        return ()
    axes = [_axis(table, name) for name in quasi]
    try:
        return tuple(_joint(release, table, axes, name) for name in sensitive)
    except OutOfMemory:
        return ()


def _axis(table: TableParts, name: str) -> Axis:
    attribute = table.attributes[name]
    column = Catalog.of_table(table.domain).columns[name]
    bins = bins_of(attribute, table.value_counts[name], _BINS)
    return Axis(
        column, tuple(wanted_values(one.predicate, column) for one in bins), is_line(column)
    )


def _joint(release: Release, table: TableParts, axes: list[Axis], sensitive: str) -> Joint:
    names = {sensitive, *(axis.column.name for axis in axes)}
    true = BY_ROWS.lines_of(answerer_about(table, names), axes, sensitive)
    bins, values, weights = _sorted(true)
    singles = [_marginal(column, weights) for column in (*bins.T, values)]
    at = _some(weights)
    independent = np.prod(
        [one[column[at]] for one, column in zip(singles, (*bins.T, values), strict=True)], axis=0
    )
    published = _published(release, axes, sensitive, true.target, bins[at], values[at])
    true_shares = weights[at] / weights.sum()
    counted = weights[at] if len(at) == len(weights) else np.ones(len(at))
    return Joint(
        sensitive,
        _divergence(counted, true_shares, published),
        _divergence(counted, true_shares, independent),
    )


def _sorted(lines: Lines) -> tuple[Codes, Codes, Floats]:
    """Vectors of bins, values, and how many people have them, in an order of their own."""
    order = np.lexsort((lines.groups, *lines.sides.T))
    return lines.sides[order], lines.groups[order], lines.weights[order]


def _marginal(codes: Codes, weights: Floats) -> Floats:
    counts = np.bincount(codes, weights).astype(np.float64)
    shares: Floats = counts / counts.sum()
    return shares


def _some(weights: Floats) -> Codes:
    """All vectors, or those of people who are evenly spaced."""
    if len(weights) <= _PEOPLE:
        return np.arange(len(weights), dtype=np.int32)
    ends = np.cumsum(weights)
    places = (np.arange(_PEOPLE) + 0.5) * ends[-1] / _PEOPLE
    found: Codes = np.searchsorted(ends, places, "right").astype(np.int32)
    return found


def _published(
    release: Release,
    axes: list[Axis],
    sensitive: str,
    target: Attribute,
    bins: Codes,
    values: Codes,
) -> Floats:
    """The shares that the release leads to expect; rows left out may be anybody's."""
    reader = form_of(release).lines
    assert reader is not None
    lines = reader.lines_of(answerer(release), axes, sensitive)
    code_of = {value: code for code, value in enumerate(comparable(lines.target.values))}
    missing = [lines.target.missing_code if lines.target.has_missing else -1] * target.has_missing
    codes = [*(code_of.get(value, -1) for value in comparable(target.values)), *missing]
    wanted = np.array(codes, np.int32)[values]
    widths = np.cumsum([0, *(len(axis.bins) for axis in axes)])
    offsets = np.cumsum([0, *(len(shares) for shares in lines.shares)])
    shares = np.zeros((offsets[-1], np.diff(widths).max()))
    for low, high, one in zip(offsets[:-1], offsets[1:], lines.shares, strict=True):
        shares[low:high, : one.shape[1]] = one
    groups = lines.values
    counts = expected_counts(
        bins, wanted, shares, (lines.sides + offsets[:-1]).astype(np.int32), lines.weights,
        lines.groups, groups.starts, groups.values, groups.shares,
    )  # fmt: skip
    left_out = release.manifest.suppressed
    spread = left_out / (np.prod(np.diff(widths).astype(np.float64)) * len(codes))
    found: Floats = (counts + spread) / (lines.weights.sum() + left_out)
    return found


def _divergence(counted: Floats, true: Floats, published: Floats) -> float:
    with np.errstate(divide="ignore"):
        return float(np.average(np.log2(true / published), weights=counted))
