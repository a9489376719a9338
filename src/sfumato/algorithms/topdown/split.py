"""The compiled first half of TopDown: regions split in two around two seeds, again and again.

Points are moved, not pointed at: a region is a segment [low, high) of the arrays, and a split makes
its two sides segments again, each in the order it had. They come in random order, so a
region has its points in random order too, and its first point is a random one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.space import PointArrays, Sets
from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole
from sfumato.core.compiled import inner, kernel

STACK = 64  # the side with fewer points is split first, so log2(points) regions is enough


class Tree(NamedTuple):
    """The regions: 0 is the whole table, a region's two sides come after it.

    ``sides`` are -1 and -1 where a region was not split. ``segments`` are low and high.
    """

    parents: Codes
    sides: Codes
    segments: Codes
    loads: Counts


class Table(NamedTuple):
    """Working space of the splits.

    By side (two lines): ``lows``, ``highs``, ``penalties``, ``loads``, and by code of a set
    ``seen``. By point: the side it has ``chosen``, and room in which a second side waits. By place:
    ``stack`` (regions).
    """

    lows: Floats
    highs: Floats
    penalties: Floats
    loads: Counts
    seen: Flags
    places: Floats
    codes: Codes
    weights: Counts
    member: Codes
    chosen: Flags
    stack: Counts


def new_tree(n_points: int, n_rows: int) -> Tree:
    """One region, which may be split down to single points."""
    room = 2 * n_points
    tree = Tree(
        parents=np.full(room, -1, np.int32),
        sides=np.full((room, 2), -1, np.int32),
        segments=np.zeros((room, 2), np.int32),
        loads=np.zeros(room, np.int64),
    )
    tree.segments[0] = 0, n_points
    tree.loads[0] = n_rows
    return tree


def new_table(arrays: PointArrays, sets: Sets) -> Table:
    """Room to split points."""
    n_axes = arrays.places.shape[1]
    return Table(
        lows=np.zeros((2, n_axes)),
        highs=np.zeros((2, n_axes)),
        penalties=np.zeros(2),
        loads=np.zeros(2, np.int64),
        seen=np.zeros((2, int(sets.offsets[-1])), np.bool_),
        places=np.empty_like(arrays.places),
        codes=np.empty_like(arrays.codes),
        weights=np.empty_like(arrays.weights),
        member=np.empty_like(arrays.member),
        chosen=np.zeros(len(arrays.weights), np.bool_),
        stack=np.zeros(STACK, np.int64),
    )


@kernel
def split_all(
    arrays: PointArrays,
    sets: Sets,
    least: int,
    rounds: int,
    tree: Tree,
    table: Table,
    control: Counts,
) -> int:
    """Split regions of more than ``least`` rows; fills the tree, tells how many regions it has."""
    n_regions = 1
    depth = 1
    table.stack[0] = 0
    while depth > 0 and control[1] == 0:
        depth -= 1
        region = table.stack[depth]
        n_points = tree.segments[region, 1] - tree.segments[region, 0]
        if n_points < 2 or tree.loads[region] <= least:
            control[0] += tree.loads[region]
            continue
        split_region(arrays, sets, rounds, tree, region, n_regions, table)
        few, many = n_regions, n_regions + 1
        middle = tree.segments[many, 0]
        if middle - tree.segments[region, 0] > tree.segments[region, 1] - middle:
            few, many = many, few
        table.stack[depth] = many
        table.stack[depth + 1] = few
        depth += 2
        n_regions += 2
    return n_regions


@inner
def split_region(
    arrays: PointArrays,
    sets: Sets,
    rounds: int,
    tree: Tree,
    region: Whole,
    n_regions: int,
    table: Table,
) -> None:
    """Split a region of two points or more; its sides become regions n_regions and the next."""
    low, high = tree.segments[region, 0], tree.segments[region, 1]
    one, other = find_seeds(arrays, sets, rounds, low, high)
    start_side(arrays, sets, one, 0, table)
    start_side(arrays, sets, other, 1, table)
    choose_sides(arrays, sets, low, high, one, other, table)
    middle = part_sides(arrays, low, high, table)
    for side in range(2):
        child = n_regions + side
        tree.sides[region, side] = child
        tree.parents[child] = region
        tree.segments[child, 0] = low if side == 0 else middle
        tree.segments[child, 1] = middle if side == 0 else high
        tree.loads[child] = table.loads[side]


@inner
def find_seeds(
    arrays: PointArrays, sets: Sets, rounds: int, low: Whole, high: Whole
) -> tuple[Whole, Whole]:
    """Two points whose common box is large: the farthest from a point, ``rounds`` times."""
    places, codes, shares = arrays.places, arrays.codes, sets.shares  # as locals they cost less
    one: Whole = np.int64(low)
    other: Whole = np.int64(low)
    widest = -1.0
    for _ in range(rounds):
        best = -1.0
        farthest: Whole = np.int64(low)
        for i in range(low, high):
            apart = 0.0
            for j in range(places.shape[1]):
                apart += min(1.0, abs(places[one, j] - places[i, j]))
            for s in range(codes.shape[1]):
                if codes[one, s] != codes[i, s]:
                    apart += shares[s]
            if apart > best and i != one:
                best = apart
                farthest = np.int64(i)
        if best <= widest:
            break
        widest = best
        one, other = farthest, one
    return one, other


@inner
def choose_sides(
    arrays: PointArrays, sets: Sets, low: Whole, high: Whole, one: Whole, other: Whole, table: Table
) -> None:
    """Fill ``chosen``: the side whose NCP grows least, of equals the one with fewer rows.

    The NCP of a side is its load times its penalty; this loop calls nothing, for every point of
    every region comes through here.
    """
    places, codes, weights = arrays.places, arrays.codes, arrays.weights
    lows, highs, seen = table.lows, table.highs, table.seen
    penalties, loads, chosen = table.penalties, table.loads, table.chosen
    offsets, shares = sets.offsets, sets.shares
    for i in range(low, high):
        if i in (one, other):
            chosen[i] = i == other
            continue
        first = 0.0
        second = 0.0
        for j in range(places.shape[1]):
            place = places[i, j]
            a, b = lows[0, j], highs[0, j]
            first += min(1.0, max(b, place) - min(a, place)) - min(1.0, b - a)
            a, b = lows[1, j], highs[1, j]
            second += min(1.0, max(b, place) - min(a, place)) - min(1.0, b - a)
        for s in range(codes.shape[1]):
            code = offsets[s] + codes[i, s]
            first += 0.0 if seen[0, code] else shares[s]
            second += 0.0 if seen[1, code] else shares[s]
        weight = weights[i]
        first_cost = loads[0] * first + weight * (penalties[0] + first)
        second_cost = loads[1] * second + weight * (penalties[1] + second)
        side = 1 if second_cost < first_cost else 0
        if second_cost == first_cost and loads[1] < loads[0]:
            side = 1
        growth = second if side == 1 else first
        chosen[i] = side == 1
        loads[side] += weight
        if growth == 0.0:
            continue
        penalties[side] += growth
        for j in range(places.shape[1]):
            lows[side, j] = min(lows[side, j], places[i, j])
            highs[side, j] = max(highs[side, j], places[i, j])
        for s in range(codes.shape[1]):
            seen[side, offsets[s] + codes[i, s]] = True
    for s in range(codes.shape[1]):  # leave nothing seen to the next region
        for i in range(low, high):
            seen[0, offsets[s] + codes[i, s]] = False
            seen[1, offsets[s] + codes[i, s]] = False


@inner
def part_sides(arrays: PointArrays, low: Whole, high: Whole, table: Table) -> Whole:
    """Bring the first side before the second, each in the order it has; where the second starts."""
    places, codes, weights, member = arrays.places, arrays.codes, arrays.weights, arrays.member
    middle = low
    waiting = 0
    for i in range(low, high):
        if table.chosen[i]:
            for j in range(places.shape[1]):
                table.places[waiting, j] = places[i, j]
            for s in range(codes.shape[1]):
                table.codes[waiting, s] = codes[i, s]
            table.weights[waiting] = weights[i]
            table.member[waiting] = member[i]
            waiting += 1
        else:
            for j in range(places.shape[1]):
                places[middle, j] = places[i, j]
            for s in range(codes.shape[1]):
                codes[middle, s] = codes[i, s]
            weights[middle] = weights[i]
            member[middle] = member[i]
            middle += 1
    for i in range(waiting):
        for j in range(places.shape[1]):
            places[middle + i, j] = table.places[i, j]
        for s in range(codes.shape[1]):
            codes[middle + i, s] = table.codes[i, s]
        weights[middle + i] = table.weights[i]
        member[middle + i] = table.member[i]
    return middle


@inner
def start_side(arrays: PointArrays, sets: Sets, i: Whole, side: int, table: Table) -> None:
    """Make a side that holds its seed only."""
    for j in range(arrays.places.shape[1]):
        table.lows[side, j] = arrays.places[i, j]
        table.highs[side, j] = arrays.places[i, j]
    for s in range(sets.bits.size):
        table.seen[side, sets.offsets[s] + arrays.codes[i, s]] = True
    table.penalties[side] = 0.0
    table.loads[side] = arrays.weights[i]
