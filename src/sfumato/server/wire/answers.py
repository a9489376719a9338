"""An answer as rows of a table: x_lo and x_hi for every aggregate x, or one number for both.

    interval   x_lo, x_hi       the truth is between them
    midpoint   x                what is halfway between them, for tools that need one number
    both       x, x_lo, x_hi
    arrow      the whole answer as HTTP gives it to Python, in one value

The midpoint is no estimate: nothing says that the truth is near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.answer import Answer, Result
from sfumato.core.query import Aggregate, Query
from sfumato.queries.columns import Catalog
from sfumato.server.answering import Answered
from sfumato.server.questions import Asked
from sfumato.server.wire.messages import Field
from sfumato.server.wire.outline import Item, Order, Outline
from sfumato.server.wire.values import BYTEA, FLOAT8, NUMERIC, Kind, kind_of

Mode: TypeAlias = Literal["interval", "midpoint", "both", "arrow"]
_ENDS: dict[Mode, tuple[str | None, ...]] = {
    "arrow": (),
    "interval": ("lo", "hi"),
    "midpoint": (None,),
    "both": (None, "lo", "hi"),
}
Line: TypeAlias = tuple[Sequence[Any], Sequence[Answer]]
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class Outlined(Asked):
    """A question in a tool's words; equal texts are equal questions."""

    outline: Outline | None = None

    def __eq__(self, other: object) -> bool:
        """By the text."""
        return isinstance(other, Outlined) and self.text == other.text

    def __hash__(self) -> int:
        """By the text, and not that of a question in plain words."""
        return hash((Outlined, self.text))

    def read(self) -> Query:
        """The question."""
        assert self.outline is not None
        return self.outline.query()

    def read_placed(self) -> Query:
        """The question with the places of its names."""
        assert self.outline is not None
        return self.outline.query(placed=True)


class Column(NamedTuple):
    """A column that is shown: its name, its type, and how its value is found in a line."""

    name: str
    kind: Kind
    value: Callable[[Line], Any]

    @property
    def field(self) -> Field:
        """What a client is told of it."""
        return Field(self.name, self.kind.oid, self.kind.length)


class Plan(NamedTuple):
    """A question, the columns of its answer, and the lines that are shown of it."""

    asked: Asked
    columns: Sequence[Column]
    lines: Callable[[Answered], Sequence[Sequence[Any]]]


def plan_of(text: str, outline: Outline, catalog: Catalog, mode: Mode) -> Plan:
    """The plan of a text, by the schema alone; a column that is not there is refused."""
    columns = [one for item in outline.items for one in _columns(item, outline, catalog, mode)]
    asked = Outlined(text, is_sql=True, outline=outline)
    return Plan(asked, columns, lambda answered: rows_of(outline, columns, answered.result))


def arrow_of(text: str) -> Plan:
    """The plan of a text in the words that questions over HTTP have."""
    column = Column("arrow", BYTEA, lambda line: line)
    return Plan(Asked(text, is_sql=True), [column], lambda answered: [[answered.table("arrow")]])


def rows_of(outline: Outline, columns: Sequence[Column], result: Result) -> list[list[Any]]:
    """The rows that are shown, sorted and cut."""
    lines = list(_lines(outline, result))
    for order in reversed(outline.order):
        _sort(lines, order)
    end = None if outline.limit is None else outline.offset + outline.limit
    return [[column.value(line) for column in columns] for line in lines[outline.offset : end]]


def _columns(item: Item, outline: Outline, catalog: Catalog, mode: Mode) -> Iterator[Column]:
    place = item.source.place
    if item.source.is_key:
        found = catalog.find(*_placed(outline.by[place]))
        name = item.name or found.name
        yield Column(name, kind_of(found.type), lambda line: line[0][place])
        return
    aggregate = outline.select[place]
    kind = _type(aggregate, catalog)
    name = item.name or aggregate.name
    for end in _ENDS[mode]:
        if end is None:
            yield Column(name, _kind_between(kind), lambda line: midpoint(line[1][place]))
        else:
            yield Column(f"{name}_{end}", _kind_of_end(aggregate, kind), _end(place, end))


def _type(aggregate: Aggregate, catalog: Catalog) -> pa.DataType:
    if aggregate.attribute is None:
        return pa.int64()
    column = catalog.find(aggregate.attribute, aggregate.at)
    return AGGREGATES[aggregate.function].result(column.type)


def _placed(named: tuple[str, int]) -> tuple[str, int]:
    return named[0], named[1] + 1


def _end(place: int, end: str) -> Callable[[Line], Any]:
    return lambda line: getattr(line[1][place], end)


def _kind_of_end(aggregate: Aggregate, kind: pa.DataType) -> Kind:
    """Sums of whole numbers, and numbers without a sign, may need more than 64 bits."""
    wide = aggregate.function != "count" and pa.types.is_integer(kind)
    return NUMERIC if wide else kind_of(kind)


def _kind_between(kind: pa.DataType) -> Kind:
    return FLOAT8 if pa.types.is_integer(kind) else kind_of(kind)


def _lines(outline: Outline, result: Result) -> Iterator[Line]:
    """The groups of an answer; where only names were asked for, those that somebody may have."""
    for key, answers in zip(result.keys, result.answers, strict=True):
        if outline.select or answers[0].hi > 0:
            yield key, answers


def _sort(lines: list[Line], order: Order) -> None:
    def value(line: Line) -> Any:
        found = line[0 if order.source.is_key else 1][order.source.place]
        if order.source.is_key:
            return found
        return midpoint(found) if order.end is None else getattr(found, order.end)

    valued = [(value(line), line) for line in lines]
    known = [one for one in valued if one[0] is not None]
    missing = [line for found, line in valued if found is None]
    known.sort(key=lambda one: one[0], reverse=order.down)
    sorted_lines = [line for _, line in known]
    lines[:] = [*missing, *sorted_lines] if order.nulls_first else [*sorted_lines, *missing]


def midpoint(answer: Answer) -> Any:
    """What is halfway between the ends; None where there are none."""
    lo, hi = answer.lo, answer.hi
    if lo is None:
        return None
    if isinstance(lo, Decimal):
        return _EXACT.divide(_EXACT.add(lo, hi), Decimal(2))
    if isinstance(lo, time):
        ends = [timedelta(hours=at.hour, minutes=at.minute, seconds=at.second,
                          microseconds=at.microsecond) for at in (lo, hi)]  # fmt: skip
        return (datetime.min + (ends[0] + ends[1]) / 2).time()
    if isinstance(lo, date | np.datetime64 | timedelta | np.timedelta64):
        return lo + (hi - lo) // 2
    return lo / 2 + hi / 2
