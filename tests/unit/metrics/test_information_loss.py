from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.forms.generalized.release import boxes_of
from sfumato.metrics.information_loss import group_sizes, ncp_by_attribute

TABLE = sf.Microdata.from_arrow(
    pa.table(
        {
            "age": [20, 30, 60, 40, None, 40],
            "job": ["a", "b", "a", "c", "c", "c"],
            "town": ["x", "y", "x", "x", "x", "x"],
        }
    ),
    sf.Schema(
        quasi=["age", "job", "town"],
        taxonomies={"job": sf.Taxonomy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}})},
    ),
)
PARTITION = sf.Partition.of(np.array([0, 0, 1, 1, 2, 2], np.int32))


def test_discernibility_and_average_size() -> None:
    uneven = sf.Partition.of(np.array([0, 0, 0, 1], np.int32))
    assert sf.discernibility(uneven) == 10
    assert sf.average_group_size(uneven, k=2) == 1.0
    assert group_sizes(uneven) == {1: 1, 3: 1}


def test_ncp_of_ranges_is_width_over_domain_and_possibly_missing_is_unknown() -> None:
    boxes = boxes_of(TABLE, PARTITION, "ranges")
    found = ncp_by_attribute(boxes, PARTITION.sizes)
    # age: 10/40, 20/40, 40 or missing; job by leaves a b c d: 1/3, 2/3, 0; town sets: 1, 0, 0
    assert found["age"] == pytest.approx((0.25 + 0.5 + 1) / 3)
    assert found["job"] == pytest.approx((1 / 3 + 2 / 3 + 0) / 3)
    assert found["town"] == pytest.approx(1 / 3)
    assert sf.ncp(boxes, PARTITION.sizes) == pytest.approx(np.mean(list(found.values())))


def test_ncp_of_taxonomy_labels_counts_leaves() -> None:
    boxes = boxes_of(TABLE, PARTITION, "taxonomy")
    # ab covers 2 of 4 leaves, * all, c itself
    assert ncp_by_attribute(boxes, PARTITION.sizes)["job"] == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_ncp_of_value_sets_counts_values() -> None:
    boxes = boxes_of(TABLE, PARTITION, "sets")
    assert ncp_by_attribute(boxes, PARTITION.sizes)["job"] == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)


def test_ncp_weighs_groups_by_their_rows() -> None:
    partition = sf.Partition.of(np.array([0, 0, 1, 1, 1, 1], np.int32))
    boxes = boxes_of(TABLE, partition, "ranges")
    assert ncp_by_attribute(boxes, partition.sizes)["town"] == pytest.approx(2 / 6)


def test_iloss_sums_weighted_cells() -> None:
    boxes = boxes_of(TABLE, PARTITION, "taxonomy")
    # job (|D| = 4): 2 rows * 1/4, 2 * 3/4, 2 * 0
    only_job = sf.iloss(boxes, PARTITION.sizes, {"age": 0, "town": 0})
    assert only_job == pytest.approx(2 * 1 / 4 + 2 * 3 / 4)
    assert sf.iloss(boxes, PARTITION.sizes, {"age": 0, "town": 0, "job": 3}) == 3 * only_job


def test_a_weight_for_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="jbo"):
        sf.iloss(boxes_of(TABLE, PARTITION, "ranges"), PARTITION.sizes, {"jbo": 1})


def test_perimeter_as_the_k_join_paper_prints_it() -> None:
    # Figure 2 there: boxes [1,2]x[1,4] of four rows and [3,5]x[1,4] of three: 8*4 + 10*3 = 62
    table = sf.Microdata.from_arrow(
        pa.table({"x": [1, 2, 1, 2, 3, 5, 4], "y": [1, 4, 2, 3, 1, 4, 2]}),
        sf.Schema(quasi=["x", "y"]),
    )
    partition = sf.Partition.of(np.array([0, 0, 0, 0, 1, 1, 1], np.int32))
    assert sf.perimeter(boxes_of(table, partition, "ranges"), partition.sizes) == 62


def test_perimeter_of_unordered_values_is_refused() -> None:
    with pytest.raises(ParameterError, match="town"):
        sf.perimeter(boxes_of(TABLE, PARTITION, "ranges"), PARTITION.sizes)
