"""Random questions as SQL, and their true answers by going through the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from fuzzing.columns import Column, array, is_text, keys
from fuzzing.tables import Table

FUNCTIONS = ("count", "sum", "avg", "min", "max")
OPERATORS: dict[str, Callable[[Any, Sequence[Any]], bool]] = {
    "=": lambda x, wanted: x == wanted[0],
    "<>": lambda x, wanted: x != wanted[0],
    "<": lambda x, wanted: x < wanted[0],
    "<=": lambda x, wanted: x <= wanted[0],
    ">": lambda x, wanted: x > wanted[0],
    ">=": lambda x, wanted: x >= wanted[0],
    "BETWEEN": lambda x, wanted: wanted[0] <= x <= wanted[-1],
    "IN": lambda x, wanted: x in wanted,
    "NOT IN": lambda x, wanted: x not in wanted,
    "IS NOT NULL": lambda _x, _wanted: True,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A column, an operator, and places among the column's values."""

    column: str
    operator: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What to compute of which rows, by which column."""

    function: str = "count"
    of: str | None = None
    where: tuple[Condition, ...] = ()
    by: str | None = None

    def sql(self, table: Table) -> str:
        """The question as a person would write it."""
        columns = {column.name: column for column in table.columns}
        what = f"{self.function.upper()}({'*' if self.of is None else _name(self.of)})"
        shown = what if self.by is None else f"{_name(self.by)}, {what}"
        conditions = [_condition(one, columns[one.column]) for one in self.where]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        by = "" if self.by is None else f" GROUP BY {_name(self.by)}"
        return f"SELECT {shown} FROM t{where}{by}"


def questions(table: Table) -> st.SearchStrategy[Question]:
    """Questions about the columns that can be asked about."""
    asked = [column for column in table.columns if column.role != "identifier"]
    names = [column.name for column in asked]
    conditions = st.one_of([_conditions(column) for column in asked])
    return st.builds(
        Question,
        st.sampled_from(FUNCTIONS),
        st.sampled_from(names),
        st.lists(conditions, max_size=2, unique_by=lambda one: one.column).map(tuple),
        st.sampled_from([None, None, *names]),
    ) | st.builds(
        Question,
        where=st.lists(conditions, max_size=3, unique_by=lambda one: one.column).map(tuple),
        by=st.sampled_from([None, None, *names]),
    )


def _conditions(column: Column) -> st.SearchStrategy[Condition]:
    if not column.values or not _writable(column.kind):
        return st.builds(Condition, st.just(column.name), st.just("IS NOT NULL"), st.just(()))
    place = st.integers(0, len(column.values) - 1)
    return st.builds(
        Condition,
        st.just(column.name),
        st.sampled_from([*OPERATORS, "IS NULL"]),
        st.lists(place, min_size=1, max_size=3).map(tuple),
    )


def _writable(kind: pa.DataType) -> bool:
    """Whether SQL has a way to write such values."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not (
        pa.types.is_nested(plain) or pa.types.is_binary(plain) or pa.types.is_interval(plain)
        or pa.types.is_duration(plain) or pa.types.is_time(plain) or pa.types.is_null(plain)
    )  # fmt: skip


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _condition(one: Condition, column: Column) -> str:
    name, operator = _name(one.column), one.operator
    if operator.startswith("IS"):
        return f"{name} {operator}"
    written = [literal(column, place) for place in one.values]
    if operator == "BETWEEN":
        return f"{name} BETWEEN {written[0]} AND {written[-1]}"
    return f"{name} {operator} " + (
        f"({', '.join(written)})" if operator.endswith("IN") else written[0]
    )


def literal(column: Column, place: int) -> str:
    """A value as SQL writes it."""
    kind, text = column.kind, column.values[place]
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return text
    if pa.types.is_floating(kind):
        value = array(kind, [text])[0].as_py()  # as the column has it: 0.1 is no single
        return "0" if value != value or value in (float("inf"), float("-inf")) else repr(value)
    if pa.types.is_boolean(kind):
        return text.upper()
    if is_text(kind):
        text = (keys(kind, array(kind, [text]))[0] or "").replace("'", "''")
    return f"'{text}'"
