"""Watching a kernel: progress, interruption, errors."""

import _thread
import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sfumato.core.arrays import Counts
from sfumato.core.compiled import announce, is_cached, kernel, watch

PATIENCE = 60.0  # seconds after which an ignored stop ends the test instead of hanging it


@kernel
def spin(control: Counts, work: Counts, limit: int) -> int:
    """Work until told to stop, or for minutes.

    Like every real kernel it writes to another array as well: the compiler cannot rule out that
    the two overlap, and has to look at the control array again and again.
    """
    turns = 0
    while control[1] == 0 and turns < limit:
        work[turns % work.size] += turns
        control[0] = turns % 1000
        turns += 1
    return turns


def counting(control: Counts) -> str:
    """Settle a hundred rows, slowly enough to be watched."""
    while control[0] < 100:
        control[0] += 5
        time.sleep(0.02)
    return "done"


def until_stopped(control: Counts) -> bool:
    deadline = time.monotonic() + PATIENCE
    while control[1] == 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    return bool(control[1])


def test_progress_hears_rising_shares() -> None:
    heard: list[float] = []
    assert watch(counting, 100, heard.append) == "done"
    assert heard
    assert heard == sorted(heard)
    assert all(0 <= share <= 1 for share in heard)


def test_nobody_need_listen() -> None:
    assert watch(lambda control: control.tolist(), 100, None) == [0, 0]


def interrupt_at_once(share: float) -> None:
    raise KeyboardInterrupt


def press_control_c(share: float) -> None:
    _thread.interrupt_main()


@pytest.mark.parametrize("interrupt", [interrupt_at_once, press_control_c])
def test_an_interrupt_gets_out_and_stops_the_run(interrupt: Any) -> None:
    stopped: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        watch(lambda control: stopped.append(until_stopped(control)), 100, interrupt)
    assert stopped == [True]


def test_an_interrupt_stops_machine_code() -> None:
    limit = 10**11
    work = np.zeros(8, np.int64)
    spin(np.array([0, 1]), work, limit)  # compile outside of the watch
    turns: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        watch(lambda control: turns.append(spin(control, work, limit)), 1000, interrupt_at_once)
    assert len(turns) == 1
    assert 0 < turns[0] < limit


def test_an_error_of_the_run_gets_out() -> None:
    def fail(control: Counts) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        watch(fail, 100, None)


def fake_kernel(folder: Path, signatures: list[Any]) -> Any:
    return SimpleNamespace(
        stats=SimpleNamespace(cache_path=str(folder)),
        py_func=SimpleNamespace(__qualname__="fake"),
        signatures=signatures,
    )


def test_the_compiler_is_announced_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "sfumato")
    announce(fake_kernel(tmp_path, signatures=[]))
    assert "compiling" in caplog.text
    caplog.clear()
    announce(fake_kernel(tmp_path, signatures=["compiled in this process"]))
    (tmp_path / "module.fake-12.py311.nbi").touch()
    assert is_cached(fake_kernel(tmp_path, signatures=[]))
    announce(fake_kernel(tmp_path, signatures=[]))
    assert not caplog.text
