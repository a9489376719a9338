"""Answers from a masked table.

Every row is a group of its own. It satisfies the conditions on exact columns or not, and those on
masked ones with the chances that blurs give it; these are taken to be independent, so a row weighs
their product, and a count is the sum of weights. doubt.py tells how far chance takes it from the
truth. The 80% interval is so many errors wide as the publisher found to hold the truth in 80% of
questions of each kind (calibration.py), and never narrower than chance alone would have it.

Hard bounds know nothing of chance: nothing in the table keeps a row from having any value, so sums
and extremes of masked columns have none and are refused, as is grouping by values that rows
need not have. ``MaskedTable.mean`` and its like estimate without bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import NormalDist

import numpy as np

from sfumato.answers.encoded import encoded_columns
from sfumato.answers.group_bounds import Found, Scope
from sfumato.answers.kernels import tally
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.answers.value_bounds import Choices
from sfumato.core.aggregates import AGGREGATES, is_number
from sfumato.core.answer import Likely
from sfumato.core.arrays import Counts, Floats
from sfumato.core.compiled import announce
from sfumato.errors import ParameterError, QueryRefused, SchemaError
from sfumato.forms.catalogs import catalog_of
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.masked.aggregated import aggregated
from sfumato.forms.masked.blurs import Blur, drawn
from sfumato.forms.masked.distortion import (
    MICROAGGREGATION,
    NOISE,
    SWAPPING,
    SYNTHETIC,
    Distortion,
    stretch_of,
)
from sfumato.forms.masked.doubt import Told, doubt
from sfumato.forms.masked.noisy import noisy
from sfumato.forms.masked.release import MaskedTable
from sfumato.forms.masked.swapped import swapped
from sfumato.queries.columns import Catalog
from sfumato.queries.values import EVERYTHING, Range, Values

LEVEL = 0.8  # of likely intervals, as for noise of other kinds
_BLURS: Mapping[str, Callable[[MaskedTable, PublishedColumn], Blur]] = {
    MICROAGGREGATION: aggregated,
    NOISE: noisy,
    SWAPPING: swapped,
    SYNTHETIC: drawn,
}


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Exact columns of the rows, and what masked ones say."""

    catalog: Catalog
    rows: Rows
    sizes: Counts
    blurs: Mapping[str, Blur]
    stated: Mapping[str, Distortion]
    drawn: bool
    stretch: tuple[float, ...]  # of likely intervals, by the number of masked columns asked about

    @classmethod
    def of_release(cls, release: MaskedTable) -> Masked:
        """Prepare a release; only its table and its manifest are read."""
        announce(tally)
        table, n = release.table, release.table.num_rows
        exact = encoded_columns(table.drop_columns(list(release.distortions)))
        return cls(
            catalog_of(release.manifest, table.schema).refusing(exact.refusals),
            Rows.of(exact.columns, np.arange(n, dtype=np.int32), n),
            np.ones(n, np.int64),
            blurs_of(release),
            release.distortions,
            release.drawn,
            stretch_of(release.manifest) or (1.0,),
        )

    def find(self, where: Where) -> Found:
        """Count by exact conditions, weighed by what masked values say."""
        scope = self._scope(where)
        return Found(self.rows.tally(where, scope), scope)

    def likely(self, where: Where, level: float = LEVEL) -> Likely:
        """Where the count lies."""
        asked = self._asked(where)
        rows = self.rows.tally(where, Scope.whole(self.sizes))
        if self.told_exactly(where) or all(self._asks_presence(name, where) for name in asked):
            count = float(round(self.find(where).counted().estimate))
            return Likely(level, count, count)
        parts = [Told.by(self.blurs[name], where[name]) for name in asked]
        found = doubt(parts, rows, drawn=self.drawn, keeps=self.keeps(where))
        far = NormalDist().inv_cdf((1 + level) / 2) * self.stretch[: len(asked)][-1]
        return Likely(level, *found.interval(far, float(rows.sum())))

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """For every value of an exact attribute."""
        if name in self.blurs:
            raise QueryRefused(
                f"{name!r} is masked, and people may have values that it does not show; ask for "
                "one value, or one range, at a time",
                clause=name,
            )
        keys, estimate, lo, hi = self.rows.tally_by(where, name, self._scope(where))
        return KeyCounts(keys, np.clip(estimate, lo, hi), lo, hi)

    def choices(self, where: Where, name: str, function: str) -> Choices:
        """Values of an exact attribute; where they are not added up, and no weight may be negative,
        the rows to expect are spread over all that can be chosen.
        """
        if name in self.blurs:
            raise QueryRefused(
                f"{name!r} is masked, so that no bounds hold for {function.upper()}; release.mean, "
                ".variance, .correlation and .histogram estimate without",
                clause=name,
            )
        scope = self._scope(where)
        if not AGGREGATES[function].adds:
            estimate, _, most = self.find(where).counted()
            scope = Scope(np.full(len(self.sizes), estimate / max(1, most)), scope.lack, scope.cap)
        return self.rows.choices(where, name, scope)

    def _scope(self, where: Where) -> Scope:
        asked = self._asked(where)
        if not asked:
            return Scope.whole(self.sizes)
        weights = [self.blurs[name].weights(where[name]) for name in asked]
        none = any(where[name].empty for name in asked)
        cap = np.zeros_like(self.sizes) if none else self.sizes
        return Scope(np.prod(weights, axis=0), self.sizes, cap)

    def keeps(self, where: Collection[str]) -> bool:
        """Whether it is about a single masked column, whose values only changed places."""
        return [self.stated[name].model for name in where if name in self.stated] == [SWAPPING]

    def told_exactly(self, where: Collection[str]) -> bool:
        """Whether it is about nothing else, either."""
        return len(where) == 1 and self.keeps(where)

    def _asks_presence(self, name: str, where: Where) -> bool:
        """Whether no more is asked than who has a value, which noise does not change."""
        wanted = where[name]
        whole = all(part == EVERYTHING for part in wanted.ranges)
        return self.stated[name].model == NOISE and not wanted.points and whole

    def refused(self, asked: Collection[str]) -> QueryRefused | None:
        """Products of weights are right where noise is independent, and not where it is not."""
        for one, other in combinations(asked, 2):
            stated = self.stated[one]
            if stated.model == NOISE and stated.spread.get(other):
                return QueryRefused(
                    f"the noise of {one!r} and {other!r} is correlated, so that counts by both "
                    "cannot be corrected; ask about one of them at a time",
                    clause=one,
                )
        return None

    def _asked(self, where: Where) -> list[str]:
        """The masked columns of a question, or its refusal."""
        asked = [name for name in self.blurs if name in where]
        if refusal := self.refused(asked):
            raise refusal
        return asked


