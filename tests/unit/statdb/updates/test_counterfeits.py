"""Lists of newcomers who come alone: the argument of counterfeits.py, by counting all outcomes."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import permutations
from typing import Any, cast

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.signatures import Signature
from sfumato.statdb.updates.counterfeits import drawn_lists

Joint = dict[Signature, dict[int, Fraction]]


class Scripted:
    """Chance that is written down: an order, then a word."""

    def __init__(self, order: tuple[int, ...], word: int) -> None:
        self.order, self.word = order, word

    def permutation(self, n: int) -> Any:
        assert n == len(self.order)
        return np.array(self.order)

    def words(self, n: int) -> Any:
        return np.array([self.word] * n, np.uint64)


def joint(counts: list[int], m: int, certain: int = 0) -> Joint:
    """P(value, list) over all values, orders and points; ``certain`` values are on every list."""
    weights = [2 * n + 1 for n in counts]
    orders = list(permutations(range(len(counts) - certain)))
    frequent = sorted(range(len(counts)), key=lambda v: -weights[v])
    n, rest = m - certain, sum(weights[v] for v in frequent[certain:])
    found: Joint = defaultdict(lambda: defaultdict(Fraction))
    for value, weight in enumerate(weights):
        points = rest if value in frequent[:certain] else n * weight
        share = Fraction(weight, sum(weights)) / (len(orders) * points)
        for order in orders:
            for word in range(points):
                chance = cast("Randomness", Scripted(order, word))
                codes = np.array([value], np.int32)
                (one,) = drawn_lists(np.array(counts), codes, m, chance)
                found[one][value] += share
    return found


@pytest.mark.parametrize(
    ("counts", "m"),
    [([3, 3, 3], 2), ([4, 3, 2, 1], 2), ([2, 2, 1, 1, 0], 3), ([1, 1, 1, 1], 4), ([2, 1, 1, 0], 2)],
    ids=str,
)
def test_every_value_of_a_list_is_equally_likely(counts: list[int], m: int) -> None:
    found = joint(counts, m)
    assert sum(sum(chances.values()) for chances in found.values()) == 1
    for signature, chances in found.items():
        assert len(set(signature)) == len(signature) == m
        assert set(chances) == set(signature)
        assert len(set(chances.values())) == 1


def test_a_value_that_is_too_frequent_is_on_every_list() -> None:
    found = joint([6, 2, 2, 1], 3, certain=1)
    own = Fraction(13, 26)
    for signature, chances in found.items():
        assert 0 in signature
        assert chances.pop(0) / (sum(chances.values()) / (1 - own)) == own
        assert len(set(chances.values())) == 1


def test_a_seed_repeats_lists_and_without_one_they_differ() -> None:
    counts, values = np.arange(40) + 5, np.arange(40, dtype=np.int32)
    same = [drawn_lists(counts, values, 5, Randomness(7)) for _ in range(2)]
    assert same[0] == same[1]
    assert drawn_lists(counts, values, 5, Randomness()) != same[0]
    assert all(value in one for value, one in enumerate(same[0]))
