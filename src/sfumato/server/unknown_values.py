"""Values that a question names and the public domain lacks: nobody has them, so say so.

Such a question is answered, by nobody; more often than not somebody mistyped. The domain is public,
so the value that was meant may be told.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.core.attribute import Kind
from sfumato.core.predicates import Both, Compare, Either, Not, OneOf, Predicate
from sfumato.queries.columns import Catalog
from sfumato.statdb.count.conditions import Axis

_MOST = 5  # notes
_LONGEST = 50  # letters of a value that is repeated, or compared


def notes_on(
    where: Mapping[str, Predicate], catalog: Catalog, axes: Mapping[str, Axis]
) -> tuple[str, ...]:
    """A sentence for each of the first few; the conditions were understood already."""
    found: dict[str, None] = {}
    for name, predicate in where.items():
        column = catalog.find(name)
        axis = axes[column.name]
        if axis.attribute.kind is not Kind.CATEGORICAL:
            continue
        for value in _named(predicate):
            if len(found) < _MOST and column.fitted(value) not in axis.codes:
                found[_note(column.name, value, axis)] = None
    return tuple(found)


def _named(predicate: Predicate) -> Iterator[Any]:
    """The values that are named one by one."""
    waiting = [predicate]
    while waiting:
        match waiting.pop():
            case Both(first, second) | Either(first, second):
                waiting += [second, first]
            case Not(part):
                waiting.append(part)
            case OneOf(values):
                yield from sorted(values, key=str)
            case Compare("=" | "<>", value):
                yield value


def _note(name: str, value: Any, axis: Axis) -> str:
    text = str(value)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"{name} has no value {shown!r}{_meant(text[:_LONGEST], axis)}"


def _meant(text: str, axis: Axis) -> str:
    known = {str(one).lower(): str(one) for one in axis.shown}
    close = difflib.get_close_matches(text.lower(), known, n=1)
    return f"; did you mean {known[close[0]]!r}?" if close else ""
