"""Which queries of a workload match the published boundaries.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 5: a release matches a
predicate if no group mixes rows that satisfy it with rows that do not. As seen from the published
files alone, a group is *cut* by a query when some, but perhaps not all, of the rows found in it
satisfy the query; without cut groups the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sfumato.asking.ask import answerer, bound_all
from sfumato.core.arrays import Counts, Flags
from sfumato.core.askable import Askable
from sfumato.core.query import Query


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Per query: how many groups it cuts, and how many rows in them may satisfy it or not."""

    cut_groups: Counts
    open_rows: Counts

    @property
    def matched(self) -> Flags:
        """Queries that cut no group."""
        matched: Flags = self.cut_groups == 0
        return matched

    @property
    def share(self) -> float:
        """Share of the queries that match; NaN without queries."""
        return float(self.matched.mean()) if len(self) else float("nan")

    def __len__(self) -> int:
        return len(self.cut_groups)

    def __repr__(self) -> str:
        return f"Matching({int(self.matched.sum()):,} of {len(self):,} queries match)"


def matching(release: Askable, workload: Iterable[str | Query]) -> Matching:
    """Find the queries whose conditions fall on the boundaries of a release's groups."""
    asked = answerer(release)
    found = []
    for bound in bound_all(asked, workload):
        rows, scope, _ = asked.find(bound.where)
        undecided = scope.most(rows) - scope.fewest(rows)
        found.append((np.count_nonzero(undecided), undecided.sum()))
    cut, open_rows = np.array(found, np.int64).reshape(-1, 2).T
    return Matching(cut, open_rows)
