"""Watching a kernel: progress, interruption, errors; keeping it, and doing without."""

import _thread
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import sfumato
from sfumato.core import compiled
from sfumato.core.arrays import Counts
from sfumato.core.compiled import announce, is_cached, kernel, watch
from tests.support.waiting import PATIENCE, eventually


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


def until_stopped(control: Counts) -> bool:
    deadline = time.monotonic() + PATIENCE
    while control[1] == 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    return bool(control[1])


def test_progress_hears_rising_shares() -> None:
    heard: list[float] = []

    def counting(control: Counts) -> str:
        """Settle a hundred rows, each step only after the last was heard of."""
        for step in range(1, 4):
            control[0] = 25 * step
            eventually(lambda: heard[-1:] == [0.25 * step], "progress")  # noqa: B023
        return "done"

    assert watch(counting, 100, heard.append) == "done"
    assert set(heard) >= {0.25, 0.5, 0.75}
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
    compiled._tell_compiling.cache_clear()
    caplog.set_level(logging.WARNING, "sfumato")
    for _ in range(2):
        announce(fake_kernel(tmp_path, signatures=[]))
    assert caplog.text.count("compiling") == 1
    caplog.clear()
    announce(fake_kernel(tmp_path, signatures=["compiled in this process"]))
    (tmp_path / "module.fake-12.py311.nbi").touch()
    assert is_cached(fake_kernel(tmp_path, signatures=[]))
    announce(fake_kernel(tmp_path, signatures=[]))
    assert not caplog.text


def double(numbers: Counts) -> Counts:
    return numbers * 2


def doubles() -> bool:
    """Whether a kernel made now works; how it fares with the disk is left to each test."""
    return bool((kernel(double)(np.array([1, 2])) == [2, 4]).all())


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for compiled kernels; the file that holds one comes into being there."""
    compiled._tell_lost.cache_clear()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def hits() -> int:
    """How often a kernel made now is found on disk."""
    made: Any = kernel(double)
    made(np.array([1, 2]))
    return sum(made.stats.cache_hits.values())


def test_what_was_compiled_is_found_again(kept: Path) -> None:
    assert doubles()
    assert hits() == 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 100, b"not a pickle"], ids=["empty", "zeros", "words"]
)
def test_a_damaged_cache_is_replaced(kept: Path, ending: str, content: bytes) -> None:
    assert doubles()
    damaged = list(kept.rglob(f"*.{ending}"))
    assert damaged
    for path in damaged:
        path.write_bytes(content)
    assert doubles()
    assert hits() == 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_what_cannot_be_read_is_compiled(
    kept: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder in the place of the file, since permissions do not stop an administrator."""
    assert doubles()
    for path in list(kept.rglob(f"*.{ending}")):
        path.unlink()
        path.mkdir()
    assert doubles()
    assert doubles()
    assert caplog.text.count("cannot be kept") == 1
    assert "Is a directory" in caplog.text


def test_a_cache_that_vanishes_is_not_missed(kept: Path) -> None:
    made = kernel(double)
    shutil.rmtree(kept)
    kept.write_text("a file where the folder was")
    assert made(np.array([1])).tolist() == [2]


NOWHERE = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache"}
IMPORT_ALL = """
import importlib, logging, pkgutil, sys
import numpy as np
import sfumato
from sfumato.core import compiled
logging.basicConfig()
assert sfumato.__file__.startswith(sys.argv[1]), sfumato.__file__
for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from sfumato.core._kernels import number_rows
compiled.announce(number_rows)
compiled.announce(number_rows)
numbers, _, counts = number_rows(np.array([[1], [0], [1]], np.int32), np.array([2]))
print(numbers.tolist(), counts.tolist(), number_rows.stats.cache_path)
"""


SOURCES = Path(sfumato.__file__).parents[1]


def run_alone(
    code: str, place: Path, *before: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A process that imports the copy of the package in a folder."""
    return subprocess.run(
        [*before, sys.executable, "-c", code, str(place)],
        env={**os.environ, **NOWHERE, "PYTHONPATH": str(place), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A copy of the package beside which nothing can be kept, not even by an administrator."""
    shutil.copytree(
        Path(sfumato.__file__).parent,
        tmp_path / "sfumato",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for folder in [tmp_path / "sfumato", *(tmp_path / "sfumato").rglob("*/")]:
        (folder / "__pycache__").write_text("")
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="/dev/null is what cannot be a folder")
@pytest.mark.parametrize("given", [{}, {"NUMBA_CACHE_DIR": "/dev/null/kernels"}])
def test_kernels_are_compiled_in_memory_where_nothing_can_be_written(
    sealed: Path, given: dict[str, str]
) -> None:
    environment = {"NUMBA_CACHE_DIR": "", **given}
    done = run_alone(IMPORT_ALL, sealed, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0, 1, 0] [2, 1] None\n"
    assert "in memory" in done.stderr
    assert done.stderr.count("compiling kernels") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="rights are others there")
def test_a_folder_that_can_only_be_read_is_used_as_it_is() -> None:
    """As in the image of a container: whoever may not write there finds what was compiled."""
    powerless: list[str] = []
    if os.geteuid() == 0:  # rights do not stop an administrator, unless that power is given up
        if shutil.which("setpriv") is None:
            pytest.skip("an administrator without setpriv can write everywhere")
        powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
    kernels = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        code = IMPORT_ALL
        options = {"NUMBA_CACHE_DIR": str(kernels)}
        assert "compiling" in run_alone(code, SOURCES, **options).stderr
        for folder in (kernels, *kernels.glob("*")):
            folder.chmod(0o555)
        hits = "print(sum(number_rows.stats.cache_hits.values()))"
        done = run_alone(code + hits, SOURCES, *powerless, **options)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "1"
        assert "compil" not in done.stderr
        # what was not compiled is compiled in memory, with one line
        for one in kernels.glob("*"):
            one.chmod(0o755)
            for file in one.glob("*.nb*"):
                file.unlink()
            one.chmod(0o555)
        done = run_alone(code, SOURCES, *powerless, **options)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compil") == 1
        assert "in memory" in done.stderr
    finally:
        shutil.rmtree(kernels)


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # files can be made, nothing written into them
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such limit")
def test_a_full_disk_is_told_once_and_stops_nothing(sealed: Path, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    done = run_alone(FULL_DISK + IMPORT_ALL, sealed, NUMBA_CACHE_DIR=str(kernels))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[0, 1, 0] [2, 1] ")
    assert done.stderr.count("cannot be kept") == 1
    assert not list(kernels.rglob("*.nb*"))
