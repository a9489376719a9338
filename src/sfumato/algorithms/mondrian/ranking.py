"""Ranks, and what they are for: which axis to cut first, and where its median lies.

Along an axis the values present in a segment get ranks: ascending for an ordered attribute, most
frequent first for a set of unordered values.
"""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace
from sfumato.core.arrays import Codes, Counts, Flags, Whole
from sfumato.core.compiled import inner


@inner
def rank_axes(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    low: Whole,
    high: Whole,
    turn: Whole,
    workspace: Workspace,
) -> int:
    """The axes worth cutting, in the order to try them; fills their first and last codes."""
    codes, bounds = arrays.codes, workspace.bounds
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
        j = (turn + step) % d if cut_rules.round_robin else step
        width = 0.0
        if bounds[j, 0] < bounds[j, 1]:
            width = _width(codes, axes, j, bounds, low, high, workspace.stamps)
        elif not cut_rules.relaxed:
            continue
        # insertion keeps the widest first; taking turns keeps the order of the turns
        at = n_axes
        while at > 0 and not cut_rules.round_robin and workspace.widths[at - 1] < width:
            workspace.widths[at] = workspace.widths[at - 1]
            workspace.order[at] = workspace.order[at - 1]
            at -= 1
        workspace.widths[at] = width
        workspace.order[at] = j
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
def rank_values(
    arrays: PointArrays, is_set: bool, j: Whole, low: Whole, high: Whole, workspace: Workspace
) -> Whole:
    """Count the values present along an axis and rank them; how many there are."""
    codes, weights = arrays.codes, arrays.weights
    first, last = workspace.bounds[j, 0], workspace.bounds[j, 1]
    n_present = np.int64(0)
    if last - first <= 4 * (high - low) + 16:
        for code in range(first, last + 1):
            workspace.amounts[code] = 0
        for i in range(low, high):
            workspace.amounts[codes[i, j]] += weights[i]
        for code in range(first, last + 1):
            if workspace.amounts[code] > 0:
                workspace.present[n_present] = code
                n_present += 1
    else:  # a few points in a large domain: sort what is there
        for i in range(low, high):
            workspace.amounts[codes[i, j]] = 0
        for i in range(low, high):
            code = codes[i, j]
            if workspace.amounts[code] == 0:
                workspace.present[n_present] = code
                n_present += 1
            workspace.amounts[code] += weights[i]
        sort_keys(workspace.present, n_present)
    if is_set:
        for r in range(n_present):
            code = workspace.present[r]
            workspace.present[r] = (-workspace.amounts[code] << 31) + code
        sort_keys(workspace.present, n_present)
        for r in range(n_present):
            workspace.present[r] &= 0x7FFFFFFF
    for r in range(n_present):
        workspace.ranks[workspace.present[r]] = r
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
def find_median(load: Whole, workspace: Workspace) -> tuple[Whole, Whole]:
    """The rank of the median of the values that were ranked, and how many rows lie below it."""
    upto = np.int64(0)
    median = np.int64(-1)
    while 2 * upto < load:
        median += 1
        upto += workspace.amounts[workspace.present[median]]
    return median, upto - workspace.amounts[workspace.present[median]]


@inner
def even_half(load: Whole) -> Whole:
    """The rows of the left half where rows may be divided at will."""
    return (load + 1) // 2


@inner
def last_of_quota(
    arrays: PointArrays,
    j: Whole,
    low: Whole,
    high: Whole,
    rank: Whole,
    quota: Whole,
    workspace: Workspace,
) -> Whole:
    """Of the points of a rank, the one that is number ``quota`` in the order in which they came.

    That order is random, and no cut changes it: which points go left does not depend on how they
    were moved about before. (Selection by halves, Hoare 1961.)
    """
    keys, ranks = workspace.by_rank, workspace.ranks
    n = np.int64(0)
    for at in range(low, high):
        if ranks[arrays.codes[at, j]] == rank:
            keys[n] = arrays.member[at]
            n += 1
    first: Whole = np.int64(0)
    last: Whole = n - 1
    i: Whole
    k: Whole
    while first < last:
        pivot = keys[(first + last) // 2]
        i, k = first, last
        while i <= k:
            while keys[i] < pivot:
                i += 1
            while keys[k] > pivot:
                k -= 1
            if i <= k:
                keys[i], keys[k] = keys[k], keys[i]
                i += 1
                k -= 1
        if quota - 1 <= k:
            last = k
        elif quota - 1 >= i:
            first = i
        else:
            break
    found: Whole = keys[quota - 1]
    return found
