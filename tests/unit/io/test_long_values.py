"""Values of any length are written, read back and streamed."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.io.csv_files import _rows
from sfumato.models.base import Model

LONG = (
    "x, " * 1_500_000 + "x"
)  # longer than what Arrow reads at a time, and Python's limit for a field
ROWS = 40
SCHEMA = sf.Schema(quasi=["age"], sensitive="ill", insensitive=["note"])


def rows(place: int) -> pa.Table:
    notes = ["y\ny" * (i % 3) for i in range(ROWS)]
    notes[place] = LONG
    return pa.table({"age": range(ROWS), "ill": ["a", "b", "c", "d"] * 10, "note": notes})


@pytest.mark.parametrize("place", [0, 17, ROWS - 1])
@pytest.mark.parametrize(
    ("algorithm", "model"),
    [(sf.Anatomize(), sf.LDiversity(2)), (sf.Mondrian(), sf.KAnonymity(5))],
    ids=["anatomize", "mondrian"],
)
def test_a_long_text_comes_back_from_csv(
    algorithm: Partitioner, model: Model, place: int, tmp_path: Path
) -> None:
    table = sf.Microdata.from_arrow(rows(place), SCHEMA)
    made = sf.publish(table, algorithm, model)
    made.write(tmp_path / "out", format="csv")
    assert sf.verify(tmp_path / "out").ok
    back = sf.load(tmp_path / "out")
    assert [one.to_pylist() for one in back.tables] == [one.to_pylist() for one in made.tables]


@pytest.mark.parametrize("place", [0, 17, ROWS - 1])
def test_a_long_text_is_read_and_streamed(place: int, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    pyarrow.csv.write_csv(rows(place), source)
    assert sf.read(source, SCHEMA).n_rows == ROWS
    sf.publish_file(
        source, SCHEMA, sf.Anatomize(), sf.LDiversity(2), tmp_path / "out", engine="stream"
    )
    streamed = sf.load(tmp_path / "out")
    assert isinstance(streamed, sf.AnatomizedTables)
    assert sorted(filter(None, streamed.qit["note"].to_pylist())) == sorted(
        filter(None, rows(place)["note"].to_pylist())
    )


def test_a_limit_that_somebody_has_raised_stays() -> None:
    before = csv.field_size_limit(2**40)
    try:
        assert next(_rows(["a,b"], ",")) == ["a", "b"]
        assert csv.field_size_limit() == 2**40
    finally:
        csv.field_size_limit(before)
