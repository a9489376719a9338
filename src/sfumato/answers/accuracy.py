"""How far estimates are from the truth: |act - est| / |act| (Anatomy, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.core.arrays import Floats
from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """Relative errors of a workload; queries whose true answer is 0 have none and are left out."""

    errors: Floats
    zero_truth: int

    @property
    def queries(self) -> int:
        """Queries that have a relative error."""
        return len(self.errors)

    @property
    def average(self) -> float:
        """Average relative error; NaN when every query was left out."""
        return float(self.errors.mean()) if len(self.errors) else float("nan")

    @property
    def median(self) -> float:
        """Median relative error; NaN when every query was left out."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float:
        """The error that this share of the queries does not exceed."""
        return float(np.quantile(self.errors, share)) if len(self.errors) else float("nan")

    def quantiles(self, shares: Sequence[float] = (0.25, 0.5, 0.75, 0.95)) -> dict[float, float]:
        """Several quantiles at once."""
        return {share: self.quantile(share) for share in shares}

    def __repr__(self) -> str:
        return (
            f"Accuracy({self.queries:,} queries, average error {self.average:.1%}, "
            f"median {self.median:.1%}, {self.zero_truth:,} left out)"
        )


def accuracy(truth: ArrayLike, estimates: ArrayLike) -> Accuracy:
    """Compare estimates with the truth, query by query."""
    act, est = np.asarray(truth, np.float64), np.asarray(estimates, np.float64)
    if act.shape != est.shape:
        raise ParameterError(
            f"{act.size} true answers and {est.size} estimates; a query has one of each",
            parameter="estimates",
        )
    counted = act != 0
    errors: Floats = np.abs(act - est)[counted] / np.abs(act[counted])
    return Accuracy(errors, int((~counted).sum()))
