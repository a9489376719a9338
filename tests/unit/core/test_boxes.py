"""Ranges, value sets and nodes against brute force, and the penalties of SPEC section 2."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.boxes import Boxes, Nodes, Ranges, ValueSets
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.taxonomy import Taxonomy
from tests.support.oracles import ancestors, lowest_common_ancestor
from tests.support.strategies import taxonomies
from tests.support.tables import PATIENTS, microdata, partition

NUMBERS = (0, 1, 5, 10)
Grouped = tuple[list[Any], Partition, list[list[Any]]]


@st.composite
def grouped(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> Grouped:
    """A column, a partition of it, and the values of each group."""
    column = draw(st.lists(st.none() | values, min_size=1, max_size=25))
    n_groups = draw(st.integers(1, min(4, len(column))))
    more = st.integers(0, n_groups - 1)
    rest = draw(st.lists(more, min_size=len(column) - n_groups, max_size=len(column) - n_groups))
    groups = draw(st.permutations([*range(n_groups), *rest]))
    members = [[] for _ in range(n_groups)]  # type: list[list[Any]]
    for value, group in zip(column, groups, strict=True):
        members[group].append(value)
    return column, partition(groups), members


def ranges(table: Microdata, name: str, of: Partition) -> Ranges:
    return Ranges.around(table.attributes[name], table.codes[name], of)


@given(grouped(st.sampled_from(NUMBERS)))
def test_ranges_of_numbers(drawn: Grouped) -> None:
    column, of, members = drawn
    side = ranges(microdata({"x": column}), "x", of)
    known = sorted({value for value in column if value is not None})
    span = known[-1] - known[0] if known else 0
    for g, values in enumerate(members):
        numbers = [value for value in values if value is not None]
        missing = None in values
        low, high = (min(numbers), max(numbers)) if numbers else (None, None)
        assert side.missing[g] == missing
        if low is None or high is None:
            assert (side.low[g], side.high[g]) == (-1, -1)
            assert (side.penalties()[g], side.extents()[g], side.n_values()[g]) == (0, 0, 1)
            continue
        assert (known[side.low[g]], known[side.high[g]]) == (low, high)
        assert side.extents()[g] == high - low
        assert side.n_values()[g] == high - low + 1 + missing
        expected = 1.0 if missing else (high - low) / span if span else 0.0
        assert side.penalties()[g] == pytest.approx(expected)


@given(grouped(st.sampled_from("abcd")))
def test_ranges_along_a_declared_order_count_ranks(drawn: Grouped) -> None:
    column, of, members = drawn
    order = "dbca"
    side = ranges(microdata({"x": column}, orders={"x": order}), "x", of)
    for g, values in enumerate(members):
        ranks = [order.index(value) for value in values if value is not None]
        extent = max(ranks) - min(ranks) if ranks else 0
        assert side.extents()[g] == extent
        unknown = ranks and None in values
        assert side.penalties()[g] == pytest.approx(1.0 if unknown else extent / 3)


@given(grouped(st.sampled_from("abcd")))
def test_value_sets(drawn: Grouped) -> None:
    column, of, members = drawn
    table = microdata({"x": column})
    side = ValueSets.around(table.attributes["x"], table.codes["x"], of)
    for g, values in enumerate(members):
        codes = side.codes[side.starts[g] : side.starts[g + 1]]
        found = table.attributes["x"].decode(codes).to_pylist()
        assert len(found) == len(set(values))
        assert set(found) == set(values)
        assert codes.tolist() == sorted(codes)
        assert side.n_values()[g] == len(set(values))
        share = (len(set(values)) - 1) / max(1, len(set(column)) - 1)
        assert side.penalties()[g] == pytest.approx(share)


@pytest.mark.slow
@given(taxonomies(), st.data())
def test_nodes(taxonomy: Taxonomy, data: st.DataObject) -> None:
    column, of, members = data.draw(grouped(st.sampled_from(taxonomy.leaves)))
    table = microdata({"x": column}, taxonomies={"x": taxonomy})
    side = Nodes.above(ranges(table, "x", of))
    n_leaves = len(taxonomy.leaves)
    for g, values in enumerate(members):
        missing = None in values
        leaves = [taxonomy.leaves.index(value) for value in values if value is not None]
        assert side.missing[g] == missing
        if not leaves:
            assert (side.nodes[g], side.penalties()[g], side.n_values()[g]) == (-1, 0, 1)
            continue
        node = lowest_common_ancestor(taxonomy, leaves)
        below = sum(node in ancestors(taxonomy, int(leaf)) for leaf in taxonomy.leaf_nodes)
        assert side.nodes[g] == node
        assert side.n_values()[g] == below + missing
        expected = 1.0 if missing else (below - 1) / max(1, n_leaves - 1)
        assert side.penalties()[g] == pytest.approx(expected)


def test_nodes_need_a_taxonomy() -> None:
    side = ranges(microdata({"x": ["a"]}, orders={"x": ["a"]}), "x", partition([0]))
    with pytest.raises(TypeError, match="x has no taxonomy"):
        Nodes.above(side)


def test_boxes_are_their_sides_in_order() -> None:
    table = microdata(PATIENTS, sensitive=["disease"])
    of = partition([0, 0, 0, 1, 1, 1])
    sides = tuple(ranges(table, name, of) for name in ("age", "zipcode"))
    assert tuple(Boxes(sides)) == sides


def test_penalties_of_all_and_of_one() -> None:
    table = microdata({"x": [1, 4, 9]})
    assert ranges(table, "x", partition([0, 0, 0])).penalties().tolist() == [1.0]
    assert not ranges(table, "x", partition([0, 1, 2])).penalties().any()
    assert np.isclose(ranges(table, "x", partition([0, 0, 1])).penalties()[0], 3 / 8)
