"""Columns that CSV holds as texts come back as what they were; Parquet is left as it is."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from tests.support.sealing import reseal

MIDNIGHT = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
COLUMNS: dict[str, pa.Array] = {
    "sets": pa.array([["x, y", "z", None], []] * 6),
    "numbers": pa.array([[1, 2], [3]] * 6),
    "times": pa.array([MIDNIGHT, None] * 6, pa.timestamp("us", "UTC")),
    "prices": pa.array([Decimal("1.50"), Decimal("-2.25")] * 6, pa.decimal128(10, 2)),
}


def published(name: str, algorithm: Partitioner) -> Any:
    table = pa.table({"age": range(12), "ill": list("abcd") * 3, name: COLUMNS[name]})
    schema = sf.Schema(quasi=["age"], sensitive="ill", insensitive=[name])
    return sf.publish(sf.read(table, schema), algorithm, sf.LDiversity(2))


def rows(release: Any) -> pa.Table:
    return release.qit if isinstance(release, sf.AnatomizedTables) else release.table


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("algorithm", [sf.Mondrian(), sf.Anatomize()])
def test_columns_come_back(tmp_path: Path, name: str, algorithm: Partitioner) -> None:
    release = published(name, algorithm)
    text = sf.load(release.write(tmp_path / "csv", format="csv"))
    assert rows(text).to_pylist() == rows(release).to_pylist()
    back = sf.load(text.write(tmp_path / "back"))
    assert rows(back).to_pylist() == rows(release).to_pylist()
    sf.verify(tmp_path / "back").require()


def test_a_text_in_parquet_stays_one_so_that_it_is_found(tmp_path: Path) -> None:
    release = published("numbers", sf.Mondrian())
    path = release.write(tmp_path / "out") / "generalized.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("numbers")
    pq.write_table(table.set_column(place, "numbers", pa.array(["{1, 2}"] * 12)), path)
    assert rows(sf.load(reseal(tmp_path / "out")))["numbers"].to_pylist() == ["{1, 2}"] * 12


def test_a_cell_that_does_not_fit_stays_text(tmp_path: Path) -> None:
    release = published("prices", sf.Mondrian())
    path = release.write(tmp_path / "out", format="csv") / "generalized.csv"
    path.write_text(path.read_text().replace("1.50", "dear"))
    assert "dear" in rows(sf.load(reseal(tmp_path / "out")))["prices"].to_pylist()
