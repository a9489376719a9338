"""What an owner may want to say about a column that is not what it seems: codes, odd values.

A hint is for the owner: it names values where these decide what is meant.
"""

from __future__ import annotations

import shlex

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Counts, Flags
from sfumato.io.text_types import _NUMBER, NULL_MARKERS

_MOST_CODES, _ROWS_PER_CODE = 30, 20
_RUN = 10  # numbers that follow each other from 0 or 1 on, as only counts do
_MOST_ODD, _LEAST_NUMBERS = 3, 10
_LONGEST = 30  # letters of an odd value that are shown
_DECIMAL_COMMA = r"-?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]+)?"
_DAY_FIRST = r"[0-9]{1,2}([./-])[0-9]{1,2}[./-][0-9]{4}"
_YEAR_FIRST = r"[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}"


def hint_of(values: pa.Array, counts: Counts) -> str:
    """A hint about a column with these different values, and so many rows of each."""
    known = values.is_valid().to_numpy(zero_copy_only=False)
    if len(values) == 1 and counts.sum() >= _ROWS_PER_CODE:
        return f"{'one value' if known[0] else 'nothing'} in all rows: it need not be in the schema"
    values, counts = values.filter(pa.array(known)), counts[known]
    if pa.types.is_integer(values.type):
        return _codes(values, counts)
    return _texts(values, counts) if pa.types.is_string(values.type) else ""


def weight_hint(name: str) -> str:
    """A hint about numbers whose name says weight."""
    return (
        "numbers that may be survey weights: if they are, take the column out of the schema, and "
        f"learn the risk in the population with --weight {shlex.quote(name)}"
    )


def code_hint(distinct: int) -> str:
    """A hint about whole numbers whose name says code; nothing where they are many."""
    if not 2 < distinct <= _MOST_CODES:
        return ""
    return f'{distinct} whole numbers named as codes: if they are, say kind = "categorical"'


def _codes(values: pa.Array, counts: Counts) -> str:
    """Few numbers that do not follow each other are seldom amounts: 1, 2, 9."""
    if not 2 < len(values) <= _MOST_CODES or counts.sum() < _ROWS_PER_CODE * len(values):
        return ""
    ends = pc.min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if high - low + 1 == len(values) or _counted(values, low, high):
        return ""
    return (
        f"{len(values)} whole numbers with gaps from {low} to {high}: if they are codes, say "
        'kind = "categorical"; if one of them stands for a missing value, name it (--missing)'
    )


def _counted(values: pa.Array, low: int, high: int) -> bool:
    """Whether these are counts, of which nobody has a few of the largest: 0 to 14, 16, 19, 21."""
    first: int = pc.sum(pc.less(values, low + _RUN)).as_py()
    return low in (0, 1) and first == _RUN and high < low + _MOST_CODES


def _texts(values: pa.Array, counts: Counts) -> str:
    numbers = _match(values, _NUMBER)
    absent: Flags = pc.is_in(values, pa.array(NULL_MARKERS)).to_numpy(zero_copy_only=False)
    odd = ~numbers & ~absent
    if numbers.sum() >= _LEAST_NUMBERS and 0 < odd.sum() <= _MOST_ODD:
        shown = sorted(zip(values.filter(pa.array(odd)).to_pylist(), counts[odd], strict=True))
        listed = ", ".join(f"{_cut(text)!r} ({_rows(rows)})" for text, rows in shown)
        return (
            f"numbers but for {listed}: if these stand for a missing value, name them (--missing)"
        )
    if len(values) < _LEAST_NUMBERS:
        return ""
    if _match(values, _DAY_FIRST).all():
        return "dates that are not written as 2020-12-31: if the day comes first, say --day-first"
    if _match(values, f"{_DAY_FIRST}|{_YEAR_FIRST}").all():
        return (
            "dates that are written in more than one way, and so are texts: write all of them as "
            "2020-12-31"
        )
    if _match(values, _DECIMAL_COMMA).all() and _match(values, ".*,.*").any():
        return "numbers with a comma: if it stands before the decimals, say --decimal ,"
    return ""


def _match(texts: pa.Array, pattern: str) -> Flags:
    found: Flags = pc.match_substring_regex(texts, rf"\A(?:{pattern})\z").to_numpy(
        zero_copy_only=False
    )
    return found.astype(bool)


def _rows(amount: int) -> str:
    return f"{amount:,} row{'' if amount == 1 else 's'}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
