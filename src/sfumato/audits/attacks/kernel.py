"""Compiled loops of the attackers: who is likely to have which of the values that a group shares.

A *claim* takes ``totals[c]`` of the values of its groups; cell i, one of ``cell_starts[c]`` to
``cell_starts[c + 1]``, stands for taking value ``slot_values[slots[i]]`` from slot ``slots[i]``, a
value of one group, which has ``counts`` of it to give. Scores are logarithms throughout: persons
who share a value multiply what is known of each, and the products leave the range of numbers.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.compiled import inner, kernel

_NEVER = -np.inf


@kernel
def score_by_tables(
    tables: Floats,
    points: Codes,
    member_starts: Counts,
    members: Codes,
    cell_starts: Counts,
    slots: Codes,
    slot_values: Codes,
    scores: Floats,
) -> None:
    """The logarithm of the chance of all members' codes given each cell's value.

    ``tables[r, v]`` is the logarithm of P(code | v), in a row per code of every axis, and
    ``points[p]`` are the rows of point p.
    """
    for c in range(cell_starts.size - 1):
        for i in range(cell_starts[c], cell_starts[c + 1]):
            scores[i] = 0.0
        for m in range(member_starts[c], member_starts[c + 1]):
            for j in range(points.shape[1]):
                row = points[members[m], j]
                for i in range(cell_starts[c], cell_starts[c + 1]):
                    scores[i] += tables[row, slot_values[slots[i]]]


@kernel
def expect(tables: Floats, points: Codes, times: Floats, sums: Floats) -> None:
    """Add how often every row is expected to go with every value, by logistic regression.

    A point counts so many ``times``, and has each value with a chance in proportion to exp(sum of
    the table's entries in its rows).
    """
    chances = np.empty(tables.shape[1], np.float64)
    for p in range(points.shape[0]):
        chances[:] = 0.0
        for j in range(points.shape[1]):
            chances += tables[points[p, j]]
        chances = np.exp(chances - chances.max())
        chances *= times[p] / chances.sum()
        for j in range(points.shape[1]):
            sums[points[p, j]] += chances


@kernel
def score_by_chances(
    chances: Floats,
    first: int,
    members: Codes,
    claims: Codes,
    cell_starts: Counts,
    slots: Codes,
    slot_values: Codes,
    scores: Floats,
) -> None:
    """Add to the scores of each claim what a learner says of one of its members.

    ``chances[p - first]`` are the logarithms for point p; points outside are passed over.
    """
    for m in range(members.size):
        p = members[m] - first
        if p < 0 or p >= chances.shape[0]:
            continue
        for i in range(cell_starts[claims[m]], cell_starts[claims[m] + 1]):
            scores[i] += chances[p, slot_values[slots[i]]]


@kernel
def balance(
    scores: Floats,
    totals: Counts,
    cell_starts: Counts,
    slots: Codes,
    counts: Counts,
    scale: Floats,
    mass: Floats,
    sweeps: int,
    tolerance: float,
) -> None:
    """Sinkhorn, Knopp: scale cells until claims take their totals and slots give their counts.

    ``scale``, a logarithm per slot, is where the sweeps start and where they got to; ``mass`` is
    what each cell takes. Claims always take exactly their totals; slots give their counts up to the
    tolerance, a share of all that is given, or as nearly as so many sweeps come.
    """
    given = np.empty(counts.size, np.float64)
    everything = counts.sum()
    for _ in range(sweeps):
        given[:] = 0.0
        for c in range(cell_starts.size - 1):
            top = _NEVER
            for i in range(cell_starts[c], cell_starts[c + 1]):
                mass[i] = scores[i] + scale[slots[i]]
                top = max(top, mass[i])
            whole = 0.0
            for i in range(cell_starts[c], cell_starts[c + 1]):
                mass[i] = np.exp(mass[i] - top) if top > _NEVER else 1.0
                whole += mass[i]
            for i in range(cell_starts[c], cell_starts[c + 1]):
                mass[i] *= totals[c] / whole
                given[slots[i]] += mass[i]
        apart = 0.0
        for s in range(counts.size):
            apart += abs(given[s] - counts[s])
            if given[s] > 0.0:
                scale[s] += np.log(counts[s]) - np.log(given[s])  # whose ratio may be out of range
        if apart <= tolerance * everything:
            break


@kernel
def match_exactly(
    scores: Floats,
    totals: Counts,
    cell_starts: Counts,
    claim_starts: Counts,
    claims: Codes,
    group_starts: Counts,
    counts: Counts,
    most: int,
    mass: Floats,
) -> None:
    """Replace the mass of small groups by the exact chance over all ways to hand out their values.

    Group g has the claims ``claims[claim_starts[g]:claim_starts[g + 1]]``, which have no other
    group. A state is how many of each value are handed out. Rows take theirs one after the other,
    so that the way to a state sums up all ways for those before, and the way onwards all ways for
    those behind. Groups with more than ``most`` states, with values left over, or without any
    possible way are left alone.
    """
    upto, onwards = np.empty(most, np.float64), np.empty(most, np.float64)
    for g in range(group_starts.size - 1):
        here = counts[group_starts[g] : group_starts[g + 1]]
        own = claims[claim_starts[g] : claim_starts[g + 1]]
        strides = _strides(here, most)
        if strides[-1] > most or here.sum() != totals[own].sum():
            continue
        # where the cells of every row of the group begin
        firsts = np.repeat(cell_starts[own], totals[own])
        _go_forwards(scores, firsts, here, strides, upto)
        if upto[strides[-1] - 1] == _NEVER:
            continue
        for c in own:
            mass[cell_starts[c] : cell_starts[c + 1]] = 0.0
        _go_back(scores, firsts, here, strides, upto, onwards, mass)


@inner
def _strides(counts: Counts, most: int) -> Counts:
    """What handing out one of each value adds to the number of a state, and last, all states."""
    strides = np.ones(counts.size + 1, np.int64)
    for v in range(counts.size):
        strides[v + 1] = min(strides[v] * (counts[v] + 1), most + 1)
    return strides


@inner
def _left(state: int, v: int, counts: Counts, strides: Counts) -> int:
    """How many of a value are not handed out yet."""
    left: int = counts[v] - state // strides[v] % (counts[v] + 1)
    return left


@inner
def _done(state: int, counts: Counts, strides: Counts) -> int:
    """How many rows have a value."""
    done = 0
    for v in range(counts.size):
        done += counts[v] - _left(state, v, counts, strides)
    return done


@inner
def _go_forwards(
    scores: Floats, firsts: Counts, counts: Counts, strides: Counts, upto: Floats
) -> None:
    """The logarithm of the sum of all ways to every state."""
    upto[: strides[-1]] = _NEVER
    upto[0] = 0.0
    for state in range(strides[-1] - 1):
        first = firsts[_done(state, counts, strides)]
        for v in range(counts.size):
            if _left(state, v, counts, strides):
                after = state + strides[v]
                upto[after] = np.logaddexp(upto[after], upto[state] + scores[first + v])


@inner
def _go_back(
    scores: Floats,
    firsts: Counts,
    counts: Counts,
    strides: Counts,
    upto: Floats,
    onwards: Floats,
    mass: Floats,
) -> None:
    """The same from every state to the end; a step is as likely as all ways that take it."""
    last = strides[-1] - 1
    onwards[last] = 0.0
    for state in range(last - 1, -1, -1):
        onwards[state] = _NEVER
        first = firsts[_done(state, counts, strides)]
        for v in range(counts.size):
            if _left(state, v, counts, strides):
                rest = scores[first + v] + onwards[state + strides[v]]
                onwards[state] = np.logaddexp(onwards[state], rest)
                mass[first + v] += np.exp(upto[state] + rest - upto[last])


@kernel
def add_up(
    points: Codes,
    member_starts: Counts,
    members: Codes,
    cell_starts: Counts,
    slots: Codes,
    slot_values: Codes,
    mass: Floats,
    sums: Floats,
) -> None:
    """Add the mass of every cell to its value, under each code of the members."""
    for c in range(cell_starts.size - 1):
        for m in range(member_starts[c], member_starts[c + 1]):
            for j in range(points.shape[1]):
                row = points[members[m], j]
                for i in range(cell_starts[c], cell_starts[c + 1]):
                    sums[row, slot_values[slots[i]]] += mass[i]


@kernel
def name_likeliest(
    claim_starts: Counts,
    claims: Codes,
    cell_starts: Counts,
    slots: Codes,
    slot_values: Codes,
    n_values: int,
    mass: Floats,
    guesses: Codes,
    confidence: Floats,
) -> None:
    """The likeliest value of every subject over all its claims, and its share; -1 without any."""
    shares = np.zeros(n_values, np.float64)
    for one in range(claim_starts.size - 1):
        whole = 0.0
        shares[:] = 0.0
        for k in range(claim_starts[one], claim_starts[one + 1]):
            for i in range(cell_starts[claims[k]], cell_starts[claims[k] + 1]):
                shares[slot_values[slots[i]]] += mass[i]
                whole += mass[i]
        guesses[one] = -1
        confidence[one] = 0.0
        if whole > 0.0:
            guesses[one] = np.argmax(shares)
            confidence[one] = shares[guesses[one]] / whole
