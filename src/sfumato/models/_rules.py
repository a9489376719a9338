"""The compiled form of the built-in models: a short list of rules over one dense histogram.

A rule is (kind, a, b, first, last): it looks at the counts of codes first to last - 1. Every
comparison has a twin in NumPy in the model's own file; a property test keeps the two together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Counts, Floats, Whole
from sfumato.core.compiled import kernel

# Shares and entropies are sums of rounded terms; a group exactly on the limit must pass.
TOLERANCE = 1e-9

SIZE, FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, CLOSE_EQUAL, CLOSE_ORDERED = range(7)


class Rule(NamedTuple):
    """A kind with its parameters, and the fewest rows a passing group can have."""

    kind: int
    a: float
    b: float = 0.0
    least: int = 1


@kernel
def passes_rules(  # one function on purpose: compiled calls inside calls are compiled over and over
    rules: Floats, histogram: Counts, size: Whole, whole: Floats, scratch: Counts
) -> bool:
    """Whether a group with this size and these counts passes every rule.

    ``whole`` holds the shares in the whole table; ``scratch`` is room for the recursive rule, which
    keeps the l - 1 largest counts there, descending.
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
