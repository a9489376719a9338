"""Parquet files of another version of Arrow: the same bytes but for its name, or not verified."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
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
