"""Somebody who has every release of a series, every list, and all lines, against k."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible, SfumatoWarning
from tests.support.joins import microdata_with_ids

K = 2
SIDE = 6  # of the grid that people stand on
METHODS: dict[str, Any] = {
    "refinement": sf.Refinement(sf.Mondrian()),
    "untrimmed": sf.Refinement(sf.Mondrian(), trim=False),
    "top-down": sf.Refinement(sf.TopDown()),
    "direct": sf.Direct(sf.Mondrian()),
}


class World(NamedTuple):
    """Who is where, and when they enter the list and the microdata (never: the number of turns)."""

    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    listed: np.ndarray[Any, Any]
    enters: np.ndarray[Any, Any]

    def tables(self, turn: int) -> tuple[sf.Microdata, pa.Table]:
        own, known = np.flatnonzero(self.enters <= turn), np.flatnonzero(self.listed <= turn)
        columns = {"id": own, "x": self.x[own], "y": self.y[own], "ill": own}
        table = microdata_with_ids(columns, quasi=["x", "y"], sensitive="ill")
        return table, pa.table({"id": known, "x": self.x[known], "y": self.y[known]})


@st.composite
def worlds(draw: st.DrawFn, people: int = 14, turns: int = 3) -> World:
    """Everybody who enters the microdata is on the list by then."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x, y = chance.integers(0, SIDE, (2, people))
    listed = chance.choice(turns, people, p=[0.6, 0.2, 0.2])
    enters = np.where(
        chance.random(people) < 0.55, np.maximum(listed, chance.integers(0, turns, people)), turns
    )
    enters[:2], listed[:2] = 0, 0
    return World(x, y, listed, enters)


def published(
    world: World, method: Any, folder: Path, model: Any, turns: int = 3
) -> list[sf.JoinRelease]:
    """The releases of all turns; the first may need more people than there are."""
    found = []
    for turn in range(turns):
        table, listed = world.tables(turn)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            found.append(sf.publish_join(table, listed, method, model, series=folder / "series"))
    return found


