"""The proof of docs/joining.md, by looking: who groups rows without their values cannot promise
l-diversity to every table that can have it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.attribute import encode
from sfumato.core.histograms import Histograms


def partitions(n: int) -> Iterator[list[int]]:
    """Every way to put n rows into groups, as restricted growth strings."""

    def grow(found: list[int]) -> Iterator[list[int]]:
        if len(found) == n:
            yield found
            return
        for group in range(max(found, default=-1) + 2):
            yield from grow([*found, group])

    return grow([])


def against(groups: Sequence[int], l: int) -> list[int]:
    """The values that the proof gives to the rows: those of group 0 are alike."""
    n = len(groups)
    alike = [row for row in range(n) if groups[row] == 0][: n // l]
    return [n if row in alike else row for row in range(n)]


def diverse(values: Sequence[int], groups: Sequence[int], l: int) -> bool:
    attribute, codes = encode("s", pa.chunked_array([pa.array(values)]))
    numbers = np.array(groups, np.int32)
    seen = Histograms.of_groups(attribute, codes, numbers, max(groups) + 1)
    return bool(sf.LDiversity(l).passes(seen).all())


@pytest.mark.parametrize(("n", "l"), [(4, 2), (6, 2), (6, 3)])
def test_every_grouping_fails_some_table_that_can_be_diverse(n: int, l: int) -> None:
    for groups in partitions(n):
        values = against(groups, l)
        assert max(Counter(values).values()) <= n // l
        assert diverse(values, [0] * n, l), "all rows in one group keep the promise"
        assert diverse(values, groups, l) == (max(groups) == 0)
