"""Which intervals may be, for models that exist only in Python.

The kernel weighs intervals as if every group were safe; here those that are not are ruled out, with
one call of the model per first slab.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.algorithms._single_kernel import FORBIDDEN, Strip
from sfumato.algorithms._single_weigh import ANYTHING, Deadline, weighed
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.models.requirements import Requirement


@dataclass(frozen=True, slots=True, eq=False)
class PlainWeigher:
    """Weighs intervals by asking models. Column s of a strip's sensitive values is of need s."""

    table: Microdata
    needs: tuple[Requirement, ...]
    wholes: tuple[Counts, ...]
    deadline: Deadline

    @classmethod
    def of(
        cls, table: Microdata, needs: tuple[Requirement, ...], deadline: Deadline
    ) -> PlainWeigher:
        """A weigher for this table."""
        everyone = Partition.of(np.zeros(table.n_rows, np.int32))
        wholes = tuple(need.histograms(table, everyone).whole for need in needs)
        return cls(table, needs, wholes, deadline)

    def sensitive(self) -> Codes:
        """Per row, the value each need looks at; 0 where only sizes count."""
        nothing = np.zeros(self.table.n_rows, np.int32)
        columns = [
            nothing if need.attribute is None else self.table.codes[need.attribute]
            for need in self.needs
        ]
        return np.stack(columns, axis=1, dtype=np.int32)

    def __call__(self, strip: Strip) -> Counts:
        """The least cost of every interval; FORBIDDEN where a model says no."""
        sizes_only = strip._replace(sensitive=strip.sensitive[:, :0])
        costs = weighed(sizes_only, ANYTHING, 0, self.deadline)
        for first in range(len(strip.begins) - 1):
            self.deadline.check()
            costs[first, first + 1 :][~self._allowed(strip, first)] = FORBIDDEN
        return costs

    def _allowed(self, strip: Strip, first: int) -> Flags:
        """Whether all groups are safe between the start of a slab and each later end."""
        n_ends = len(strip.begins) - 1 - first
        points = strip.order[strip.begins[first] :]
        slabs = np.repeat(np.arange(n_ends), np.diff(strip.begins)[first:])
        # a point counts for the end of its own slab and for all that follow
        times = n_ends - slabs
        points = np.repeat(points, times)
        ends = n_ends - 1 - (np.arange(len(points)) - np.repeat(np.cumsum(times) - times, times))
        n_cells = int(strip.coarse.max()) + 1
        found, groups = np.unique(ends * n_cells + strip.coarse[points], return_inverse=True)
        safe = self._safe(strip, points, groups, len(found))
        allowed: Flags = np.bincount(found // n_cells, weights=~safe, minlength=n_ends) == 0
        return allowed

    def _safe(self, strip: Strip, points: Codes, groups: Counts, n_groups: int) -> Flags:
        """Whether each group of points passes every model."""
        weights = strip.weights[points]
        safe = np.ones(n_groups, np.bool_)
        for s, (need, whole) in enumerate(zip(self.needs, self.wholes, strict=True)):
            if need.attribute is None:
                sizes = np.bincount(groups, weights=weights, minlength=n_groups)
                seen = Histograms.of_sizes(sizes.astype(np.int64))
            else:
                keys = groups * len(whole) + strip.sensitive[points, s]
                present, entry = np.unique(keys, return_inverse=True)
                counts = np.bincount(entry, weights=weights)
                attribute = self.table.attributes[need.attribute]
                seen = Histograms.of_keys(attribute, present, counts.astype(np.int64), n_groups)
            safe &= need.model.passes(replace(seen, whole=whole))
        return safe
