"""The sides of boxes along one attribute: how much of them a query wants, and which values.

A row's value may be any of those inside its side, all equally likely. Which those are is a matter
of the attribute's domain, as far as a release shows it; reading.py finds it out:

- place_sides: whole numbers and days between the ends, or values of a declared order or taxonomy
- span_sides: fractions and times; every one between the ends, by length
- set_sides: what they list

Where the value may also be missing, missing is one more value. A side is *sure* when a query wants
all of its values, and *possible* when it wants one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from sfumato.core.arrays import Flags, Floats
from sfumato.core.exact import Numbers
from sfumato.queries.values import Values

MAX_KEYS = 100_000


class Reading(NamedTuple):
    """Per side: the share of its values that is wanted, whether all of them, whether any."""

    share: Floats
    sure: Flags
    possible: Flags


class Extents(NamedTuple):
    """Per side: lowest, highest and mean of its wanted numbers; anything where it has none.

    The ends are exact (core.exact), the mean is what to expect.
    """

    low: Numbers
    high: Numbers
    mean: Floats


class Sides(Protocol):
    """The different sides that boxes have along one attribute."""

    def read(self, wanted: Values) -> Reading:
        """How much of each side is wanted."""
        ...

    def extents(self, wanted: Values) -> Extents:
        """The wanted numbers inside each side."""
        ...

    def keys(self) -> Sequence[Any]:
        """All values that some row may have; refused where they cannot be listed."""
        ...

    def spread(self, weights: Floats) -> Floats:
        """Per key, the sum of the weights of all sides that hold it."""
        ...

    def begins(self, weights: Floats) -> tuple[Sequence[Any], Floats]:
        """The values at which sides begin, in their order, and the weight of these sides. Of sets
        every value is one, and has the set's weight.
        """
        ...

    def sizes(self) -> Floats:
        """How many values each side holds: for shares only, since doubles are not exact."""
        ...

    def single(self) -> Flags:
        """Whether each side holds one value only, which its rows must have."""
        ...
