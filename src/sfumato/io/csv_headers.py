"""The first line of a delimited file: names of columns, or already somebody's row.

A file without a header would make its first person the names of the columns, and names are
published as they are. So a first line that looks like a row is refused, unless the reader says what
it is. It looks like one if a cell is empty, or a number, date, truth value or mail address, or if
the same value stands above two columns; or if its values occur again below: in at least half of the
columns in which values repeat at all, among the first thousand rows. One exception: a first column
without a name is the index that pandas writes; it is not read.

What is said about such a line gives places and no values: they may be a person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sfumato.errors import DataError
from sfumato.io.dialects import Dialect
from sfumato.io.text_types import _DATE, _NUMBER, _TIME, _ZONE, NULL_MARKERS

SAMPLE_ROWS = 1000

_DATA = re.compile(
    rf"{_NUMBER}|{_DATE}({_TIME}{_ZONE}?)?|true|false|\S+@\S+\.\S+"
    rf"|{'|'.join(map(re.escape, NULL_MARKERS))}",
    re.IGNORECASE,
)
_WORDS = re.compile(r"inf(inity)?", re.IGNORECASE)  # numbers to a column, names to a header
_REMEDY = (
    "if the line is the header, say header=True (--header); if the file has none, name its columns "
    "with names=[...] (--names), or put a line with their names on top"
)


def places_of(label: str, line: Dialect, cells: Sequence[str]) -> dict[str, int]:
    """The names of the columns, and the place of each, for a first line of these cells."""
    found = [cell.strip() for cell in cells]
    if line.names is None:
        unnamed = len(found) > 1 and not found[0]
        _require_once(label, found)
        return {name: place for place, name in enumerate(found) if place or not unnamed}
    if len(line.names) != len(cells):
        raise DataError(
            f"{label}: {len(line.names)} names are given, and the first line has {len(cells)} "
            "values; give one name per column",
            source=label,
        )
    _require_once(label, line.names)
    if line.header is None:
        _require_no_header(label, line.names, found)
    return {name: place for place, name in enumerate(line.names)}


def require_header(label: str, cells: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Raise if a first line of these cells looks like one of the rows below."""
    names = [cell.strip() for cell in cells]
    for place, name in enumerate(names, start=1):
        if not name and (place > 1 or len(names) == 1):
            raise _suspect(label, f"column {place} has no name in the first line")
        if name and _is_data(name):
            raise _suspect(
                label,
                f"column {place} of the first line is a number, a date or the like, so the line "
                "may be a person's row instead of the header",
            )
    again = _repeated(names, rows)
    if again:
        listed = f"column{'s' if len(again) > 1 else ''} {', '.join(map(str, again))}"
        raise _suspect(
            label,
            f"the first line may be a person's row instead of the header: what it has in {listed} "
            "occurs there again",
        )


def _repeated(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[int]:
    """Columns, from 1, whose first cell is one of its values."""
    columns: list[list[str]] = [[] for _ in names]
    for row in rows:
        for column, cell in zip(columns, row, strict=False):
            if cell.strip():
                column.append(cell.strip())
    # one is enough: a column is seldom called like one of its values, but for one that has no other
    different = [set(column) for column in columns]
    return [
        place + 1
        for place, (name, values) in enumerate(zip(names, different, strict=True))
        if name in values and len(values) > 1
    ]


def _is_data(name: str) -> bool:
    if _WORDS.fullmatch(name):
        return False
    digits = any(letter.isdigit() for letter in name)
    return _DATA.fullmatch(name) is not None or (digits and not any(map(str.isalpha, name)))


def _require_once(label: str, names: Sequence[str]) -> None:
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if name and places.setdefault(name, place) != place:
            raise DataError(
                f"{label}: columns {places[name] + 1} and {place + 1} have the same name; "
                "rename one of them; if the first line is a person's row, give "
                "the columns names=[...] (--names)",
                source=label,
            )


def _require_no_header(label: str, names: Sequence[str], cells: Sequence[str]) -> None:
    known = {name.casefold() for name in names}
    if any(cell.casefold() in known for cell in cells):
        raise DataError(
            f"{label}: the first line holds a name that is given, so it is a header and not a row; "
            "leave out names, or say header=True (--header) to replace its names",
            source=label,
        )


def _suspect(label: str, what: str) -> DataError:
    return DataError(f"{label}: {what}; {_REMEDY}", source=label)
