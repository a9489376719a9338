"""What an algorithm may add to its groups: boxes of its own, and rows that are left out."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.boxes import Boxes, Cells, Nodes, Ranges, Side, ValueSets
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.core.randomness import Randomness
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError
from tests.support.tables import microdata, partition

TREE = Taxonomy.from_nested({"any": {"north": ["a", "b"], "south": ["c"]}})
TABLE = microdata({"x": [1, 2, 3, 3, None], "y": ["a", "b", "c", "c", "c"]}, taxonomies={"y": TREE})
GROUPS = partition([0, 0, 1, 1, 1])


def sides() -> list[Side]:
    x, y = TABLE.quasi
    ranges = Ranges.around(y, TABLE.codes["y"], GROUPS)
    return [
        Ranges.around(x, TABLE.codes["x"], GROUPS),
        ValueSets.around(x, TABLE.codes["x"], GROUPS),
        ranges,
        Nodes.above(ranges),
        Cells.around(y, TABLE.codes["y"], GROUPS),
    ]


@pytest.mark.parametrize("side", sides(), ids=lambda side: type(side).__name__)
def test_sides_cover_their_own_rows_and_not_all_others(side: Side) -> None:
    codes = TABLE.codes[side.attribute.name]
    assert side.covers(codes, GROUPS.groups).all()
    assert not side.covers(codes, 1 - GROUPS.groups).all()


@pytest.mark.parametrize("side", sides(), ids=lambda side: type(side).__name__)
def test_sides_follow_their_groups(side: Side) -> None:
    turned = side.taken(np.array([1, 0]))
    assert turned.penalties().tolist() == side.penalties()[::-1].tolist()
    assert turned.n_values().tolist() == side.n_values()[::-1].tolist()
    assert turned.covers(TABLE.codes[side.attribute.name], 1 - GROUPS.groups).all()


def test_cells_show_a_value_or_nothing() -> None:
    found = Cells.around(TABLE.quasi[1], TABLE.codes["y"], GROUPS)
    assert found.codes.tolist() == [-1, 2]
    assert found.penalties().tolist() == [1.0, 0.0]
    assert found.n_values().tolist() == [3.0, 1.0]


def test_boxes_move_with_their_groups() -> None:
    boxes = Boxes((Cells.around(TABLE.quasi[1], TABLE.codes["y"], GROUPS),))
    for seed in range(8):
        moved = Partition.of(GROUPS.groups, boxes).ordered_by(
            Randomness(seed).words(GROUPS.n_groups)
        )
        assert moved.boxes is not None
        (side,) = moved.boxes
        assert side.covers(TABLE.codes["y"], moved.groups).all()


def test_rows_can_be_left_out() -> None:
    found = Partition.of(np.array([1, LEFT_OUT, 0, 0, LEFT_OUT], np.int32))
    assert (found.n_rows, found.n_left_out, found.n_groups) == (5, 2, 2)
    rows, kept = found.kept()
    assert rows.tolist() == [0, 2, 3]
    assert kept.groups.tolist() == [1, 0, 0]
    assert (kept.n_left_out, TABLE.take(rows).n_rows) == (0, 3)
    with pytest.raises(ParameterError, match="every row is left out"):
        Partition.of(np.array([LEFT_OUT], np.int32))
    with pytest.raises(ParameterError, match="numbered from 0"):
        Partition.of(np.array([-2], np.int32))


def test_suppression_publishes_values_and_flags() -> None:
    table = microdata({"x": [1, 1, 2, None], "s": list("abab")}, sensitive=["s"])
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(2), labels="suppression", seed=1)
    shown = {(line["x"], line["x_suppressed"]) for line in release.table.to_pylist()}
    assert shown == {(1, False), (None, True)}
    assert release.metrics["ncp"] == 0.5
