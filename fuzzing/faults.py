"""Faults while something is written: afterwards there is the old or the new, whole, or nothing."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import sfumato as sf
from fuzzing.damage import QUESTIONS, people
from fuzzing.dying import Died, dying, full_disk
from fuzzing.judging import Finding
from sfumato.errors import SfumatoError
from tests.support.sql_texts import sources

VERBS = ("write boxes", "write anatomized", "replace", "create", "apply")
FAULTS = ("dies", "full")
NOBODY = 2**22 + 1  # larger than any process number


@dataclass(frozen=True, slots=True)
class Faulty:
    """What is done, the fault, and when: after so many file events, or bytes of a file."""

    verb: str
    format: str
    fault: str
    amount: int


def cases() -> st.SearchStrategy[Faulty]:
    """Every verb with every fault."""
    return st.builds(
        Faulty,
        st.sampled_from(VERBS),
        st.sampled_from(["parquet", "csv"]),
        st.sampled_from(FAULTS),
        st.integers(0, 60) | st.integers(0, 20_000),
    )


def check(case: Faulty) -> str:
    """Do it with the fault, look what is there, and do it again without."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "out"
        before = _prepared(case, path)
        outcome = _tried(case, path)
        if outcome.startswith("refused"):
            _require_tidy(case, Path(folder), outcome)
        if outcome == "died":
            _bury(Path(folder))
        _require_whole(case, path, before, outcome)
        if outcome != "done":
            _again(case, path)
        _require_alone(Path(folder), path)
    return f"{case.fault} {outcome}"


def _tried(case: Faulty, path: Path) -> str:
    try:
        with _fault(case, path.parent):
            _VERBS[case.verb](case, path)
    except Died:
        return "died"
    except SfumatoError as error:
        return f"refused: {type(error).__name__}"
    return "done"


def _fault(case: Faulty, folder: Path) -> AbstractContextManager[None]:
    if case.fault == "dies":
        return dying(case.amount, folder)
    return full_disk(case.amount)


@cache
def _sources() -> tuple[Any, ...]:
    return tuple(sources())


@cache
def _rows() -> sf.Microdata:
    return people()


def _prepared(case: Faulty, path: Path) -> list[str]:
    """What stands there before; its answers."""
    if case.verb == "replace":
        _sources()[1].write(path, format=case.format)
    elif case.verb == "apply":
        sf.StatDB.create(path, _rows(), m=2)
    else:
        return []
    return _said(path)


_VERBS: dict[str, Callable[[Faulty, Path], object]] = {
    "write boxes": lambda case, path: _sources()[1].write(path, format=case.format),
    "write anatomized": lambda case, path: _sources()[2].write(path, format=case.format),
    "replace": lambda case, path: _sources()[2].write(path, format=case.format, force=True),
    "create": lambda _case, path: sf.StatDB.create(path, _rows(), m=2),
    "apply": lambda _case, path: sf.StatDB.open(path).apply(_rows(), None),
}


def _bury(folder: Path) -> None:
    """Give what is left the number of a process that is gone: ours, which died, is still there."""
    for found in folder.iterdir():
        if f"-{os.getpid()}-" in found.name:
            found.rename(found.with_name(found.name.replace(f"-{os.getpid()}-", f"-{NOBODY}-")))


def _said(path: Path) -> list[str]:
    """The answers of whatever stands there."""
    if (path / "release.json").exists():
        sf.verify(path).require()
        asked: Any = sf.load(path)
    else:
        asked = sf.StatDB.open(path)
    return [str(asked.query(QUESTIONS[0]).answers), str(asked.query(QUESTIONS[1]).answers)]


def _require_whole(case: Faulty, path: Path, before: list[str], outcome: str) -> None:
    if not path.exists():
        if before or outcome == "done":
            if outcome == "died" and case.verb == "replace":
                return  # between two renames; the next run puts it back
            raise Finding(f"{outcome}, and nothing is there any more")
        return
    now = _said(path)
    if outcome.startswith("refused") and now != before:
        raise Finding("refused, and yet what is there has changed")


def _require_tidy(case: Faulty, folder: Path, outcome: str) -> None:
    """After a refusal nothing is left beside the output."""
    left = [path.name for path in folder.iterdir() if path.name != "out"]
    if left:
        raise Finding(f"{case.verb}: {outcome}, and left {left}")


def _again(case: Faulty, path: Path) -> None:
    """What failed can be done when the fault is gone."""
    if case.verb in ("write boxes", "write anatomized", "create") and path.exists():
        return  # it died after the last rename
    _VERBS[case.verb](case, path)
    _said(path)


def _require_alone(folder: Path, path: Path) -> None:
    left = [found.name for found in folder.iterdir() if found != path]
    if left:
        raise Finding(f"left beside the output: {left}")
