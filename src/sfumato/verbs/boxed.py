"""Generalized releases, group by group: a line of boxes for every group, repeated in its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts, Words
from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Role
from sfumato.engines.coded import OTHER, QUASI, SENSITIVE, matrix_of
from sfumato.errors import OutOfMemory
from sfumato.forms.columns import Labels
from sfumato.forms.figures import generalized_figures
from sfumato.forms.files import FileFormat, write_table
from sfumato.forms.generalized.blocks import Block, arranged, pieces
from sfumato.forms.generalized.release import (
    STEM,
    boxes_of,
    group_words,
    published_groups,
    published_rows,
)
from sfumato.forms.manifest import Manifest
from sfumato.io.writing import printable
from sfumato.verbs.grouping import Grouped, Recipe

# the lines of all groups may take one part in so many of the memory
_LINES = 4


@dataclass(frozen=True, slots=True)
class Boxed:
    """Boxes; ``missing`` are the quasi-identifiers of which some group lacks a value."""

    labels: Labels
    means: Sequence[str]
    missing: frozenset[str]
    unused: Sequence[str] = (QUASI,)

    def lines(
        self,
        table: Microdata,
        partition: Partition,
        numbers: Counts,  # noqa: ARG002
        key: Key,
    ) -> tuple[pa.Table, Words]:
        """Boxes, and a word of all that is shown of them."""
        boxes = boxes_of(table, partition, self.labels)
        lines, _ = published_groups(table, partition, boxes, self.labels, self.means, self.missing)
        return lines, group_words(boxes, lines, self.means, key)

    def arranged(
        self, lines: pa.Table, words: Words, partition: Partition
    ) -> tuple[pa.Table, Partition]:
        """Groups in the order of their words, those with equal boxes as one."""
        return arranged(lines, words, partition)

    def rows(self, people: pa.Table, recipe: Recipe) -> dict[str, pa.Array]:
        """All that is published beside the boxes."""
        codes = matrix_of(people.column(SENSITIVE))
        shown = {
            name: recipe.attributes[name].decode(codes[:, j])
            for j, name in enumerate(recipe.schema.sensitive)
        }
        return shown | insensitive(people, recipe)

    def beside(self, seen: Mapping[str, Histograms]) -> dict[str, pa.Array]:  # noqa: ARG002
        """Nothing: rows have their sensitive values."""
        return {}


def insensitive(people: pa.Table, recipe: Recipe) -> dict[str, pa.Array]:
    """The insensitive columns of coded rows."""
    return {
        name: people.column(f"{OTHER}{i}").combine_chunks()
        for i, name in enumerate(recipe.schema.insensitive)
    }


@dataclass(slots=True)
class BoxedFiles:
    """The one file of a generalized release, and the lines that its figures are computed of."""

    shape: Boxed
    format: FileFormat
    memory: int
    _lines: list[pa.Table] = field(default_factory=list)
    _bytes: int = 0

    def headed(self, told: Manifest, domain: Microdata, boxes: Boxes | None) -> Manifest:
        """The columns of the release, known before its groups are."""
        none = np.zeros(0, np.int32)
        own = None if boxes is None else boxes.taken(none)
        nobody = Partition(none, np.zeros(0, np.int64), own)
        shape = self.shape
        lines, columns = published_groups(
            domain, nobody, boxes_of(domain, nobody, shape.labels), shape.labels, shape.means,
            shape.missing,
        )  # fmt: skip
        rows, more = published_rows(domain, nobody.groups, lines)
        return told.of_tables((*columns, *more), lines, rows)

    def write(self, groups: Iterator[Grouped], folder: Path) -> None:
        """Write the rows of all groups."""
        write_table(pieces(self._blocks(groups)), folder / f"{STEM}.{self.format}")

    def figures(self, headed: Manifest, sizes: Counts) -> dict[str, Any]:
        """What release.json states of the groups."""
        lines, quasi = pa.concat_tables(self._lines), headed.of_role(Role.QUASI)
        return generalized_figures(headed.promise, quasi, lines, sizes, headed.suppressed)

    def _blocks(self, groups: Iterator[Grouped]) -> Iterator[Block]:
        for one in groups:
            self._lines.append(one.lines)
            self._bytes += one.lines.nbytes
            if self._bytes > self.memory // _LINES:
                raise self._too_few(groups)
            # a set is turned into its text once, not in every row
            lines = printable(one.lines) if self.format == "csv" else one.lines
            yield Block(lines, one.group_of_row, one.rows)

    def _too_few(self, more: Iterator[Grouped]) -> OutOfMemory:
        """What to raise, once the lines that do not fit are counted without being kept."""
        needed = _LINES * (self._bytes + sum(one.lines.nbytes for one in more))
        return OutOfMemory(
            f"{self.memory:,} bytes of memory are too few for the lines of all groups; "
            f"allow {needed:,} bytes, or larger groups",
            doing="publishing",
        )
