import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato.models.closeness as module
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError
from sfumato.models.closeness import Distance, TCloseness
from tests.support.oracles import earth_movers_distance, ground
from tests.support.strategies import count_matrices, taxonomies
from tests.support.tables import attribute, histograms

SALARIES = [[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1], [0, 0, 0, 0, 1, 0, 1, 1, 0]]


def test_salaries_of_li_et_al() -> None:
    """Nine salaries, 3k to 11k: {3k, 4k, 5k} is far from the table, {6k, 8k, 11k} is near."""
    groups = histograms(attribute(9, ordered=True), SALARIES)
    distances = TCloseness(0.2).distances(groups)
    assert distances[:2].round(3).tolist() == [0.375, 0.167]
    assert TCloseness(0.17).passes(groups)[:2].tolist() == [False, True]
    assert TCloseness(0.375).passes(groups)[:2].tolist() == [True, True]


def test_diseases_of_li_et_al() -> None:
    """Stomach diseases only, against a table of stomach, respiratory and vascular ones."""
    tree = {"all": {"digestive": ["v0", "v1", "v2"], "respiratory": ["v3", "v4", "v5"]}}
    groups = histograms(
        attribute(6, taxonomy=Taxonomy.from_nested(tree)),
        [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]],
    )
    # half of the mass crosses the root at cost 1
    assert TCloseness(0.2).distances(groups).tolist() == [0.5, 0.5]


def assert_distances(of: Attribute, counts: list[list[int]], distance: Distance) -> None:
    groups = histograms(of, counts)
    occurring = np.flatnonzero(groups.whole).tolist()
    whole = tuple(groups.whole[occurring].tolist())
    costs = ground(of, distance, occurring)
    lines = [tuple(line[code] for code in occurring) for line in counts]
    expected = [earth_movers_distance(line, whole, costs) for line in lines]
    assert TCloseness(0.5, distance).distances(groups) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=40)
@given(count_matrices(max_groups=2), st.booleans(), st.sampled_from(["equal", "ordered"]))
def test_flat_distances_solve_the_transportation_problem(
    counts: list[list[int]], missing: bool, distance: Distance
) -> None:
    width = len(counts[0])
    missing = missing and width > 1
    assert_distances(attribute(width - missing, missing=missing), counts, distance)


@settings(max_examples=60)
@given(count_matrices(max_groups=2), st.booleans(), st.data())
def test_tree_distances_solve_the_transportation_problem(
    counts: list[list[int]], missing: bool, data: st.DataObject
) -> None:
    width = len(counts[0])
    missing = missing and width > 1
    taxonomy = data.draw(taxonomies(n_leaves=width - missing))
    of = attribute(width - missing, taxonomy=taxonomy, missing=missing)
    assert_distances(of, counts, "hierarchical")


@given(count_matrices(), st.data())
def test_no_distance_is_more_than_one(counts: list[list[int]], data: st.DataObject) -> None:
    width = len(counts[0])
    missing = width > 1
    of = attribute(
        width - missing, taxonomy=data.draw(taxonomies(n_leaves=width - missing)), missing=missing
    )
    for distance in ("equal", "ordered", "hierarchical"):
        assert (TCloseness(0.5, distance).distances(histograms(of, counts)) <= 1 + 1e-9).all()


def test_blocks_of_groups_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(1).integers(0, 5, (50, 7)) + 1
    groups = histograms(attribute(7, ordered=True), counts.tolist())
    at_once = TCloseness(0.2).distances(groups)
    monkeypatch.setattr(module, "_BLOCK", 20)  # two groups at a time
    assert TCloseness(0.2).distances(groups).tolist() == at_once.tolist()


@pytest.mark.parametrize(
    ("of", "distance"),
    [
        (attribute(3), "equal"),
        (attribute(3, ordered=True), "ordered"),
        (attribute(3, taxonomy=Taxonomy.from_nested({"a": ["v0", "v1", "v2"]})), "hierarchical"),
    ],
)
def test_the_attribute_suggests_the_distance(of: Attribute, distance: Distance) -> None:
    groups = histograms(of, [[3, 1, 0], [0, 1, 5]])
    expected = TCloseness(0.5, distance).distances(groups)
    assert TCloseness(0.5).distances(groups).tolist() == expected.tolist()


def test_the_hierarchical_distance_needs_a_taxonomy() -> None:
    model = TCloseness(0.5, "hierarchical")
    for groups in (histograms(attribute(2), [[1, 1]]), Histograms.of_sizes(np.array([2]))):
        with pytest.raises(ParameterError, match="needs a taxonomy") as caught:
            model.passes(groups)
        assert caught.value.parameter == "distance"


@pytest.mark.parametrize(
    ("t", "distance", "parameter"),
    [
        (-0.1, None, "t"),
        (1.1, None, "t"),
        (math.nan, None, "t"),
        (math.inf, None, "t"),
        ("0.5", None, "t"),
        (0.1, "euclidean", "distance"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(t: float, distance: Any, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TCloseness(t, distance)
    assert caught.value.parameter == parameter
