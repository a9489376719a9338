"""Damages: input files, releases and databases with a few bytes that are not as they were.

A damaged file is read or refused, and never ends the process. A damaged release or database gives
the answers that it gave, or none.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.judging import Finding
from fuzzing.tables import Table, tables
from sfumato.errors import SfumatoError
from tests.support.sql_texts import sources

QUESTIONS = (
    "SELECT COUNT(*) FROM t",
    "SELECT sex, COUNT(*) FROM t WHERE age BETWEEN 10 AND 40 GROUP BY sex",
    "SELECT smoker, COUNT(*) FROM t GROUP BY smoker",
    "SELECT MIN(age), MAX(born), SUM(weight) FROM t WHERE sex = 'F'",
)


def _stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "plain.arrow": lambda table, path: pyarrow.feather.write_feather(
        table, path, compression="uncompressed"
    ),
    "lz4.arrow": lambda table, path: pyarrow.feather.write_feather(table, path, compression="lz4"),
    "stream.arrow": _stream,
    "zstd.parquet": lambda table, path: pq.write_table(table, path, compression="zstd"),
    "plain.parquet": lambda table, path: pq.write_table(table, path, compression="none"),
    "table.csv": lambda table, path: pyarrow.csv.write_csv(table, path),
}


@dataclass(frozen=True, slots=True)
class Damage:
    """A byte, counted in parts of a million of the file, and what becomes of it."""

    place: int
    how: str
    byte: int

    def done_to(self, held: bytes) -> bytes:
        """The bytes after it."""
        at = self.place * len(held) // 1_000_000
        if self.how == "flip":
            return held[:at] + bytes([held[at] ^ (1 << self.byte % 8)]) + held[at + 1 :]
        if self.how == "set":
            return held[:at] + bytes([self.byte]) + held[at + 1 :]
        if self.how == "cut":
            return held[:at]
        return held[:at] + bytes([self.byte]) * 3 + held[at:]


DAMAGES = st.builds(
    Damage,
    st.integers(0, 999_999),
    st.sampled_from(["flip", "flip", "set", "set", "cut", "insert"]),
    st.integers(0, 255),
)


@dataclass(frozen=True, slots=True)
class DamagedInput:
    """A table in a file of some format, with damages."""

    table: Table
    format: str
    damages: tuple[Damage, ...]


@dataclass(frozen=True, slots=True)
class DamagedFolder:
    """A release or a database, one of whose files is damaged."""

    what: str
    file: int
    damages: tuple[Damage, ...]


def input_cases() -> st.SearchStrategy[DamagedInput]:
    """Any table and format, one to three damages."""
    damages = st.lists(DAMAGES, min_size=1, max_size=3).map(tuple)
    return st.builds(DamagedInput, tables(), st.sampled_from(sorted(WRITERS)), damages)


def stored_cases() -> st.SearchStrategy[DamagedFolder]:
    """Any of the folders, and any of its files."""
    damages = st.lists(DAMAGES, min_size=1, max_size=2).map(tuple)
    return st.builds(DamagedFolder, st.sampled_from(KINDS), st.integers(0, 30), damages)


def check_input(case: DamagedInput) -> str:
    """Read the damaged file, and publish what is read."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / case.format
        try:
            # long, so that most damages hit values and not what describes them
            WRITERS[case.format](pa.concat_tables([case.table.arrow()] * 20), path)
        except (pa.ArrowException, OSError):  # Parquet refuses some decimals so
            return "not written"  # not every format has every type
        damage(path, case.damages)
        try:
            table = sf.read(path, case.table.schema(), header=True)
            sf.publish(table, sf.Mondrian(), sf.KAnonymity(2))
        except SfumatoError as error:
            return f"refused: {type(error).__name__}"
    return "read"


def damage(path: Path, damages: tuple[Damage, ...]) -> None:
    """Do the damages to a file, one after the other."""
    held = path.read_bytes()
    for one in damages:
        held = one.done_to(held) if held else held
    path.write_bytes(held)


KINDS = ("boxes.parquet", "boxes.csv", "anatomized.parquet", "anatomized.csv", "database")


def check_stored(case: DamagedFolder) -> str:
    """Damage a copy, and ask it what the original was asked."""
    whole, answers = _whole(case.what)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy = Path(folder) / "copy"
        shutil.copytree(whole, copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        path = files[case.file % len(files)]
        before = path.read_bytes()
        damage(path, case.damages)
        if path.read_bytes() == before:
            return "unchanged"
        try:
            found = _answers(case.what, copy)
        except SfumatoError as error:
            return f"refused: {type(error).__name__}"
    if found != answers:
        raise Finding(f"{path.name} is damaged, and nobody notices: {found} instead of {answers}")
    return "answered as before"


@cache
def _whole(what: str) -> tuple[Path, list[str]]:
    """The folder without damages, and its answers."""
    path = Path(tempfile.mkdtemp(prefix="sfumato-fuzzing-")) / "whole"
    _, boxes, anatomized = sources()
    kind, _, ending = what.partition(".")
    file_format: Any = ending
    if kind == "database":
        sf.StatDB.create(path, people(), m=2)
    else:
        release: Any = boxes if kind == "boxes" else anatomized
        release.write(path, format=file_format)
    return path, _answers(what, path)


def people() -> sf.Microdata:
    """A table that a database with m = 2 can be made of."""
    table: Any = sources()[0]
    schema = sf.Schema(quasi=["age", "sex", "born", "weight"], sensitive="smoker")
    return sf.Microdata.from_arrow(_half(table), schema)


def _half(table: sf.Microdata) -> pa.Table:
    """Rows in which nobody's value is that of more than half."""
    rows = pa.table({name: one.decode(table.codes[name]) for name, one in table.attributes.items()})
    smokers = rows.filter(pa.compute.field("smoker"))
    others = rows.filter(~pa.compute.field("smoker")).slice(0, smokers.num_rows)
    return pa.concat_tables([smokers, others])


def _answers(what: str, path: Path) -> list[str]:
    """What the folder says; raises an error of ours if it is refused."""
    if what == "database":
        asked: Any = sf.StatDB.open(path)
    else:
        sf.verify(path).require()
        asked = sf.load(path)
    return [str(sorted(map(str, asked.query(text)))) for text in QUESTIONS if _known(what, text)]


def _known(what: str, text: str) -> bool:
    """A database has one sensitive column, and sums of no other."""
    return what != "database" or "SUM" not in text
