"""The generalized release: every row shows the box of its group instead of its own values.

Identifiers are gone, sensitive and insensitive values stand as they are, groups follow each other
in random order and rows are shuffled inside their group, so the order tells nothing about the
input. Groups have no number: rows of one group are alike on every quasi-identifying column.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts, Ints, Words
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.boxes import Boxes
from sfumato.core.exact import exact_numbers, means_by_group
from sfumato.core.histograms import count_codes
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, PromiseBroken, SchemaError
from sfumato.forms.columns import (
    Columns,
    Labels,
    columns_of,
    insensitive_columns,
    side_for,
)
from sfumato.forms.compact import compact
from sfumato.forms.files import FileFormat, Files, Pieces
from sfumato.forms.generalized.blocks import Block, pieces
from sfumato.forms.manifest import Manifest, PublishedColumn, describe_column
from sfumato.forms.published import Published
from sfumato.io.writing import printable

STEM = "generalized"


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class GeneralizedTable(Published):
    """Published rows, with the manifest that explains them.

    ``groups`` holds the quasi-identifying columns once per group, ``group_of_row`` leads each row
    to its line there, and ``rows`` holds the other columns; ``table`` puts them together.
    """

    kind: ClassVar[str] = "generalized"
    stem: ClassVar[str] = STEM
    groups: pa.Table
    group_of_row: Codes
    rows: pa.Table
    manifest: Manifest

    @classmethod
    def read(cls, files: Files) -> GeneralizedTable:
        """Read the table of a release folder."""
        manifest = files.manifest
        pieces = files.pieces(STEM, coded=manifest.quasi_columns)
        first = next(pieces)
        found = set(first.column_names)
        shown = [name for name in manifest.quasi_columns if name in found]
        groups, group_of_row, rows = compact(
            chain((first,), pieces), shown, lambda lines: files.typed(STEM, lines)
        )
        return cls(groups, group_of_row, rows, manifest)

    @property
    def table(self) -> pa.Table:
        """All published columns, one line per person."""
        return pa.concat_tables(pieces([self._block]))

    def _first(self, format: FileFormat) -> Pieces:
        """All published columns; a set is turned into its text once, not in every row."""
        groups = printable(self.groups) if format == "csv" else self.groups
        return pieces([Block(groups, self.group_of_row, self.rows)])

    @property
    def sizes(self) -> Counts:
        """Rows of each group."""
        return count_codes(self.group_of_row, self.groups.num_rows)

    @property
    def parts(self) -> list[int]:
        """The rows of the parts in which the table is written."""
        return self._block.parts

    @property
    def _block(self) -> Block:
        return Block(self.groups, self.group_of_row, self.rows)

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """Boxes, once for each group, and all other columns, row by row."""
        return (self.groups, self.rows)


def boxes_of(table: Microdata, partition: Partition, labels: Labels) -> Boxes:
    """The boxes in which each quasi-identifier is published: the algorithm's, or the tightest."""
    if partition.boxes is not None:
        _require_covering(partition.boxes, table, partition)
        return partition.boxes
    if partition.parts:
        return _boxes_of_parts(table, partition, labels)
    return Boxes(
        tuple(
            side_for(attribute, table.codes[attribute.name], partition, labels)
            for attribute in table.quasi
        )
    )


def _boxes_of_parts(table: Microdata, partition: Partition, labels: Labels) -> Boxes:
    """Along each attribute the side of a group's part."""
    first, sides = partition.first_rows, {}
    for names, inner in partition.parts:
        boxes = boxes_of(table.of_quasi(names), inner, labels).taken(inner.groups[first])
        sides.update({side.attribute.name: side for side in boxes})
    return Boxes(tuple(sides[name] for name in table.schema.quasi))


