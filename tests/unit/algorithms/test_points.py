from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.points import Points
from sfumato.core.microdata import Microdata
from tests.support.strategies import tables

Entries = dict[str, Counter[int]]


def sensitive_of(points: Points, point: int) -> Counter[int]:
    entries = slice(points.starts[point], points.starts[point + 1])
    pairs = zip(points.values[entries].tolist(), points.counts[entries].tolist(), strict=True)
    found: Counter[int] = Counter()
    for value, count in pairs:
        assert value not in found
        found[value] = count
    return found


def expected_of(table: Microdata, offsets: dict[str, int], rows: list[int]) -> Counter[int]:
    return Counter(
        int(table.codes[name][row]) + shift for name, shift in offsets.items() for row in rows
    )


def offsets_for(table: Microdata, names: list[str]) -> dict[str, int]:
    offsets, at = {}, 0
    for name in names:
        offsets[name] = at
        at += table.attributes[name].size
    return offsets


NAMES = st.sampled_from([[], ["d"], ["e"], ["d", "e"], ["e", "d"]])


@settings(max_examples=50)
@given(tables(), NAMES)
def test_distinct_points_weigh_what_they_stand_for(table: Microdata, names: list[str]) -> None:
    offsets = offsets_for(table, names)
    points = Points.distinct(table, offsets)
    vectors = [tuple(row) for row in table.quasi_codes().tolist()]
    assert [tuple(point) for point in points.codes.tolist()] == list(dict.fromkeys(vectors))
    for point, vector in enumerate(dict.fromkeys(vectors)):
        rows = [row for row, found in enumerate(vectors) if found == vector]
        assert points.weights[point] == len(rows)
        assert np.flatnonzero(points.point_of_row == point).tolist() == rows
        assert sensitive_of(points, point) == expected_of(table, offsets, rows)


@pytest.mark.slow
@settings(max_examples=50)
@given(tables(), NAMES, st.randoms(use_true_random=False))
def test_every_row_is_a_point_in_the_given_order(
    table: Microdata, names: list[str], random: np.random.Generator
) -> None:
    offsets = offsets_for(table, names)
    order = list(range(table.n_rows))
    random.shuffle(order)
    points = Points.every_row(table, offsets, np.array(order, np.int32))
    assert points.codes.tolist() == table.quasi_codes()[order].tolist()
    assert points.point_of_row[order].tolist() == list(range(table.n_rows))
    assert set(points.weights.tolist()) == {1}
    for point, row in enumerate(order):
        assert sensitive_of(points, point) == expected_of(table, offsets, [row])
