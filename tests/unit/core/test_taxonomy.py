from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import SchemaError
from tests.support.oracles import ancestors, height, lowest_common_ancestor
from tests.support.strategies import nested_trees, taxonomies

JOBS: dict[str, Any] = {
    "any": {"office": ["clerk", "lawyer"], "hands": {"wood": ["carpenter"], "smith": []}}
}


def test_nodes_stand_in_depth_first_order() -> None:
    jobs = Taxonomy.from_nested(JOBS)
    assert jobs.labels == (
        "any", "office", "clerk", "lawyer", "hands", "wood", "carpenter", "smith",
    )  # fmt: skip
    assert jobs.leaves == ("clerk", "lawyer", "carpenter", "smith")
    assert jobs.parents.tolist() == [-1, 0, 1, 1, 0, 4, 5, 4]
    assert jobs.first_leaf.tolist() == [0, 0, 0, 1, 2, 2, 2, 3]
    assert jobs.last_leaf.tolist() == [3, 1, 0, 1, 3, 2, 2, 3]
    assert jobs.heights.tolist() == [3, 1, 0, 0, 2, 1, 0, 0]


@pytest.mark.parametrize(
    "tree",
    [
        JOBS,
        {"alone": []},
        {"any": [1, 2, 3]},
        {"any": {1: [], "more": [2, 3]}},
        {"any": {"deep": {"deeper": ["leaf"]}}},
    ],
)
def test_the_nested_form_comes_back(tree: dict[str, Any]) -> None:
    again = Taxonomy.from_nested(tree).to_nested()
    assert again == tree
    assert Taxonomy.from_nested(again).leaves == Taxonomy.from_nested(tree).leaves


@given(nested_trees())
def test_any_nested_form_comes_back(tree: dict[str, Any]) -> None:
    assert Taxonomy.from_nested(tree).to_nested() == tree


@given(taxonomies(), st.data())
def test_covering_is_the_lowest_common_ancestor(taxonomy: Taxonomy, data: st.DataObject) -> None:
    leaf = st.integers(0, len(taxonomy.leaves) - 1)
    sets = data.draw(st.lists(st.lists(leaf, min_size=1, max_size=5), min_size=1, max_size=6))
    first = np.array([min(leaves) for leaves in sets], np.int32)
    last = np.array([max(leaves) for leaves in sets], np.int32)
    expected = [lowest_common_ancestor(taxonomy, leaves) for leaves in sets]
    assert taxonomy.covering(first, last).tolist() == expected


@given(taxonomies())
def test_heights_and_leaf_counts(taxonomy: Taxonomy) -> None:
    nodes = range(len(taxonomy.labels))
    assert taxonomy.heights.tolist() == [height(taxonomy, node) for node in nodes]
    under = [
        sum(node in ancestors(taxonomy, int(leaf)) for leaf in taxonomy.leaf_nodes)
        for node in nodes
    ]
    assert taxonomy.n_leaves(np.arange(len(nodes), dtype=np.int32)).tolist() == under


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        ({}, "one root, not 0"),
        ({"a": ["x"], "b": ["y"]}, "one root, not 2: a, b"),
        ({"any": {"a": ["x"], "b": ["x"]}}, "'x' appears twice"),
        ({"any": {"any": ["x"]}}, "'any' appears twice"),
        ({"any": [1, "1"]}, "'1' appears twice"),
        ({"any": {"a": "xyz"}}, "below 'a'"),
        ({"any": {"a": 7}}, "below 'a'"),
    ],
)
def test_mistakes_are_named(tree: Any, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        Taxonomy.from_nested(tree)
