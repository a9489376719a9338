"""The folder of a database: whole or not at all, the old state or the new one, nobody else's."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import OutputExists, StoreError
from sfumato.statdb.store import (
    HEADER,
    Contents,
    changing,
    create_store,
    open_store,
    replace_state,
)
from tests.support.waiting import PATIENCE


def contents(number: int = 1) -> Contents:
    return Contents(
        {"number": number},
        {"a": np.full(5, number), "b": np.full((2, 2), number / 2)},
        {"x": pa.array(["one", None]), "y": pa.array([number])},
    )


def number_of(path: Path) -> tuple[int, int]:
    """The one number that all parts of the store must agree on, and its generation."""
    held, generation, _ = open_store(path)
    numbers = {
        held.facts["number"],
        *held.arrays["a"].tolist(),
        *(2 * held.arrays["b"]).ravel().tolist(),
        *held.domains["y"].to_pylist(),
    }
    assert len(numbers) == 1
    return int(numbers.pop()), generation


@pytest.fixture
def store(tmp_path: Path) -> Path:
    create_store(tmp_path / "some.statdb", contents())
    return tmp_path / "some.statdb"


def test_what_goes_in_comes_out(store: Path) -> None:
    assert number_of(store) == (1, 1)
    held = open_store(store).contents
    assert held.domains["x"].to_pylist() == ["one", None]


def test_only_the_owner_can_open_anything(store: Path) -> None:
    for path in (store, *store.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_store_that_others_can_open_is_refused(store: Path) -> None:
    store.chmod(0o750)
    with pytest.raises(StoreError, match="chmod 700"):
        open_store(store)


def test_another_folder_is_no_store_whoever_can_open_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(StoreError, match="is not a statistical database"):
        open_store(tmp_path)


def test_a_store_is_never_replaced(store: Path) -> None:
    with pytest.raises(OutputExists, match="never replaced"):
        create_store(store, contents(2))
    assert number_of(store) == (1, 1)


def test_a_new_state_takes_the_place_of_the_old_one(store: Path) -> None:
    held = open_store(store).contents
    with changing(store):
        assert replace_state(store, contents(7)) == 2
    assert number_of(store) == (7, 2)
    assert held.arrays["a"].tolist() == [1] * 5  # a reader keeps what it has mapped
    assert len(list(store.glob("state-*"))) == 1


def test_two_writers_are_kept_apart(store: Path) -> None:
    with changing(store), pytest.raises(StoreError, match="being changed"), changing(store):
        pass
    with changing(store):
        pass


def _damage(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("pattern", ["state-*/array-0.npy", "state-*/domain-0.arrow"])
def test_a_changed_bit_is_found(store: Path, pattern: str) -> None:
    _damage(next(store.glob(pattern)))
    with pytest.raises(StoreError, match=r"damaged: .* was changed"):
        open_store(store)


def test_a_changed_fact_is_found(store: Path) -> None:
    stated = json.loads((store / HEADER).read_text())
    stated["facts"]["number"] = 3
    (store / HEADER).write_text(json.dumps(stated))
    with pytest.raises(StoreError, match="damaged"):
        open_store(store)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "damaged"),
        ("[1]", "not a statistical database of ours"),
        ('{"format": "other"}', "not a statistical database of ours"),
        ('{"format": "sfumato-statdb", "version": 99}', "this sfumato reads 1"),
    ],
)
def test_what_is_not_a_store_is_refused(store: Path, text: str, message: str) -> None:
    (store / HEADER).write_text(text)
    with pytest.raises(StoreError, match=message):
        open_store(store)


def test_a_folder_or_file_that_is_no_store(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(StoreError):
            open_store(path)


def test_a_state_that_is_gone_is_damage(store: Path) -> None:
    next(store.glob("state-*/array-0.npy")).unlink()
    with pytest.raises(StoreError, match="is not there"):
        open_store(store)


def _change_for_ever(path: str, started: Any) -> None:
    number = 2
    while True:
        with changing(path):
            replace_state(path, contents(number))
        started.set()
        number += 1


@pytest.mark.slow
def test_a_killed_writer_leaves_the_old_state_or_the_new_one(store: Path) -> None:
    context = multiprocessing.get_context("spawn")
    pauses = np.random.default_rng(1).uniform(0, 0.05, 6)
    last = 0
    for pause in pauses:
        started = context.Event()
        writer = context.Process(target=_change_for_ever, args=(str(store), started), daemon=True)
        writer.start()
        assert started.wait(PATIENCE)
        time.sleep(pause)
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(PATIENCE)
        _, generation = number_of(store)
        assert generation >= last
        last = generation
    assert last > len(pauses)
    with changing(store):
        replace_state(store, contents(5))
    assert number_of(store)[0] == 5
    assert len(list(store.glob("state-*"))) == 1
