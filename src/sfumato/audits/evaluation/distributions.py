"""How a release shows the distribution of each attribute, beside the truth.

A generalized release blurs the quasi-identifiers: each is compared alone. An anatomized one shows
them exactly and blurs what goes with them: each is compared among the rows with one sensitive
value. Distances are total variation: the share of rows that would have to move to another bin.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.answers.answerer import Answerer
from sfumato.answers.rows import KeyCounts
from sfumato.asking.ask import answerer, answerer_about, bound_all, counts_of
from sfumato.audits.bins import Bin, bins_of, shown
from sfumato.core.answer import CountAnswers
from sfumato.core.arrays import Counts, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.moments import askable_values, comparable
from sfumato.core.query import Query
from sfumato.core.schema import Role
from sfumato.engines.parts import TableParts
from sfumato.errors import DataError
from sfumato.forms.registry import Release, form_of

_BINS = 20
_RELATION_BINS = 10


@dataclass(frozen=True, slots=True)
class Distribution:
    """One attribute, bin by bin: true counts, estimates, and the bounds of the release.

    ``among`` names the column and the value whose rows are counted; None means all rows. The
    ``distance`` is then over all values of that column, of which the worst shown is the one named.
    """

    attribute: str
    among: tuple[str, str] | None
    labels: tuple[str, ...]
    truth: tuple[int, ...]
    estimate: tuple[float, ...]
    lo: tuple[int, ...]
    hi: tuple[int, ...]
    distance: float

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "attribute": self.attribute,
            "among": None if self.among is None else dict([self.among]),
            "total_variation": self.distance,
            "bins": [
                {"bin": label, "truth": truth, "estimate": estimate, "lo": lo, "hi": hi}
                for label, truth, estimate, lo, hi in zip(
                    self.labels, self.truth, self.estimate, self.lo, self.hi, strict=True
                )
            ],
        }

    def __repr__(self) -> str:
        """Without the true counts."""
        return (
            f"Distribution({self.attribute!r}, {len(self.labels):,} bins, {self.distance:.1%} off)"
        )


def blurred(release: Release, refused: Collection[str]) -> list[tuple[str, str | None]]:
    """The attributes that a release blurs, each with the sensitive one it is blurred against.

    Those about which it cannot be asked are left out.
    """
    quasi = [column.name for column in release.manifest.of_role(Role.QUASI)]
    names = [name for name in quasi if name not in refused]
    if not form_of(release).blurs_relations:
        return [(name, None) for name in names]
    sensitive = release.manifest.of_role(Role.SENSITIVE)
    return [(name, other.name) for other in sensitive for name in names]


def distribution(
    release: Release, table: TableParts, name: str, sensitive: str | None
) -> Distribution:
    """An attribute alone, or among the rows of the sensitive value that suffers most."""
    if sensitive is None:
        return _single(release, table, name)
    return _relation(release, table, name, sensitive)


def _single(release: Release, table: TableParts, name: str) -> Distribution:
    bins = bins_of(table.attributes[name], table.value_counts[name], _BINS)
    queries = [Query({name: one.predicate}) for one in bins]
    true, published = counts_of(answerer_about(table, {name}), queries), release.counts(queries)
    distance = _distance(true.estimate, published.estimate)
    return _distribution(name, None, bins, true, published, distance)


def _relation(release: Release, table: TableParts, name: str, sensitive: str) -> Distribution:
    """All pairs of a bin and a sensitive value; those of the value that suffers most are kept."""
    bins = bins_of(table.attributes[name], table.value_counts[name], _RELATION_BINS)
    attribute = table.attributes[sensitive]
    # as answers name them: times are numbers of their unit, which Python need not have
    place = {value: code for code, value in enumerate([*comparable(attribute.values), None])}
    queries = [Query({name: one.predicate}) for one in bins]
    published = _by_value(answerer(release), queries, sensitive, place)
    true = _by_value(answerer_about(table, {name, sensitive}), queries, sensitive, place)
    estimates, truths = (
        np.array([counted.estimate for counted in counts]) for counts in (published, true)
    )
    worst = int(np.abs(estimates - truths).sum(axis=0).argmax())
    return _distribution(
        name,
        (sensitive, _label(attribute, worst)),
        bins,
        _column(true, worst),
        _column(published, worst),
        _distance(truths, estimates),
    )


def _label(attribute: Attribute, code: int) -> str:
    return shown(*(askable_values(attribute.values[code : code + 1]) or [None]))


def _by_value(
    asked: Answerer, queries: Sequence[Query], name: str, place: Mapping[Any, int]
) -> list[CountAnswers]:
    """The counts of every query per value of an attribute: arrays, however many values it has."""
    found = [asked.counts_by(bound.where, name) for bound in bound_all(asked, queries)]
    codes = np.array([place.get(key, -1) for key in found[0].keys], np.int64)  # the same for all
    return [_placed(counts, codes, len(place), name) for counts in found]


def _placed(found: KeyCounts, codes: Counts, n_values: int, name: str) -> CountAnswers:
    """Counts by the codes of the table's own domain."""
    estimate = np.zeros(n_values)
    lo, hi = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
    there = found.hi > 0
    of = codes[there]
    if (of < 0).any():
        raise DataError(
            f"the release has a value of {name!r} that the table lacks; is it the table that was "
            "published?"
        )
    estimate[of], lo[of], hi[of] = found.estimate[there], found.lo[there], found.hi[there]
    return CountAnswers(estimate, lo, hi)


def _column(counts: Sequence[CountAnswers], code: int) -> CountAnswers:
    estimate = np.array([counted.estimate[code] for counted in counts])
    lo: Counts = np.array([counted.lo[code] for counted in counts])
    hi: Counts = np.array([counted.hi[code] for counted in counts])
    return CountAnswers(estimate, lo, hi)


def _distance(truth: Floats, estimate: Floats) -> float:
    """Total variation, both being turned into shares."""
    parts = [counts / counts.sum() if counts.sum() else counts for counts in (truth, estimate)]
    return float(np.abs(parts[0] - parts[1]).sum() / 2)


def _distribution(
    name: str,
    among: tuple[str, str] | None,
    bins: Sequence[Bin],
    true: CountAnswers,
    published: CountAnswers,
    distance: float,
) -> Distribution:
    return Distribution(
        attribute=name,
        among=among,
        labels=tuple(one.label for one in bins),
        truth=tuple(np.rint(true.estimate).astype(np.int64).tolist()),
        estimate=tuple(published.estimate.tolist()),
        lo=tuple(published.lo.tolist()),
        hi=tuple(published.hi.tolist()),
        distance=distance,
    )
