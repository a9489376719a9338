"""Which group is the cheapest to merge with: a search through the rows of rows.py.

Merging groups G and H costs |G| (p(G+H) - p(G)) + |H| (p(G+H) - p(H)), p the penalty. For any H in
a box N around groups the first term is at least that for the point of N nearest to G. The penalty
grows the less the more a box holds, so p(G+H) - p(H) is at least p(G+N) - p(N). Boxes whose bound
is not below the best cost so far are passed by.
"""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.space import Sets, ones
from sfumato.algorithms.topdown.index import Index
from sfumato.algorithms.topdown.rows import WIDTH
from sfumato.core.arrays import Whole
from sfumato.core.compiled import kernel


@kernel
def find_neighbours(
    index: Index, sets: Sets, group: Whole, enough: Whole, far: float
) -> tuple[Whole, float, Whole, float]:
    """The group that costs least to merge with, and what it costs; and the same for a donor.

    A donor has more than one point and ``enough`` rows, and costs less than ``far`` times what the
    first one does. -1: there is none. Of several that cost the same the first one met is found.

    One function on purpose, of arrays that are locals and loops of a fixed length: calls, to which
    tuples of arrays are passed on, would cost as much as what is done in them.
    """
    stack, bounds, wide = index.stack, index.bounds, index.wide
    mine_lows, mine_highs, mine_bits = index.sides.lows, index.sides.highs, index.sides.bits
    words, shares = sets.words, sets.shares
    rows = index.rows
    groups, first, costs, nears = rows.groups, rows.first, rows.costs, rows.nears
    loads, spares, penalties = rows.loads, rows.spares, rows.penalties
    lows, highs, bits, values, shared = rows.lows, rows.highs, rows.bits, rows.values, rows.shared
    load, penalty = float(index.loads[group]), index.sides.penalties[group]
    best: Whole = np.int64(-1)
    donor: Whole = np.int64(-1)
    least = giving = np.inf
    reach = np.inf  # what a donor must cost less than
    own = np.int64(rows.slot[group])
    stack[0], bounds[0] = first[first.size - 2], -np.inf  # the highest row, and before it
    stack[1], bounds[1] = own // WIDTH, -np.inf  # the group's own, which bounds the rest
    wide[0] = wide[1] = True  # whether there is a donor below
    depth = 2
    while depth > 0:
        depth -= 1
        if bounds[depth] >= (reach if wide[depth] else least):
            continue
        r = stack[depth]
        lowest = r < first[1]
        if lowest and r == own // WIDTH and bounds[depth] > -np.inf:
            continue  # seen at first
        for i in range(WIDTH):
            costs[i] = 0.0
            nears[i] = 0.0
        for j in range(lows.shape[1]):
            low, high = mine_lows[group, j], mine_highs[group, j]
            for i in range(WIDTH):
                costs[i] += min(1.0, max(high, highs[r, j, i]) - min(low, lows[r, j, i]))
            if not lowest:
                for i in range(WIDTH):
                    nears[i] += min(1.0, max(high, lows[r, j, i]) - min(low, highs[r, j, i]))
        for s in range(shares.size):
            begin, beyond, share = words[s], words[s + 1], shares[s]
            word = mine_bits[group, begin]
            if beyond == begin + 1:  # one word, as mostly: no need to add them up
                for i in range(WIDTH):
                    costs[i] += (ones(word | bits[r, begin, i]) - 1) * share
            else:
                for i in range(WIDTH):
                    values[i] = -1
                for w in range(begin, beyond):
                    word = mine_bits[group, w]
                    for i in range(WIDTH):
                        values[i] += ones(word | bits[r, w, i])
                for i in range(WIDTH):
                    costs[i] += values[i] * share
            if not lowest:
                mine = 0
                for i in range(WIDTH):
                    shared[i] = 0
                for w in range(begin, beyond):
                    word = mine_bits[group, w]
                    mine += ones(word)
                    for i in range(WIDTH):
                        shared[i] |= word & bits[r, w, i]
                for i in range(WIDTH):
                    nears[i] += (mine - 1 if shared[i] > 0 else mine) * share
        if lowest:
            for i in range(WIDTH):
                nears[i] = costs[i]
        for i in range(WIDTH):
            costs[i] = load * (nears[i] - penalty) + loads[r, i] * (costs[i] - penalties[r, i])
        if lowest and r == own // WIDTH:
            costs[own % WIDTH] = np.inf
        below = 0
        for i in range(WIDTH):
            below += 1 if costs[i] < (reach if spares[r, i] >= enough else least) else 0
        if below == 0:
            continue
        if lowest:
            for i in range(WIDTH):
                if costs[i] < least:
                    best, least = np.int64(groups[r * WIDTH + i]), costs[i]
                    reach = min(reach, far * least)
                if costs[i] < reach and spares[r, i] >= enough:
                    donor, giving = np.int64(groups[r * WIDTH + i]), costs[i]
                    reach = giving
            continue
        level = 1
        while r >= first[level + 1]:
            level += 1
        bottom = depth
        for i in range(WIDTH):  # the nearest on top
            gives = spares[r, i] >= enough
            if costs[i] < (reach if gives else least):
                at = depth
                while at > bottom and bounds[at - 1] < costs[i]:
                    stack[at], bounds[at], wide[at] = stack[at - 1], bounds[at - 1], wide[at - 1]
                    at -= 1
                stack[at] = first[level - 1] + (r - first[level]) * WIDTH + i
                bounds[at] = costs[i]
                wide[at] = gives
                depth += 1
    if giving >= far * least:
        donor = np.int64(-1)
    return best, least, donor, giving
