"""Several files that a pattern names are one table, read whole or in parts."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.audits.inspecting import inspect_table
from sfumato.errors import SfumatoError
from tests.support.seeds import long_seed

ROWS = 300
SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="ill", insensitive=["note"])
WRITERS: dict[str, Any] = {
    "parquet": pq.write_table,
    "csv": pyarrow.csv.write_csv,
    "arrow": pyarrow.feather.write_feather,
}


def people() -> pa.Table:
    """The ages of the first hundred rows are whole numbers, and those of the last are missing."""
    ages = [float(i % 50) + 0.5 * (i >= 100) if i < 200 else None for i in range(ROWS)]
    return pa.table(
        {
            "name": [f"n{i}" for i in range(ROWS)],
            "age": ages,
            "town": [" A" if i % 3 else "B" for i in range(ROWS)],
            "ill": [f"i{i % 7}" for i in range(ROWS)],
            "note": [i if i % 11 else None for i in range(ROWS)],
        }
    )


def made(source: str | Path, out: Path, **more: Any) -> dict[str, bytes] | str:
    """The files of a release, or why there is none."""
    how: dict[str, Any] = {"seed": long_seed(3), **more}
    try:
        sf.publish_file(source, SCHEMA, sf.Anatomize(), sf.LDiversity(3), out, **how)
    except SfumatoError as error:
        return f"{type(error).__name__}: {error}"
    return {file.name: file.read_bytes() for file in out.iterdir()}


def seen(source: Path) -> dict[str, Any]:
    """What inspect shows, as values."""
    found = inspect_table(source)
    assert found.risk is not None
    return {**asdict(replace(found, risk=None)), "risk": found.risk.to_dict()}


@pytest.mark.parametrize("suffix", WRITERS)
def test_they_are_the_table_that_one_file_is(suffix: str, tmp_path: Path) -> None:
    for number in range(3):
        WRITERS[suffix](people().slice(100 * number, 100), tmp_path / f"p-{number}.{suffix}")
    one, pattern = tmp_path / f"all.{suffix}", tmp_path / f"p-*.{suffix}"
    WRITERS[suffix](people(), one)
    memory = made(one, tmp_path / "one", engine="memory")
    assert isinstance(memory, dict)
    assert memory == made(pattern, tmp_path / "memory", engine="memory")
    assert memory == made(str(pattern), tmp_path / "auto")
    assert memory == made(pattern, tmp_path / "stream", engine="stream")
    assert seen(pattern) == seen(one)
    some = sf.read(pattern, SCHEMA, query="SELECT * FROM t WHERE age > 20")
    assert some.n_rows == sf.read(one, SCHEMA, query="SELECT * FROM t WHERE age > 20").n_rows
    assert sf.read(pattern, sf.Schema(quasi=["age"], identifiers=["name"]), id="name").ids


def test_those_that_differ_are_refused_in_memory_as_in_parts(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "p-0.parquet")
    texts = people().set_column(1, "age", people()["age"].cast(pa.string()))
    for other in (texts, people().drop_columns("age")):
        pq.write_table(other, tmp_path / "p-1.parquet")
        for engine in ("memory", "stream"):
            assert "'age'" in str(made(tmp_path / "p-*.parquet", tmp_path / "out", engine=engine))
    # a column that nobody asks for may be in some files only
    pq.write_table(people().drop_columns("name"), tmp_path / "p-1.parquet")
    assert isinstance(made(tmp_path / "p-*.parquet", tmp_path / "out"), dict)


def test_a_pattern_that_names_nothing_says_so(tmp_path: Path) -> None:
    for engine in ("memory", "stream", "auto"):
        said = made(tmp_path / "q-*.csv", tmp_path / "out", engine=engine)
        assert "no file matches" in str(said)


def test_a_file_may_be_called_like_a_pattern(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "p[12].parquet")
    pq.write_table(people().slice(0, 50), tmp_path / "p1.parquet")
    assert sf.read(tmp_path / "p[12].parquet", SCHEMA).n_rows == ROWS
