"""The generalized release: every row shows the box of its group instead of its own values.

Identifiers are gone, sensitive and insensitive values stand as they are, groups follow each other
in random order and rows are shuffled inside their group, so the order tells nothing about the
input. Groups have no number: rows of one group are alike on every quasi-identifying column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.attribute import Attribute, Kind
from sfumato.core.boxes import Boxes
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError
from sfumato.releases.columns import Columns, Labels, columns_of, side_for
from sfumato.releases.files import FileFormat, read_stem, write_release
from sfumato.releases.manifest import Manifest, PublishedColumn, describe_column

STEM = "generalized"


@dataclass(frozen=True, slots=True, eq=False)
class GeneralizedTable:
    """Published rows as an Arrow table, with the manifest that explains them."""

    kind: ClassVar[str] = "generalized"
    table: pa.Table
    manifest: Manifest

    def write(
        self, path: str | Path, *, force: bool = False, format: FileFormat = "parquet"
    ) -> Path:
        """Write a release folder, whole or not at all."""
        return write_release(path, {STEM: self.table}, self.manifest, force=force, format=format)

    @classmethod
    def read(cls, folder: Path, manifest: Manifest) -> GeneralizedTable:
        """Read the table of a release folder."""
        return cls(read_stem(folder, STEM), manifest)

    @property
    def metrics(self) -> dict[str, Any]:
        """What was lost."""
        return self.manifest.metrics

    def __repr__(self) -> str:
        """Sizes and promise."""
        promised = " & ".join(str(part.get("model")) for part in self.manifest.promise)
        return (
            f"GeneralizedTable({self.manifest.rows:,} rows in {self.manifest.groups:,} groups, "
            f"{promised})"
        )


def boxes_of(table: Microdata, partition: Partition, labels: Labels) -> Boxes:
    """The boxes in which each quasi-identifier is published."""
    return Boxes(
        tuple(
            side_for(attribute, table.codes[attribute.name], partition, labels)
            for attribute in table.quasi
        )
    )


def published_rows(
    table: Microdata,
    partition: Partition,
    boxes: Boxes,
    labels: Labels,
    means: Sequence[str],
    randomness: Randomness,
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """The table as the public sees it, and the description of its columns."""
    rows = partition.published_order(randomness)
    groups = pa.array(partition.groups[rows])
    columns: Columns = {}
    described: list[PublishedColumn] = []
    for side in boxes:
        form, shown = columns_of(side, labels)
        if side.attribute.name in means:
            shown[f"{side.attribute.name}_mean"] = _means(table, partition, side.attribute)
        repeated = {name: column.take(groups) for name, column in shown.items()}
        described.append(describe_column(side.attribute, Role.QUASI, form, tuple(shown)))
        _add(columns, repeated)
    for attribute in table.sensitive:
        codes = table.codes[attribute.name][rows]
        _add(columns, {attribute.name: attribute.decode(codes)})
        described.append(describe_column(attribute, Role.SENSITIVE, "value"))
    for name in table.schema.insensitive:
        _add(columns, {name: table.insensitive.column(name).combine_chunks().take(pa.array(rows))})
        described.append(PublishedColumn(name, Role.INSENSITIVE, "value", (name,)))
    return pa.table(columns), tuple(described)


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
    codes = table.codes[attribute.name]
    known = codes != attribute.missing_code
    groups, at = partition.groups[known], attribute.positions[codes[known]]
    totals = np.bincount(groups, weights=at, minlength=partition.n_groups)
    counts = np.bincount(groups, minlength=partition.n_groups)
    return pa.array(totals / np.maximum(counts, 1), mask=counts == 0)


def _add(columns: Columns, more: Columns) -> None:
    for name, column in more.items():
        if name in columns:
            raise SchemaError(
                f"two published columns would be named {name!r}; rename one in the table",
                column=name,
            )
        columns[name] = column
