"""Short memory: what does not fit ends in an error of ours, and leaves nothing behind.

Each case runs in a child of the worker, since a process that ran out of memory is not to be trusted
with another case. The table is large enough that most of what it takes is its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.dying import in_child, short_memory
from fuzzing.judging import Finding
from sfumato.errors import SfumatoError

ROWS, FEW = 200_000, 1_000
QUESTION = "age > 30 AND ill = '7'"
# A process that cannot even start a thread is beyond the help of any program in Python.
LEAST, MOST = 2, 64  # megabytes


@dataclass(frozen=True, slots=True)
class Short:
    """What is done, and the megabytes that there are for it."""

    verb: str
    megabytes: int


def cases() -> st.SearchStrategy[Short]:
    """Every verb with any amount."""
    return st.builds(Short, st.sampled_from(sorted(VERBS)), st.integers(LEAST, MOST))


def check(case: Short) -> str:
    """Do it in a child with little memory, and look what is left."""
    _prepared()
    with tempfile.TemporaryDirectory() as folder:
        said = in_child(lambda: _tried(case, Path(folder)))
        left = sorted(path.name for path in Path(folder).iterdir())
        if left and left != ["out"]:
            raise Finding(f"{said}, and left {left}")
        if left and said != "done":
            raise Finding(f"{said}, and yet the output is there")
    return f"{case.verb}: {said}"


def _tried(case: Short, folder: Path) -> str:
    try:
        with short_memory(case.megabytes << 20):
            VERBS[case.verb](folder / "out")
    except SfumatoError as error:
        return f"refused: {type(error).__name__}"
    return "done"


@cache
def _table(rows: int = ROWS) -> sf.Microdata:
    random = np.random.default_rng(0)
    columns = {
        "age": random.integers(0, 90, rows),
        "zip": random.integers(0, 20_000, rows),
        "name": pa.array(random.integers(0, 5_000, rows)).cast(pa.string()),
        "ill": pa.array(random.integers(0, 40, rows)).cast(pa.string()),
    }
    schema = sf.Schema(quasi=["age", "zip", "name"], sensitive="ill")
    return sf.Microdata.from_arrow(pa.table(columns), schema)


def _boxes(rows: int = ROWS) -> sf.GeneralizedTable:
    return sf.publish(_table(rows), sf.Mondrian(), sf.KAnonymity(10))


@cache
def _prepared() -> Path:
    """A folder with files to read, made by a child: what it freed would be memory to spare here.

    Kernels are compiled here, with few rows.
    """
    _make(Path(tempfile.mkdtemp(prefix="sfumato-fuzzing-")), FEW)
    folder = Path(tempfile.mkdtemp(prefix="sfumato-fuzzing-"))
    _table()
    in_child(lambda: _make(folder, ROWS))
    return folder


def _make(folder: Path, rows: int) -> str:
    release = _boxes(rows)
    release.write(folder / "boxes", format="csv")
    sf.verify(folder / "boxes")
    sf.evaluate(release, _table(rows))
    sf.publish(_table(rows), sf.Anatomize(), sf.LDiversity(4)).write(folder / "anatomized")
    sf.load(folder / "anatomized").count(QUESTION)
    sf.StatDB.create(folder / "database", _table(rows), m=4).count(QUESTION)
    return "made"


VERBS: dict[str, Callable[[Path], object]] = {
    "publish boxes": lambda out: _boxes().write(out),
    "publish anatomized": lambda out: sf.publish(_table(), sf.Anatomize(), sf.LDiversity(4)).write(
        out, format="csv"
    ),
    "verify": lambda _: sf.verify(_prepared() / "boxes"),
    "load and ask": lambda _: sf.load(_prepared() / "anatomized").count(QUESTION),
    "evaluate": lambda _: sf.evaluate(sf.load(_prepared() / "boxes"), _table()),
    "create": lambda out: sf.StatDB.create(out, _table(), m=4),
    "open and ask": lambda _: sf.StatDB.open(_prepared() / "database").count(QUESTION),
}
