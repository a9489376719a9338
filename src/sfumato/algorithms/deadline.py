"""Time limits: the same words and the same meaning for every method that searches.

A search that has no time left goes home with the best that it has found, and says so. It asks the
clock between two pieces of work, each of which takes a fraction of a second; so what is done after
the limit is one such piece, and writing down the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic

from sfumato.errors import ParameterError


class OutOfTime(Exception):
    """The limit has passed; the search goes home with what it has."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock after which no work is begun."""

    until: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None for no end."""
        return cls(math.inf if seconds is None else monotonic() + seconds)

    def check(self) -> None:
        """Raise OutOfTime after the deadline."""
        if monotonic() >= self.until:
            raise OutOfTime

    def sooner(self, share: float) -> Deadline:
        """A deadline that leaves the rest of the time to what comes afterwards."""
        if self.until == math.inf:
            return self
        now = monotonic()
        return Deadline(now + share * max(0.0, self.until - now))


NEVER = Deadline(math.inf)


def require_limit(name: str, limit: float | None) -> None:
    """Raise unless this is a limit under which something is tried, or None for no limit."""
    if limit is not None and not 0 < limit < math.inf:
        raise ParameterError(
            f"{name} must be positive and finite, or None for no limit, not {limit!r}",
            parameter=name,
        )
