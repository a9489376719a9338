"""Values of columns that are too many to be kept, and sketches of how many there are."""

from __future__ import annotations

import pickle
import re
import warnings
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import room
from sfumato.engines.sketch import KEPT, Sketch
from sfumato.engines.tally import Tallies
from sfumato.errors import OutOfMemory, SfumatoWarning
from tests.support.seeds import long_seed


def tallied(parts: list[Any], most: int) -> Tallies:
    found = [Tallies.of_part(pa.table({"x": part, "y": pa.nulls(len(part))}), ["x", "y"], most)
             for part in parts]  # fmt: skip
    return reduce(Tallies.merged, found)


def test_values_that_are_too_many_are_let_go_of_and_about_how_many_is_known() -> None:
    chance = np.random.default_rng(4)
    parts = [pa.array(chance.integers(0, 90_000, 30_000)).cast(pa.string()) for _ in range(9)]
    found = tallied(parts, 500_000)
    assert found.nbytes < 500_000
    about = found.columns["x"].about
    assert about is not None
    exact = tallied(parts, 10**9).columns["x"]
    assert exact.about is None
    assert about[0] == pytest.approx(len(exact.result()[0]), rel=0.06)
    assert about[1] == pytest.approx(exact.nbytes, rel=0.1)
    # of a column with few values, and of what is told of them, nothing is lost
    assert found.columns["y"].result()[1].tolist() == [9 * 30_000]
    again = pickle.loads(pickle.dumps(found)).columns["x"].about
    assert again == about
    assert len(pickle.dumps(found)) < 40_000


@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 50_000])
def test_a_sketch_sees_a_value_once(n: int) -> None:
    numbers = np.random.default_rng(n).permutation(n)
    one, other = Sketch(), Sketch()
    for low in range(0, n, 1000):
        one.add(pa.array(numbers[low : low + 1500]))
    other.add(pa.array(numbers[n // 2 :]))
    one.merge(other)
    assert one.estimate() == pytest.approx(n, rel=0 if n < KEPT else 0.06)


def test_a_column_of_too_many_values_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With memory that is enough, and not much more than that."""
    warnings.simplefilter("ignore", SfumatoWarning)
    monkeypatch.setattr(room, "_LEAST_VALUES", 100_000)
    table = pa.table(
        {
            "age": [i % 30 for i in range(9000)],
            "pay": range(9000),
            "ill": ["flu", "cold", "gout"] * 3000,
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["age", "pay"], sensitive="ill")
    how: dict[str, Any] = {"engine": "stream", "seed": long_seed(3)}
    given = tmp_path / "in.parquet", schema, sf.Mondrian(), sf.KAnonymity(3), tmp_path / "out"
    with pytest.raises(OutOfMemory, match=r"values of columns: 'pay' has about") as refused:
        sf.publish_file(*given, memory_limit=150_000, **how)
    named = re.search(r"about ([\d,]+); allow ([\d,]+) bytes", str(refused.value))
    assert named is not None
    found, least = (int(one.replace(",", "")) for one in named.groups())
    assert found == pytest.approx(9000, rel=0.06)
    sf.publish_file(*given, memory_limit=max(least, 300_000), **how)
    assert least < 500_000
