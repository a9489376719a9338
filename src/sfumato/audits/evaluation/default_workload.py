"""The questions that a release is measured with when its owner has no list of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple, TypeVar

from sfumato.core.microdata import Microdata
from sfumato.core.query import Query
from sfumato.queries.workloads import anatomy_workload, dynamic_workload, range_workload

QUERIES = 600
_LEAST_QUERIES = 50
_NAMED = 1_000  # attributes with more values are asked about in ranges, if they have an order
_LISTED = 2_000_000  # values that queries may name in all
_MOST_ATTRIBUTES = 3
_SELECTIVITY = 0.05
_SHARE = 0.10
_Part = TypeVar("_Part")


class Workload(NamedTuple):
    """Queries, and in words where they come from."""

    queries: tuple[Query, ...]
    words: str
    given: bool


def default_workload(table: Microdata, queries: int | None, seed: int) -> Workload:
    """Random counts over one to three quasi-identifiers and, if there is one, a sensitive value.

    A query names values, or ranges where they are too many to be named. Without a number of
    queries there are 600, fewer where even so their lists are long.
    """
    most = min(_MOST_ATTRIBUTES, len(table.quasi))
    widths = "1 quasi-identifier" if most == 1 else f"1 to {most} quasi-identifiers"
    ranges = not table.sensitive or any(
        attribute.ordered and attribute.size > _NAMED for attribute in table.attributes.values()
    )
    number = _affordable(table, ranges) if queries is None else queries
    if table.sensitive:
        named = " or ".join(table.schema.sensitive)
        asked = _about_sensitive(table, most, number, ranges, seed)
        words = f"{widths} and {named}, expected share of rows {_SELECTIVITY:.0%}"
    else:
        asked = _about_ranges(table, most, number, seed)
        words = f"{widths}, expected share of rows {_SHARE:.0%}"
    how = "neighbouring values of" if ranges else "random values of"
    return Workload(asked, f"{len(asked):,} random counts: {how} {words}; seed {seed}", given=False)


def _affordable(table: Microdata, ranges: bool) -> int:
    listed = (
        attribute.size
        for attribute in table.attributes.values()
        if not (ranges and attribute.ordered)
    )
    return max(_LEAST_QUERIES, min(QUERIES, _LISTED // max(listed, default=1)))


def _about_sensitive(
    table: Microdata, most: int, queries: int, ranges: bool, seed: int
) -> tuple[Query, ...]:
    """As in section 6.1 of "Anatomy", or with ranges as in section 9 of "Dynamic Anonymization"."""

    def ask(width: int, name: str, number: int, place: int) -> tuple[Query, ...]:
        chosen: dict[str, Any] = {
            "queries": number,
            "dimensionality": width,
            "sensitive": name,
            "seed": seed + place,
        }
        if ranges:
            return dynamic_workload(table, length=_SELECTIVITY ** (1 / (width + 1)), **chosen)
        return anatomy_workload(table, selectivity=_SELECTIVITY, **chosen)

    kinds = list(product(range(1, most + 1), table.schema.sensitive))
    return tuple(
        query
        for place, ((width, name), number) in enumerate(_dealt(kinds, queries))
        for query in ask(width, name, number, place)
    )


def _about_ranges(table: Microdata, most: int, queries: int, seed: int) -> tuple[Query, ...]:
    names = table.schema.quasi
    kinds = [some for width in range(1, most + 1) for some in combinations(names, width)]
    return tuple(
        query
        for place, (some, number) in enumerate(_dealt(kinds, queries))
        for query in range_workload(
            table, queries=number, share=_SHARE, attributes=some, seed=seed + place
        )
    )


def _dealt(kinds: Sequence[_Part], queries: int) -> list[tuple[_Part, int]]:
    """So many queries dealt to their kinds as evenly as can be."""
    ends = [queries * place // len(kinds) for place in range(len(kinds) + 1)]
    return [(kind, ends[place + 1] - ends[place]) for place, kind in enumerate(kinds)]
