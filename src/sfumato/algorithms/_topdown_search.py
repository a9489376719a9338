"""Which group is the cheapest to merge with: a search through the tree of splits.

Merging groups G and H costs |G| (p(G+H) - p(G)) + |H| (p(G+H) - p(H)), p the penalty. For any H in
the box N of a node the first term is at least that for the point of N nearest to G. The penalty
grows the less the more a box holds, so p(G+H) - p(H) is at least p(G+N) - p(N). Subtrees whose
bound is not below the best cost so far are passed by, and blocks of groups are looked at whole.
"""

from __future__ import annotations

import numpy as np

from sfumato.algorithms._topdown_blocks import (
    SLOTS,
    any_below,
    lay_axis,
    lay_costs,
    lay_values,
    lay_word,
)
from sfumato.algorithms._topdown_index import GONE, Index
from sfumato.algorithms._topdown_space import Sets, ones
from sfumato.core.arrays import Whole
from sfumato.core.compiled import kernel


@kernel
def find_cheapest(  # one function on purpose: to pass an index on costs as much as a look at a node
    index: Index, sets: Sets, group: Whole, spare: Whole, limit: float
) -> tuple[Whole, float]:
    """The group that costs least to merge with, and what it costs; -1 if none costs below a limit.

    With ``spare`` only groups of more than one point and so many rows are looked at. Of several
    that cost the same the first one met is found.
    """
    parents, children, stack, bounds = index.parents, index.children, index.stack, index.bounds
    loads, spares, penalties = index.loads, index.spares, index.sides.penalties
    lows, highs, bits = index.sides.lows, index.sides.highs, index.sides.bits
    words, shares = sets.words, sets.shares
    blocks = index.blocks
    block, slot, leaves = blocks.block, blocks.slot, blocks.leaves
    costs, values = blocks.costs, blocks.values
    slot_lows, slot_highs, slot_bits = blocks.lows, blocks.highs, blocks.bits
    slot_loads, slot_penalties, slot_spares = blocks.loads, blocks.penalties, blocks.spares
    load, penalty = loads[group], penalties[group]
    best: Whole = np.int64(-1)
    least = limit
    node = np.int64(blocks.root[block[group]])
    stack[0] = node  # the group's own block, then upwards: what is near is seen first
    bounds[0] = -np.inf
    depth = 1
    look = 0  # how many nodes from here on the stack have no bound yet
    while True:
        # what merging with any group below a node costs at least
        kept = depth
        for t in range(depth, depth + look):
            at = stack[t]
            if loads[at] == GONE or spares[at] < spare:
                continue
            union = 0.0  # penalty of the group together with all that is below the node
            near = 0.0  # and together with the nearest point of its box only
            for j in range(lows.shape[1]):
                low, high = lows[group, j], highs[group, j]
                from_low, to_high = lows[at, j], highs[at, j]
                union += min(1.0, max(high, to_high) - min(low, from_low))
                near += min(1.0, max(high, from_low) - min(low, to_high))
            for s in range(shares.size):
                together, mine, shared = 0, 0, np.uint64(0)
                for w in range(words[s], words[s + 1]):
                    together += ones(bits[group, w] | bits[at, w])
                    mine += ones(bits[group, w])
                    shared |= bits[group, w] & bits[at, w]
                union += (together - 1) * shares[s]
                near += (mine - 1 if shared > 0 else mine) * shares[s]
            bound = load * (near - penalty) + loads[at] * (union - penalties[at])
            if bound < least:
                stack[kept] = at
                bounds[kept] = bound
                kept += 1
        if kept == depth + 2 and bounds[depth] < bounds[depth + 1]:
            stack[depth], stack[depth + 1] = stack[depth + 1], stack[depth]
            bounds[depth], bounds[depth + 1] = bounds[depth + 1], bounds[depth]
        depth = kept
        look = 0
        while depth > 0 and look == 0:
            depth -= 1
            if bounds[depth] >= least:
                continue
            at = stack[depth]
            b = block[at]
            if b < 0:
                stack[depth], stack[depth + 1] = children[at, 0], children[at, 1]
                look = 2
                continue
            for i in range(SLOTS):
                costs[i] = 0.0
            for j in range(lows.shape[1]):
                lay_axis(costs, slot_lows, slot_highs, b, j, lows[group, j], highs[group, j])
            for s in range(shares.size):
                first, beyond = words[s], words[s + 1]
                if beyond == first + 1:  # one word, as mostly: no need to add them up
                    lay_word(costs, slot_bits, b, first, bits[group, first], shares[s])
                    continue
                for i in range(SLOTS):
                    values[i] = -1
                for w in range(first, beyond):
                    lay_values(values, slot_bits, b, w, bits[group, w])
                for i in range(SLOTS):
                    costs[i] += values[i] * shares[s]
            lay_costs(
                costs, slot_loads, slot_penalties, slot_spares, b, float(load), penalty, spare
            )
            if b == block[group]:
                costs[slot[group]] = np.inf
            if any_below(costs, least):
                for i in range(SLOTS):
                    if costs[i] < least:
                        best, least = np.int64(leaves[b, i]), costs[i]
        if look == 0:
            if parents[node] < 0:
                break
            stack[0] = children[parents[node], 0] + children[parents[node], 1] - node
            look = 1
            node = np.int64(parents[node])
    return best, least
