"""Lives of statistical databases: created, asked, changed, opened again, and killed on the way."""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.columns import keys
from fuzzing.dying import Died, dying
from fuzzing.judging import Finding
from fuzzing.questions import Question, questions
from fuzzing.tables import Table, tables
from fuzzing.truth import Row, judge, rows_of
from sfumato.errors import QueryRefused, SfumatoError
from sfumato.statdb.layout.making import Cohort

Cells = tuple[int | None, ...]  # of one row, a cell per column


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that come, and places of rows that go; the process dies at a file event, or never."""

    inserted: tuple[Cells, ...]
    deleted: tuple[int, ...]
    accept_exposure: bool
    dies_after: int | None


@dataclass(frozen=True, slots=True)
class Life:
    """A table, how it becomes a database, what is asked, and how it changes between."""

    table: Table
    m: int
    cohort: Cohort
    framework: str
    questions: tuple[Question, ...]
    changes: tuple[Change, ...]


@st.composite
def cases(draw: st.DrawFn) -> Life:
    """Any table with one sensitive column, and up to three changes."""
    table = draw(tables((1, 1), others=False, even=True))
    return Life(
        table,
        draw(st.integers(2, 3)),
        draw(st.sampled_from(["default", "default", 8, 1, 2, None])),
        draw(st.sampled_from(["anatomy", "anatomy", "generalization"])),
        tuple(draw(st.lists(questions(table), min_size=1, max_size=4))),
        tuple(draw(st.lists(_changes(table), max_size=3))),
    )


def _changes(table: Table) -> st.SearchStrategy[Change]:
    cells = [
        st.sampled_from([*range(len(one.values)), *([None] if None in one.cells else [])] or [None])
        for one in table.columns
    ]
    return st.builds(
        Change,
        st.lists(st.tuples(*cells), max_size=5).map(tuple),
        st.lists(st.integers(0, 30), max_size=3).map(tuple),
        st.booleans(),
        st.none() | st.integers(0, 40),
    )


def check(case: Life) -> str:
    """Live through it; what is stored must be what was put in, and answers must hold it."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "db"
        framework: Any = case.framework
        try:
            table = case.table.microdata()
            database = sf.StatDB.create(
                path, table, m=case.m, cohort=case.cohort, framework=framework
            )
        except SfumatoError as error:
            if path.exists():
                raise Finding(f"a refused database is there: {error}") from error
            return f"refused: {type(error).__name__}"
        held = [tuple(one.cells[i] for one in case.table.columns) for i in range(case.table.n_rows)]
        _ask(case, database, held)
        for change in case.changes:
            held = _changed(case, path, change, held)
            database = sf.StatDB.open(path)
            _ask(case, database, held)
    return f"lived through {len(case.changes)} changes"


def _changed(case: Life, path: Path, change: Change, held: list[Cells]) -> list[Cells]:
    """Change the database; the rows that it then holds."""
    gone = {place % len(held) for place in change.deleted}
    after = [row for place, row in enumerate(held) if place not in gone] + [*change.inserted]
    try:
        inserted = _rows(case, change.inserted)
        deleted = _rows(case, [held[place] for place in sorted(gone)])
        with dying(10**9 if change.dies_after is None else change.dies_after, path):
            sf.StatDB.open(path).apply(
                inserted,
                deleted,
                accept_exposure=change.accept_exposure,
                twins="member",
                accept_returns=True,
            )
    except SfumatoError:
        return held
    except Died:
        return after if _holds(case, sf.StatDB.open(path), after) else held
    return after


def _rows(case: Life, rows: Sequence[Cells]) -> sf.Microdata | None:
    if not rows:
        return None
    columns = [
        replace(one, cells=tuple(row[place] for row in rows))
        for place, one in enumerate(case.table.columns)
    ]
    return Table(tuple(columns), case.table.tree).microdata()


def _ask(case: Life, database: sf.StatDB, held: Sequence[Cells]) -> None:
    """Everything stored or waiting is what was put in; answers hold what is stored."""
    if not _holds(case, database, held):
        raise Finding(f"the database does not hold its {len(held)} rows")
    stored, again = _stored(case, database), sf.StatDB.open(database.path)
    for question in case.questions:
        sql = question.sql(case.table)
        try:
            result = database.query(sql)
        except QueryRefused:
            continue
        try:
            judge(question, case.table, result, stored)
        except Finding as finding:
            raise Finding(f"{sql}: {finding}") from finding
        if str(again.query(sql).answers) != str(result.answers):
            raise Finding(f"{sql}: another answer when it is asked again")


def _holds(case: Life, database: sf.StatDB, held: Sequence[Cells]) -> bool:
    waiting = [
        {one.name: key for one, key in zip(case.table.columns, row, strict=True)}
        for row in zip(
            *(
                keys(database.waiting[one.name].type, database.waiting[one.name].combine_chunks())
                for one in case.table.columns
            ),
            strict=True,
        )
    ]
    put_in = _rows_as_keys(case, held)
    return _counted([*_stored(case, database), *waiting]) == _counted(put_in)


def _rows_as_keys(case: Life, held: Sequence[Cells]) -> list[dict[str, Any]]:
    columns = [
        replace(one, cells=tuple(row[place] for row in held))
        for place, one in enumerate(case.table.columns)
    ]
    return rows_of(Table(tuple(columns)))


def _stored(case: Life, database: sf.StatDB) -> list[dict[str, Any]]:
    table = database.table()
    held = {}
    for one in case.table.columns:
        attribute = table.attributes[one.name]
        values = attribute.decode(np.asarray(table.codes[one.name]))
        held[one.name] = keys(values.type, values)
    return [{name: held[name][i] for name in held} for i in range(table.n_rows)]


def _counted(rows: Sequence[Row]) -> Counter[str]:
    return Counter(str(sorted((name, _text(value)) for name, value in row.items())) for row in rows)


def _text(value: Any) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)  # 1E+3 is 1000
