"""Figure 3 of "Anatomy": rows are dealt to groups by their sensitive value alone."""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.anatomize.kernel import create_groups, deal
from sfumato.core._kernels import shuffle_groups
from sfumato.core.arrays import Codes, Counts
from sfumato.core.compiled import announce
from sfumato.core.histograms import count_codes
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.bound import Bound


def anatomize(codes: Codes, n_values: int, l: int, randomness: Randomness) -> Codes:
    """The group of every row, for eligible codes: none more often than 1/l of all rows."""
    announce(create_groups)
    sizes = count_codes(codes, n_values)
    starts = np.append(0, np.cumsum(sizes))
    slots, _ = fill_slots(sizes, l, randomness)
    # slots are shuffled instead of rows: each bin's share of them fits the processor's cache
    shuffle_groups(slots, starts, randomness.half_words(len(codes)))
    return deal(codes, starts, slots)


def fill_slots(sizes: Counts, l: int, randomness: Randomness) -> tuple[Codes, int]:
    """For every row of every bin, bin after bin, the group that takes it; and how many groups."""
    starts = np.append(0, np.cumsum(sizes))
    slots = np.full(starts[-1], -1, np.int32)
    left = sizes.astype(np.int64)
    order = np.argsort(-left, kind="stable")
    n_groups = create_groups(left, order, starts, l, randomness.words(1), slots)
    for value in np.flatnonzero(left):
        _place_residue(slots[starts[value] : starts[value + 1]], n_groups, randomness)
    return slots, n_groups


def merged(bound: Bound, partition: Partition, randomness: Randomness) -> Partition:
    """Merge groups that do not pass, two by two, until all pass."""
    while partition.n_groups > 1:
        failing = np.flatnonzero(~bound.passing(partition))
        if not len(failing):
            break
        shuffled = failing[randomness.permutation(len(failing))]
        into = np.arange(partition.n_groups)
        pairs = len(shuffled) // 2
        into[shuffled[pairs : 2 * pairs]] = shuffled[:pairs]
        if len(shuffled) % 2:
            # the odd one out joins any other group
            others = np.delete(np.arange(partition.n_groups), shuffled[-1])
            other = others[int(randomness.words(1)[0] % np.uint64(len(others)))]
            into[shuffled[-1]] = into[other]
        _, renumbered = np.unique(into[partition.groups], return_inverse=True)
        partition = Partition.of(renumbered.astype(np.int32))
    return partition


def _place_residue(slots: Codes, n_groups: int, randomness: Randomness) -> None:
    """Lines 9 to 12: the rows left in a bin join random groups that lack its value."""
    lacking = np.ones(n_groups, np.bool_)
    lacking[slots[slots >= 0]] = False
    left = np.flatnonzero(slots < 0)
    candidates = np.flatnonzero(lacking)
    chosen = candidates[randomness.permutation(len(candidates))[: len(left)]]
    slots[left] = chosen
