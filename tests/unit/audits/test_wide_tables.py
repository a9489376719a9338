"""Thousands of columns: what is looked up for each of them must not be made of all the others.

Names of a table are a new list whenever they are asked for, and taking a column out makes a new
table. Either of them once per column is the square of the columns, which a clock would tell only
on a quiet machine; here it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.rows import Rows
from sfumato.audits.checks import other_spellings
from sfumato.core.microdata import require_columns
from sfumato.core.query import Query
from sfumato.forms import files
from sfumato.forms.compact import compact
from sfumato.forms.evidence import other_columns
from sfumato.forms.files import Files
from sfumato.forms.stated import read_manifest
from sfumato.io.plain import trimmed, without_markers
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog, Column
from sfumato.queries.sql import parse

WIDE = 60
NAMES = [f"q{i}" for i in range(WIDE)]
_ALL = ("column_names", "schema", "columns", "drop_columns", "set_column", "append_column")


class Watched:
    """A table that counts how often something is asked of it that costs all of its columns."""

    def __init__(self, table: pa.Table, asked: Counter[str]) -> None:
        self._table, self._asked = table, asked

    def __getattr__(self, name: str) -> Any:
        if name in _ALL:
            self._asked[name] += 1
        found = getattr(self._table, name)
        if not callable(found):
            return found

        def called(*args: Any, **more: Any) -> Any:
            made = found(*args, **more)
            return Watched(made, self._asked) if isinstance(made, pa.Table) else made

        return called


def table(n: int = 40) -> pa.Table:
    generator = np.random.default_rng(0)
    texts = {name: [f"v{i}" for i in generator.integers(0, 9, n)] for name in NAMES[: WIDE // 2]}
    numbers = {name: generator.integers(0, 9, n) for name in NAMES[WIDE // 2 :]}
    return pa.table({**texts, **numbers, "s": ["a", "b", "c", "d"] * (n // 4)})


SCHEMA = sf.Schema(quasi=NAMES, sensitive="s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = sf.publish(sf.read(table(), SCHEMA), sf.Mondrian(), sf.KAnonymity(4))
    return made.write(tmp_path_factory.mktemp("wide") / "out")


def test_texts_are_folded_in_all_columns_at_once() -> None:
    asked: Counter[str] = Counter()
    trimmed(Watched(table(), asked), NAMES)
    without_markers(Watched(table(), asked), ["v1"])
    assert asked.total() <= 10


def test_spellings_look_at_the_names_once(folder: Path) -> None:
    asked: Counter[str] = Counter()
    release = sf.load(folder)
    watched: list[Any] = [Watched(one, asked) for one in release.tables]
    assert list(other_spellings(release.manifest, watched)) == []
    assert asked.total() <= 6


def test_rows_are_compacted_with_the_names_asked_once_per_piece() -> None:
    asked: Counter[str] = Counter()
    pieces: list[Any] = [Watched(table(), asked) for _ in range(2)]
    with pytest.raises(TypeError):  # Arrow joins its own tables only; until there all is counted
        compact(pieces, NAMES)
    assert asked.total() <= 8
    assert not asked["drop_columns"]  # which takes them out one after the other


def test_a_release_is_read_with_the_names_asked_once_per_piece(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()

    class Pieces(Files):
        def pieces(self, stem: str, coded: Any = ()) -> Iterator[Any]:
            yield Watched(next(iter(super().pieces(stem, coded))), asked)
            raise EOFError

    with pytest.raises(EOFError):
        sf.GeneralizedTable.read(Pieces(folder, read_manifest(folder)))
    assert 0 < asked.total() <= 8


def test_types_are_given_with_the_names_asked_once(folder: Path) -> None:
    asked: Counter[str] = Counter()
    shown: Any = Watched(pa.table({name: ["x"] for name in NAMES}), asked)
    files._typed(shown, read_manifest(folder), folder / "generalized.parquet")
    assert asked.total() <= 6


class Names(list[str]):
    """Names that count how often they are gone through."""

    walks = 0

    def __contains__(self, name: object) -> bool:
        self.walks += 1
        return super().__contains__(name)

    def count(self, name: str) -> int:
        self.walks += 1
        return super().count(name)


def test_names_are_compared_as_sets() -> None:
    found, stated = Names(NAMES), Names(NAMES[:-1])
    assert len(list(other_columns(found, stated, "the table"))) == 1
    require_columns(found, sf.Schema(quasi=NAMES[:-1], sensitive=NAMES[-1]))
    assert found.walks + stated.walks == 0


class Walked(dict[str, Column]):
    """Columns that count how often they are gone through."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


def test_a_question_finds_its_columns_by_name() -> None:
    columns = Walked({name: Column(name, pa.int64()) for name in [*NAMES, "Q0"]})
    catalog = Catalog(columns)
    bound = bind(Query({"q7": parse("SELECT COUNT(*) FROM t WHERE x = 1").where["x"]}), catalog)
    assert list(bound.where) == ["q7"]
    assert columns.walks == 0
    assert catalog.find("Q0").name == "Q0"
    assert catalog.find("Q7").name == "q7"  # case matters only where it decides
    assert columns.walks == 1


class Packs(tuple[Any, ...]):
    """Packed columns that count how often all of them are gone through."""

    walks = 0

    def __iter__(self) -> Iterator[Any]:
        type(self).walks += 1
        return super().__iter__()


def test_a_question_looks_at_the_columns_it_is_about() -> None:
    microdata = sf.read(table(), SCHEMA)
    columns = [(microdata.attributes[name], microdata.codes[name]) for name in NAMES]
    rows = Rows.of(columns, np.zeros(40, np.int32), 1)
    watched = Rows(Packs(rows.packs), rows.columns, rows.starts, rows.counts, rows.bits)
    bound = bind(parse("SELECT COUNT(*) FROM t WHERE q40 < 4"), Catalog.of_table(microdata))
    wanted: Mapping[str, Any] = bound.where
    for _ in range(20):
        assert watched.asked(wanted)
        assert watched._wanted(wanted).active.size == 1
    assert Packs.walks == 1
