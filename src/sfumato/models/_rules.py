"""The compiled form of the built-in models: a short list of rules over one dense histogram.

A rule is (kind, a, b, first, last): it looks at the counts of codes first to last - 1. Every
comparison has a twin in NumPy in the model's own file; a property test keeps the two together.

Closeness through a taxonomy is told by *runs* of codes, one per node (the codes below a node are
neighbours): the distance is the sum over runs of weight * |share of the group - share of the
table|. They stand behind the rule they belong to, four numbers each: first code, code behind the
last one, weight, share of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Counts, Floats, Whole
from sfumato.core.compiled import kernel

# Shares and entropies are sums of rounded terms; a group exactly on the limit must pass.
TOLERANCE = 1e-9

SIZE, FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, CLOSE_EQUAL, CLOSE_ORDERED, CLOSE_RUNS = range(8)
RULE, RUN = 5, 4  # how many numbers a rule has, and each of the runs behind it
NO_RUNS: Floats = np.zeros((0, RUN))


class Rule(NamedTuple):
    """A kind with its parameters, and the fewest rows a passing group can have.

    ``runs``, a line each, are those of closeness through a taxonomy; ``b`` is then their number.
    Of closeness between equals it is the largest share that a value has in the table.
    """

    kind: int
    a: float
    b: float = 0.0
    least: int = 1
    runs: Floats = NO_RUNS


def rule_matrix(placed: Sequence[tuple[Rule, int, int]]) -> Floats:
    """Rules, each with its first and its last code, as the kernels read them: a line per rule."""
    longest = max((rule.runs.size for rule, _, _ in placed), default=0)
    matrix = np.zeros((len(placed), RULE + longest))
    for line, (rule, first, last) in zip(matrix, placed, strict=True):
        line[:RULE] = rule.kind, rule.a, rule.b, first, last
        line[RULE : RULE + rule.runs.size] = rule.runs.ravel()
    return matrix


@kernel
def passes_rules(  # one function on purpose: compiled calls inside calls are compiled over and over
    rules: Floats, histogram: Counts, size: Whole, whole: Floats, scratch: Counts
) -> bool:
    """Whether a group with this size and these counts passes every rule.

    ``whole`` holds the shares in the whole table; ``scratch`` is room for the recursive rule, which
    keeps the l - 1 largest counts there, descending, and for the counts up to each code, of which
    a run takes the difference.
    """
    for r in range(rules.shape[0]):
        kind = int(rules[r, 0])
        a = rules[r, 1]
        first = int(rules[r, 3])
        last = int(rules[r, 4])
        passes = True
        if kind == SIZE:
            passes = size >= a
        elif kind == FREQUENCY:
            limit = size * (1.0 + TOLERANCE) / a
            for v in range(first, last):
                passes &= histogram[v] <= limit
        elif kind == DISTINCT:
            distinct = 0
            for v in range(first, last):
                if histogram[v] > 0:
                    distinct += 1
            passes = distinct >= a
        elif kind == ENTROPY:
            entropy = 0.0
            for v in range(first, last):
                if histogram[v] > 0:
                    share = histogram[v] / size
                    entropy -= share * math.log(share)
            passes = entropy >= math.log(a) - TOLERANCE
        elif kind == RECURSIVE:
            depth = int(rules[r, 2])
            kept = 0
            largest = np.int64(0)
            for v in range(first, last):
                count = histogram[v]
                largest = max(largest, count)
                if count == 0:
                    continue
                if kept < depth - 1:
                    kept += 1
                elif kept == 0 or count <= scratch[kept - 1]:
                    continue
                at = kept - 1
                while at > 0 and scratch[at - 1] < count:
                    scratch[at] = scratch[at - 1]
                    at -= 1
                scratch[at] = count
            rest = size
            for i in range(kept):
                rest -= scratch[i]
            passes = bool(rest > 0 and largest < a * rest)
        elif kind == CLOSE_RUNS:
            scratch[0] = 0
            for v in range(first, last):
                scratch[v - first + 1] = scratch[v - first] + histogram[v]
            distance = 0.0
            for place in range(RULE, RULE + RUN * int(rules[r, 2]), RUN):
                held = scratch[int(rules[r, place + 1])] - scratch[int(rules[r, place])]
                distance += rules[r, place + 2] * abs(held / size - rules[r, place + 3])
                if distance > a + TOLERANCE:  # it only grows
                    break
            passes = distance <= a + TOLERANCE
        elif kind == CLOSE_EQUAL and 1.0 - size * rules[r, 2] > a + TOLERANCE:
            passes = False  # what a group of this size lacks is more, whatever it holds
        else:  # closeness: ahead is what is left to carry on, along an order
            ahead = 0.0
            distance = 0.0
            occurring = 0
            for v in range(first, last):
                if whole[v] == 0:  # a value that nobody has is no step on the way
                    continue
                occurring += 1
                difference = histogram[v] / size - whole[v]
                ahead += difference
                distance += abs(ahead) if kind == CLOSE_ORDERED else abs(difference) / 2
            steps = occurring - 1 if kind == CLOSE_ORDERED else 1
            passes = distance <= (a + TOLERANCE) * max(1, steps)
        if not passes:
            return False
    return True
