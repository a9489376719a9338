"""Parquet files of another version of Arrow: the same bytes but for its name, or not verified."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.io.writing import DIFFERENCES, write_parquet
from tests.support.sealing import reseal
from tests.tampering.files import _hidden_bytes, _of_another_version, _with_metadata, stored
from tests.tampering.releases import MAKERS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return MAKERS["permuted"]().write(tmp_path / "release") / "permuted.parquet"


def refusal(path: Path) -> str:
    return "\n".join(one.detail for one in sf.verify(path.parent).checks if not one.kept)


def test_the_same_bytes_of_another_version_pass(path: Path) -> None:
    before = path.read_bytes()
    path.write_bytes(_of_another_version(before))
    assert path.read_bytes() != before
    reseal(path.parent)
    assert refusal(path) == ""


def test_whatever_rides_along_is_seen_under_any_name(path: Path) -> None:
    honest = path.read_bytes()
    for spoil in (
        lambda: _with_metadata(path.parent),
        lambda: path.write_bytes(_hidden_bytes(honest)),
        lambda: stored(write_statistics=False)(path.parent),
    ):
        path.write_bytes(honest)
        spoil()
        path.write_bytes(_of_another_version(path.read_bytes()))
        assert "verify it with that version (pip install pyarrow==11.1.1)" in refusal(path)


def test_another_program_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"parquet-cpp-arrow", b"parquet-cpp-azzow"))
    assert "not written by a program" in refusal(path)


def test_numbers_of_groups_may_stand_like_other_columns(tmp_path: Path) -> None:
    folder = MAKERS["anatomized"]().write(tmp_path / "release")
    for path in folder.glob("*.parquet"):
        assert _encodings(path, "group_id") == [DIFFERENCES]
        before = path.read_bytes()
        write_parquet(pq.read_table(path), path)
        assert path.read_bytes() != before
    reseal(folder)
    assert sf.verify(folder).ok


def test_no_other_column_may_be_kept_as_differences(tmp_path: Path) -> None:
    folder = MAKERS["anatomized"]().write(tmp_path / "release")
    write_parquet(pq.read_table(folder / "st.parquet"), folder / "st.parquet", "count")
    reseal(folder)
    assert "in another way" in refusal(folder / "st.parquet")


def test_whatever_rides_along_is_seen_beside_differences(tmp_path: Path) -> None:
    folder = MAKERS["anatomized"]().write(tmp_path / "release")
    _with_metadata(folder)
    reseal(folder)
    assert "more than its table" in refusal(folder / "qit.parquet")


def _encodings(path: Path, column: str) -> list[str]:
    """Of the pages of a column's values."""
    part = pq.ParquetFile(path).metadata.row_group(0)
    found = next(
        part.column(i) for i in range(part.num_columns) if part.column(i).path_in_schema == column
    )
    return [one for one in found.encodings if one != "RLE"]  # that of the nulls
