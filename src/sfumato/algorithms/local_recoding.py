"""Local recoding: every row in the least general group that it can be in.

Full-domain generalization gives all rows the same levels, so a few rare ones make everybody's
values coarse. Here each level vector (one level per attribute) is looked at on its own:

    1. order the level vectors by what they cost: the mean certainty penalty of their cells
    2. for each, cheapest first: rows without a group that are alike on these levels are candidates,
       and become a group if they satisfy the model
    3. rows left at the end join the groups that became so last, which show the least anyhow
    4. labels are drawn as tightly as each group allows, which lowers many of them once more

The order makes it greedy: a row takes the cheapest group that is there for it, and nobody looks
whether the others then find theirs. On the Adult table it loses less than the best existing tool
(benchmarks/RESULTS.md). A lattice of more than ``visits`` vectors is not gone through: from the
bottom all neighbours one level up are looked at, and the one that settles the most rows for its
price is the next bottom, until the top.

Cost: one hash pass over the rows without a group per level vector. Levels are those of ladders.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from sfumato.algorithms._settling import Search, compiled_search, plain_search
from sfumato.algorithms.base import Progress
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.ladders import ladder
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.models.requirements import Requirement, compile_rules, passing, require_feasible

_TELL = 64  # level vectors between two words about progress


@dataclass(frozen=True, slots=True)
class LocalRecoding:
    """Groups on the cheapest levels that satisfy the model, row by row."""

    name: ClassVar[str] = "local-recoding"
    form: ClassVar[str] = "generalized"
    labels: ClassVar[str] = "taxonomy"
    visits: int = 20_000

    def __post_init__(self) -> None:
        """Refuse to look at nothing."""
        if self.visits < 1:
            raise ParameterError(f"visits must be 1 or more, not {self.visits}", parameter="visits")

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        require_feasible(needs, table)
        ladders = [ladder(attribute) for attribute in table.quasi]
        table = coarsened(table, needs)
        rules = compile_rules(needs, table)
        if rules is None:
            search = plain_search(table, needs, ladders, randomness)
        else:
            search = compiled_search(table, rules, ladders, randomness)
        costs = [
            one.costs(np.bincount(table.codes[attribute.name], minlength=attribute.size))
            for one, attribute in zip(ladders, table.quasi, strict=True)
        ]
        size = prod(len(levels) for levels in costs)
        if size <= self.visits:
            visited = _go_through(search, _by_cost(costs), progress)
        else:
            visited = _climb(search, costs, progress)
        groups = _with_the_rest(search.groups(), needs, table)
        notes = {"level_vectors": size, "visited": visited, "complete": size <= self.visits}
        return Partition.of(groups, notes=notes)


def _by_cost(costs: Sequence[Floats]) -> Counts:
    """All level vectors, cheapest first; among equals the more specific first."""
    total = costs[0]
    for levels in costs[1:]:
        total = np.add.outer(total, levels).ravel()
    order = np.argsort(total, kind="stable")
    shape = [len(levels) for levels in costs]
    return np.stack(np.unravel_index(order, shape), axis=1).astype(np.int64)


def _go_through(search: Search, vectors: Counts, progress: Progress | None) -> int:
    """Settle on every vector until all rows have a group; tells how many were looked at."""
    for number, levels in enumerate(vectors):
        if not search.left:
            return number
        search.settle(levels)
        if progress is not None and number % _TELL == 0:
            progress(1 - search.left / search.rows)
    return len(vectors)


def _climb(search: Search, costs: Sequence[Floats], progress: Progress | None) -> int:
    """Settle on all neighbours of a bottom that rises to the best of them."""
    bottom = np.zeros(len(costs), np.int64)
    search.settle(bottom)
    visited = 1
    while search.left:
        prices = {
            j: float(levels[bottom[j] + 1] - levels[bottom[j]])
            for j, levels in enumerate(costs)
            if bottom[j] + 1 < len(levels)
        }
        if not prices:
            break
        gains: dict[int, float] = {}
        for j in sorted(prices, key=lambda axis: prices[axis]):
            step = bottom.copy()
            step[j] += 1
            gains[j] = search.settle(step) / (prices[j] + 1e-12)
            visited += 1
        # where nothing was settled the cheapest step is as good as any
        best = max(gains, key=lambda axis: (gains[axis], -prices[axis]))
        bottom[best] += 1
        if progress is not None:
            progress(1 - search.left / search.rows)
    return visited


def _with_the_rest(groups: Codes, needs: tuple[Requirement, ...], table: Microdata) -> Codes:
    """Rows without a group join the last groups, as many of them as it takes."""
    rest = groups < 0
    if not rest.any():
        return groups
    last = int(groups.max())
    for first in range(last, -1, -1):
        joined = np.where(rest | (groups >= first), first, groups)
        together = Partition.of(np.where(joined == first, 0, 1).astype(np.int32))
        if passing(needs, table, together)[0]:
            return joined
    return np.zeros_like(groups)
