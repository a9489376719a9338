"""People of a growing table whom no release has shown yet: who comes in now, and who waits.

join_series.py says why newcomers hide among people without lines, and who rides along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.algorithms.join.methods import JoinPartition
from sfumato.algorithms.join.point_location import boxes_around, fall
from sfumato.core.arrays import Codes, Flags, Ints, Words
from sfumato.core.fingerprint import row_hashes, value_hashes
from sfumato.core.histograms import Histograms
from sfumato.core.joined import (
    Joined,
    join,
    keys,
    names_there,
    own_keys,
    own_values,
    require_joinable,
)
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, Infeasible
from sfumato.forms.joined.release import DIRECT, JoinRelease, OwnFigures
from sfumato.io.series_files import Remembered
from sfumato.models.anonymity import KAnonymity
from sfumato.models.requirements import Requirement
from sfumato.verbs.join_release import Riders, Wish, built, sensitive_groups

_ID = "id"  # the name under which ids are hashed, whatever their columns are called
NOBODY = (np.zeros(0, np.uint64), np.zeros(0, np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """The newcomers' release, if any; people to remember, and hashes of their rows."""

    release: JoinRelease | None
    people: Words
    rows: Words
    waiting: int
    why: Infeasible | None = None

    @property
    def own(self) -> OwnFigures | None:
        """What the owner may know of the newcomers."""
        return None if self.release is None else self.release.own


@dataclass(frozen=True, slots=True, eq=False)
class Newcomers:
    """Rows that were not published: those of people without a line, and the others."""

    wish: Wish
    joined: Joined
    people: Words
    rows: Words
    listed: Words
    riding: Flags

    def published(self, provenance: dict[str, Any], randomness: Randomness) -> Made:
        """Their release, without those who wait."""
        nobody = Made(None, *NOBODY, waiting=len(self.people))
        if self.riding.all():
            return self._settled() if self._direct else nobody
        joined, wish = self.joined.without(self.riding), self.wish
        try:
            found = wish.method.partition(
                joined, wish.k, wish.needs(self.joined.microdata), randomness
            )
        except Infeasible as error:
            return replace(self._settled() if self._direct else nobody, why=error)
        riders, who = self._riders(found, randomness)
        release = built(found, wish, provenance, randomness, riders)
        lines, _ = found.partition.kept()
        outside = lines[lines >= joined.n_inside] - joined.n_inside
        assert joined.listed is not None
        here = ~self.riding
        here[who] = True
        return Made(
            release,
            np.concatenate([self.people[here], self.listed[joined.listed[outside]]]),
            np.concatenate([self.rows[here], np.zeros(len(outside), np.uint64)]),
            waiting=int((~here).sum()),
        )

    @property
    def _direct(self) -> bool:
        """Whether a line is all that a person needs."""
        return self.wish.method.name == DIRECT

    def _settled(self) -> Made:
        """Those whose lines are there already."""
        there = self.riding
        return Made(None, self.people[there], self.rows[there], waiting=int((~there).sum()))

    def _riders(self, found: JoinPartition, randomness: Randomness) -> tuple[Riders | None, Ints]:
        """Who rides along, and which of the newcomers they are."""
        who = np.flatnonzero(self.riding)
        if self._direct or not len(who):
            return None, who
        assert found.first is not None
        assert found.sensitive is not None
        lines, partition = found.partition.kept()
        around = boxes_around(found.joined.everyone.take(lines), partition)
        points = self.joined.everyone.quasi_codes()[who]
        box = fall(around, points, randomness)
        home = np.where(box >= 0, found.sensitive[box], -1)
        loads = found.partition.loads(found.joined.weights)
        room = np.bincount(found.sensitive, loads, found.first.n_groups) - found.first.sizes
        stays = _with_room(home, room.astype(np.int64), randomness)
        who, home = who[stays], home[stays].astype(np.int32)
        kept = self._keeps(found, who, home)
        return Riders(self.joined.microdata.take(who[kept]), home[kept]), who[kept]

    def _keeps(self, found: JoinPartition, who: Ints, home: Codes) -> Flags:
        """Of riders, those whose groups keep their promises with them."""
        assert found.first is not None
        numbers = np.arange(found.first.n_groups, dtype=np.int32)
        riders = Riders(self.joined.microdata.take(who), home)
        first, seen = sensitive_groups(found, riders, numbers)
        needs = (
            Requirement(KAnonymity(self.wish.k), None),
            *self.wish.needs(self.joined.microdata),
        )
        good = np.ones(first.n_groups, np.bool_)
        for need in needs:
            counted = Histograms.of_sizes(first.sizes)
            good &= need.model.passes(seen[need.attribute] if need.attribute else counted)
        return good[home]


def newcomers(
    table: Microdata,
    listed: pa.Table,
    columns: Mapping[str, str],
    wish: Wish,
    state: Remembered,
) -> Newcomers:
    """The rows that were not published, joined with the people of the list without a line."""
    ids, key = require_joinable(table), state.key
    people = value_hashes(_ID, own_keys(ids), key)
    sensitive = {one.name: one.decode(table.codes[one.name]) for one in table.sensitive}
    rows = np.maximum(row_hashes({**own_values(table), **sensitive}, key), np.uint64(1))
    _require_unchanged(state, people, rows)
    new = np.flatnonzero(~np.isin(people, state.people[state.rows > 0]))
    called = names_there(listed.column_names, (ids.name, *table.schema.quasi), columns)
    theirs = value_hashes(_ID, keys(listed.column(called[ids.name]).combine_chunks()), key)
    free = np.flatnonzero(~np.isin(theirs, state.people))
    joined = join(table.take(new), listed.take(pa.array(free)), columns)
    riding = np.isin(people[new], state.people)
    return Newcomers(wish, joined, people[new], rows[new], theirs[free], riding)


def _with_room(home: Ints, room: Ints, randomness: Randomness) -> Ints:
    """Riders in random order, as many in each group as it has room for."""
    order = randomness.permutation(len(home))
    order = order[home[order] >= 0]
    by_group = order[np.argsort(home[order], kind="stable")]
    groups = home[by_group]
    starts = np.searchsorted(groups, groups)
    return np.sort(by_group[np.arange(len(groups)) - starts < room[groups]])


def _require_unchanged(state: Remembered, people: Words, rows: Words) -> None:
    """Raise unless every published row is still there as it was."""
    published = state.rows > 0
    order = np.argsort(people)
    places = np.searchsorted(people, state.people[published], sorter=order)
    at = order[np.minimum(places, len(order) - 1)]
    gone = people[at] != state.people[published]
    changed = ~gone & (rows[at] != state.rows[published])
    for which, what in ((gone, "are missing"), (changed, "have other values")):
        if which.any():
            raise DataError(
                f"{int(which.sum()):,} rows that the series has published {what}: what was "
                "published cannot be unsaid, so rows may only be added (another series would tell "
                "more, as its releases can be compared with those of this one)"
            )
