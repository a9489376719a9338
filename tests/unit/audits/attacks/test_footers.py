"""What a file tells beside its table is found, by whatever program it was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.audits.attacks.footers import told_beside
from sfumato.forms import files
from tests.support.attacks import planted

PEOPLE = planted(600, 0.5, seed=1)
MODEL = sf.LDiversity(3)
ROWS = pa.table(
    {
        "age": pa.array([34, None, 51, 17]),
        "name": pa.array(["a", "ä", None, ""]),
        "score": pa.array([0.0, -0.0, float("nan"), None]),
        "sets": pa.array([["a"], [], None, ["b", "c"]]),
        "sure": pa.array([True, None, False, True]),
        "born": pa.array([1, 2, None, 3], pa.date32()),
        "nobody": pa.array([None] * 4, pa.int32()),
    }
)


def written(table: pa.Table, folder: Path, **options: Any) -> Path:
    path = folder / "table.parquet"
    ours: dict[str, Any] = {"compression": "zstd", "store_schema": False}
    pq.write_table(table, path, **{**ours, **options})
    return path


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_what_is_computed_from_the_rows_is_no_news(tmp_path: Path, rows: int) -> None:
    assert not [*told_beside(written(ROWS, tmp_path, row_group_size=rows))]


def test_what_programs_keep_beside_it_is(tmp_path: Path) -> None:
    frame = ROWS.replace_schema_metadata({"pandas": '{"index_columns": ["patient"]}'})
    told = [*told_beside(written(frame, tmp_path, store_schema=True))]
    for kept in ("pandas", "ARROW:schema"):
        assert f"table.parquet keeps {kept!r} beside its columns" in told
    path = tmp_path / "table.parquet"
    data = written(ROWS, tmp_path).read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:footer] + b"a list of names" + data[footer:])
    assert [*told_beside(path)] == ["table.parquet has bytes that belong to no column"]


@pytest.mark.parametrize(("stated", "other"), [(51, 99), (17, 3)], ids=["greatest", "least"])
def test_figures_of_rows_that_were_left_out_are_found(
    tmp_path: Path, stated: int, other: int
) -> None:
    """The footer of another table: somebody of 99, or of 3, is in none of these lines."""
    path = written(ROWS.select(["age"]), tmp_path)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    old, new = (one.to_bytes(8, "little") for one in (stated, other))
    assert old in data[footer:]
    path.write_bytes(data[:footer] + data[footer:].replace(old, new))
    assert [*told_beside(path)] == ["table.parquet has figures of 'age' that its rows do not give"]


def audited(folder: Path, release: Any) -> sf.Audit:
    return sf.audit(release.write(folder / "out"), PEOPLE, attacks=["files"], seed=1)


def keeping_schemas(write: Callable[..., Any]) -> Callable[..., Any]:
    def writer(*given: Any, **options: Any) -> Any:
        return write(*given, **{**options, "store_schema": True})

    return writer


def test_a_flaw_of_the_writer_is_found_that_verify_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(), MODEL)
    assert audited(tmp_path / "sound", release).findings[0].verdict == "held"
    monkeypatch.setattr(pq, "ParquetWriter", keeping_schemas(pq.ParquetWriter))
    found = audited(tmp_path / "flawed", release)
    assert found.findings[0].verdict == "beaten"
    assert found.fails()
    assert sf.verify(tmp_path / "flawed" / "out").ok  # it writes the same again


def padded(table: pa.Table, path: Path, *_: Any) -> None:
    """One number as it stood in the owner's file."""
    pa.csv.write_csv(table, path)
    head, first, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([head, "0" + first, *lines]))


def of_a_frame(table: pa.Table, path: Path, *_: Any) -> None:
    """A data frame says in the file how it was made."""
    pq.write_table(pa.Table.from_pandas(table.to_pandas()), path, compression="zstd")


@pytest.mark.parametrize(("format", "writer"), [("csv", padded), ("parquet", of_a_frame)])
def test_writers_that_keep_more_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any, writer: Any
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setattr(files, "write_table", writer)
    release = sf.publish(PEOPLE, sf.Anatomize(), MODEL)
    place = release.write(tmp_path / "out", format=format)
    found = sf.audit(place, PEOPLE, attacks=["files"], seed=1)
    assert found.findings[0].verdict == "beaten"
    assert "sfumato verify" in found.findings[0].sentence


def test_stated_figures_of_another_table_are_found(tmp_path: Path) -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(), MODEL)
    other = sf.publish(PEOPLE, sf.Anatomize(near=False), MODEL)
    manifest = replace(release.manifest, metrics=other.manifest.metrics)
    found = audited(tmp_path, replace(release, manifest=manifest))
    assert found.findings[0].verdict == "beaten"


def test_a_release_in_memory_has_no_files() -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(), MODEL)
    found = sf.audit(release, PEOPLE, time_limit=0.0, seed=1)
    assert "files" not in found.not_run
