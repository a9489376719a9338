"""Sets of leaves of a taxonomy as readable cells, and back.

    Professional                  all leaves below a label
    Professional except Lawyer    all but those below others
    {Dancer, Lawyer}              these, where that says it in fewer words

Sibling generalization makes such sets: a child may be told apart while its siblings stay together.
A label that holds a comma or the word between the two stands in quotes (text_cells.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sfumato.core.attribute import Attribute, Kind
from sfumato.core.boxes import ValueSets
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import SchemaError
from sfumato.io.set_texts import set_texts, sets_of

EXCEPT, OR_MISSING = " except ", " or missing"
_ITEM = r'"(?:[^"]|"")*"|[^,"][^,]*?'
_CELL = re.compile(rf"({_ITEM})(?:{EXCEPT}((?:{_ITEM})(?:, (?:{_ITEM}))*))?", re.DOTALL)
_ITEMS = re.compile(rf"({_ITEM})(?:, |\Z)", re.DOTALL)
_MISREAD = re.compile(rf'\A[\[{{"]|\A\*\Z|\Amissing\Z| or missing\Z|,|{EXCEPT}')


def except_texts(side: ValueSets, taxonomy: Taxonomy) -> pa.Array:
    """One text per group; each different set is written once."""
    known: dict[tuple[int, ...], str | None] = {}
    texts = []
    for start, end in zip(side.starts[:-1], side.starts[1:], strict=True):
        codes = tuple(side.codes[start:end].tolist())
        if codes not in known:
            known[codes] = _text(taxonomy, codes)
        texts.append(known[codes])
    return pa.array(texts, pa.string())


def has_exceptions(cells: pa.Array) -> bool:
    """Whether a column of labels holds sets of leaves that no single label stands for."""
    return any(
        text is not None and (text.startswith("{") or EXCEPT in re.sub(r'"(?:[^"]|"")*"', "", text))
        for text in cells.unique().to_pylist()
    )


def read_exceptions(name: str, taxonomy: Taxonomy, cells: pa.Array) -> ValueSets:
    """The inverse of ``except_texts``."""
    encoded = cells.dictionary_encode(null_encoding="encode")
    sets = [_codes(name, taxonomy, text) for text in encoded.dictionary.to_pylist()]
    starts = np.append(0, np.cumsum([len(codes) for codes in sets])).astype(np.int64)
    codes = np.array([code for codes in sets for code in codes], np.int32)
    lacks = bool((codes == len(taxonomy.leaves)).any())
    leaves = pa.array([str(leaf) for leaf in taxonomy.leaves])
    attribute = Attribute(name, Kind.CATEGORICAL, leaves, True, lacks, taxonomy)
    return ValueSets(attribute, starts, codes).taken(np.asarray(encoded.indices, np.int32))


def quoted_label(label: str) -> str:
    """A label as it stands in a cell."""
    return '"' + label.replace('"', '""') + '"' if _MISREAD.search(label) else label


def _text(taxonomy: Taxonomy, codes: tuple[int, ...]) -> str | None:
    known = [code for code in codes if code < len(taxonomy.leaves)]
    if not known:
        return None
    also = OR_MISSING if len(known) < len(codes) else ""
    ends = np.array([known[0]], np.int32), np.array([known[-1]], np.int32)
    node = int(taxonomy.covering(*ends)[0])
    lacking = list(_lacking(taxonomy, node, set(known)))
    if len(lacking) > len(known) - 1:
        values = pa.array([[str(taxonomy.leaves[code]) for code in known]])
        return str(set_texts(values)[0].as_py()) + also
    shown = [quoted_label(taxonomy.labels[one]) for one in (node, *lacking)]
    return shown[0] + (EXCEPT + ", ".join(shown[1:]) if lacking else "") + also


def _lacking(taxonomy: Taxonomy, node: int, known: set[int]) -> Iterator[int]:
    """The highest nodes below one that hold none of the leaves, from left to right."""
    leaf = int(taxonomy.first_leaf[node])
    inside = np.flatnonzero(
        (taxonomy.first_leaf >= leaf) & (taxonomy.last_leaf <= taxonomy.last_leaf[node])
    )
    free = [
        int(one)
        for one in inside
        if not known & set(range(int(taxonomy.first_leaf[one]), int(taxonomy.last_leaf[one]) + 1))
    ]
    highest = {one for one in free if int(taxonomy.parents[one]) not in free}
    yield from sorted(highest, key=lambda one: int(taxonomy.first_leaf[one]))


def _codes(name: str, taxonomy: Taxonomy, text: str | None) -> list[int]:
    """The leaves that a cell stands for, and the code after the last for a missing value."""
    missing = len(taxonomy.leaves)
    if text is None:
        return [missing]
    shown = text.removesuffix(OR_MISSING)
    also = [missing] if shown != text else []
    if shown.startswith("{"):
        values = sets_of(name, pa.array([shown]))[0].as_py()
        return [*_ascending(name, [str(leaf) for leaf in taxonomy.leaves], values), *also]
    found = _CELL.fullmatch(shown)
    if found is None:
        raise _unreadable(name)
    lacking = _ITEMS.findall(found[2] or "")
    node, *others = (_node(name, taxonomy, item) for item in (found[1], *lacking))
    left_out = {leaf for other in others for leaf in _leaves(taxonomy, other)}
    return [*(leaf for leaf in _leaves(taxonomy, node) if leaf not in left_out), *also]


def _ascending(name: str, leaves: Sequence[str], values: Sequence[str | None]) -> list[int]:
    if not values or not set(values) <= set(leaves):
        raise _unreadable(name)
    return sorted(leaves.index(str(value)) for value in values)


def _leaves(taxonomy: Taxonomy, node: int) -> range:
    return range(int(taxonomy.first_leaf[node]), int(taxonomy.last_leaf[node]) + 1)


def _node(name: str, taxonomy: Taxonomy, item: str) -> int:
    label = item[1:-1].replace('""', '"') if item.startswith('"') else item
    if label not in taxonomy.labels:
        raise _unreadable(name)
    return taxonomy.labels.index(label)


def _unreadable(name: str) -> SchemaError:
    return SchemaError(f"column {name!r} has a cell that cannot be read", column=name)
