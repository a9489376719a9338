"""The compiled loop of Mondrian; mondrian.py says what it does, this file how.

Points are moved, not pointed at: a segment [low, high) of the arrays is a region still to be cut,
and a cut reorders it so that its two halves are segments again. Along an axis the values present
in a segment get ranks: ascending for an ordered attribute, most frequent first for a set of
unordered values. A cut is then a rank: the values up to it go left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

STACK = 64  # the smaller half is cut first, so a stack of log2(points) segments is enough


class Cloud(NamedTuple):
    """The points; see points.Points. ``member`` remembers where each point came from."""

    codes: Codes
    weights: Counts
    member: Codes
    starts: Counts
    values: Codes
    counts: Counts


class Axes(NamedTuple):
    """Per attribute: first position in ``coordinates``, number of codes, whether it is a set."""

    coordinates: Floats
    offsets: Counts
    sizes: Counts
    is_set: Flags


class Aim(NamedTuple):
    """What both halves of a cut must satisfy, and how cuts are looked for.

    ``rules`` and ``whole`` are those of models._rules; a group of fewer than ``least`` rows passes
    no rule, and without ``sensitive`` rules its size is all that counts.
    """

    rules: Floats
    whole: Floats
    least: int
    sensitive: bool
    relaxed: bool
    round_robin: bool
    all_cuts: bool


class Desk(NamedTuple):
    """Working space, allocated once outside: a kernel without allocations compiles faster.

    By code: ``amounts``, ``ranks``, ``stamps``. By rank: ``present`` (codes), ``starts``,
    ``places``. By attribute: ``order``, ``widths``, ``bounds``. By point: ``by_rank``. By sensitive
    value: ``left`` and ``right`` (the halves under trial), ``scratch``. By place on the stack:
    ``stack`` (low, high, load, turn) and ``totals`` (histograms).
    """

    amounts: Counts
    ranks: Codes
    stamps: Flags
    present: Counts
    starts: Counts
    places: Counts
    order: Counts
    widths: Floats
    bounds: Codes
    by_rank: Counts
    left: Counts
    right: Counts
    scratch: Counts
    stack: Counts
    totals: Counts


def new_desk(n_points: int, sizes: Counts, n_values: int) -> Desk:
    """A desk for so many points, attributes of these sizes, and sensitive values."""
    widest, d = int(sizes.max()), len(sizes)
    return Desk(
        amounts=np.zeros(widest, np.int64),
        ranks=np.zeros(widest, np.int32),
        stamps=np.zeros(widest, np.bool_),
        present=np.zeros(widest, np.int64),
        starts=np.zeros(widest + 1, np.int64),
        places=np.zeros(widest + 1, np.int64),
        order=np.zeros(d, np.int64),
        widths=np.zeros(d, np.float64),
        bounds=np.zeros((d, 2), np.int32),
        by_rank=np.zeros(n_points, np.int64),
        left=np.zeros(n_values, np.int64),
        right=np.zeros(n_values, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
        stack=np.zeros((STACK, 4), np.int64),
        totals=np.zeros((STACK, n_values), np.int64),
    )


@kernel
def cut_all(cloud: Cloud, axes: Axes, aim: Aim, desk: Desk, groups: Codes, control: Counts) -> int:
    """Cut until nothing is left to cut; fills the group of every point, tells how many there are.

    The stack starts with one segment, all points, and its histogram. ``control[0]`` counts settled
    rows for whoever watches; a non-zero ``control[1]`` stops.
    """
    n_groups = 0
    depth = 1
    while depth > 0 and control[1] == 0:
        depth -= 1
        low, high = desk.stack[depth, 0], desk.stack[depth, 1]
        load, turn = desk.stack[depth, 2], desk.stack[depth, 3]
        middle: Whole = np.int64(-1)
        left_load: Whole = np.int64(0)
        axis: Whole = np.int64(-1)
        if load >= 2 * aim.least:
            n_axes = rank_axes(cloud, axes, aim, low, high, turn, desk)
            for t in range(n_axes):
                axis = desk.order[t]
                middle, left_load = cut_axis(
                    cloud, axes.is_set[axis], axis, aim, low, high, load, desk.totals[depth], desk
                )
                if middle >= 0:
                    break
        if middle < 0:
            settle(cloud.member, low, high, n_groups, groups)
            n_groups += 1
            control[0] += load
        else:
            put_halves(cloud, middle, left_load, axis, depth, desk)
            depth += 2
    return n_groups


@inner
def settle(member: Codes, low: Whole, high: Whole, group: int, groups: Codes) -> None:
    """Make a segment a group."""
    for i in range(low, high):
        groups[member[i]] = group


@inner
def put_halves(
    cloud: Cloud, middle: Whole, left_load: Whole, axis: Whole, depth: int, desk: Desk
) -> None:
    """Put the halves of a segment on the stack, the larger one below the smaller one."""
    stack, totals = desk.stack, desk.totals
    low, high, load = stack[depth, 0], stack[depth, 1], stack[depth, 2]
    left, right = depth, depth + 1
    if middle - low < high - middle:
        left, right = right, left
    stack[left, 0], stack[left, 1], stack[left, 2] = low, middle, left_load
    stack[right, 0], stack[right, 1], stack[right, 2] = middle, high, load - left_load
    turn = (axis + 1) % cloud.codes.shape[1]
    stack[left, 3], stack[right, 3] = turn, turn
    for v in range(desk.left.size):
        totals[left, v] = desk.left[v]
        totals[right, v] = desk.right[v]


@inner
def rank_axes(
    cloud: Cloud, axes: Axes, aim: Aim, low: Whole, high: Whole, turn: Whole, desk: Desk
) -> int:
    """The axes worth cutting, in the order to try them; fills their first and last codes."""
    codes, bounds = cloud.codes, desk.bounds
    d = codes.shape[1]
    for j in range(d):
        bounds[j, 0] = codes[low, j]
        bounds[j, 1] = codes[low, j]
    for i in range(low + 1, high):
        for j in range(d):
            code = codes[i, j]
            if code < bounds[j, 0]:
                bounds[j, 0] = code
            elif code > bounds[j, 1]:
                bounds[j, 1] = code
    n_axes = 0
    for step in range(d):
        j = (turn + step) % d if aim.round_robin else step
        width = 0.0
        if bounds[j, 0] < bounds[j, 1]:
            width = _width(codes, axes, j, bounds, low, high, desk.stamps)
        elif not aim.relaxed:
            continue
        # insertion keeps the widest first; taking turns keeps the order of the turns
        at = n_axes
        while at > 0 and not aim.round_robin and desk.widths[at - 1] < width:
            desk.widths[at] = desk.widths[at - 1]
            desk.order[at] = desk.order[at - 1]
            at -= 1
        desk.widths[at] = width
        desk.order[at] = j
        n_axes += 1
    return n_axes


@inner
def _width(
    codes: Codes, axes: Axes, j: Whole, bounds: Codes, low: Whole, high: Whole, stamps: Flags
) -> float:
    """Share of the domain that a segment spans along an axis."""
    if not axes.is_set[j]:
        first = axes.offsets[j] + bounds[j, 0]
        last = axes.offsets[j] + bounds[j, 1]
        return float(axes.coordinates[last] - axes.coordinates[first])
    distinct = 0
    for i in range(low, high):
        code = codes[i, j]
        if not stamps[code]:
            stamps[code] = True
            distinct += 1
    for i in range(low, high):
        stamps[codes[i, j]] = False
    return float(distinct / axes.sizes[j])


@inner
def cut_axis(
    cloud: Cloud,
    is_set: bool,
    j: Whole,
    aim: Aim,
    low: Whole,
    high: Whole,
    load: Whole,
    total: Counts,
    desk: Desk,
) -> tuple[Whole, Whole]:
    """Cut a segment along one axis: where its right half starts and the left half's load.

    Even halves first if rows may be divided; then the median, "<= median" before "< median"; then,
    when asked, the most even of all cuts. A start of -1: no cut leaves both halves safe.
    """
    n_present = _rank_values(cloud, is_set, j, low, high, desk)
    upto = np.int64(0)
    median = np.int64(-1)
    cut: Whole
    left: Whole
    while 2 * upto < load:
        median += 1
        upto += desk.amounts[desk.present[median]]
    below = upto - desk.amounts[desk.present[median]]
    # of a set, the more even cut is tried first; along an order, the paper's
    short_first = is_set and load - 2 * below < 2 * upto - load
    for trial in range(4):
        quota = np.int64(0)
        if trial == 0:
            if not aim.relaxed:
                continue
            cut, left = median - 1, (load + 1) // 2
            quota = left - below
        elif trial < 3:
            short = (trial == 2) != short_first
            cut, left = (median - 1, below) if short else (median, upto)
        else:
            if not aim.all_cuts or not aim.sensitive or n_present < 3:
                break
            cut, left = _most_even_cut(cloud, j, aim, low, high, load, total, n_present, desk)
        if left < aim.least or load - left < aim.least:
            continue
        middle = move(cloud, j, low, high, cut, quota, desk.ranks)
        if not aim.sensitive or halves_pass(cloud, aim, low, middle, high, left, load, total, desk):
            return middle, left
    return np.int64(-1), np.int64(0)


@inner
def _rank_values(
    cloud: Cloud, is_set: bool, j: Whole, low: Whole, high: Whole, desk: Desk
) -> Whole:
    """Count the values present along an axis and rank them; how many there are."""
    codes, weights = cloud.codes, cloud.weights
    first, last = desk.bounds[j, 0], desk.bounds[j, 1]
    n_present = np.int64(0)
    if last - first <= 4 * (high - low) + 16:
        for code in range(first, last + 1):
            desk.amounts[code] = 0
        for i in range(low, high):
            desk.amounts[codes[i, j]] += weights[i]
        for code in range(first, last + 1):
            if desk.amounts[code] > 0:
                desk.present[n_present] = code
                n_present += 1
    else:  # a few points in a large domain: sort what is there
        for i in range(low, high):
            desk.amounts[codes[i, j]] = 0
        for i in range(low, high):
            code = codes[i, j]
            if desk.amounts[code] == 0:
                desk.present[n_present] = code
                n_present += 1
            desk.amounts[code] += weights[i]
        sort_keys(desk.present, n_present)
    if is_set:
        for r in range(n_present):
            code = desk.present[r]
            desk.present[r] = (-desk.amounts[code] << 31) + code
        sort_keys(desk.present, n_present)
        for r in range(n_present):
            desk.present[r] &= 0x7FFFFFFF
    for r in range(n_present):
        desk.ranks[desk.present[r]] = r
    return n_present


@inner
def sort_keys(keys: Counts, n: Whole) -> None:
    """Shell's sort with Ciura's gaps, continued by 9/4: short lists mostly, no recursion."""
    gap = 1
    while gap < n // 9:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for i in range(gap, n):
            key = keys[i]
            at = i
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap = gap * 4 // 9


@inner
def move(
    cloud: Cloud, j: Whole, low: Whole, high: Whole, cut: Whole, quota: Whole, ranks: Codes
) -> Whole:
    """Bring values of rank <= cut, and ``quota`` points of the next rank, to the left."""
    codes, weights, member = cloud.codes, cloud.weights, cloud.member
    left = low
    right = high - 1
    while True:
        while left <= right:
            rank = ranks[codes[left, j]]
            if rank > cut:
                if rank > cut + 1 or quota == 0:
                    break
                quota -= 1
            left += 1
        while left < right:
            rank = ranks[codes[right, j]]
            if rank <= cut:
                break
            if rank == cut + 1 and quota > 0:
                quota -= 1
                break
            right -= 1
        if left >= right:
            return left
        for axis in range(codes.shape[1]):
            codes[left, axis], codes[right, axis] = codes[right, axis], codes[left, axis]
        weights[left], weights[right] = weights[right], weights[left]
        member[left], member[right] = member[right], member[left]
        left += 1
        right -= 1


@inner
def halves_pass(
    cloud: Cloud,
    aim: Aim,
    low: Whole,
    middle: Whole,
    high: Whole,
    left: Whole,
    load: Whole,
    total: Counts,
    desk: Desk,
) -> bool:
    """Whether both halves of a segment that has just been moved are safe.

    Counts the sensitive values of the smaller half; the other one has the rest.
    """
    first, last, near, far = low, middle, desk.left, desk.right
    if middle - low > high - middle:
        first, last, near, far = middle, high, desk.right, desk.left
    for v in range(total.size):
        near[v] = 0
    for i in range(first, last):
        point = cloud.member[i]
        for entry in range(cloud.starts[point], cloud.starts[point + 1]):
            near[cloud.values[entry]] += cloud.counts[entry]
    for v in range(total.size):
        far[v] = total[v] - near[v]
    return _both_pass(aim, left, load, desk)


@inner
def _both_pass(aim: Aim, left: Whole, load: Whole, desk: Desk) -> bool:
    """Whether the histograms on the desk are safe."""
    return passes_rules(aim.rules, desk.left, left, aim.whole, desk.scratch) and passes_rules(
        aim.rules, desk.right, load - left, aim.whole, desk.scratch
    )


@inner
def _most_even_cut(
    cloud: Cloud,
    j: Whole,
    aim: Aim,
    low: Whole,
    high: Whole,
    load: Whole,
    total: Counts,
    n_present: Whole,
    desk: Desk,
) -> tuple[Whole, Whole]:
    """Sweep all cuts along an axis; the most even safe one and its left load, else -1 and 0."""
    codes, ranks, starts, places = cloud.codes, desk.ranks, desk.starts, desk.places
    for r in range(n_present + 1):
        starts[r] = 0
    for i in range(low, high):
        starts[ranks[codes[i, j]] + 1] += 1
    for r in range(n_present):
        places[r] = starts[r]
        starts[r + 1] += starts[r]
    for i in range(low, high):
        rank = ranks[codes[i, j]]
        desk.by_rank[places[rank]] = i
        places[rank] += 1
    for v in range(total.size):
        desk.left[v] = 0
        desk.right[v] = total[v]
    best = np.int64(-1)
    best_left = np.int64(0)
    left = np.int64(0)
    for r in range(n_present - 1):
        for at in range(starts[r], starts[r + 1]):
            i = desk.by_rank[at]
            point = cloud.member[i]
            left += cloud.weights[i]
            for entry in range(cloud.starts[point], cloud.starts[point + 1]):
                desk.left[cloud.values[entry]] += cloud.counts[entry]
                desk.right[cloud.values[entry]] -= cloud.counts[entry]
        if left < aim.least or load - left < aim.least:
            continue
        if best >= 0 and abs(2 * left - load) >= abs(2 * best_left - load):
            continue
        if _both_pass(aim, left, load, desk):
            best = np.int64(r)
            best_left = left
    return best, best_left
