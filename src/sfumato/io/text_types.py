"""What the texts of a column are: numbers, dates, truth values, or just texts.

The types are decided on all distinct texts, not on a sample. A column gets a type only if every
text in it can be told from its value: "02174" and "+4930" are texts, because reading them as
numbers would lose a character. "1.10" may be a number, but not beside "1.1": two texts that differ
may be two codes (of diseases, of versions), and as one number they could not be told apart. Write
the numbers of a column in one way.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.io.dialects import Dialect

# Missing in a column of numbers, dates or truth values. In a column of texts they are values: the
# country code NA is Namibia, and Null is a family name.
NULL_MARKERS = ("NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan")

_INTEGER = r"-?(0|[1-9][0-9]*)"
# Infinite numbers count as numbers, so that they are refused as such and not taken for a category.
_NUMBER = rf"{_INTEGER}(\.[0-9]*)?([eE][+-]?[0-9]+)?|-?\.[0-9]+([eE][+-]?[0-9]+)?|-?[iI]nf(inity)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})"
_TRUTH = r"(?i:true|false)"

_DAY_FIRST = r"(0?[1-9]|[12][0-9]|3[01])[./-](0?[1-9]|1[0-2])[./-][0-9]{4}"


class TextType(NamedTuple):
    """Texts of a pattern, the types that they may have, and what Arrow would write instead of it
    (a regular expression and its replacement, one after the other).
    """

    pattern: str
    kinds: tuple[pa.DataType, ...]
    rewrite: tuple[tuple[str, str], ...] = ()

    def casts(self, texts: pa.Array, kind: pa.DataType) -> pa.Array:
        """The values; ArrowInvalid if these are none."""
        return self.plain(texts).cast(kind)

    def plain(self, texts: pa.Array) -> pa.Array:
        """The texts as Arrow would write their values."""
        for found, instead in self.rewrite:
            texts = pc.replace_substring_regex(texts, found, instead)
        return texts


# The first pattern that every text matches decides; its types are tried from left to right. A
# whole number too long for 64 bits stays a text: as a floating-point number, two long account
# numbers could become one.
_MOMENTS = (pa.timestamp("us"), pa.timestamp("ns"))
_TYPES = (
    TextType(_INTEGER, (pa.int64(), pa.uint64())),
    TextType(_NUMBER, (pa.float64(),)),
    TextType(_TRUTH, (pa.bool_(),)),
    TextType(_DATE, (pa.date32(),)),
    TextType(rf"{_DATE}({_TIME})?", _MOMENTS),
    TextType(rf"{_DATE}{_TIME}{_ZONE}", (pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))),
)
_COMMA = TextType(_NUMBER.replace(r"\.", ","), (pa.float64(),), ((",", "."),))
# one digit is the second of two, and the year comes first
_ISO = ((r"\b([0-9])\b([./-])", r"0\1\2"), (r"\A(..).(..).(....)", r"\3-\2-\1"))
_DAYS = (
    TextType(_DAY_FIRST, (pa.date32(),), _ISO),
    TextType(rf"{_DAY_FIRST}({_TIME})?", _MOMENTS, _ISO),
)


def types_of(dialect: Dialect) -> tuple[TextType, ...]:
    """What texts may be; with a decimal comma 1.5 is no number, it could be a version."""
    commas = dialect.decimal == ","
    types = tuple(_COMMA if commas and one.pattern == _NUMBER else one for one in _TYPES)
    return (*types, *_DAYS) if dialect.day_first else types


def typed(
    column: pa.ChunkedArray, missing: Collection[str], types: tuple[TextType, ...] = _TYPES
) -> pa.ChunkedArray:
    """A column of dictionary-encoded texts as a column of the type that they all have.

    Blanks around a text are dropped: "flu" and "flu " are one disease, and counting them as two
    would promise a diversity that is not there.
    """
    chunks = column.chunks
    # every chunk has a dictionary of its own, in which each text is looked at once
    texts = [_absent(pc.utf8_trim_whitespace(chunk.dictionary), ["", *missing]) for chunk in chunks]
    values = _values(texts, types)
    pairs = zip(values, chunks, strict=True)
    kind = values[0].type if values else pa.string()
    return pa.chunked_array([value.take(chunk.indices) for value, chunk in pairs], kind)


def _values(texts: list[pa.Array], types: tuple[TextType, ...]) -> list[pa.Array]:
    present = [_absent(part, NULL_MARKERS) for part in texts]
    if all(part.null_count == len(part) for part in present):
        return texts
    for one in types:
        if all(_all_match(part, one.pattern) for part in present):
            found = _first_cast(present, one)
            return found if found and _told_apart(present, found) else texts
    return texts


def _told_apart(texts: list[pa.Array], values: list[pa.Array]) -> bool:
    """Whether different texts are different numbers; infinite ones are refused later anyway."""
    if not pa.types.is_floating(values[0].type):
        return True
    finite = pc.is_finite(pa.chunked_array(values))
    numbers = pc.add(pa.chunked_array(values).filter(finite), 0.0)  # -0.0 is 0.0
    written = pa.chunked_array(texts).filter(finite)
    return bool(pc.count_distinct(numbers).as_py() == pc.count_distinct(written).as_py())


def _first_cast(present: list[pa.Array], one: TextType) -> list[pa.Array] | None:
    for kind in one.kinds:
        try:
            return [one.casts(part, kind) for part in present]
        except pa.ArrowInvalid:
            continue
    return None


def _all_match(texts: pa.Array, pattern: str) -> bool:
    # the group keeps the anchors outside the alternatives
    matches = pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")
    # nulls are skipped; a chunk of nothing else contradicts no type
    return bool(pc.all(matches, min_count=0).as_py())


def _absent(texts: pa.Array, markers: Collection[str]) -> pa.Array:
    found = pc.is_in(texts, value_set=pa.array(markers, pa.string()))
    return pc.if_else(found, pa.scalar(None, pa.string()), texts)
