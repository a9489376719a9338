"""An anatomized release of a table that does not fit into memory, written block by block.

The folder is the one that AnatomizedTables.write makes, and keeps the same order rule: blocks hold
random groups, each block is published in a random order of its groups and rows, and groups are
numbered as they come. A row group of a file is a block, so its limits are random as well.

What is spilled lies inside the folder being written, in files without a name where the system has
such (engines/spill.py), and is gone when the folder gets its name; after a run that
was killed the next one removes the rest (io/unfinished.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role, Schema
from sfumato.core.seeds import require_written
from sfumato.engines.spill import scratch_folder
from sfumato.errors import PromiseBroken
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables, require_names
from sfumato.forms.checksums import sealed
from sfumato.forms.figures import Promise, group_figures, rounded
from sfumato.forms.manifest import (
    FILE,
    Manifest,
    PublishedColumn,
    column_types,
    describe_column,
)
from sfumato.io.folders import new_folder
from sfumato.io.writing import parquet_writer
from sfumato.metrics.reconstruction import reconstruction_error
from sfumato.models.base import BuiltIn
from sfumato.models.requirements import Requirement

_ROW_GROUP = 2**20


class GroupBlock(Protocol):
    """Some whole groups: what is published of their rows, the sensitive codes, the grouping."""

    @property
    def rows(self) -> pa.Table:
        """Quasi-identifiers and insensitive columns."""
        ...

    @property
    def codes(self) -> Codes:
        """The sensitive value of every row."""
        ...

    @property
    def groups(self) -> Partition:
        """The group of every row."""
        ...


class Divided(Protocol):
    """A table in groups, block by block; see algorithms.anatomize.stream."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        ...

    @property
    def need(self) -> Requirement:
        """What every group keeps."""
        ...

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers, as far as they are declared."""
        ...

    @property
    def sensitive(self) -> Attribute:
        """The sensitive attribute with all of its values."""
        ...

    @property
    def fields(self) -> pa.Schema:
        """Names and types of the columns of a block."""
        ...

    @property
    def blocks(self) -> Iterable[GroupBlock]:
        """The blocks, in their published order."""
        ...


def write_divided(
    path: str | Path,
    schema: Schema,
    divide: Callable[[Path], Divided],
    algorithm: dict[str, Any],
    randomness: Randomness,
    *,
    force: bool = False,
    experiment: bool = False,
) -> Manifest:
    """Write a release folder, whole or not at all.

    ``divide`` is given a folder for what does not fit into memory. With a short seed this is done
    as an ``experiment`` only, and the release says so.
    """
    require_written(randomness.stated_seed, experiment=experiment)
    require_names(schema)
    with new_folder(path, force=force) as folder:
        with scratch_folder(folder) as scratch:
            divided = divide(scratch)
            figures = _write_tables(folder, divided, randomness)
        stated = _manifest(schema, divided, algorithm, figures)
        manifest = sealed(replace(stated, seed=randomness.stated_seed), folder)
        (folder / FILE).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


@dataclass(slots=True)
class _Figures:
    """What release.json says about the groups, summed over blocks."""

    rows: int = 0
    groups: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    reconstruction_error: float = 0.0

    def add(self, found: Histograms) -> None:
        sizes, counts = np.unique(found.sizes, return_counts=True)
        self.sizes.update(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
        self.rows += int(found.whole.sum())
        self.groups += found.n_groups
        self.reconstruction_error += reconstruction_error(found)

    def stated(self, promise: Promise, sensitive: str) -> dict[str, Any]:
        sizes = np.array(sorted(self.sizes), np.int64)
        counts = np.array([self.sizes[size] for size in sizes.tolist()], np.int64)
        errors = {sensitive: self.reconstruction_error}
        return rounded({**group_figures(promise, sizes, counts), "reconstruction_error": errors})


def _write_tables(folder: Path, divided: Divided, randomness: Randomness) -> _Figures:
    attribute = divided.sensitive
    qit_fields, st_fields = _fields(divided)
    number = st_fields.field(GROUP).type
    figures = _Figures()
    with (
        parquet_writer(folder / "qit.parquet", qit_fields, GROUP) as qit,
        parquet_writer(folder / "st.parquet", st_fields, GROUP) as st,
    ):
        for block in divided.blocks:
            partition = block.groups.relabelled(randomness)
            found = Histograms.of_groups(
                attribute, block.codes, partition.groups, partition.n_groups
            )
            _require_kept(divided.need, found)
            first = figures.groups + 1
            rows = partition.published_order(randomness.half_words(partition.n_rows))
            columns = block.rows.take(pa.array(rows)).columns
            numbers = _numbers(partition.groups[rows], first, number)
            qit.write_table(pa.table([*columns, numbers], schema=qit_fields), _ROW_GROUP)
            numbers = _numbers(found.groups, first, number)
            records = [numbers, attribute.decode(found.values), pa.array(found.counts)]
            st.write_table(pa.table(records, schema=st_fields), _ROW_GROUP)
            figures.add(found)
    if (figures.rows, figures.groups) != (divided.rows, divided.n_groups):
        raise PromiseBroken(
            f"{figures.rows:,} of {divided.rows:,} rows were grouped; nothing is published "
            "(this is a bug in the algorithm)",
            failures=[figures.rows],
        )
    return figures


def _fields(divided: Divided) -> tuple[pa.Schema, pa.Schema]:
    """Names and types of QIT and ST."""
    number = pa.int32() if divided.n_groups < 2**31 else pa.int64()
    value = pa.field(divided.sensitive.name, divided.sensitive.values.type)
    return (
        pa.schema([*divided.fields, pa.field(GROUP, number)]),
        pa.schema([pa.field(GROUP, number), value, pa.field(COUNT, pa.int64())]),
    )


def _numbers(groups: Codes, first: int, kind: pa.DataType) -> pa.Array:
    """Published group numbers of a block whose groups are counted from ``first`` on."""
    return pa.array(groups.astype(np.int64) + first).cast(kind)


def _require_kept(need: Requirement, found: Histograms) -> None:
    """An algorithm's word is not enough: look at every group once more before it leaves."""
    failing = np.flatnonzero(~need.model.passes(found))
    if len(failing):
        raise PromiseBroken(
            f"{len(failing)} groups break {need}; nothing is published "
            "(this is a bug in the algorithm)",
            failures=failing.tolist(),
        )


def _manifest(
    schema: Schema, divided: Divided, algorithm: dict[str, Any], figures: _Figures
) -> Manifest:
    model, sensitive = divided.need.model, divided.sensitive
    assert isinstance(model, BuiltIn)
    promise = ({**model.to_dict(), "on": sensitive.name},)
    return Manifest(
        kind=AnatomizedTables.kind,
        promise=promise,
        algorithm=algorithm,
        rows=figures.rows,
        groups=figures.groups,
        columns=(
            *(describe_column(attribute, Role.QUASI, "value") for attribute in divided.quasi),
            describe_column(sensitive, Role.SENSITIVE, "value"),
            *(
                PublishedColumn(name, Role.INSENSITIVE, "value", (name,))
                for name in schema.insensitive
            ),
        ),
        types=column_types(_fields(divided)),
        metrics=figures.stated(promise, sensitive.name),
    )
