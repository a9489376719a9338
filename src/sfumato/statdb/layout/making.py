"""How a database is to be made: which layout, and the options that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from sfumato.algorithms.anatomize import TIMES
from sfumato.algorithms.frontier import require_size
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.statdb.layout.layout import Layout, build
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods, settle
from sfumato.statdb.layout.signatures import require_m

First: TypeAlias = Literal["neighbours", "signatures", "anatomize"]
Framework: TypeAlias = Literal["anatomy", "generalization"]
Cohort: TypeAlias = int | Literal["default"] | None
_COHORT = 8


@dataclass(frozen=True, slots=True)
class Making:
    """``size`` is that of neighbourhoods, ``cohort`` that of groups which are regrouped."""

    first: First | Partition
    m: int
    size: int | None
    cohort: int | None

    @classmethod
    def of(
        cls,
        m: int,
        framework: Framework,
        first: First | Partition | None,
        size: int | None,
        cohort: Cohort,
    ) -> Making:
        """What the options ask for, or why they cannot be had together.

        Whoever names a cohort wants groups that are regrouped.
        """
        require_m(m)
        _require_among("framework", framework, get_args(Framework))
        if first is None:
            first = "neighbours" if cohort == "default" else "signatures"
        if not isinstance(first, Partition):
            _require_among("first", first, get_args(First))
        if first == "neighbours":
            _require_no_cohort(cohort)
            require_size(size)
            if size is not None and size < m:
                raise ParameterError(
                    f"size = {size:,} is less than m = {m:,}: a group in which no value has more "
                    "than 1/m of the rows has at least m",
                    parameter="size",
                )
            return cls(first, m, -(-(size or TIMES * m) // m) * m, None)
        if size is not None:
            raise ParameterError(
                "size is that of neighbourhoods: groups that are regrouped have one row of each "
                "value; leave it out, or use first = 'neighbours'",
                parameter="size",
            )
        return cls(first, m, None, _COHORT if cohort == "default" else cohort)

    def places(self, table: Microdata, randomness: Randomness) -> Layout | Neighbourhoods:
        """Give every row of a table its place."""
        if isinstance(self.first, Partition) or self.first != "neighbours":
            return build(table, self.m, self.cohort, self.first, randomness)
        assert self.size is not None
        return settle(table, self.m, self.size, randomness)


def _require_among(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        choices = ", ".join(map(repr, known[:-1]))
        raise ParameterError(
            f"{name} must be {choices} or {known[-1]!r}, not {value!r}", parameter=name
        )


def _require_no_cohort(cohort: Cohort) -> None:
    if cohort != "default":
        raise ParameterError(
            "neighbours are never regrouped, so they have no cohort; leave it out, or use "
            "first = 'signatures'",
            parameter="cohort",
        )