def blurs_of(release: MaskedTable) -> dict[str, Blur]:
    """Every masked column, prepared."""
    stated = release.distortions
    return {
        column.name: _BLURS[stated[column.name].model](release, column)
        for column in release.manifest.columns
        if column.name in stated
    }


def expected_between(release: MaskedTable, name: str, edges: Sequence[float]) -> Floats:
    """How many rows to expect from each edge up to the next, the last one included."""
    ends = _numbers(edges)
    if len(ends) < 2 or not all(a < b for a, b in pairwise(ends)):
        raise ParameterError(
            "edges are two or more numbers, each above the last", parameter="edges"
        )
    if name not in release.distortions:
        raise SchemaError(f"{name!r} is not masked; count its values", column=name)
    kind = release.table.column(name).type
    if not is_number(kind):
        raise SchemaError(
            f"column {name!r} holds no numbers ({kind}); count its values", column=name
        )
    blur = blurs_of(release)[name]
    parts = [
        Values(ranges=(Range(low, high, False, high != ends[-1]),)) for low, high in pairwise(ends)
    ]
    return np.array([float(blur.chances(part).sum()) for part in parts])


def _numbers(edges: Sequence[float]) -> list[float]:
    try:
        return [float(edge) for edge in edges]
    except (TypeError, ValueError):
        return []
