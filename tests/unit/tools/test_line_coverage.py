"""The plugin that counts the lines that tests run."""

import importlib.util
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE
from tools.line_coverage import LineCoverage, executable_lines

SOURCE = '''"""A module."""

LIMIT = 3


def sign(number):
    """Which it is."""
    if number < 0:
        return "negative"
    return [
        "positive" for _ in range(1)
    ][0]


def never():
    return LIMIT
'''


def test_lines_that_did_not_run_are_named(tmp_path: Path) -> None:
    path = tmp_path / "signs.py"
    path.write_text(SOURCE)
    seen = LineCoverage(tmp_path)
    before = sys.gettrace(), threading.gettrace()
    try:
        seen.start()
        spec = importlib.util.spec_from_file_location("signs", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert [module.sign(number) for number in (1, 2)] == ["positive"] * 2
    finally:
        sys.settrace(before[0])
        threading.settrace(before[1])
    share, texts = seen.share()
    lines = executable_lines(path)
    assert {3, 6, 8, 9, 15, 16} <= lines
    assert 7 not in lines
    assert texts == [f"{share:4.0%}  signs.py: 9, 16"]
    assert share == pytest.approx(1 - 2 / len(lines))


def test_what_runs_when_a_module_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "signs.py"
    path.write_text(
        f"{SOURCE}\n\nclass Sign:\n    ONE = 1\n\n    def two(self):\n        return 2\n"
    )
    lines = executable_lines(path, at_import=True)
    assert {3, 6, 15, 19, 20, 22} <= lines
    assert not lines & {8, 9, 16, 23}


@pytest.mark.slow
def test_what_workers_saw_is_added_up() -> None:
    root = Path(__file__).resolve().parents[3]
    run = [sys.executable, "-m", "pytest", "-q", "-p", "tools.line_coverage", "-n", "2"]
    run += ["tests/unit/models/test_anonymity.py"]
    done = subprocess.run(run, cwd=root, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of the lines ran; compiled kernels" in done.stdout
    # only the workers import what is tested, and nobody imports the server
    found = re.findall(r"^ *(\d+)%  (\S+):", done.stdout, re.MULTILINE)
    shares = {name: int(share) for share, name in found}
    assert shares["models/anonymity.py"] > 50
    assert shares["server/app.py"] == 0
    assert shares.get("errors.py", 100) > 30  # imported before there is anything to trace
