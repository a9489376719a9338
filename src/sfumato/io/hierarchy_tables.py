"""From the rows of a hierarchy table to a tree, or to the row and level where it is none.

A row is a value's way up: the value, its label at level 1, at level 2, ..., the root. All rows are
equally long. A value that has fewer labels above it repeats one of them; in the tree these repeats
are one node. Anything else that is not a tree is refused, with the value, the level and the line.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sfumato.core.taxonomy import Taxonomy, without_repeats
from sfumato.errors import SchemaError

# Values that are all of one of these sorts have an order of their own.
_MEASURES: tuple[Callable[[str], Any], ...] = (int, float, datetime.date.fromisoformat)


@dataclass(frozen=True, slots=True)
class Row:
    """One value's way up; ``labels`` starts with the value itself, ``place`` says where it is."""

    place: str
    labels: tuple[str, ...]

    @property
    def value(self) -> str:
        """What the way up starts from."""
        return self.labels[0]

    def __str__(self) -> str:
        return f"{self.value!r} ({self.place})"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a long table: what a value becomes at one level."""

    place: str
    attribute: str
    value: str
    level: str
    label: str


def tree_of(rows: Sequence[Row]) -> Taxonomy:
    """The tree behind a hierarchy table.

    Leaves stand as in the table, those below the same label side by side. Numbers and dates stand
    in their own order if the labels then still cover runs of them, so that the attribute can stay
    numerical.
    """
    _require_whole(rows)
    _require_one_way(rows)
    _require_one_root(rows)
    _require_one_parent(rows)
    _require_merging(rows)
    return _in_order(rows)


def rows_of(entries: Iterable[Entry]) -> dict[str, list[Row]]:
    """The rows of every attribute in a long table; level 0 need not be said."""
    tables: dict[str, dict[str, dict[int, Entry]]] = {}
    for entry in entries:
        level = _level(entry)
        said = tables.setdefault(entry.attribute, {}).setdefault(entry.value, {})
        if said.setdefault(level, entry).label != entry.label:
            raise SchemaError(
                f"{entry.attribute}: {entry.value!r} has two labels at level {level}, "
                f"{said[level].label!r} ({said[level].place}) and {entry.label!r} ({entry.place})"
            )
    return {attribute: _rows(ways) for attribute, ways in tables.items()}


def _rows(ways: dict[str, dict[int, Entry]]) -> list[Row]:
    top = max(level for said in ways.values() for level in said)
    return [
        Row(
            place=next(iter(said.values())).place,
            labels=(value, *(said[n].label if n in said else "" for n in range(1, top + 1))),
        )
        for value, said in ways.items()
    ]


def _level(entry: Entry) -> int:
    if not entry.attribute:
        raise SchemaError(f"{entry.place} names no attribute")
    if not entry.level.isdecimal():
        raise SchemaError(
            f"{entry.attribute}: {entry.value!r} ({entry.place}) has the level {entry.level!r}; "
            "levels are 0, 1, 2, ..."
        )
    if int(entry.level) == 0 and entry.label != entry.value:
        raise SchemaError(
            f"{entry.attribute}: {entry.value!r} ({entry.place}) is {entry.label!r} at level 0, "
            "which is the value itself"
        )
    return int(entry.level)


def _require_whole(rows: Sequence[Row]) -> None:
    """Every row has a value and a label at each level."""
    if not rows:
        raise SchemaError("it has no rows")
    longest = max(rows, key=lambda row: len(row.labels))
    for row in rows:
        if not row.value:
            raise SchemaError(f"{row.place} has no value")
        if not any(row.labels[1:]):
            raise SchemaError(f"{row} has no label above it; the last one should be the root, as *")
        gap = next((n for n, label in enumerate(row.labels) if not label), len(row.labels))
        if gap < len(longest.labels):
            raise SchemaError(
                f"{row} has no label at level {gap}, {longest} has {len(longest.labels) - 1} "
                "levels above it; where a value has fewer, repeat the label below"
            )


def _require_one_way(rows: Sequence[Row]) -> None:
    first: dict[str, Row] = {}
    for row in rows:
        other = first.setdefault(row.value, row)
        if other.labels != row.labels:
            raise SchemaError(
                f"{row.value!r} has two ways up, {' > '.join(other.labels[1:])} ({other.place}) "
                f"and {' > '.join(row.labels[1:])} ({row.place}); keep one"
            )


def _require_one_root(rows: Sequence[Row]) -> None:
    for row in rows:
        if row.labels[-1] != rows[0].labels[-1]:
            raise SchemaError(
                f"it has two roots, {rows[0].labels[-1]!r} above {rows[0]} and {row.labels[-1]!r} "
                f"above {row}; end every row with the same label, as *, and leave out a header line"
            )


def _require_one_parent(rows: Sequence[Row]) -> None:
    """No label is above itself, below two others, or a value and a label above values."""
    above: dict[str, tuple[str, Row]] = {}
    values = {row.value: row for row in rows}
    for row in rows:
        path = without_repeats(row.labels)
        for child, parent in pairwise(path):
            if path.count(child) > 1:
                raise SchemaError(f"{child!r} is above itself, over {row}; rename one of them")
            other, where = above.setdefault(child, (parent, row))
            if other != parent:
                raise SchemaError(
                    f"{child!r} is below two labels, {other!r} over {where} and {parent!r} over "
                    f"{row}; give its two meanings two names"
                )
            if parent in values:
                raise SchemaError(
                    f"{values[parent]} is a value, and also a label above {row}; rename the label"
                )


def _require_merging(rows: Sequence[Row]) -> None:
    """A level that divides the values as the one below does would be a step that does nothing."""
    if len({row.value for row in rows}) == 1:
        return
    for level in range(1, len(rows[0].labels)):
        steps = {(row.labels[level - 1], row.labels[level]) for row in rows}
        if len(steps) == len({low for low, _ in steps}) == len({high for _, high in steps}):
            raise SchemaError(
                f"level {level} merges nothing: each of its {len(steps)} labels stands above a "
                f"single one of level {level - 1}; leave the level out"
            )


def _in_order(rows: Sequence[Row]) -> Taxonomy:
    for measure in _MEASURES:
        try:
            ranked = sorted(rows, key=lambda row: measure(row.value))
        except ValueError:
            continue
        tree = Taxonomy.from_paths([row.labels for row in ranked])
        if list(tree.leaves) == list(dict.fromkeys(row.value for row in ranked)):
            return tree
        break
    return Taxonomy.from_paths([row.labels for row in rows])
