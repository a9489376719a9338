"""What refined boxes tell under l-diversity, beside boxes that are not refined.

DeFinetti and the learner see what is published; the limits are those of attackers.py. The replay is
told more than anybody can know: all that happened to groups and rows, and the published counts.
Two kinds of steps tell it something, where the groups that they are about are published as they
were then:

- a row that would cost less in another group stayed where it was: its group would not pass without
  it, or the other one not with it (algorithms/refine/move.py);
- when a group was made, rows were passed over that would have cost less than the one that was
  taken: the group had enough of their values (algorithms/refine/rebuild.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import sfumato as sf
from benchmarks.attackers import TIMES, Setting, quick_learners, settings
from benchmarks.measure import Line as Measured
from benchmarks.replay import groups_by_boxes
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.deadline import Deadline
from sfumato.algorithms.goal import Goal
from sfumato.algorithms.refine import _Search
from sfumato.algorithms.refine.groups import Groups, add_values, passes_changed
from sfumato.algorithms.refine.line import Line, draw_place
from sfumato.algorithms.refine.move import (
    Edge,
    _cheapest,
    _measure,
    _move,
    _penalty_without,
)
from sfumato.algorithms.refine.rebuild import _GAIN, Pool, _passes, _reach_out, _start_group
from sfumato.algorithms.space import PointArrays, Sets, new_sides
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Trial
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.compiled import kernel
from sfumato.core.randomness import Randomness
from sfumato.models.bound import compile_rules, require_feasible
from sfumato.models.requirements import requirements

PASSES = (0, 1)
PEOPLE = 50_000  # of each table: where groups have hundreds of rows, a pass takes its time
_ASKED = 2_000


def run(folder: Path | None) -> Iterator[Measured]:
    """Attackers on every table, without and with a pass."""
    for setting in settings(folder):
        rows = np.arange(min(PEOPLE, setting.people.n_rows))
        few = replace(setting, people=setting.people.take(rows))
        yield from _replayed(few)
        for passes in PASSES:
            shown = partial(_published, passes=passes, l=few.l)
            trial = Trial.of(few.people, shown)
            yield from quick_learners(few, trial, f"Mondrian, refine={passes}")


def _published(people: sf.Microdata, passes: int, l: int) -> Candidates:
    way = sf.Mondrian(refine=passes, time_limit=None)
    return candidates_of(sf.publish(people, way, sf.LDiversity(l), seed=0), people)


def _replayed(setting: Setting) -> Iterator[Measured]:
    seen = replayed(setting.people, setting.l)
    guess = np.where(seen.possible, seen.counts, -1).argmax(axis=1)
    plain = float(np.mean(seen.counts.argmax(axis=1) == seen.values))
    before = np.count_nonzero(seen.counts, axis=1)
    left = np.count_nonzero(seen.possible & (seen.counts > 0), axis=1)
    name, n = f"{setting.name}, Mondrian, refine=1", len(guess)
    yield Measured(
        f"{name}: replay, told all but the values",
        float(np.mean(guess == seen.values)),
        TIMES / setting.l,
        "",
        f"bound {1 / setting.l:.2f}, without a replay {plain:.3f}; fewer values are left for "
        f"{np.count_nonzero(left < before):,}, and one for {np.count_nonzero(left == 1):,} of "
        f"{n:,} people",
    )
    asked = np.random.default_rng(1).choice(n, min(_ASKED, n), replace=False)
    numbers = np.arange(seen.groups.max() + 1, dtype=np.int32)
    found = groups_by_boxes(setting.people, seen.groups, numbers, asked)
    yield Measured(
        f"{name}: people whose group the boxes tell",
        float(np.mean(found == 1)),
        math.inf,
        "",
        f"a person may be in {found.mean():.1f} groups",
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """By row: the value, the group, how often its group has each value, and which are possible."""

    values: Codes
    groups: Codes
    counts: Counts
    possible: Flags


def replayed(people: sf.Microdata, l: int) -> Seen:
    """Mondrian's groups after a pass, and what that tells."""
    needs, randomness = requirements(sf.LDiversity(l), people.schema), Randomness(0)
    bound = coarsened(require_feasible(needs, people))
    rules = compile_rules(bound)
    assert rules is not None
    cut = sf.Mondrian().partition(people, needs, randomness)
    search = _Watched(cut, bound, rules, randomness.key("refine"))
    search.run(1, Deadline.after(None), lambda _: None)
    return search.seen(people.codes[people.schema.sensitive[0]].astype(np.int64), l)


