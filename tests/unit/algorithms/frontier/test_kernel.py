"""The loop of the frontier against its own words, and what is proved of it."""

from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.algorithms.frontier.kernel import new_queues, take_groups


def divided(codes: list[int], l: int, size: int) -> list[list[int]]:
    """A leaf as frontier/__init__.py describes it: groups of places."""
    rest = list(range(len(codes)))
    groups = []
    while len(rest) >= 2 * size:
        keep = (len(rest) - size) // l
        taken: list[int] = []
        for value in set(codes):
            places = [place for place in rest if codes[place] == value]
            taken += places[: max(0, len(places) - keep)]
        for place in rest:
            held = [codes[other] for other in taken]
            if len(taken) >= size:
                break
            if place not in taken and held.count(codes[place]) < size // l:
                taken.append(place)
        groups.append(sorted(taken))
        rest = [place for place in rest if place not in taken]
    return [*groups, rest]


def taken(leaves: list[list[int]], l: int, size: int) -> tuple[list[list[list[int]]], list[bool]]:
    """The groups of every leaf, as the kernel takes them; and which are the first of a leaf."""
    codes = np.array([code for leaf in leaves for code in leaf], np.int32)
    ends = np.append(0, np.cumsum([len(leaf) for leaf in leaves]))
    queues = new_queues(max(map(len, leaves)), int(codes.max()) + 1)
    groups, first = take_groups(codes, ends, l, size, queues)
    found = []
    for low, high in pairwise(ends):
        numbers = groups[low:high]
        found.append([np.flatnonzero(numbers == one).tolist() for one in np.unique(numbers)])
    return found, first.tolist()


@st.composite
def settings(draw: st.DrawFn) -> tuple[list[list[int]], int, int]:
    """Leaves in which no value has more than 1/l of the rows, some with nothing to spare."""
    l = draw(st.integers(2, 5))
    size = l * draw(st.integers(1, 4))
    leaves = []
    for _ in range(draw(st.integers(1, 3))):
        most = draw(st.integers(1, 30))
        counts = [most] * draw(st.integers(0, l)) + draw(st.lists(st.integers(1, most), max_size=9))
        n_rows = sum(counts)
        if n_rows < l * most:
            counts += [most] * (-(-(l * most - n_rows) // most))
        codes = [value for value, count in enumerate(counts) for _ in range(count)]
        leaves.append(draw(st.permutations(codes)))
    assume(all(len(leaf) >= size for leaf in leaves))
    return leaves, l, size


@given(settings())
def test_groups_are_those_of_the_words(drawn: tuple[list[list[int]], int, int]) -> None:
    leaves, l, size = drawn
    found, first = taken(leaves, l, size)
    assert found == [divided(leaf, l, size) for leaf in leaves]
    assert first == [at == 0 for groups in found for at in range(len(groups))]


@given(settings())
def test_no_value_is_frequent_in_a_group(drawn: tuple[list[list[int]], int, int]) -> None:
    leaves, l, size = drawn
    found, _ = taken(leaves, l, size)
    for leaf, groups in zip(leaves, found, strict=True):
        for group in groups:
            _, counts = np.unique([leaf[place] for place in group], return_counts=True)
            assert counts.max() * l <= len(group)
            assert size <= len(group) < 2 * size
        if size == l:
            assert len(groups) == len(leaf) // l
