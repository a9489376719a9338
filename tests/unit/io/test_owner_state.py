"""The owner's state folder: for its owner only, whole files, one key."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sfumato.io.owner_state import Made, OwnerState, owner_state

ONE, OTHER = "aa", "bb"


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}


def test_what_is_remembered_is_found_again(tmp_path: Path) -> None:
    state = OwnerState(tmp_path / "a" / "state")
    assert state.made_of(ONE) == []
    assert state.fingerprints_at(tmp_path) == []
    first, second = Made.now(tmp_path / "out", "anatomized"), Made.now(tmp_path / "db", "statdb")
    state.remember(ONE, first)
    state.remember(ONE, second)
    state.remember(OTHER, first)
    state.remember(ONE, first)  # replaced, not doubled
    assert state.made_of(ONE) == [second, first]
    assert state.fingerprints_at(tmp_path / "out") == [ONE, OTHER]
    assert state.fingerprints_at(tmp_path / "else") == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of Unix")
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    state = OwnerState(tmp_path / "state")
    state.key()
    state.remember(ONE, Made.now(tmp_path, "anatomized"))
    assert modes(tmp_path / "state") == {0o700, 0o600}


def test_the_key_is_made_once_also_by_many(tmp_path: Path) -> None:
    state = OwnerState(tmp_path / "state")
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: state.key(), range(32)))
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert [path.name for path in state.folder.iterdir()] == ["key"]
    assert OwnerState(tmp_path / "other").key() != state.key()


def test_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    state = OwnerState(tmp_path / "state")
    assert state.key() == state.key()
    assert [path.name for path in state.folder.iterdir()] == ["key"]


def test_a_damaged_key_and_strange_files(tmp_path: Path) -> None:
    state = OwnerState(tmp_path / "state")
    state.remember(ONE, Made.now(tmp_path, "anatomized"))
    (state.folder / "releases" / ONE / "x.json").write_text("{")
    (state.folder / "releases" / ONE / "y.json").write_text('{"other": 1}')
    assert len(state.made_of(ONE)) == 1
    (state.folder / "key").write_bytes(b"short")
    with pytest.raises(OSError, match="remove it"):
        state.key()


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    state = OwnerState(tmp_path / "state")
    with pytest.raises(OSError, match=r"."):
        state.key()
    with pytest.raises(OSError, match=r"."):
        state.remember(ONE, Made.now(tmp_path, "anatomized"))


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_STATE", "")
    assert owner_state() is None
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "mine"))
    assert owner_state() == OwnerState(tmp_path / "mine")
    monkeypatch.delenv("SFUMATO_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = owner_state()
    assert found is not None
    assert found.folder.name == "sfumato"
    assert found.folder.is_relative_to(tmp_path)
    assert not (tmp_path / "home").exists()
