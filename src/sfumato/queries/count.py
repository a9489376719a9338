"""The COUNT query: how many rows have one of the wanted values in every named attribute.

``SELECT COUNT(*) WHERE A IN (...) AND B IN (...)`` (Xiao, Tao: "Anatomy", section 6.1).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sfumato.errors import DataError


@dataclass(frozen=True, slots=True, init=False)
class CountQuery:
    """Wanted values per attribute; None among them wants rows in which the value is missing.

    Conditions on different attributes must all hold; without any condition every row counts. A
    condition without values can hold for nobody.
    """

    conditions: Mapping[str, frozenset[Any]] = field(hash=False)

    def __init__(self, conditions: Mapping[str, Iterable[Any]]) -> None:
        wanted = {name: frozenset(values) for name, values in conditions.items()}
        object.__setattr__(self, "conditions", wanted)

    def __hash__(self) -> int:
        return hash(frozenset(self.conditions.items()))

    def to_json(self) -> str:
        """One line of JSON, the same for equal queries."""
        stated = {
            name: sorted(map(_to_plain, values), key=_sort_key)
            for name, values in sorted(self.conditions.items())
        }
        return json.dumps(stated, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> CountQuery:
        """The query of a line of JSON."""
        try:
            stated = json.loads(line)
            return cls({name: map(_from_plain, values) for name, values in stated.items()})
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            raise DataError(
                f'not a count query: {error!r}; a line looks like {{"age": [30, 31, null]}}'
            ) from error


# Values that JSON lacks are written as an object with one key, the name of their type.
_WRITERS: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (datetime, "datetime", datetime.isoformat),  # before date, which it extends
    (date, "date", date.isoformat),
    (time, "time", time.isoformat),
    (timedelta, "microseconds", lambda span: str(span // timedelta(microseconds=1))),
    (Decimal, "decimal", str),
)
_READERS: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "microseconds": lambda text: timedelta(microseconds=int(text)),
    "decimal": Decimal,
}


def _to_plain(value: Any) -> Any:
    for kind, name, write in _WRITERS:
        if isinstance(value, kind):
            return {name: write(value)}
    return value


def _from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        ((name, text),) = value.items()
        return _READERS[name](text)
    return value


def _sort_key(value: Any) -> tuple[str, Any]:
    """Numbers by size, anything else as text, missing last."""
    if value is None:
        return ("z", 0)
    if isinstance(value, bool | int | float):
        return ("a", value)
    return ("b", json.dumps(value))