def lines_of(release: sf.JoinRelease) -> list[tuple[Any, ...]]:
    """What every group shows and how many lines it has, with the values in place of the number."""
    values: dict[int, tuple[int, ...]] = {0: ()}
    if release.sis:
        for line in release.sensitive_groups.to_pylist():
            values.setdefault(line["sensitive_group"], ())
            values[line["sensitive_group"]] += (line["ill"],) * line["count"]
    sizes = np.bincount(release.group_of_row)
    return [
        (
            *(line[one] for one in ("x_min", "x_max", "y_min", "y_max")),
            int(size),
            values[line.get("sensitive_group", 0)],
        )
        for line, size in zip(release.groups.to_pylist(), sizes, strict=True)
    ]


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=15, deadline=None)
@given(world=worlds())
def test_what_was_shown_is_shown_again_and_nothing_of_it_changes(name: str, world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            releases = published(world, METHODS[name], Path(folder), sf.KJoinAnonymity(K))
        except Infeasible:
            return
        for before, after in pairwise(releases):
            old, new = lines_of(before), lines_of(after)
            if name != "direct":  # whose boxes may meet others that look alike, and grow
                assert all(new.count(one) >= old.count(one) for one in old)
            else:
                boxes = {one[:4]: one[4] for one in new}
                assert all(boxes[one[:4]] >= one[4] for one in old)
        sf.verify(releases[-1].write(Path(folder) / "out")).require()


class Batch(NamedTuple):
    """A sensitive group of a series: its boxes with the people of their lines, and its values."""

    boxes: list[tuple[tuple[int, ...], frozenset[int]]]
    values: tuple[int, ...]
    turn: int


class Told(NamedTuple):
    """A box of a sensitive group: how many lines it has, and who may be led in them."""

    batch: int
    box: tuple[int, ...]
    size: int
    inside: frozenset[int]


def batches(world: World, releases: list[sf.JoinRelease]) -> list[Batch]:
    """All sensitive groups, when they came, and whose lines their boxes have: the attacker is told
    more than anybody knows, of boxes with more people in them than lines a way to deal them out.

    The values are people, so that rows can be followed; the attacker below only counts them.
    """
    told: list[Told] = []
    when: dict[tuple[int, ...], int] = {}
    for turn, release in enumerate(releases):
        before = set(when)
        known = np.flatnonzero(world.listed <= turn).tolist()
        for line in lines_of(release):
            if line[5] not in before:
                when.setdefault(line[5], turn)
                inside = frozenset(one for one in known if holds(world, line[:4], one))
                told.append(Told(list(when).index(line[5]), line[:4], line[4], inside))
    told.sort(key=lambda one: one.batch)
    people = dealt(told, list(when), frozenset())
    assert people is not None
    by_box = [(one.batch, (one.box, some)) for one, some in zip(told, people, strict=True)]
    return [
        Batch([named for batch, named in by_box if batch == b], values, turn)
        for b, (values, turn) in enumerate(when.items())
    ]


def dealt(
    told: list[Told], values: list[tuple[int, ...]], spoken_for: frozenset[int]
) -> list[frozenset[int]] | None:
    """Everybody has one line at most, and who owns a row has one by the time it is published."""
    if not told:
        return []
    first, *rest = told
    own = frozenset(values[first.batch])
    free = sorted(first.inside - spoken_for, key=lambda one: one not in own)
    last = not rest or rest[0].batch != first.batch
    for some in map(frozenset, combinations(free, first.size)):
        after = spoken_for | some
        if (not last or own <= after) and (found := dealt(rest, values, after)) is not None:
            return [some, *found]
    return None


def holds(world: World, box: tuple[int, ...], one: int) -> bool:
    return bool(box[0] <= world.x[one] <= box[1] and box[2] <= world.y[one] <= box[3])


def suspects(world: World, found: list[Batch]) -> Iterator[tuple[int, int]]:
    """For every box how many people may own a row in it, and how many lines it has.

    All ways are tried to say who is in the microdata, and by which group, that agree with what is
    published: each group has so many rows, one at least of the lines of each box; the owner of a
    row lies in a box of the group, and has a line there or had one in an earlier release.
    """
    line_of = {
        one: b for b, batch in enumerate(found) for _, people in batch.boxes for one in people
    }
    ways: list[list[int]] = []
    for one in range(len(world.x)):
        where = [
            b
            for b, batch in enumerate(found)
            if one in line_of
            and any(holds(world, box, one) for box, _ in batch.boxes)
            and (line_of[one] == b or found[line_of[one]].turn < batch.turn)
        ]
        ways.append([-1, *where])
    possible: set[tuple[int, int]] = set()
    for world_of in product(*ways):
        counts = np.bincount([b for b in world_of if b >= 0], minlength=len(found))
        if any(counts[b] != len(batch.values) for b, batch in enumerate(found)):
            continue
        if all(
            any(world_of[one] == b for one in people)
            for b, batch in enumerate(found)
            for _, people in batch.boxes
        ):
            possible |= {(one, b) for one, b in enumerate(world_of) if b >= 0}
    for b, batch in enumerate(found):
        for _, people in batch.boxes:
            yield sum((one, b) in possible for one in people), len(people)


# whose last batch has a box within another: not everybody in the larger one can have a line there
NESTED = World(
    np.array([2, 5, 0, 4, 5, 2, 5, 5, 5, 2, 3]),
    np.array([2, 3, 1, 3, 1, 0, 5, 0, 1, 3, 0]),
    np.array([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]),
    np.array([0, 0, 1, 0, 3, 1, 3, 2, 1, 1, 3]),
)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "direct"])
@settings(max_examples=20, deadline=None)
@example(world=NESTED)
@given(world=worlds(people=11))
def test_k_people_may_own_a_row_whoever_has_all_releases_and_knows_all_lines(
    name: str, world: World
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            releases = published(world, METHODS[name], Path(folder), sf.KJoinAnonymity(K))
        except Infeasible:
            return
        for owners, lines in suspects(world, batches(world, releases)):
            assert lines >= K
            assert owners == lines


def crossed(releases: list[sf.JoinRelease], world: World, person: int) -> int:
    """How many values a person's may be, who is known to be in the table from the first turn on."""
    left: set[int] = set(range(len(world.x)))
    for release in releases:
        around = [set(one[5]) for one in lines_of(release) if holds(world, one[:4], person)]
        left &= set().union(*around)
    return len(left)


def test_releases_that_know_nothing_of_each_other_give_people_away_and_a_series_does_not() -> None:
    chance = np.random.default_rng(4)
    x, y = chance.integers(0, 40, (2, 60))
    world = World(x, y, np.zeros(60, int), chance.integers(0, 3, 60))
    with tempfile.TemporaryDirectory() as folder:
        model, method = sf.KJoinAnonymity(4), METHODS["refinement"]
        together = published(world, method, Path(folder), model)
        apart = [sf.publish_join(*world.tables(turn), method, model) for turn in range(3)]
    there = np.flatnonzero(world.enters == 0).tolist()
    assert min(crossed(together, world, one) for one in there) >= 4
    assert sum(crossed(apart, world, one) < 4 for one in there) > len(there) / 3
