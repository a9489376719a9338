"""What is true of the rows, by going through them, and whether an answer holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import sfumato as sf
from fuzzing.columns import Column, array, keys
from fuzzing.judging import Finding
from fuzzing.questions import OPERATORS, Condition, Question, literal
from fuzzing.tables import Table

Row = Mapping[str, Any]


def rows_of(table: Table) -> list[dict[str, Any]]:
    """The rows as values that compare as the column's do; None where nothing is known."""
    held = {column.name: keys(column.kind, column.array()) for column in table.columns}
    return [{name: held[name][i] for name in held} for i in range(table.n_rows)]


def chosen(question: Question, table: Table, rows: Sequence[Row]) -> list[Row]:
    """The rows that satisfy the conditions; nothing compares with a missing value."""
    columns = {column.name: column for column in table.columns}
    tests = [_test(one, columns[one.column]) for one in question.where]
    return [row for row in rows if all(test(row) for test in tests)]


def _test(one: Condition, column: Column) -> Callable[[Row], bool]:
    if one.operator == "IS NULL":
        return lambda row: row[one.column] is None
    written = [literal(column, place) for place in one.values] if column.values else []
    texts = [column.values[place] for place in one.values]
    kind = column.kind.value_type if pa.types.is_dictionary(column.kind) else column.kind
    wanted: list[Any]
    if pa.types.is_floating(kind):
        wanted = [float(text) for text in written]
    else:
        wanted = ["" if key is None else key for key in keys(kind, array(kind, texts))]
    holds = OPERATORS[one.operator]
    return lambda row: row[one.column] is not None and holds(row[one.column], wanted)


def judge(
    question: Question, table: Table, result: sf.Result, rows: Sequence[Row], gone: int = 0
) -> None:
    """Raise a Finding unless every true answer lies within its bounds, and every estimate too.

    ``gone`` rows were left out of the release: a count may lack so many, and nothing else is
    certain.
    """
    picked = chosen(question, table, rows)
    if question.by is None:
        _judge_one(question, table, result.answers[0][0], picked, gone)
        return
    columns = {column.name: column for column in table.columns}
    kind = columns[question.by].kind
    found = {
        _key_of(key[0], kind): line[0]
        for key, line in zip(result.keys, result.answers, strict=True)
    }
    for key in {row[question.by] for row in picked}:
        inside = [row for row in picked if row[question.by] == key]
        if key in found:
            _judge_one(question, table, found[key], inside, gone)
        elif len(inside) > gone:
            raise Finding(f"group {key!r} has {len(inside)} rows and is not in the answer")


def _judge_one(
    question: Question, table: Table, found: sf.Answer, rows: Sequence[Row], gone: int
) -> None:
    if found.lo is not None and not _between(found.lo, found.estimate, found.hi):
        raise Finding(f"the estimate {found.estimate!r} is outside of {found.lo!r} to {found.hi!r}")
    true = truth(question, rows)
    if question.function == "count":
        if not (found.lo - 1e-9 <= true and true - gone <= found.hi + 1e-9):
            raise Finding(f"{true} rows, answered {found.lo!r} to {found.hi!r}, {gone} left out")
        return
    if gone:
        return
    if true is None:
        if question.function != "sum" and found.lo is not None and not found.nullable:
            raise Finding(f"no row qualifies, answered {found}")
        return
    if found.lo is None:
        raise Finding(f"the truth is {true!r}, answered that no row qualifies")
    kind = next(column.kind for column in table.columns if column.name == question.of)
    lo, hi = (_key_of(end, kind) for end in (found.lo, found.hi))
    slack = _slack(question, rows)
    if not lo - slack <= _key_of(true, pa.null()) <= hi + slack:
        raise Finding(f"the truth is {true!r}, answered {found.lo!r} to {found.hi!r}")


def truth(question: Question, rows: Sequence[Row]) -> Any:
    """What SQL computes; None where it has nothing to compute it of."""
    if question.of is None:
        return len(rows)
    known = [row[question.of] for row in rows if row[question.of] is not None]
    if question.function == "count":
        return len(known)
    if not known:
        return None
    if question.function in ("min", "max"):
        return min(known) if question.function == "min" else max(known)
    total = sum((Fraction(value) for value in known), Fraction(0))
    return total if question.function == "sum" else total / len(known)


def _slack(question: Question, rows: Sequence[Row]) -> Fraction:
    """What doubles may lose in sums; whole numbers and the ends themselves lose nothing."""
    if question.function in ("min", "max") or question.of is None:
        return Fraction(0)
    known = [row[question.of] for row in rows if row[question.of] is not None]
    if question.function == "sum" and all(isinstance(value, int) for value in known):
        return Fraction(0)
    return sum((abs(Fraction(value)) for value in known), Fraction(0)) / 10**9 + Fraction(
        1, 10**300
    )


def _between(lo: Any, estimate: Any, hi: Any) -> bool:
    if isinstance(lo, int | float | Decimal) and not isinstance(lo, bool):
        slack = (abs(Fraction(lo)) + abs(Fraction(hi))) / 10**9 + Fraction(1, 10**9)
        return bool(Fraction(lo) - slack <= Fraction(estimate) <= Fraction(hi) + slack)
    return bool(lo <= estimate <= hi)


def _key_of(value: Any, kind: pa.DataType) -> Any:
    """A value of an answer as the rows have it."""
    if value is None or not pa.types.is_temporal(kind):
        return Fraction(value) if isinstance(value, float | Decimal) else value
    plain = pc.cast(pa.array([value], kind), pa.int32() if kind.bit_width == 32 else pa.int64())
    return plain[0].as_py()
