"""Parquet files of another version of Arrow: what is still seen where bytes cannot be compared."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from tests.tampering.files import _hidden_bytes, _longer_dictionary, _with_metadata, stored
from tests.tampering.releases import MAKERS


def of_another_version(path: Path) -> None:
    """The same file with the name of another version in it."""
    ours = pa.cpp_version.encode()
    other = re.sub(rb"\d", b"1", ours)
    data = path.read_bytes()
    assert b"version " + ours in data
    path.write_bytes(data.replace(b"version " + ours, b"version " + other))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return MAKERS["permuted"]().write(tmp_path / "release")


def test_an_honest_release_passes_with_a_word(folder: Path) -> None:
    of_another_version(folder / "permuted.parquet")
    found = sf.verify(folder).require()
    said = {check.statement: check.detail for check in found.checks}
    assert "structure compared" in said["files hold their tables only"]


def test_what_rides_along_is_seen_still(folder: Path) -> None:
    path = folder / "permuted.parquet"
    honest = path.read_bytes()
    for spoil, words in (
        (lambda: _with_metadata(folder), "metadata of its own"),
        (lambda: path.write_bytes(_hidden_bytes(honest)), "bytes that belong to none"),
        (lambda: pq.write_table(_longer_dictionary(pq.read_table(path)), path, compression="zstd",
                                store_schema=False), "values that no row has"),
        (lambda: stored(row_group_size=13)(folder), "uncommon"),
    ):  # fmt: skip
        path.write_bytes(honest)
        spoil()
        of_another_version(path)
        failed = [check.detail for check in sf.verify(folder).checks if not check.kept]
        assert any(words in detail for detail in failed), (words, failed)


def test_another_program_is_refused(folder: Path) -> None:
    path = folder / "permuted.parquet"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"parquet-cpp-arrow", b"parquet-cpp-azzow"))
    failed = [check.detail for check in sf.verify(folder).checks if not check.kept]
    assert any("not written by a program" in detail for detail in failed)
