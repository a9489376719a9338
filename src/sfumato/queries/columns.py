"""The columns that questions can be about: their types, and how a stated value fits them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.attribute import Attribute, Kind
from sfumato.core.microdata import Microdata
from sfumato.core.moments import comparable, has_zone, read_text, shown, unit_number
from sfumato.core.predicates import Position
from sfumato.core.query import Query
from sfumato.core.spelling import spelled
from sfumato.errors import QueryRefused

# Numbers of more digits are refused: turning 1e999999999 into a whole number takes for ever.
_DIGITS = 400


@dataclass(frozen=True)
class Column:
    """A column under the name that questions use; ``order`` if its owner declared one.

    ``refusal`` says why no question about it can be answered, if that is so.
    """

    name: str
    type: pa.DataType
    order: tuple[Any, ...] | None = None
    refusal: str | None = None

    @property
    def steps(self) -> bool:
        """Whether there is nothing between neighbouring values: whole numbers and days."""
        return self.order is None and bool(
            pa.types.is_integer(self.type) or pa.types.is_date(self.type)
        )

    @cached_property
    def ranks(self) -> Mapping[Any, int]:
        """The place of each value in the declared order."""
        return {value: rank for rank, value in enumerate(self.order or ())}

    def all_fitted(self, values: frozenset[Any], at: Position = None) -> frozenset[Any]:
        """Stated values in the column's type; lists that are so already are the usual case."""
        if {type(value) for value in values} <= {self._native}:
            return frozenset(map(spelled, values)) if self._native is str else values
        return frozenset(self.fitted(value, at) for value in values)

    @cached_property
    def _native(self) -> type | None:
        """The Python type whose every value fits."""
        if pa.types.is_integer(self.type):
            return int
        if pa.types.is_boolean(self.type):
            return bool
        return str if self.type in (pa.string(), pa.large_string()) else None

    def shown(self, value: Any) -> Any:
        """A value that is compared, as Python has it."""
        return shown(value, self.type)

    def fitted(self, value: Any, at: Position = None) -> Any:
        """A stated value as those of the column are compared (core.moments), or a refusal."""
        if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
            value = value.item()
        try:
            fitted = _fit(value, self.type)
        except (ValueError, OverflowError, InvalidOperation):
            fitted = None
        if fitted is None:
            raise QueryRefused(
                f"column {self.name!r} holds {_kind_name(self.type)}, not {_shown(value)}",
                clause=self.name,
                position=at,
            )
        return fitted


@dataclass(frozen=True, slots=True)
class Catalog:
    """All columns of the one table that can be asked."""

    columns: Mapping[str, Column]

    @classmethod
    def of(cls, columns: Iterable[Column]) -> Catalog:
        """A catalog of these columns."""
        return cls({column.name: column for column in columns})

    @classmethod
    def of_table(cls, table: Microdata) -> Catalog:
        """The columns of a table; identifiers are not among them."""
        coded = [
            Column(attribute.name, attribute.values.type, declared_order(attribute))
            for attribute in table.attributes.values()
        ]
        shown = [column_of(field.name, field.type) for field in table.insensitive.schema]
        return cls.of([*coded, *shown])

    def refusing(self, reasons: Mapping[str, str]) -> Catalog:
        """The same where questions about some columns are refused."""
        refused = {name: replace(self.columns[name], refusal=why) for name, why in reasons.items()}
        return Catalog({**self.columns, **refused})

    def find(self, name: str, at: Position = None) -> Column:
        """The column of a name; letters' case matters only where it decides between two."""
        alike = [name] if name in self.columns else self._alike(name)
        if len(alike) == 1:
            column = self.columns[alike[0]]
            if column.refusal is not None:
                raise QueryRefused(column.refusal, clause=name, position=at)
            return column
        lowered = {known.lower(): known for known in self.columns}
        close = difflib.get_close_matches(name.lower(), lowered, n=1)
        there = ", ".join(self.columns)
        hint = f"did you mean {lowered[close[0]]!r}?" if close else f"there are {there}"
        raise QueryRefused(f"no column {name!r}; {hint}", clause=name, position=at)

    def _alike(self, name: str) -> list[str]:
        return [known for known in self.columns if known.lower() == name.lower()]


def column_of(name: str, kind: pa.DataType, order: tuple[Any, ...] | None = None) -> Column:
    """A column of this type. One that cannot be asked about says so, and hides no other.

    Left out, ``Age`` would be taken for ``age``.
    """
    if is_codable(kind):
        return Column(name, plain_type(kind), order)
    return Column(name, kind, refusal=f"column {name!r} holds {kind}, which cannot be asked about")


def declared_order(attribute: Attribute) -> tuple[Any, ...] | None:
    """The order that an owner gave to values which have none by nature, or another one."""
    declared = attribute.kind is Kind.CATEGORICAL and attribute.ordered
    return tuple(comparable(attribute.values)) if declared else None


def is_codable(kind: pa.DataType) -> bool:
    """Whether values of this type can be encoded, and so be asked for."""
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that core.attribute.encode gives to a column of another one."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return pa.float64() if pa.types.is_floating(kind) else kind


def position_of(query: Query, name: str) -> Position:
    """Where a query's text names an attribute."""
    return query.places.get(name)


def _fit(value: Any, kind: pa.DataType) -> Any:
    """The value as the type has it; None if it cannot be one."""
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return spelled(value) if isinstance(value, str) else None
    if pa.types.is_temporal(kind):
        return _fit_time(value, kind)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if not math.isfinite(value) or abs(Decimal(value).adjusted()) > _DIGITS:
        return None
    if pa.types.is_floating(kind):
        return float(value) + 0.0
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if pa.types.is_decimal(kind):
        return Decimal(number)
    return int(number) if number == int(number) else number


def _fit_time(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_date(kind):
        if isinstance(value, str):
            return date.fromisoformat(value)
        return value if isinstance(value, date) and not isinstance(value, datetime) else None
    if pa.types.is_timestamp(kind):
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time())
        if not isinstance(value, str | datetime | np.datetime64):
            return None
        if has_zone(value) is (kind.tz is None):
            return None  # an hour that summer time repeats would be two
    elif pa.types.is_time(kind):
        if not isinstance(value, str | time):
            return None
    elif not isinstance(value, timedelta | np.timedelta64):
        return None
    return read_text(value, kind) if isinstance(value, str) else unit_number(value, kind)


def _kind_name(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_boolean(kind):
        return "true and false"
    if pa.types.is_date(kind):
        return "dates such as '2020-12-31'"
    if pa.types.is_timestamp(kind):
        if kind.tz is None:
            return "times without a time zone, such as '2020-12-31 23:59:59'"
        return "times with a time zone, such as '2020-12-31 23:59:59+01:00'"
    if pa.types.is_time(kind):
        return "times of day such as '23:59:59'"
    return "durations" if pa.types.is_duration(kind) else "text"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        shown = value if len(value) <= 40 else f"{value[:40]}..."
        return f"the text {shown!r}"
    return f"{value}" if not isinstance(value, date | time | timedelta) else f"{value!s}"
