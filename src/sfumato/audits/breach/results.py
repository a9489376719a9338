"""What the breach audit answers: a belief about one person, the breach of every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.arrays import Counts, Floats

QUANTILES = (0.5, 0.9, 0.99)
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Belief:
    """What an adversary makes of one person.

    ``probabilities`` are of the person's sensitive value, the likeliest first, given that the
    person is in the table (assumption A2); empty when no published row fits. ``present`` is the
    chance that the person is in the table (Pr_A2): without an external list it is taken as certain
    when a row fits. ``rows`` and ``groups`` count what fits, and ``listed`` the persons of the
    external list who fit the same. ``unseen`` names known columns whose value, a number, no
    published row can have: perhaps it is mistyped.
    """

    sensitive: str
    probabilities: Mapping[Any, float]
    rows: int
    groups: int
    present: float
    listed: int | None = None
    unseen: tuple[str, ...] = ()

    @property
    def largest(self) -> float:
        """The probability of the likeliest value; 0 when no row fits."""
        return max(self.probabilities.values(), default=0.0)

    def breach(self, value: Any) -> float:
        """Formula 3: the chance that the person is in the table and has this value."""
        return self.present * self.probabilities.get(value, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "sensitive": self.sensitive,
            "rows": self.rows,
            "groups": self.groups,
            "listed": self.listed,
            "present": self.present,
            "largest": self.largest,
            "unseen": list(self.unseen),
            "values": [
                {"value": value, "probability": chance, "breach": self.breach(value)}
                for value, chance in self.probabilities.items()
            ],
        }

    def __repr__(self) -> str:
        """Not what is believed of whom: ``probabilities`` has that."""
        return (
            f"Belief({self.sensitive!r}, {len(self.probabilities):,} values, largest "
            f"{self.largest:.3g}, {self.rows:,} rows, {self.groups:,} groups)"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """For every row, the probability that an adversary names its real value.

    ``bound`` is what the release promises (1/l under l-diversity; None without such a promise), and
    ``unmatched`` the number of rows that no published row fits. Where rows are not told one by one,
    ``times`` says how many have each of the probabilities, which then ascend.
    """

    sensitive: str
    probabilities: Floats
    bound: float | None = None
    unmatched: int = 0
    times: Counts | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.probabilities) if self.times is None else int(self.times.sum())

    @property
    def largest(self) -> float:
        """The worst row's."""
        return float(self.probabilities.max())

    @property
    def at_largest(self) -> int:
        """How many rows have it."""
        return self._at_least(self.largest)

    @property
    def mean(self) -> float:
        """The share of all rows that the adversary is expected to name."""
        return float(np.average(self.probabilities, weights=self.times))

    def quantile(self, share: float) -> float:
        """The probability that this share of the rows does not exceed."""
        if self.times is None:
            return float(np.quantile(self.probabilities, share))
        at, between = divmod(share * (self.rows - 1), 1.0)
        places = np.searchsorted(np.cumsum(self.times), [at, min(at + 1, self.rows - 1)], "right")
        return float(np.quantile(self.probabilities[places], between))

    @property
    def at_bound(self) -> int | None:
        """Rows whose probability reaches the bound."""
        return None if self.bound is None else self._at_least(self.bound)

    def to_dict(self) -> dict[str, Any]:
        """The summary, for machines."""
        return {
            "sensitive": self.sensitive,
            "rows": self.rows,
            "largest": self.largest,
            "at_largest": self.at_largest,
            "mean": self.mean,
            "quantiles": {str(share): self.quantile(share) for share in QUANTILES},
            "bound": self.bound,
            "at_bound": self.at_bound,
            "unmatched": self.unmatched,
        }

    def __repr__(self) -> str:
        """A summary: ``probabilities`` has the rest."""
        bound = "" if self.bound is None else f", promised {self.bound:.3g}"
        return (
            f"Breach({self.sensitive!r}, {self.rows:,} rows, largest {self.largest:.3g}, "
            f"mean {self.mean:.3g}{bound})"
        )

    def _at_least(self, chance: float) -> int:
        reached = self.probabilities >= chance - _TOLERANCE
        return int(np.count_nonzero(reached) if self.times is None else self.times[reached].sum())
