"""Long cells that are repeated in every row: written, read and verified a part at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.forms import files, parts
from sfumato.forms.columns import Labels
from sfumato.forms.compact import compact
from sfumato.forms.files import FileFormat
from sfumato.forms.parts import PIECE, parts_of
from sfumato.io.writing import ROW_GROUP, write_parquet

N = 3000


def table(n: int = N) -> sf.Microdata:
    generator = np.random.default_rng(1)
    return sf.Microdata.from_arrow(
        pa.table(
            {
                "code": [f"code, no. {i:05}" for i in generator.permutation(n)],
                "age": generator.integers(0, 90, n),
                "s": ["x", "y"] * (n // 2),
            }
        ),
        sf.Schema(quasi=["code", "age"], sensitive="s"),
    )


def joined(n: int = N) -> sf.JoinRelease:
    generator = np.random.default_rng(2)
    people = pa.table(
        {
            "id": np.arange(n),
            "code": [f"code, no. {i:05}" for i in generator.permutation(n)],
            "s": ["x", "y"] * (n // 2),
        }
    )
    schema = sf.Schema(identifiers=["id"], quasi=["code"], sensitive="s")
    microdata = sf.read(people, schema, id="id")
    return sf.publish_join(
        microdata, people.drop_columns("s"), sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(200)
    )


def lines(cells: pa.Array) -> pa.Table:
    return pa.table({"c": cells})


def test_short_cells_are_divided_by_rows_alone() -> None:
    rows = np.zeros(ROW_GROUP + 5, np.int32)
    assert parts_of(lines(pa.array(["a"])), rows) == [ROW_GROUP, 5]
    assert parts_of(lines(pa.array([["a"]])), rows[: PIECE + 5]) == [PIECE, 5]
    assert parts_of(lines(pa.array([1])), rows[:0]) == [0]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([["x" * 996] * 10, ["y"]]),
        pa.array(["x" * 9996, "y"]),
        pa.array([list(range(1250)), [1]]),
        pa.array([[None] * 2500, ["y"]]),
    ],
)
def test_long_cells_are_divided_by_their_bytes(
    cells: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_BYTES", 35_000)
    groups = np.repeat(np.array([0, 1], np.int32), [7, 4])
    assert parts_of(lines(cells), groups) == [3, 3, 5]
    assert parts_of(lines(cells), groups[:6]) == [3, 3]


def test_a_line_that_is_longer_than_a_part_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_BYTES", 10)
    assert parts_of(lines(pa.array(["x" * 100])), np.zeros(3, np.int32)) == [1, 1, 1]


def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 40 kB were much."""
    monkeypatch.setattr(parts, "_BYTES", 40_000)
    monkeypatch.setattr(files, "_ITEMS", 1000)
    monkeypatch.setattr(files, "_BLOCK_BYTES", 60_000)


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["ranges", "sets", "text"])
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_release_comes_back_from_its_parts(
    labels: Labels, format: FileFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(100), labels=labels)
    whole = made.table
    short_parts(monkeypatch)
    folder = made.write(tmp_path / "out", format=format)
    if format == "parquet":
        stored = pq.ParquetFile(folder / "generalized.parquet").metadata
        sizes = [stored.row_group(part).num_rows for part in range(stored.num_row_groups)]
        assert sizes == made.parts
        assert len(sizes) > 20
    sf.verify(folder).require()
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.GeneralizedTable)
    assert loaded.groups.num_rows == made.manifest.groups
    assert loaded.table.combine_chunks().equals(whole.combine_chunks())


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_join_release_comes_back_from_its_parts(
    format: FileFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = joined()
    whole = made.joined
    short_parts(monkeypatch)
    assert len(made.parts) > 20
    folder = made.write(tmp_path / "out", format=format)
    sf.verify(folder).require()
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.JoinRelease)
    assert loaded.joined.combine_chunks().equals(whole.combine_chunks())


@pytest.mark.slow
def test_files_of_before_are_read_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row group for all rows, whatever they hold."""
    made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(100))
    folder = made.write(tmp_path / "out")
    short_parts(monkeypatch)
    assert made.parts != [N]
    sf.verify(folder).require()
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.GeneralizedTable)
    assert loaded.table.combine_chunks().equals(made.table.combine_chunks())


@pytest.mark.slow
def test_rows_divided_elsewhere_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a row group ends could be a message."""
    made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(100))
    short_parts(monkeypatch)
    folder = made.write(tmp_path / "out")
    sizes = made.parts
    sizes[0], sizes[1] = sizes[0] - 1, sizes[1] + 1
    ends = np.cumsum(sizes)
    pieces = [made.table.slice(end - size, size) for end, size in zip(ends, sizes, strict=True)]
    write_parquet(pieces, folder / "generalized.parquet")
    found = sf.verify(folder)
    assert not found.ok
    assert "divided in an uncommon way" in str(found.checks)


def test_sets_that_overflow_when_all_rows_are_put_out() -> None:
    """20,000 names of 300 letters in one group: 120 GB row by row, of which 64 MB are held."""
    names = pa.array([f"{i:05}" + "x" * 295 for i in range(20_000)])
    sets = pa.ListArray.from_arrays(pa.array([0, 20_000], pa.int32()), names)
    assert parts_of(lines(sets), np.zeros(20_000, np.int32))[:2] == [11, 11]


def test_a_run_is_kept_once_over_many_pieces() -> None:
    """Heads of pieces with few rows would otherwise be as many as the pieces."""
    whole = pa.table({"set": pa.array([["a", "b"]] * 50 + [["c"]] * 50), "v": range(100)})
    seen: list[int] = []

    def decode(heads: pa.Table) -> pa.Table:
        seen.append(heads.num_rows)
        return heads

    groups, of_row, _ = compact((whole.slice(low, 1) for low in range(100)), ["set"], decode)
    assert seen == [100, 2]
    assert groups.num_rows == 2
    assert of_row.tolist() == [0] * 50 + [1] * 50


def test_columns_that_are_kept_let_the_sets_go(tmp_path: Path) -> None:
    """Of a piece that was read the long column must not stay behind with the short ones."""
    made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(300))
    folder = made.write(tmp_path / "out")
    before = pa.total_allocated_bytes()
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.GeneralizedTable)
    held = loaded.groups.nbytes + loaded.rows.nbytes
    assert pa.total_allocated_bytes() - before < 10 * held < made.table.nbytes
