from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import histograms as module
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from tests.support.tables import attribute, histograms

SMALL = attribute(5)
HUGE = attribute(400_000)  # so wide that counting densely would not pay


@st.composite
def coded_groups(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Codes below 5 and groups of which none is empty."""
    n_groups = draw(st.integers(1, 5))
    groups = draw(
        st.permutations([*range(n_groups), *draw(st.lists(st.integers(0, n_groups - 1)))])
    )
    codes = draw(st.lists(st.integers(0, 4), min_size=len(groups), max_size=len(groups)))
    return codes, groups


def counted(of: Attribute, codes: list[int], groups: list[int]) -> Histograms:
    return Histograms.of_groups(
        of, np.array(codes, np.int32), np.array(groups, np.int32), max(groups) + 1
    )


@pytest.mark.slow
@given(coded_groups(), st.sampled_from([(SMALL, 1), (HUGE, 90_001)]))
def test_counts_agree_with_a_counter(
    drawn: tuple[list[int], list[int]], domain: tuple[Attribute, int]
) -> None:
    of, stretch = domain
    codes, groups = [code * stretch for code in drawn[0]], drawn[1]
    found = counted(of, codes, groups)
    expected = [Counter() for _ in range(max(groups) + 1)]  # type: list[Counter[int]]
    for code, group in zip(codes, groups, strict=True):
        expected[group][code] += 1
    entries = list(zip(found.groups, found.values, found.counts, strict=True))
    assert entries == [
        (g, v, n) for g, line in enumerate(expected) for v, n in sorted(line.items())
    ]
    assert found.n_groups == len(expected)
    assert found.sizes.tolist() == [line.total() for line in expected]
    assert found.distinct.tolist() == [len(line) for line in expected]
    assert found.largest.tolist() == [max(line.values()) for line in expected]
    assert found.total(found.shares).tolist() == [
        float(np.float64(s)) for s in found.total(found.counts / found.sizes[found.groups])
    ]
    whole = Counter(codes)
    assert {v: n for v, n in enumerate(found.whole.tolist()) if n} == dict(whole)
    assert len(found.whole) == of.size


@given(coded_groups())
def test_merged_is_the_whole_table_as_one_group(drawn: tuple[list[int], list[int]]) -> None:
    merged = counted(SMALL, *drawn).merged()
    alone = counted(SMALL, drawn[0], [0] * len(drawn[0]))
    for part in ("starts", "values", "counts", "whole"):
        assert getattr(merged, part).tolist() == getattr(alone, part).tolist()


def test_a_matrix_keeps_the_given_whole() -> None:
    given_whole = np.array([9, 9], np.int64)
    found = Histograms.of_matrix(attribute(2), np.array([[1, 0], [2, 3]]), given_whole)
    assert found.whole is given_whole
    assert found.shares.tolist() == [1.0, 0.4, 0.6]


def test_sizes_alone_are_one_value() -> None:
    found = Histograms.of_sizes(np.array([3, 1], np.int64))
    assert (found.sizes.tolist(), found.distinct.tolist()) == ([3, 1], [1, 1])
    assert found.whole.tolist() == [4]
    assert found.merged().sizes.tolist() == [4]


def test_builders_agree() -> None:
    found = counted(SMALL, [0, 0, 4, 1], [0, 1, 1, 1])
    matrix = histograms(SMALL, [[1, 0, 0, 0, 0], [1, 1, 0, 0, 1]])
    assert found.values.tolist() == matrix.values.tolist()
    assert found.whole.tolist() == matrix.whole.tolist()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=60))
def test_many_rows_are_counted_some_at_a_time(rows: list[tuple[int, int]]) -> None:
    """In whichever blocks, and also where groups are mixed and blocks would divide them."""
    four = attribute(4)
    for ordered in (sorted(rows), rows):
        _, numbers = np.unique([group for group, _ in ordered], return_inverse=True)
        codes = np.array([code for _, code in ordered], np.int8)
        groups, n_groups = numbers.astype(np.int32), int(numbers.max()) + 1
        whole = Histograms.of_groups(four, codes, groups, n_groups)
        for block in (1, 7):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "BLOCK", block)
                found = Histograms.of_groups(four, codes, groups, n_groups)
            for name in ("starts", "values", "counts", "whole"):
                assert np.array_equal(getattr(found, name), getattr(whole, name)), name
