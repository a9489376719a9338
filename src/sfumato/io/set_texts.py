"""Sets of values as texts, for CSV files, and back.

A set is ``{a, b}``, a missing value in it the bare word ``missing``. A text that would be read as
something else (it holds a comma or a quote, is empty, starts or ends with a blank, or is the word
``missing``) stands in quotes, with its own quotes doubled: ``{"nurse, night", cook}``. So every
list of texts has one writing, and every writing one list.

Files of before this rule have no quotes; they are divided at every comma and blank, as they always
were. There, a value with a comma of its own cannot be told from two.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError
from sfumato.io.types import to_texts

_MISSING = "missing"
_NEEDS_QUOTES = r'[,"]|\A\s|\s\z|\A\z|\Amissing\z'
_ITEM = re.compile(r'"((?:[^"]|"")*)"(?=, |\Z)|(.*?)(?=, |\Z)', re.DOTALL)


def set_texts(lists: pa.Array) -> pa.Array:
    """One text per list; null for a list that is null."""
    texts = to_texts(lists.values)
    # joining a list that holds a null would lose the whole list
    named = pa.ListArray.from_arrays(
        lists.offsets, _quoted(texts).fill_null(_MISSING), mask=lists.is_null()
    )
    return pc.binary_join_element_wise("{", pc.binary_join(named, ", "), "}", "")


def sets_of(name: str, texts: pa.Array) -> pa.ListArray:
    """The lists of texts behind such writings; ``name`` is the column's, for an error."""
    encoded = texts.dictionary_encode()
    written = encoded.dictionary
    _require_braces(name, written)
    inner = pc.utf8_slice_codeunits(written, 1, -1)
    return _divided(inner).take(encoded.indices)


def _divided(inner: pa.Array) -> pa.ListArray:
    """Texts between braces as lists: at once, unless some have quotes or nothing in them."""
    if pc.any(pc.match_substring_regex(inner, r'"|\A\z')).as_py():
        return pa.array([_items(text) for text in inner.to_pylist()], pa.list_(pa.string()))
    plain = pc.split_pattern(inner, ", ")
    bare = pc.if_else(pc.equal(plain.values, _MISSING), pa.scalar(None, pa.string()), plain.values)
    return pa.ListArray.from_arrays(plain.offsets, bare)


def _quoted(texts: pa.Array) -> pa.Array:
    inside = pc.replace_substring(texts, '"', '""')
    needed = pc.match_substring_regex(texts, _NEEDS_QUOTES)
    return pc.if_else(needed, pc.binary_join_element_wise('"', inside, '"', ""), texts)


def _require_braces(name: str, texts: pa.Array) -> None:
    braced = pc.match_substring_regex(texts, r"(?s)\A\{.*\}\z")
    if not pc.all(braced, min_count=0).as_py():
        raise DataError(
            f"column {name!r} is said to hold sets, and has a cell that is not in braces",
            source=name,
        )


def _items(text: str) -> list[str | None]:
    """The items of a text between the braces, some of them in quotes."""
    items: list[str | None] = []
    place = 0
    while text:
        found = _ITEM.match(text, place)
        assert found is not None  # the second way matches anything
        quoted, bare = found.groups()
        if bare is not None and bare.startswith('"'):
            return _as_before(text)  # not ours: a value of an old file that starts with a quote
        items.append(_bare(bare) if quoted is None else quoted.replace('""', '"'))
        if found.end() == len(text):
            break
        place = found.end() + len(", ")
    return items


def _as_before(text: str) -> list[str | None]:
    return [_bare(item) for item in text.split(", ")]


def _bare(item: str) -> str | None:
    return None if item == _MISSING else item
