"""Somebody who knows how groups of neighbours are made, and replays it: what skipped rows tell.

A group takes the rows nearest to the front whose values it may still have. A row that it passed
over has a value of which the group has as many as it may: so its value is among those, and among
the values of its own group. The attacker here is told more than anybody can know: the leaves and
cells of all rows, the order in which groups were made, and which rows were taken as surplus, before
their turn. What they reach is a bound on what the algorithm gives away.

How close somebody comes to it who sees boxes only depends on how many groups a person may be in. A
list that is joined to the table makes boxes smaller, and this number too, which is why Refinement
refuses Frontier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

import sfumato as sf
from benchmarks.attackers import TIMES, Setting, settings
from benchmarks.measure import Line
from sfumato.algorithms.base import Progress
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.frontier import Aims
from sfumato.algorithms.frontier.cells import cells_in_order
from sfumato.algorithms.frontier.kernel import new_queues, take_groups
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.attribute import Kind
from sfumato.core.joined import Joined, Matching
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement, requirements

SIZES = (1, 2, 5, 10)  # times l
_LISTED, _ASKED = 60_000, 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """Rows in their order, leaf after leaf: the value, the cell and the group of each."""

    values: Codes
    cells: Codes
    groups: Codes
    leaves: Counts
    aims: Aims


def run(folder: Path | None) -> Iterator[Line]:
    """Every table, in groups of several sizes; the limit is that of all attackers."""
    for setting in settings(folder):
        for times in SIZES:
            yield _line(setting, times)
        yield _joined(setting)


def _line(setting: Setting, times: int) -> Line:
    seen = replayed(setting.people, setting.l, times * setting.l)
    n_values = setting.people.sensitive[0].size
    right = plain = certain = 0
    for low, high in zip(seen.leaves[:-1], seen.leaves[1:], strict=True):
        own, possible = _told(seen, int(low), int(high), n_values)
        truth = seen.values[low:high]
        guess = np.where(possible, own, -1).argmax(axis=1)
        right += int(np.count_nonzero(guess == truth))
        plain += int(np.count_nonzero(own.argmax(axis=1) == truth))
        certain += int(np.count_nonzero(possible.sum(axis=1) == 1))
    n = len(seen.values)
    return Line(
        f"{setting.name}, groups of {times} l: replay, told all but the values",
        right / n,
        TIMES / setting.l,
        "",
        f"bound {1 / setting.l:.2f}, without a replay {plain / n:.3f}; one value left for "
        f"{certain:,} of {n:,} people",
    )


@dataclass(frozen=True, slots=True)
class _FirstFrontier:
    """Frontier in the first round of Refinement, which does not take it under its name."""

    name: ClassVar[str] = "first frontier"
    form: ClassVar[str] = "generalized"

    def partition(
        self,
        table: sf.Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        return sf.Frontier().partition(table, needs, randomness, progress)


def _joined(setting: Setting) -> Line:
    """Of how many people boxes tell the group: those of a join with three times as many people,
    against those of the table alone; k = l.
    """
    chance = np.random.default_rng(1)
    people = setting.people.take(np.arange(min(_LISTED, setting.people.n_rows)))
    own = chance.permutation(people.n_rows) < people.n_rows // 3
    everyone = people.take(np.append(np.flatnonzero(own), np.flatnonzero(~own)))
    inside = people.take(np.flatnonzero(own))
    joined = Joined(everyone, inside, Matching(inside.n_rows, people.n_rows, inside.n_rows, 0, 0))
    needs = requirements(sf.LDiversity(setting.l), people.schema)
    found = sf.Refinement(_FirstFrontier()).partition(joined, setting.l, needs, Randomness(0))
    assert found.first is not None
    assert found.sensitive is not None
    asked = chance.choice(inside.n_rows, _ASKED, replace=False)
    alone = groups_by_boxes(
        inside, found.first.groups, np.arange(found.first.n_groups, dtype=np.int32), asked
    )
    with_list = groups_by_boxes(
        found.joined.everyone, found.partition.groups, found.sensitive, asked
    )
    return Line(
        f"{setting.name}: people whose group the boxes tell, joined to a list",
        float(np.mean(with_list == 1)),
        float(np.mean(alone == 1)),
        "",
        f"a person may be in {with_list.mean():.1f} groups, and in {alone.mean():.1f} by the boxes "
        "of the table alone",
    )


def groups_by_boxes(table: sf.Microdata, groups: Codes, numbers: Codes, asked: Counts) -> Counts:
    """In how many groups each of the rows may be; boxes of the same number are of one group."""
    n = len(numbers)
    rows = np.flatnonzero(groups >= 0)
    inside = np.ones((len(asked), n), np.bool_)
    for attribute in table.quasi:
        codes = table.codes[attribute.name].astype(np.int64)
        present = np.zeros((n, attribute.size), np.bool_)
        present[groups[rows], codes[rows]] = True
        if attribute.kind is Kind.NUMERICAL or attribute.ordered:
            begun = np.logical_or.accumulate(present, axis=1)
            present = begun & np.logical_or.accumulate(present[:, ::-1], axis=1)[:, ::-1]
        inside &= present[:, codes[asked]].T
    return np.array([len(np.unique(numbers[one])) for one in inside])


def replayed(people: sf.Microdata, l: int, size: int) -> Replayed:
    """Groups along the frontier, and how they came about."""
    needs = requirements(sf.LDiversity(l), people.schema)
    bound = Bound.of(needs, people)
    aims = Aims.of(bound, size, frontier=True, cuts="median")
    found = Mondrian(cuts="median").cut_points(
        coarsened(bound.with_needs(aims.needs)), 0, None, None, None
    )
    cells, loads = cells_in_order(people, found, max(1, aims.size // 2))
    words = Randomness(0).half_words(people.n_rows)
    rows = Partition.of(cells).published_order(words)
    values: Codes = people.codes[people.schema.sensitive[0]][rows].astype(np.int32)
    queues = new_queues(int(loads.max()), people.sensitive[0].size)
    leaves = np.append(0, np.cumsum(loads))
    groups, _ = take_groups(values, leaves, aims.l, aims.size, queues)
    return Replayed(values, cells[rows], groups, leaves, aims)


def _told(seen: Replayed, low: int, high: int, n_values: int) -> tuple[Counts, Flags]:
    """Of every row of a leaf: the counts of its group, and the values that are still possible."""
    values, cells = seen.values[low:high], seen.cells[low:high]
    groups = seen.groups[low:high] - seen.groups[low]
    groups = groups - groups.min()
    counts = np.zeros((groups.max() + 1, n_values), np.int64)
    np.add.at(counts, (groups, values), 1)
    own = counts[groups]
    possible = own > 0
    left, rest = counts.sum(axis=0), len(values)
    for group in range(len(counts) - 1):
        keep = (rest - seen.aims.size) // seen.aims.l
        taken = np.flatnonzero(groups == group)
        in_turn = taken[_ranks(values[taken]) >= np.maximum(0, left - keep)[values[taken]]]
        if len(in_turn):
            passed_over = (groups > group) & (cells < cells[in_turn].max())
            possible[passed_over] &= counts[group] >= seen.aims.size // seen.aims.l
        left, rest = left - counts[group], rest - len(taken)
    return own, possible


def _ranks(values: Codes) -> Counts:
    """The how-manieth of its value each row is."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ranks = np.empty(len(values), np.int64)
    lengths = np.diff(np.append(starts, len(values)))
    ranks[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return ranks
