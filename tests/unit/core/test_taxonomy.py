import datetime as dt
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError, SchemaError
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
        {"any": {"1": [], "more": [2, 3]}},
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


@pytest.mark.parametrize(
    ("key", "listed", "leaves"),
    [
        ("1", [2, 3], (1, 2, 3)),
        ("1", [2.5], (1.0, 2.5)),
        ("2020-01-02", [dt.date(2021, 1, 1)], (dt.date(2020, 1, 2), dt.date(2021, 1, 1))),
        ("none", [2, 3], ("none", 2, 3)),
        ("1", ["2"], ("1", "2")),
        ("1", [2, "x"], ("1", 2, "x")),
    ],
)
def test_a_key_is_a_value_of_the_type_in_the_lists(
    key: str, listed: list[Any], leaves: tuple[Any, ...]
) -> None:
    found = Taxonomy.from_nested({"any": {key: [], "more": listed}}).leaves
    assert repr(found) == repr(leaves)


def test_paths_group_values_below_the_same_label() -> None:
    paths = [
        ("a", "vowel", "any"),
        ("b", "consonant", "any"),
        ("e", "vowel", "any"),
        (7, 7, "any"),
    ]
    assert Taxonomy.from_paths(paths).to_nested() == {
        "any": {"vowel": ["a", "e"], "consonant": ["b"], "7": []}
    }
    with pytest.raises(SchemaError, match="'a' is a value and also a label above"):
        Taxonomy.from_paths([("a", "any"), ("b", "a", "any")])


@given(taxonomies())
def test_any_taxonomy_comes_back_from_its_paths(taxonomy: Taxonomy) -> None:
    paths = [
        [taxonomy.labels[node] for node in ancestors(taxonomy, int(leaf))]
        for leaf in taxonomy.leaf_nodes
    ]
    assert Taxonomy.from_paths(paths).to_nested() == taxonomy.to_nested()


def test_ragged_values_are_told() -> None:
    jobs = Taxonomy.from_nested(JOBS)
    assert jobs.height == 3
    assert jobs.depths.tolist() == [2, 2, 3, 2]
    assert jobs.is_ragged
    assert jobs.ragged_leaves == ("clerk", "lawyer", "smith")
    assert not Taxonomy.from_nested({"any": {"a": ["x"], "b": ["y"]}}).is_ragged


def test_shorter_branches_wait_for_the_longest() -> None:
    jobs = Taxonomy.from_nested(JOBS)
    shown = [[jobs.labels[node] for node in jobs.at_level(level)] for level in range(4)]
    assert shown == [
        ["clerk", "lawyer", "carpenter", "smith"],
        ["office", "office", "wood", "smith"],
        ["office", "office", "hands", "hands"],
        ["any", "any", "any", "any"],
    ]
    for level in (-1, 4):
        with pytest.raises(ParameterError, match="levels 0 to 3"):
            jobs.at_level(level)


@given(taxonomies())
def test_levels_are_tilings_that_become_coarser(taxonomy: Taxonomy) -> None:
    levels = [taxonomy.at_level(level) for level in range(taxonomy.height + 1)]
    assert levels[0].tolist() == taxonomy.leaf_nodes.tolist()
    assert set(levels[-1].tolist()) == {0}
    for nodes in levels:
        # a node stands for all of its leaves or for none
        assert int(taxonomy.n_leaves(np.unique(nodes)).sum()) == len(taxonomy.leaves)
        for leaf, node in enumerate(nodes):
            assert node in ancestors(taxonomy, int(taxonomy.leaf_nodes[leaf]))
    for below, above in pairwise(levels):
        # each node of a level lies in one node of the next
        steps = set(zip(below.tolist(), above.tolist(), strict=True))
        assert len(steps) == len(set(below.tolist()))


def test_leaves_in_another_type() -> None:
    ages = Taxonomy.from_nested({"*": {"young": ["017", "18"], "99": []}})
    typed = ages.with_leaves([17, 18, 99])
    assert typed.leaves == (17, 18, 99)
    assert typed.labels == ("*", "young", "17", "18", "99")
    assert typed.with_leaves([17, 18, 99]) is typed
    with pytest.raises(SchemaError, match="'young' appears twice"):
        ages.with_leaves(["young", "18", "99"])


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
