"""From a side of the boxes to the columns that show it.

Columns are built per group and then repeated for its rows. They are plain arrays, never
dictionaries over the domain: a dictionary would carry values that no published row shows.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.boxes import Cells, Nodes, Ranges, Side, ValueSets
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.errors import ParameterError
from sfumato.forms.text_cells import cell_texts
from sfumato.io.plain import plain_table

Labels: TypeAlias = Literal["ranges", "sets", "taxonomy", "suppression", "text"]
Columns: TypeAlias = dict[str, pa.Array]


def require_labels(labels: str) -> None:
    """Raise unless this is a way to label boxes."""
    if labels not in get_args(Labels):
        known = ", ".join(get_args(Labels))
        raise ParameterError(f"labels must be one of {known}, not {labels!r}", parameter="labels")


def side_for(attribute: Attribute, codes: Ints, partition: Partition, labels: Labels) -> Side:
    """The kind of side in which an attribute is to be published."""
    if labels == "suppression":
        return Cells.around(attribute, codes, partition)
    if labels in ("taxonomy", "text") and attribute.taxonomy is not None:
        return Nodes.above(Ranges.around(attribute, codes, partition))
    as_set = labels == "sets" and attribute.kind is Kind.CATEGORICAL
    if attribute.ordered and not as_set:
        return Ranges.around(attribute, codes, partition)
    return ValueSets.around(attribute, codes, partition)


def columns_of(side: Side, labels: Labels, missing: bool | None = None) -> tuple[str, Columns]:
    """The form of a side, and its columns with one entry per group.

    ``missing`` says whether some group of the whole release lacks a value, if not all are here.
    """
    name = side.attribute.name
    if labels == "text":
        return "text", {name: cell_texts(side)}
    if isinstance(side, Ranges):
        return "range", {
            f"{name}_min": _decode(side.attribute, side.low),
            f"{name}_max": _decode(side.attribute, side.high),
            **_missing_column(side, missing),
        }
    if isinstance(side, Nodes):
        return "label", {name: _node_labels(side), **_missing_column(side, missing)}
    if isinstance(side, ValueSets):
        return "set", {name: _lists(side)}
    if isinstance(side, Cells):
        return "cell", {name: _cells(side), f"{name}_suppressed": pa.array(side.codes < 0)}
    raise TypeError(f"no columns for a {type(side).__name__}")


def counts_table(names: tuple[str, str, str], groups: Ints, seen: Histograms) -> pa.Table:
    """Groups, their values, and how often each of these occurs: by group, then value."""
    assert seen.attribute is not None
    values = seen.attribute.decode(seen.values)
    return pa.table([pa.array(groups), values, pa.array(seen.counts)], names)


def insensitive_columns(table: Microdata, rows: Ints) -> Columns:
    """The insensitive columns as they came, in another order of rows."""
    plain = plain_table(table.insensitive)
    return {
        name: plain.column(name).combine_chunks().take(pa.array(rows))
        for name in table.schema.insensitive
    }


def _missing_column(side: Ranges | Nodes, missing: bool | None) -> Columns:
    """A column that tells where the value may be missing, if it is anywhere.

    What is shown decides, not the attribute: of rows that are left out nothing must be told.
    """
    lacks = side.missing.any() if missing is None else missing
    return {f"{side.attribute.name}_missing": pa.array(side.missing)} if lacks else {}


def _decode(attribute: Attribute, codes: Codes) -> pa.Array:
    """Values of the codes, null for -1."""
    return attribute.values.take(pa.array(codes, mask=codes < 0))


def _node_labels(side: Nodes) -> pa.Array:
    labels = pa.array(side.taxonomy.labels, pa.string())
    return labels.take(pa.array(side.nodes, mask=side.nodes < 0))


def _cells(side: Cells) -> pa.Array:
    """The value, or null: suppressed, or missing where it is not said to be suppressed."""
    shown = np.where(side.codes < 0, 0, side.codes)
    values = side.attribute.decode(shown)
    return pc.if_else(pa.array(side.codes < 0), pa.scalar(None, values.type), values)


def _lists(side: ValueSets) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        pa.array(side.starts.astype(np.int32)), side.attribute.decode(side.codes)
    )
