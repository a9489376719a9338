"""How well a release answers a workload, and where it fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sfumato.algorithms.base import Progress
from sfumato.answers.accuracy import Accuracy, accuracy
from sfumato.asking.ask import counts
from sfumato.asking.compare import Comparison, compare
from sfumato.audits.scales import short
from sfumato.core.arrays import Flags, Floats
from sfumato.core.askable import Askable
from sfumato.core.query import COUNT, Query
from sfumato.queries.sql.writing import sql_of

_CURVE = 60  # points of the cumulative curve
_AT_ONCE = 50  # queries between two words about progress
_EXAMPLES = 2  # queries of each sort: the best, the middling, the worst


@dataclass(frozen=True, slots=True)
class Band:
    """The relative errors of some figures: what half of them, and 95%, do not exceed."""

    label: str
    figures: int
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Example:
    """One figure of a workload."""

    sort: str
    sql: str
    truth: float
    estimate: float
    lo: float
    hi: float
    error: float

    def __repr__(self) -> str:
        """Without the query, which may name many values, and without the true figure."""
        return f"Example({self.sort}, error {self.error:.1%})"


@dataclass(frozen=True, slots=True, eq=False)
class QueryErrors:
    """A workload, the answers to it beside the truth, and what can be read from them.

    ``given`` tells a workload of the owner's from a random one. ``left_out`` counts queries about
    columns that cannot be asked about. ``marginals`` are the answers of whoever knows every column
    alone and takes them for independent; None where a query asks for more than one count.
    """

    workload: str
    given: bool
    queries: tuple[Query, ...]
    left_out: int
    comparison: Comparison
    marginals: Floats | None = None

    @property
    def counted(self) -> Flags:
        """Figures that have a relative error: those that are not truly 0."""
        counted: Flags = self.comparison.truth != 0
        return counted

    @property
    def bias(self) -> float:
        """How much all estimates together are above (or below) all true values; NaN without."""
        total = float(np.abs(self.comparison.truth).sum())
        off = float((self.comparison.estimate - self.comparison.truth).sum())
        return off / total if total else math.nan

    @property
    def without(self) -> Accuracy | None:
        """The errors of the marginals alone."""
        alone = self.marginals
        return None if alone is None else accuracy(self.comparison.truth, alone)

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Points (error, share of the figures that have no greater one), ascending."""
        errors = np.sort(self.comparison.accuracy.errors)
        if not len(errors):
            return ()
        places = np.unique(np.linspace(0, len(errors) - 1, _CURVE).astype(np.int64))
        shares = np.searchsorted(errors, errors[places], side="right") / len(errors)
        return tuple(zip(errors[places].tolist(), shares.tolist(), strict=True))

    @property
    def by_size(self) -> tuple[Band, ...]:
        """Errors by the size of the true value, in powers of ten."""
        size = np.abs(self.comparison.truth[self.counted])
        powers = np.maximum(np.floor(np.log10(size)).astype(np.int64), -1)
        return tuple(self._bands(powers.tolist(), _size_label))

    @property
    def by_attributes(self) -> tuple[Band, ...]:
        """Errors by how many attributes the query has conditions on."""
        asked = self.comparison.query[self.counted].tolist()
        widths = [len(self.queries[place].where) for place in asked]
        return tuple(self._bands(widths, str))

    @property
    def examples(self) -> tuple[Example, ...]:
        """Some of the best, the middling and the worst figures."""
        counted = np.flatnonzero(self.counted)
        errors = self.comparison.accuracy.errors
        order = np.argsort(errors, kind="stable")
        middle, last = len(order) // 2, len(order)
        starts = {"best": 0, "middle": middle, "worst": last - _EXAMPLES}
        chosen: dict[int, str] = {}
        for sort, start in starts.items():
            for place in range(max(start, 0), min(start + _EXAMPLES, last)):
                chosen.setdefault(int(order[place]), sort)
        return tuple(
            self._example(sort, int(counted[place]), float(errors[place]))
            for place, sort in chosen.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines; NaN where there is no figure."""
        return {
            "workload": self.workload,
            "queries": len(self.queries),
            "left_out": self.left_out,
            **self.comparison.to_dict(),
            "bias": self.bias,
            "marginals": None if self.without is None else _accuracy(self.without),
            "curve": [{"error": error, "share": share} for error, share in self.curve],
            "by_size": [_stated(band) for band in self.by_size],
            "by_attributes": [_stated(band) for band in self.by_attributes],
            "examples": [
                {name: getattr(example, name) for name in Example.__slots__}
                for example in self.examples
            ],
        }

    def _bands(self, keys: list[int], label: Callable[[int], str]) -> Iterator[Band]:
        errors: Floats = self.comparison.accuracy.errors
        for key in sorted(set(keys)):
            some = errors[np.array(keys) == key]
            median, high = np.quantile(some, [0.5, 0.95]).tolist()
            yield Band(label(key), len(some), median, high)

    def _example(self, sort: str, place: int, error: float) -> Example:
        seen = self.comparison
        query = self.queries[int(seen.query[place])]
        several = bool(query.by) or len(query.select) > 1
        return Example(
            sort,
            sql_of(query) + (" (one of its figures)" if several else ""),
            float(seen.truth[place]),
            float(seen.estimate[place]),
            float(seen.lo[place]),
            float(seen.hi[place]),
            error,
        )

    def __repr__(self) -> str:
        return f"QueryErrors({len(self.queries):,} queries, {self.comparison!r})"


def askable(query: Query, refused: Collection[str]) -> bool:
    """Whether a query names none of the columns that cannot be asked about."""
    unasked = {name.lower() for name in refused}
    named = (*query.where, *query.by, *(part.attribute or "" for part in query.select))
    return unasked.isdisjoint(name.lower() for name in named)


def compare_slowly(
    release: Askable, table: Askable, queries: Sequence[Query], progress: Progress
) -> Comparison:
    """The same as ``compare``; ``progress`` hears the share of the queries that are asked."""
    parts = []
    for first in range(0, len(queries), _AT_ONCE):
        progress(first / len(queries))
        part = compare(release, table, queries[first : first + _AT_ONCE])
        parts.append(replace(part, query=part.query + first))
    columns = ([getattr(part, field.name) for part in parts] for field in fields(Comparison))
    return Comparison(*map(np.concatenate, columns))


def by_marginals(table: Askable, queries: Sequence[Query]) -> Floats | None:
    """What the single columns alone make of counts; None if something else is asked."""
    if any(query.select != (COUNT,) or query.by for query in queries):
        return None
    alone = [Query({name: one}) for query in queries for name, one in query.where.items()]
    everybody, *counted = counts(table, [Query(), *alone]).estimate.tolist()
    shares = iter([rows / everybody for rows in counted])
    found = [everybody * math.prod(next(shares) for _ in query.where) for query in queries]
    return np.array(found)


def _accuracy(alone: Accuracy) -> dict[str, float]:
    errors = {f"{share:.0%}": error for share, error in alone.quantiles().items()}
    return {"average": alone.average, **errors}


def _size_label(power: int) -> str:
    return "below 1" if power < 0 else f"{short(10**power)}–{short(10 ** (power + 1))}"


def _stated(band: Band) -> dict[str, Any]:
    return {
        "label": band.label,
        "figures": band.figures,
        "median": band.median,
        "95%": band.high,
    }
