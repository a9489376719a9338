"""Boxes as one readable cell per attribute, and back.

    53711                  one value, or a label of the taxonomy
    [53710, 53715]         from one value to another
    {Female, Male}         these values; a missing one among them is the bare word missing
    Artist except Dancer   leaves of a taxonomy that no label stands for (except_texts.py)
    *                      suppressed
    [20, 30] or missing    also a missing value; a null where there are missing ones only

A value that would be read as something else stands in quotes, as in io/set_texts.py; so every cell
has one meaning, and whatever is computed from boxes can be computed from their texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Flags
from sfumato.core.boxes import Cells, Nodes, Ranges, Side, ValueSets
from sfumato.errors import SchemaError
from sfumato.forms.except_texts import except_texts, quoted_label
from sfumato.io.set_texts import set_texts, sets_of
from sfumato.io.types import to_texts

SUPPRESSED, _OR_MISSING = "*", " or missing"
_MISREAD = r'\A[\[{"]|\A\*\z|\Amissing\z| or missing\z|,'
_QUOTED = re.compile(r'"((?:[^"]|"")*)"', re.DOTALL)
_RANGE = re.compile(r'\[("(?:[^"]|"")*"|[^,"]*), ("(?:[^"]|"")*"|[^,"]*)\]', re.DOTALL)


def cell_texts(side: Side) -> pa.Array:
    """One text per group."""
    if isinstance(side, ValueSets):
        tree = side.attribute.taxonomy
        return _set_texts(side) if tree is None else except_texts(side, tree)
    if isinstance(side, Cells):
        hidden = side.codes < 0  # not decoded: of a column that shows nothing no value is known
        shown = _quoted(side.attribute.decode(side.codes[~hidden]))
        cells = pa.array(np.where(hidden, SUPPRESSED, ""), pa.string())
        return pc.replace_with_mask(cells, pa.array(~hidden), shown)
    if isinstance(side, Nodes):
        labels = pa.array(map(quoted_label, side.taxonomy.labels), pa.string())
        shown = labels.take(pa.array(side.nodes, mask=side.nodes < 0))
    elif isinstance(side, Ranges):
        shown = _range_texts(side)
    else:
        raise TypeError(f"no text for a {type(side).__name__}")
    also = pc.binary_join_element_wise(shown, _OR_MISSING, "")
    return pc.if_else(pa.array(side.missing), also, shown)


@dataclass(frozen=True, slots=True, eq=False)
class ReadCells:
    """Different texts taken apart: the values of each as texts, and which cell has which.

    ``values`` of a range are its ends; nulls among them are missing values. ``missing`` marks texts
    that say so, ``suppressed`` those that say nothing.
    """

    values: pa.ListArray
    missing: Flags
    suppressed: Flags
    of_cell: Codes


def read_cells(name: str, cells: pa.Array) -> ReadCells:
    """Take the texts of a column apart."""
    encoded = cells.dictionary_encode(null_encoding="encode")
    parts = [_parsed(name, text) for text in encoded.dictionary.to_pylist()]
    return ReadCells(
        pa.array([part[0] for part in parts], pa.list_(pa.string())),
        np.array([part[1] for part in parts], np.bool_),
        np.array([part[2] for part in parts], np.bool_),
        np.asarray(encoded.indices, np.int32),
    )


def _parsed(name: str, text: str | None) -> tuple[list[str | None], bool, bool]:
    """Values, or the ends of a range; whether they may be missing, and are suppressed."""
    if text is None:
        return [], True, False
    if text == SUPPRESSED:
        return [], False, True
    if text.startswith("{"):
        return sets_of(name, pa.array([text]))[0].as_py(), False, False
    shown = text.removesuffix(_OR_MISSING)
    also = shown != text
    if ends := _RANGE.fullmatch(shown):
        return [_unquoted(name, end) for end in ends.groups()], also, False
    return [_unquoted(name, shown)], also, False


def _unquoted(name: str, text: str) -> str:
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1].replace('""', '"')
    if re.search(_MISREAD.replace(r"\z", r"\Z"), text):
        raise SchemaError(f"column {name!r} has a cell that cannot be read", column=name)
    return text


def _range_texts(side: Ranges) -> pa.Array:
    low, high = (
        _quoted(side.attribute.values.take(pa.array(codes, mask=codes < 0)))
        for codes in (side.low, side.high)
    )
    both = pc.binary_join_element_wise("[", low, ", ", high, "]", "")
    return pc.if_else(pa.array(side.low == side.high), low, both)


def _set_texts(side: ValueSets) -> pa.Array:
    single = np.diff(side.starts) == 1
    values = to_texts(side.attribute.decode(side.codes))
    lists = pa.ListArray.from_arrays(pa.array(side.starts.astype(np.int32)), values)
    only = _quoted(values.take(pa.array(side.starts[:-1])))
    return pc.if_else(pa.array(single), only, set_texts(lists))


def _quoted(values: Any) -> pa.Array:
    texts = to_texts(values)
    inside = pc.replace_substring(texts, '"', '""')
    needed = pc.match_substring_regex(texts, _MISREAD)
    return pc.if_else(needed, pc.binary_join_element_wise('"', inside, '"', ""), texts)
