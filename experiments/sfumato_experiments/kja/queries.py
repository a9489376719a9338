"""Range-count queries that span a share |R| of the domain space (section 5).

The paper does not say how a query spans ten percent of a space of four dimensions. In both
readings here all sides are equally long relative to their domains, |R| ** (1 / d), and lie at a
random place:

- "by rank" (``sf.range_workload``): that share of an attribute's values. Values are crowded where
  people are, and so are the queries.
- "by distance": that share of the extent of the domain. Most people earn little and the domain
  reaches up to a few large incomes, so most such queries have hardly anybody in them, and their
  relative errors are large, as the paper's are.

Queries whose true answer is 0 have no relative error; others are drawn in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

import sfumato as sf
from sfumato_experiments.kja.tables import Source

Reading: TypeAlias = Literal["by rank", "by distance"]
READINGS: tuple[Reading, ...] = ("by rank", "by distance")
_BATCH, _BATCHES = 200, 500


@lru_cache(maxsize=128)
def workload(
    source: Source, microdata: int, d: int, reading: Reading, share: float, number: int, seed: int
) -> tuple[sf.Query, ...]:
    """So many queries with somebody of a draw's MT in them; MT does not depend on the ratio."""
    table, _ = source.draw(microdata, 1, d, seed)
    found: list[sf.Query] = []
    for batch in range(_BATCHES):
        drawn = (
            sf.range_workload(table, queries=_BATCH, share=share, seed=seed * _BATCHES + batch)
            if reading == "by rank"
            else tuple(_boxes(source, table, share, np.random.default_rng([seed, batch])))
        )
        truth = table.counts(drawn).estimate
        found += [query for query, rows in zip(drawn, truth, strict=True) if rows > 0]
        if len(found) >= number:
            break
    return tuple(found[:number])


def _boxes(
    source: Source, table: sf.Microdata, share: float, random: np.random.Generator
) -> Iterator[sf.Query]:
    """Boxes of one size at random places of the population's domain."""
    names = table.schema.quasi
    side = share ** (1 / len(names))
    domains = {name: source.domain(name) for name in names}
    for _ in range(_BATCH):
        places = random.random(len(names)) * (1 - side)
        yield sf.Query(
            {
                name: sf.between(low + place * (high - low), low + (place + side) * (high - low))
                for place, (name, (low, high)) in zip(places, domains.items(), strict=True)
            }
        )
