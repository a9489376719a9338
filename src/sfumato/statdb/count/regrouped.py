"""Answers from rows that are regrouped for every question: anatomy.py and generalization.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.answers.group_bounds import Counted
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Codes, Counts
from sfumato.core.exact import Numbers
from sfumato.statdb.count.aggregates import a_choices, g_choices
from sfumato.statdb.count.anatomy import a_decompose
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.count.generalization import g_count, g_decompose
from sfumato.statdb.count.kernel import a_count
from sfumato.statdb.count.margin_kernel import g_types, margin_maps
from sfumato.statdb.count.match_kernel import matching_places
from sfumato.statdb.count.search import Searcher
from sfumato.statdb.count.tally_kernel import a_tally
from sfumato.statdb.layout.layout import Layout


@dataclass(frozen=True, slots=True, eq=False)
class RegroupedAnswers:
    """A layout, how conditions are looked up in its index, and whether boxes are shown."""

    stored: Layout
    searcher: Searcher
    boxes: bool
    n_rows: int

    def counted(self, quasi: Mapping[int, Runs], wanted: Runs) -> Counted:
        """How many rows satisfy conditions and have a wanted value."""
        stored, search = self.stored, self.searcher.search(quasi)
        values = _ends(wanted)
        if not self.boxes:
            return Counted(*a_count(stored.index.bitmaps, *search, values, stored.buckets))
        if not quasi and wanted == ((0, len(stored.buckets.value_starts) - 2),):
            return Counted(float(self.n_rows), self.n_rows, self.n_rows)
        types = g_types(stored.index.bitmaps, search.steps, len(quasi), values, stored.buckets)
        return g_count(*types, self.n_rows)

    def choices(self, quasi: Mapping[int, Runs], wanted: Runs, numbers: Numbers) -> Choices:
        """The values that rows which satisfy conditions may have."""
        stored, search = self.stored, self.searcher.search(quasi)
        values = _ends(wanted)
        if not self.boxes:
            tally = a_tally(stored.index.bitmaps, *search, values, stored.buckets)
            return a_choices(tally, values, numbers, stored.buckets)
        types = g_types(stored.index.bitmaps, search.steps, len(quasi), values, stored.buckets)
        return g_choices(*types[1:], values, numbers, stored.buckets)

    def version(self, quasi: Mapping[int, Runs]) -> Codes:
        """The group of every place in the version for these conditions."""
        empty = not all(quasi.values())
        return (
            self._boxed(quasi) if self.boxes and not empty else self._open({} if empty else quasi)
        )

    def _open(self, quasi: Mapping[int, Runs]) -> Codes:
        stored = self.stored
        hit = matching_places(stored.index.bitmaps, *self.searcher.search(quasi))
        return a_decompose(stored.buckets, stored.flags(hit), stored.flags(stored.everybody))

    def _boxed(self, quasi: Mapping[int, Runs]) -> Codes:
        stored, search = self.stored, self.searcher.search(quasi)
        maps = margin_maps(stored.index.bitmaps, search.steps, len(quasi))
        margins, inside = (np.array([stored.flags(one) for one in part], np.bool_) for part in maps)
        return g_decompose(stored.buckets, margins, inside, stored.flags(stored.everybody))


def _ends(wanted: Runs) -> Counts:
    """First and last codes in a row."""
    return np.array(wanted, np.int64).ravel()
