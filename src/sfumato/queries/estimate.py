"""The estimator that fits a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from sfumato.core.arrays import Floats
from sfumato.core.microdata import Microdata
from sfumato.queries.anatomized import AnatomizedEstimator
from sfumato.queries.count import CountQuery
from sfumato.queries.exact import ExactCounts
from sfumato.queries.generalized import GeneralizedEstimator
from sfumato.releases.anatomized import AnatomizedTables
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.load import Release


class Estimator(Protocol):
    """Something prepared that answers COUNT queries."""

    def estimate(self, query: CountQuery) -> float:
        """The expected number of rows that satisfy a query."""
        ...

    def estimates(self, queries: Iterable[CountQuery]) -> Floats:
        """The answers to many queries."""
        ...


def estimator(source: Release | Microdata) -> Estimator:
    """Prepare a release, or, for its owner, the table itself, to answer queries."""
    if isinstance(source, AnatomizedTables):
        return AnatomizedEstimator.of(source)
    if isinstance(source, GeneralizedTable):
        return GeneralizedEstimator.of(source)
    if isinstance(source, Microdata):
        return ExactCounts.of(source)
    raise TypeError(f"no estimator for a {type(source).__name__}")