def _require_covering(boxes: Boxes, table: Microdata, partition: Partition) -> None:
    """A box that a row lies outside of would tell something false."""
    for side in boxes:
        name = side.attribute.name
        covered = side.covers(table.codes[name], partition.groups)
        if not covered.all():
            raise PromiseBroken(
                f"{int((~covered).sum()):,} rows lie outside of their boxes along {name!r}; "
                "nothing is published (this is a bug in the algorithm)",
                failures=[name],
            )


def published_groups(
    table: Microdata,
    partition: Partition,
    boxes: Boxes,
    labels: Labels,
    means: Sequence[str],
    missing: Collection[str] | None = None,
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """One line for each group, and the description of its columns.

    ``missing`` names the attributes that some group lacks a value of, if not all groups are here.
    """
    shown: Columns = {}
    described: list[PublishedColumn] = []
    for side in boxes:
        lacks = None if missing is None else side.attribute.name in missing
        form, columns = columns_of(side, labels, lacks)
        if side.attribute.name in means:
            columns[f"{side.attribute.name}_mean"] = _means(table, partition, side.attribute)
        tight = form == "range" and partition.boxes is None and not partition.parts
        described.append(
            describe_column(side.attribute, Role.QUASI, form, tuple(columns), tight=tight or None)
        )
        _require_unused(columns, shown)
        shown.update(columns)
    return pa.table(shown), tuple(described)


def group_words(boxes: Boxes, lines: pa.Table, means: Sequence[str], key: Key) -> Words:
    """A keyed word of all that is shown of each group."""
    shown = [lines.column(f"{name}_mean").combine_chunks() for name in means]
    bits = [mean.fill_null(0.0).to_numpy().view(np.int64) for mean in shown]
    return boxes.words(key, *bits, *(_flags(mean.is_null()) for mean in shown))


def _flags(array: pa.BooleanArray) -> Counts:
    flags: Counts = array.to_numpy(zero_copy_only=False).astype(np.int64)
    return flags


def published_rows(
    table: Microdata, rows: Ints, lines: pa.Table
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """All that is published beside the boxes, row by row, and its description."""
    shown = {
        attribute.name: attribute.decode(table.codes[attribute.name][rows])
        for attribute in table.sensitive
    }
    shown |= insensitive_columns(table, rows)
    _require_unused(shown, lines.column_names)
    return pa.table(shown), other_columns(table)


def other_columns(table: Microdata) -> tuple[PublishedColumn, ...]:
    """The description of what is published beside the boxes."""
    return (
        *(describe_column(attribute, Role.SENSITIVE, "value") for attribute in table.sensitive),
        *(
            PublishedColumn(name, Role.INSENSITIVE, "value", (name,))
            for name in table.schema.insensitive
        ),
    )


def require_means(table: Microdata, means: bool | Sequence[str]) -> tuple[str, ...]:
    """The attributes whose group means are published, checked."""
    possible = tuple(attribute.name for attribute in table.quasi if _has_mean(attribute))
    if isinstance(means, bool):
        return possible if means else ()
    for name in means:
        if name not in possible:
            raise ParameterError(
                f"no mean of {name!r}: it is not a quasi-identifier that holds numbers",
                parameter="means",
            )
    return tuple(means)


def _has_mean(attribute: Attribute) -> bool:
    return attribute.kind is Kind.NUMERICAL and not pa.types.is_temporal(attribute.values.type)


def _means(table: Microdata, partition: Partition, attribute: Attribute) -> pa.Array:
    """Mean of the values a group has; null where it has none."""
    codes, kind = table.codes[attribute.name], attribute.values.type
    known = codes != attribute.missing_code
    numbers = exact_numbers(attribute.values)[codes[known]]
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    means, counts = means_by_group(numbers, partition.groups[known], partition.n_groups, scale)
    return pa.array(means, mask=counts == 0)


def _require_unused(more: Columns, taken: Collection[str]) -> None:
    for name in more:
        if name in taken:
            raise SchemaError(
                f"two published columns would be named {name!r}; rename one in the table",
                column=name,
            )
