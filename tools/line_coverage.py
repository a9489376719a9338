"""Which lines of the package the tests run: a pytest plugin over the standard library alone.

    python -m pytest -p tools.line_coverage -n 2 tests/unit

Every code object is traced until each of its lines has run once, so that hot functions soon run at
full speed. Compiled kernels run in machine code, where no tracer looks: their lines count as not
run, though their tests compare every result. Programs that tests start are not looked into either.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "sfumato"
_FOOTNOTE = "compiled kernels run in machine code and are counted as not run"


class LineCoverage:
    """Collects the lines that run in the files below a folder."""

    def __init__(self, root: Path) -> None:
        """Nothing has run yet."""
        self.root = root
        self.run: defaultdict[str, set[int]] = defaultdict(set)
        self._below = f"{root}{os.sep}"
        # by id, which is quick; the code is kept, so that no other one gets its id
        self._left: dict[int, tuple[CodeType, set[int]]] = {}

    def start(self) -> None:
        """Trace this thread from its next call on, and all that begin later.

        Of modules that are there already, as the settings of pytest name a warning, what runs when
        they are imported has run.
        """
        files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
        for file in files:
            if file.startswith(self._below):
                self.run[file] |= executable_lines(Path(file), at_import=True)
        threading.settrace(self._called)
        sys.settrace(self._called)

    def share(self) -> tuple[float, list[str]]:
        """The share of all lines that ran, and a line of text per file where some did not."""
        texts, n_lines, n_missing = [], 0, 0
        for path in sorted(self.root.rglob("*.py")):
            lines = executable_lines(path)
            missing = lines - self.run[str(path)]
            n_lines, n_missing = n_lines + len(lines), n_missing + len(missing)
            if missing:
                share = 1 - len(missing) / len(lines)
                name = path.relative_to(self.root)
                texts.append(f"{share:4.0%}  {name}: {', '.join(_ranges(sorted(missing)))}")
        return 1 - n_missing / max(1, n_lines), texts

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        code = frame.f_code
        if not code.co_filename.startswith(self._below):
            return None
        if id(code) not in self._left:
            self._left[id(code)] = code, _lines(code)
        return self._stepped if self._left[id(code)][1] else None

    def _stepped(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        if event == "line":
            code, line = frame.f_code, frame.f_lineno
            self._left[id(code)][1].discard(line)
            self.run[code.co_filename].add(line)
        return self._stepped


def executable_lines(path: Path, *, at_import: bool = False) -> set[int]:
    """The lines of a file that have code behind them; or only those outside of functions."""
    found, waiting = set[int](), [compile(path.read_text("utf-8"), str(path), "exec")]
    while waiting:
        code = waiting.pop()
        found |= _lines(code)
        inside = [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        waiting += [one for one in inside if not (at_import and one.co_flags & CO_OPTIMIZED)]
    return found


def _lines(code: CodeType) -> set[int]:
    # the line of a def belongs to the code around it
    own = code.co_firstlineno if code.co_name != "<module>" else 0
    return {line for *_, line in code.co_lines() if line and line != own}


def _ranges(lines: Iterable[int]) -> Iterator[str]:
    """Ascending numbers as 3, 7-9."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return (str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


_SEEN = LineCoverage(PACKAGE)


def pytest_load_initial_conftests() -> None:
    """Begin before tests import the package, whose first lines run then."""
    _SEEN.start()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what a worker saw to the process that reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["lines"] = {name: sorted(lines) for name, lines in _SEEN.run.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker saw; one that died has nothing to tell."""
    for name, lines in getattr(node, "workeroutput", {}).get("lines", {}).items():
        _SEEN.run[name].update(lines)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the files with lines that did not run, and the share that did."""
    share, texts = _SEEN.share()
    terminalreporter.section("lines that no test ran")
    for text in texts:
        terminalreporter.line(text)
    terminalreporter.line(f"{share:.1%} of the lines ran; {_FOOTNOTE}")
