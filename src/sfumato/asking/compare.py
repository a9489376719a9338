"""A release's answers beside the truth, query by query, for the owner of the microdata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any, NamedTuple

import numpy as np

from sfumato.answers.accuracy import Accuracy, accuracy
from sfumato.asking.ask import answer, catalog_of, counts
from sfumato.core.answer import Answer, Result
from sfumato.core.arrays import Flags, Floats
from sfumato.core.askable import Askable
from sfumato.core.foreign import our_errors
from sfumato.core.moments import unit_number
from sfumato.core.query import COUNT, Query
from sfumato.queries.asked import questions_of


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """True values, estimates and bounds; one of each per figure that a workload asks for.

    A query without groups and with one aggregate asks for one figure; ``query`` says which query
    each belongs to. A figure that only one side has (an average of no rows) is left out.
    """

    query: np.ndarray[tuple[int], np.dtype[np.int64]]
    truth: Floats
    estimate: Floats
    lo: Floats
    hi: Floats

    @property
    def accuracy(self) -> Accuracy:
        """Relative errors of the estimates."""
        return accuracy(self.truth, self.estimate)

    @property
    def average(self) -> float:
        """Average relative error; figures whose true value is 0 are left out."""
        return self.accuracy.average

    @property
    def median(self) -> float:
        """Median relative error."""
        return self.accuracy.median

    @property
    def zero_truth(self) -> int:
        """How many figures are truly 0."""
        return self.accuracy.zero_truth

    def quantiles(self, shares: Sequence[float] = (0.25, 0.5, 0.75, 0.95)) -> dict[float, float]:
        """Quantiles of the relative errors."""
        return self.accuracy.quantiles(shares)

    @property
    def widths(self) -> Floats:
        """Distance between the bounds."""
        widths: Floats = self.hi - self.lo
        return widths

    @property
    def mean_width(self) -> float:
        """Average distance between the bounds; NaN without figures."""
        return float(self.widths.mean()) if len(self) else float("nan")

    @property
    def relative_width(self) -> float:
        """Average distance between the bounds over the true value, where that is not 0."""
        counted = self.truth != 0
        if not counted.any():
            return float("nan")
        return float((self.widths[counted] / np.abs(self.truth[counted])).mean())

    @property
    def covered(self) -> Flags:
        """Whether the truth lies between the bounds."""
        covered: Flags = (self.lo <= self.truth) & (self.truth <= self.hi)
        return covered

    @property
    def coverage(self) -> float:
        """Share of the figures whose truth lies between the bounds: 1 if all is right."""
        return float(self.covered.mean()) if len(self) else float("nan")

    @property
    def exact(self) -> float:
        """Share of the figures whose bounds leave one value."""
        return float((self.widths == 0).mean()) if len(self) else float("nan")

    def __len__(self) -> int:
        return len(self.truth)

    def to_dict(self) -> dict[str, Any]:
        """The summary, for reports."""
        return {
            "figures": len(self),
            "zero_truth": self.zero_truth,
            "relative_error": {
                "average": self.average,
                **{f"{share:.0%}": error for share, error in self.quantiles().items()},
            },
            "bounds": {
                "coverage": self.coverage,
                "exact": self.exact,
                "mean_width": self.mean_width,
                "mean_relative_width": self.relative_width,
            },
        }

    def __repr__(self) -> str:
        return (
            f"Comparison({len(self):,} figures, average error {self.average:.1%}, "
            f"median {self.median:.1%}, mean width {self.mean_width:,.4g}, "
            f"coverage {self.coverage:.1%})"
        )


@our_errors("comparing answers")
def compare(release: Askable, table: Askable, workload: Iterable[str | Query]) -> Comparison:
    """Ask a release and the table it was made from the same questions."""
    queries = list(questions_of(workload))
    if all(query.select == (COUNT,) and not query.by for query in queries):
        published, true = counts(release, queries), counts(table, queries)
        return Comparison(
            np.arange(len(queries)),
            true.estimate,
            published.estimate,
            published.lo.astype(np.float64),
            published.hi.astype(np.float64),
        )
    figures = [
        (place, *figure)
        for place, query in enumerate(queries)
        for figure in _figures(release, table, query)
    ]
    columns = np.array(figures, np.float64).reshape(-1, 5).T
    return Comparison(columns[0].astype(np.int64), *columns[1:])


class _Figure(NamedTuple):
    truth: float
    estimate: float
    lo: float
    hi: float


def _figures(release: Askable, table: Askable, query: Query) -> Iterator[_Figure]:
    published, true = answer(release, query), answer(table, query)
    known = catalog_of(table)
    counting = [aggregate.function == "count" for aggregate in query.select]
    kinds = [
        None if one.attribute is None else known.find(one.attribute).type for one in query.select
    ]
    ours, theirs = _by_key(published), _by_key(true)
    # a group that a release does not list can have those rows only that were left out
    unlisted = Answer(0.0, 0, _left_out(release))
    for key in {**theirs, **ours}:
        for place, counts_rows in enumerate(counting):
            mine = ours[key][place] if key in ours else unlisted if counts_rows else None
            real = theirs[key][place] if key in theirs else _NONE if counts_rows else None
            if mine is not None and real is not None and None not in (mine.lo, real.lo):
                values = (real.lo, mine.estimate, mine.lo, mine.hi)
                yield _Figure(*(_number(value, kinds[place]) for value in values))


_NONE = Answer(0.0, 0, 0)


def _left_out(release: Askable) -> int:
    manifest = getattr(release, "manifest", None)
    return manifest.suppressed if manifest is not None else 0


def _by_key(result: Result) -> dict[tuple[Any, ...], tuple[Answer, ...]]:
    return dict(zip(result.keys, result.answers, strict=True))


def _number(value: Any, kind: Any) -> float:
    return float(unit_number(value, kind) if isinstance(value, _TIMES) else value)


_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
