"""Rows of files larger than memory: types, values and files as they are read in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import csv_rows as stream_csv
from sfumato.engines import memory
from sfumato.engines.rows import needs_streaming, open_rows
from sfumato.errors import DataError, SchemaError
from sfumato.io.tables import read_table

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="disease")
TEXTS = {
    "whole": ["1", "2", "NA", "40"],
    "broken": ["1", "2", "3", "4.5"],
    "late": ["1", "2", "3", "x"],
    "padded": ["01", "2", "3", "4"],
    "long": ["1", "2", "3", "123456789012345678901234567890"],
    "day": ["2020-01-01", "2020-01-02", "", "2021-12-31"],
    "moment": ["2020-01-01", "2020-01-02", "", "2021-12-31 12:00:00"],
    "fine": ["2020-01-01 00:00:00.5", "", "", "2021-12-31 12:00:00.123456789"],
    "truth": ["true", "False", "TRUE", ""],
    "nothing": ["", "", "", ""],
    "marker": ["NA", "NULL", "NA", "NA"],
    "dozens": ["1.10", "2.20", "", "-3.30"],
    "zero": ["0.0", "-0.0", "1.0", "2.0"],
    "mixed": ["1.10", "2.2", "3", "4e5"],
    "twice": ["1.1", "2.2", "3", "1.10"],
    "digits": ["0.1", "0.10000000000000000001", "0.2", "0.3"],
    "text": [" a", "b ", "NA", "?"],
}


def patients(n: int) -> pa.Table:
    generator = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"person-{i:05}" for i in range(n)],
            "age": generator.integers(18, 90, n),
            "town": [f"town-{i}" for i in generator.integers(0, 30, n)],
            "disease": [f"disease-{i:02}" for i in generator.integers(0, 12, n)],
        }
    )


def test_the_file_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    """Among thousands nobody finds it."""
    for number in range(3):
        part = patients(9).drop_columns("town") if number == 1 else patients(9)
        pq.write_table(part, tmp_path / f"part-{number}.parquet")
    with pytest.raises(SchemaError, match=r"part-1\.parquet: no column 'town' \(quasi\)"):
        open_rows(tmp_path, SCHEMA)
    with pytest.raises(SchemaError, match=r"^no column 'town'"):
        open_rows(tmp_path / "part-1.parquet", SCHEMA)


@pytest.mark.parametrize("name", ["in.xlsx", "no-such.parquet", "part-*.parquet"])
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.xlsx").write_text("?")
    with pytest.raises(DataError, match=r"cannot read|does not exist|no file matches"):
        open_rows(tmp_path / name, SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [(), ("?", "x")])
def test_csv_types_are_those_of_reading_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    path = tmp_path / "in.csv"
    pyarrow.csv.write_csv(pa.table({name: texts * 50 for name, texts in TEXTS.items()}), path)
    monkeypatch.setattr(stream_csv, "_BLOCK_BYTES", 400)
    schema = sf.Schema(quasi=["whole"], insensitive=[name for name in TEXTS if name != "whole"])
    rows = open_rows(path, schema, missing)
    parts = list(rows.scan(list(TEXTS)))
    assert len(parts) > 5
    expected = read_table(path, columns=list(TEXTS), missing=missing)
    assert pa.concat_tables(parts).combine_chunks().equals(expected.combine_chunks())


def test_numbers_written_in_too_many_ways_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_csv, "_MOST_TEXTS", 100)
    for name, texts in (("one", "{}.25"), ("other", "{}.50")):
        with (tmp_path / f"{name}.csv").open("w") as file:
            file.write("age,town,disease\n")
            file.writelines(f"1,{texts.format(i)},flu\n" for i in range(200))
    (tmp_path / "python.csv").write_text(
        "age,town,disease\n"
        + "".join(f"1,{10.0**i / 3},flu\n1,{i}.0,flu\n" for i in range(-99, 99))
    )
    for name in ("one", "python"):
        assert open_rows(tmp_path / f"{name}.csv", SCHEMA).types["town"] == pa.float64()
    assert open_rows(tmp_path / "other.csv", SCHEMA).types["town"] == pa.float64()
    with (tmp_path / "other.csv").open("a") as file:
        file.write("1,7.5,flu\n")
    with pytest.raises(DataError, match="written in different ways"):
        open_rows(tmp_path / "other.csv", SCHEMA)


def test_values_are_cleaned_as_in_memory(tmp_path: Path) -> None:
    table = pa.table(
        {
            "weight": pa.array([1.5, float("nan"), -0.0, None], pa.float32()),
            "town": pa.array(["a", "b", None, "a"]).dictionary_encode(),
            "disease": pa.array(["x", "y", "x", None], pa.large_string()),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["weight", "town"], sensitive="disease")
    (part,) = open_rows(tmp_path / "in.parquet", schema).scan(["weight", "town", "disease"])
    assert part.to_pydict() == {
        "weight": [1.5, None, 0.0, None],
        "town": ["a", "b", None, "a"],
        "disease": ["x", "y", "x", None],
    }
    assert part.schema.types == [pa.float64(), pa.string(), pa.string()]


def test_files_of_a_pattern_are_one_table(tmp_path: Path) -> None:
    for i in range(3):
        pq.write_table(patients(100).slice(30 * i, 30), tmp_path / f"part-{i}.parquet")
    rows = open_rows(str(tmp_path / "part-*.parquet"), SCHEMA)
    assert pa.concat_tables(rows.scan(["age"])).equals(patients(100).select(["age"]).slice(0, 90))


def test_files_of_a_pattern_must_agree(tmp_path: Path) -> None:
    table = patients(100)
    pq.write_table(table, tmp_path / "part-0.parquet")
    pq.write_table(
        table.set_column(1, "age", table["age"].cast("str")), tmp_path / "part-1.parquet"
    )
    with pytest.raises(DataError, match=r"'age' has type int64 in .* and string in"):
        open_rows(str(tmp_path / "part-*.parquet"), SCHEMA)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_streaming_is_chosen_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"in.{suffix}"
    writer = {"parquet": pq.write_table, "csv": pyarrow.csv.write_csv}[suffix]
    writer(patients(10_000), path)
    assert not needs_streaming(path, SCHEMA)
    monkeypatch.setattr(memory, "available_memory", lambda: 500_000)
    assert needs_streaming(path, SCHEMA)
    assert needs_streaming(str(tmp_path / f"i*.{suffix}"), SCHEMA)


def test_only_files_are_streamed(tmp_path: Path) -> None:
    assert not needs_streaming(patients(10), SCHEMA)
    assert not needs_streaming("postgresql://host/base", SCHEMA)
    assert not needs_streaming(tmp_path / "absent.parquet", SCHEMA)


def test_available_memory_is_the_least_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.available_memory() > 0

    def offers() -> Iterator[int]:
        yield from (7, 3, 5)

    monkeypatch.setattr(memory, "_offers", offers)
    assert memory.available_memory() == 3
