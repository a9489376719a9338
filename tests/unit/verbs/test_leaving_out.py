"""What methods of points see of a table in parts, and what becomes of the rows they leave out."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.algorithms.points_plan import count_combinations, plan_points
from sfumato.algorithms.recoding.frequency_sets import FrequencySet
from sfumato.core.microdata import Microdata
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.core.schema import Schema
from sfumato.engines.coded import ROW, coded, microdata, row_numbers
from sfumato.engines.domains import Counted
from sfumato.engines.room import Room
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.models.anonymity import KAnonymity
from sfumato.models.bound import Bound
from sfumato.models.diversity import DistinctLDiversity
from sfumato.models.requirements import requirements
from sfumato.verbs.leaving_out import remaining

N = 200
SCHEMA = Schema(quasi=["a", "b"], sensitive=["s", "t"])
ROOM = Room.of(10**7, 2)


def people() -> pa.Table:
    chance = np.random.default_rng(8)
    return pa.table(
        {name: chance.integers(0, most, N) for name, most in zip("abst", (6, 5, 3, 4), strict=True)}
    )


def in_parts(scratch: Scratch, size: int) -> tuple[StreamEngine, Bound, Microdata]:
    """A table in coded parts, what is known of it without its rows, and the table."""
    rows = people()
    table = Microdata.from_arrow(rows, SCHEMA)
    numbered = rows.append_column(ROW, pa.array(np.arange(N)))
    parts = [
        coded(numbered.slice(low, size), table.quasi, table.sensitive, [])
        for low in range(0, N, size)
    ]
    model = KAnonymity(2) & DistinctLDiversity(2, on="t")
    bound = Bound.of(requirements(model, SCHEMA), table)
    engine = StreamEngine(lambda: iter(parts), scratch, lambda: None)
    return engine, bound, table


def without_rows(bound: Bound) -> Bound:
    return Bound(bound.table.take(np.zeros(0, np.int64)), bound.needs, bound.everyone)


@pytest.mark.parametrize("size", [1, 7, N])
def test_methods_of_points_see_what_they_see_in_memory(size: int, tmp_path: Path) -> None:
    """In the order of memory, too: a method may take what it meets first."""
    with Scratch(tmp_path) as scratch:
        engine, bound, _ = in_parts(scratch, size)
        found, _ = FrequencySet.of(count_combinations(engine, without_rows(bound), ROOM, each=2))
    expected, _ = FrequencySet.of(bound)
    assert np.array_equal(found.codes, expected.codes)
    assert np.array_equal(found.weights, expected.weights)
    assert list(found.seen) == ["t"]
    assert np.array_equal(found.seen["t"].values, expected.seen["t"].values)
    assert np.array_equal(found.seen["t"].counts, expected.seen["t"].counts)


def left_out(bound: Bound) -> Partition:
    """One group for every value of b, and the first of them left out."""
    return Partition.of(bound.table.codes["b"].astype(np.int32) - 1)


@pytest.mark.parametrize("size", [1, 7, N])
def test_rows_close_up_where_others_are_left_out(size: int, tmp_path: Path) -> None:
    with Scratch(tmp_path) as scratch:
        engine, bound, table = in_parts(scratch, size)
        plan = plan_points(left_out, engine, without_rows(bound), ROOM, each=2)
        source: Any = SimpleNamespace(schema=SCHEMA)
        counts = {name: np.bincount(codes) for name, codes in table.codes.items()}
        counted = Counted(source, N, table.attributes, counts)
        rest, kept = remaining(engine, counted, plan)
        parts = pa.concat_tables(rest.parts())
    expected = table.take(np.flatnonzero(table.codes["b"] - 1 != LEFT_OUT))
    found = microdata(parts, SCHEMA, table.attributes)
    assert 0 < expected.n_rows < N
    assert row_numbers(parts).tolist() == list(range(expected.n_rows)) == list(range(kept.n_rows))
    for name, codes in expected.codes.items():
        assert np.array_equal(found.codes[name], codes)
        assert np.array_equal(
            kept.counts[name], np.bincount(codes, minlength=table.attributes[name].size)
        )
