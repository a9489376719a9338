"""How a database is to be made: which layout, and the options that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from sfumato.algorithms.anatomize import TIMES
from sfumato.algorithms.frontier import require_size
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.statdb.layout.layout import Layout, build, build_in_regions
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods, settle
from sfumato.statdb.layout.signatures import require_m

First: TypeAlias = Literal["neighbours", "regions", "signatures", "anatomize"]
Framework: TypeAlias = Literal["anatomy", "generalization"]
Cohort: TypeAlias = int | Literal["default"] | None
_COHORT = 8
_REGION = 64  # times m


@dataclass(frozen=True, slots=True)
class Making:
    """``size`` is that of neighbourhoods, ``cohort`` that of groups which are regrouped, in regions
    of at least ``region`` rows if that is given.
    """

    first: First | Partition
    m: int
    size: int | None
    cohort: int | None
    region: int | None = None

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

        Whoever names a cohort wants groups that are regrouped: inside regions, if it is a number.
        """
        require_m(m)
        _require_among("framework", framework, get_args(Framework))
        if first is None:
            first = _first_for(cohort)
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
        if first == "regions":
            _require_cohort(cohort)
        cohort = _COHORT if cohort == "default" else cohort
        return cls(first, m, None, cohort, _REGION * m if first == "regions" else None)

    def on(self, table: Microdata) -> Making:
        """The same for a table: one too small for two regions is one."""
        if self.region is None or table.n_rows >= 2 * self.region:
            return self
        return replace(self, first="signatures", region=None)

    def places(self, table: Microdata, randomness: Randomness) -> Layout | Neighbourhoods:
        """Give every row of a table its place."""
        if isinstance(self.first, Partition):
            return build(table, self.m, self.cohort, self.first, randomness)
        if self.first == "neighbours":
            assert self.size is not None
            return settle(table, self.m, self.size, randomness)
        if self.first == "regions":
            assert self.region is not None
            assert self.cohort is not None
            return build_in_regions(table, self.m, self.cohort, self.region, randomness)
        return build(table, self.m, self.cohort, self.first, randomness)


def _first_for(cohort: Cohort) -> First:
    if cohort == "default":
        return "neighbours"
    return "signatures" if cohort is None else "regions"


def _require_cohort(cohort: Cohort) -> None:
    if cohort is None:
        raise ParameterError(
            "in regions a cohort has a number of groups; give one, or use first = 'signatures', "
            "which regroups the whole buckets of the paper",
            parameter="cohort",
        )


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
