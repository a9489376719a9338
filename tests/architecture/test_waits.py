"""No test waits for ever: every one has a time limit, and whatever is waited for has one, too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
FILES = sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
RUNNERS = {"run", "call", "check_call", "check_output"}  # of subprocess
WAITS = {"wait", "join", "communicate"}  # of processes, threads and events; "made" is a release
RELEASES = {"made"}


def endless(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls that may wait for ever."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, name = node.func.value, node.func.attr
        if not isinstance(owner, ast.Name):
            continue
        keywords = {keyword.arg for keyword in node.keywords}
        runs = owner.id == "subprocess" and name in RUNNERS and "timeout" not in keywords
        waits = name in WAITS and not node.args and not keywords and owner.id not in RELEASES
        if runs or waits:
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_whatever_is_waited_for_has_an_end(path: Path) -> None:
    source = path.read_text("utf-8")
    found = [f"{path}:{call.lineno}: {ast.unparse(call)}" for call in endless(ast.parse(source))]
    assert found == []


def test_endless_waits_are_found() -> None:
    calls = "subprocess.run(c); subprocess.run(c, timeout=1); t.join(); t.join(3); ', '.join(x)"
    found = [ast.unparse(call) for call in endless(ast.parse(f"{calls}; p.wait(); made.join()"))]
    assert found == ["subprocess.run(c)", "t.join()", "p.wait()"]


def test_every_test_has_a_time_limit(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.hasplugin("timeout")
    limit = float(pytestconfig.getini("timeout"))
    assert limit > PATIENCE  # what is waited for is told before the test is ended
    assert limit < float(pytestconfig.getini("faulthandler_timeout"))


def test_a_test_that_hangs_fails_with_its_stack(tmp_path: Path) -> None:
    hanging = tmp_path / "test_hanging.py"
    hanging.write_text(
        "import threading\n\ndef test_hanging():\n    threading.Event().wait()\n\n"
        "def test_after():\n    pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path,
         "-p", "no:cacheprovider", "-o", "timeout=1", hanging],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert re.search(r"Timeout.*>\s*1", done.stdout), done.stdout
    assert "threading.Event().wait()" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
