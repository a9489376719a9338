"""The one version of a database of neighbours, checked from the rows up.

Every row must stand in the group that the store gives it, and no value may have more than 1/m of
the places of a group, counterfeits' included. The interval is computed by the formulas of
count/neighbours.py from the rows and the codes at places; neither index is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.database import StatDB
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods


@dataclass(frozen=True, slots=True, eq=False)
class NearGround:
    """The rows of a database, the group of each, and group and value of every place."""

    database: StatDB
    table: Microdata
    group: Codes
    place_group: Codes
    values: Codes
    _checked: dict[Partition, str] = field(default_factory=dict)

    @classmethod
    def of(cls, database: StatDB, stored: Neighbourhoods) -> NearGround:
        """From the places of rows, as neighbourhoods.py describes them."""
        groups = stored.group_of()
        rows = groups[stored.occupied()]
        return cls(database, database.table(), rows, groups, stored.values.astype(np.int32))

    @property
    def sizes(self) -> Counts:
        """How many places every group has."""
        return np.bincount(self.place_group)

    def version(self) -> Partition:
        """The one version, which is behind all questions; made once."""
        return next(iter(self._checked), None) or self.database.version()

    def version_flaw(self, version: Partition) -> str:
        """What keeps a version from being the one that is promised; nothing if it is."""
        if version not in self._checked:
            self._checked[version] = self._flaw(version)
        return self._checked[version]

    def _flaw(self, version: Partition) -> str:
        responder = self.database.responder
        if len(version.groups) != len(self.group) or version.n_left_out:
            return "a version lacks rows"
        pairs = np.unique(np.stack([version.groups, self.group]), axis=1)
        if any(len(np.unique(one)) < pairs.shape[1] for one in pairs):
            return "a group of a version has rows of two signatures, or not all of one"
        if not self._within_signatures():
            return "a row has a value that its signature lacks"
        keys = self.place_group * np.int64(responder.axes[responder.sensitive].size) + self.values
        found, counts = np.unique(keys, return_counts=True)
        group = found // responder.axes[responder.sensitive].size
        if (counts * responder.m > self.sizes[group]).any():
            return f"a value has more than 1/{responder.m} of a signature"
        if len(self.values) - version.n_rows != self.database.counterfeits:
            return "a version has other counterfeits than the database"
        return ""

    def interval(self, hit: Flags, wanted: Flags) -> tuple[int, int]:
        """The ends for the rows that satisfy the conditions on quasi-identifiers."""
        n = self.sizes
        q = np.bincount(self.group[hit], minlength=len(n))
        w = np.bincount(self.place_group[wanted[self.values]], minlength=len(n))
        return int(np.maximum(0, q + w - n).sum()), int(np.minimum(q, w).sum())

    def boxed(self, inside: Flags, outside: Flags, wanted: Flags) -> tuple[int, int]:
        """The ends where boxes are shown, from groups whose box lies inside the conditions, or
        outside.
        """
        n, rows = self.sizes, np.bincount(self.group)
        w = np.bincount(self.place_group[wanted[self.values]], minlength=len(n))
        fewest, most = np.maximum(0, rows + w - n), np.minimum(rows, w)
        return int(fewest[inside].sum()), int(most[~outside].sum())

    def _within_signatures(self) -> bool:
        """Whether every group has at most as many rows of a value as its signature says."""
        responder = self.database.responder
        size = np.int64(responder.axes[responder.sensitive].size)
        rows = np.unique(
            self.group * size + self.table.codes[responder.sensitive], return_counts=True
        )
        places = np.unique(self.place_group * size + self.values, return_counts=True)
        at = np.searchsorted(places[0], rows[0])
        if (at >= len(places[0])).any() or (places[0][at] != rows[0]).any():
            return False
        return bool((rows[1] <= places[1][at]).all())


def marked_codes(runs: Runs | None, size: int) -> Flags:
    """Runs of codes as one flag per code; without a condition, all."""
    flags = np.full(size, runs is None, np.bool_)
    for first, last in runs or ():
        flags[first : last + 1] = True
    return flags