class _Watched(_Search):
    """The same search, which remembers what it did not do because of values.

    ``changes`` counts by group how often it has changed. A row that ``stayed`` is remembered with
    its group and the other one, a row that was ``passed_over`` with the group and how large it was.
    """

    def __init__(self, *told: object) -> None:
        super().__init__(*told)  # type: ignore[arg-type]
        self._changes = np.zeros(len(self._groups.loads), np.int64)
        self._stayed: list[Counts] = []
        self._passed_over: list[Counts] = []

    def _rebuild(self, line: Line, at: int, work: int) -> int:
        """One place of the line, so that it can be looked at."""
        groups, pool = self._groups, self._pool
        loads, lost = groups.loads.copy(), self._lost()
        after = super()._rebuild(line, at, min(work, 1))
        if self._lost() < lost - _GAIN:
            team = pool.team[pool.team >= 0]
            n = int(loads[team].sum())
            numbers = pool.loads[: pool.made[:n].max() + 1]
            self._changes[np.union1d(team, numbers)] += 1
            sides = new_sides(1, pool.places.shape[0], pool.sides.bits.shape[1])
            room = pool._replace(sides=sides, loads=np.zeros(1, np.int64))
            seen = passed_over(groups, self._arrays, self._sets, self._goal, room, n)
            seen[:, 1] = numbers[seen[:, 1]]
            self._passed_over.append(np.column_stack([seen, self._changes[seen[:, 1]]]))
        return after

    def _move(self, line: Line, at: int, work: int) -> int:
        room = np.empty((2 * len(self._arrays.member), 5), np.int64)
        after, n = move_and_tell(
            self._groups, line, self._arrays, self._sets, self._goal, self._edge, at, work,
            self._changes, room,
        )  # fmt: skip
        self._stayed.append(room[:n].copy())
        return after

    def _lost(self) -> float:
        return float(self._groups.loads @ self._groups.sides.penalties)

    def seen(self, values: Counts, l: int) -> Seen:
        """What is left of values in the end: only unchanged groups have counts that are known."""
        groups, member = self._groups, self._arrays.member
        group = np.empty(len(member), np.int64)
        for number in np.flatnonzero(groups.loads):
            i = groups.heads[number]
            while i >= 0:
                group[i] = number
                i = groups.following[i]
        counts = np.zeros((len(groups.loads), values.max() + 1), np.int64)
        np.add.at(counts, (group, values[member]), 1)
        possible = np.ones((len(member), counts.shape[1]), np.bool_)
        row, own, changes, other, other_changes = np.concatenate(self._stayed).T
        known = (self._changes[own] == changes) & (self._changes[other] == other_changes)
        row, own, other = row[known], own[known], other[known]
        fails = fails_without(counts[own], groups.loads[own], l)
        fails |= (counts[other] + 1) * l > (groups.loads[other] + 1)[:, None]
        np.logical_and.at(possible, row, fails)
        row, own, load, changes = np.concatenate(self._passed_over).T
        known = self._changes[own] == changes
        row, own, load = row[known], own[known], load[known]
        np.logical_and.at(possible, row, counts[own] >= np.maximum(1, load // l)[:, None])
        assert possible[np.arange(len(member)), values[member]].all(), "the truth is possible"
        numbered = np.unique(group, return_inverse=True)[1].astype(np.int32)
        row_of = np.argsort(member)
        return Seen(
            values.astype(np.int32), numbered[row_of], counts[group[row_of]], possible[row_of]
        )


def fails_without(counts: Counts, loads: Counts, l: int) -> Flags:
    """By group and value, whether the group is not l-diverse without a row that has the value."""
    over = counts * l > (loads - 1)[:, None]
    n_over = np.count_nonzero(over, axis=1)[:, None]
    found: Flags = n_over - over > 0  # what is over by itself is not, with a row less of it
    return found


@kernel
def passed_over(
    groups: Groups, arrays: PointArrays, sets: Sets, goal: Goal, pool: Pool, n: int
) -> Counts:
    """Rows of a pool that was grouped anew, groups that passed them over, and how large these were.

    Rows stand in the order in which they were taken, from the last one back. While others are
    weighed, rows that cost nothing are taken on the way; the size is that before them.
    """
    made = pool.made[:n].max() + 1
    sizes = np.zeros((n, made), np.int64)
    left = n
    for group in range(made):
        groups.histogram[:] = 0
        load = weighed = 0
        while not _passes(groups, goal, load):
            left -= 1
            load += 1
            add_values(arrays, pool.rows[left], 1, groups.histogram)
            more = pool.more[left]
            if load == 1:
                _start_group(pool, sets, 0, left, left)
                weighed = 1
            elif more > _GAIN:
                for place in range(left):
                    if pool.more[place] < more - _GAIN:
                        sizes[place, group] = max(goal.least, weighed + 1)
                _reach_out(pool, sets, 0, left, left)
                weighed = load
    found = np.empty((np.count_nonzero(sizes), 3), np.int64)
    k = 0
    for place in range(n):
        for group in range(made):
            if sizes[place, group]:
                found[k, 0], found[k, 1], found[k, 2] = pool.rows[place], group, sizes[place, group]
                k += 1
    return found


@kernel
def move_and_tell(
    groups: Groups, line: Line, arrays: PointArrays, sets: Sets, goal: Goal, edge: Edge,
    low: int, work: int, changes: Counts, stayed: Counts,
) -> tuple[int, int]:  # fmt: skip
    """As move_all, to the end of the line; rows that stayed only because of values are written
    down, with both groups and how often these had changed.
    """
    n = 0
    for at in range(low, line.groups.size if work else low):
        group = line.groups[at]
        if groups.loads[group] <= goal.least or groups.sides.penalties[group] <= 0.0:
            continue
        _measure(groups, arrays, sets, group, edge)
        before, i = np.int64(-1), groups.heads[group]
        while i >= 0 and groups.loads[group] > goal.least:
            following = groups.following[i]
            without = _penalty_without(arrays, sets, edge, i)
            spared = groups.loads[group] * (groups.sides.penalties[group] - without) + without
            place = _cheapest(line, arrays, sets, at, i, spared - _GAIN)
            taker = line.groups[max(0, place)]
            if place < 0:
                before = i
            elif passes_changed(groups, arrays, goal, group, i, -1) and passes_changed(
                groups, arrays, goal, taker, i, 1
            ):
                _move(groups, arrays, sets, group, taker, before, i)
                draw_place(line, groups, group)
                draw_place(line, groups, taker)
                _measure(groups, arrays, sets, group, edge)
                changes[group] += 1
                changes[taker] += 1
            else:
                before = i
                if n < stayed.shape[0]:
                    stayed[n, 0], stayed[n, 1], stayed[n, 2] = i, group, changes[group]
                    stayed[n, 3], stayed[n, 4] = taker, changes[taker]
                    n += 1
            i = following
    return line.groups.size if work else low, n
