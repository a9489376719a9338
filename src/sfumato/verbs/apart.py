"""Anatomized releases, group by group: exact rows in one file, counts of values in others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
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
from sfumato.engines.coded import QUASI, matrix_of
from sfumato.forms.anatomized.release import COUNT, GROUP, anatomized_tables
from sfumato.forms.figures import anatomized_figures
from sfumato.forms.file_names import stems_of
from sfumato.forms.files import FileFormat, GrowingTable
from sfumato.forms.form import Shown, first_row_words
from sfumato.forms.manifest import Manifest
from sfumato.metrics.reconstruction import reconstruction_error
from sfumato.verbs.boxed import insensitive
from sfumato.verbs.grouping import Grouped, Recipe


@dataclass(frozen=True, slots=True)
class Apart:
    """Exact quasi-identifiers; sensitive values are counted by group."""

    unused: Sequence[str] = ()

    def lines(
        self,
        table: Microdata,  # noqa: ARG002
        partition: Partition,
        numbers: Counts,
        key: Key,
    ) -> tuple[pa.Table, Words]:
        """Of a group nothing is shown but its rows; its word is that of the first of them."""
        return pa.table({}), first_row_words(partition, numbers, key)

    def arranged(
        self, lines: pa.Table, words: Words, partition: Partition
    ) -> tuple[pa.Table, Partition]:
        """Groups in the order of their words."""
        return lines, partition.ordered_by(words)

    def rows(self, people: pa.Table, recipe: Recipe) -> dict[str, pa.Array]:
        """All that the QIT shows."""
        codes = matrix_of(people.column(QUASI))
        shown = {
            name: recipe.attributes[name].decode(codes[:, j])
            for j, name in enumerate(recipe.schema.quasi)
        }
        return shown | insensitive(people, recipe)

    def beside(self, seen: Mapping[str, Histograms]) -> dict[str, pa.Array]:
        """The records of the STs, group by group."""
        shown = {}
        for name, found in seen.items():
            assert found.attribute is not None
            values = [found.attribute.decode(found.values), pa.array(found.counts)]
            records = pa.StructArray.from_arrays(values, [name, COUNT])
            shown[name] = pa.ListArray.from_arrays(pa.array(found.starts.astype(np.int32)), records)
        return shown


@dataclass(slots=True)
class ApartFiles:
    """The QIT and the STs, written side by side, and what is lost of each attribute's values."""

    shape: Apart
    format: FileFormat
    sensitive: Sequence[str]
    _errors: dict[str, float] = field(default_factory=dict)

    def headed(self, told: Manifest, domain: Microdata, boxes: Boxes | None) -> Manifest:  # noqa: ARG002
        """The columns of the release, known before its groups are."""
        none = np.zeros(0, np.int32)
        nobody = Shown(domain, Partition(none, np.zeros(0, np.int64)), np.zeros(0, np.int64))
        qit, sts, columns = anatomized_tables(nobody, nobody.counted())
        return told.of_tables(columns, qit, *sts.values())

    def write(self, groups: Iterator[Grouped], folder: Path) -> None:
        """Write the rows and the records of all groups."""
        stems = ("qit", *stems_of("st", list(self.sensitive)))
        with ExitStack() as files:
            qit, *sts = (
                files.enter_context(GrowingTable(folder / f"{stem}.{self.format}", GROUP))
                for stem in stems
            )
            first = 1
            for one in groups:
                numbers = pa.array(one.group_of_row + np.int32(first))
                qit.add(one.rows.append_column(GROUP, numbers))
                for name, st in zip(self.sensitive, sts, strict=True):
                    st.add(self._records(name, one, first))
                first += len(one.sizes)

    def figures(self, headed: Manifest, sizes: Counts) -> dict[str, Any]:
        """What release.json states of the groups."""
        return anatomized_figures(headed.promise, sizes, self._errors)

    def _records(self, name: str, groups: Grouped, first: int) -> pa.Table:
        """Lines of an ST, for groups that are numbered from ``first`` on."""
        lists = groups.beside[name].combine_chunks()
        values, counts = lists.flatten().flatten()
        lengths = lists.value_lengths().to_numpy()
        starts = np.append(0, np.cumsum(lengths))
        seen = Histograms(None, starts, np.zeros(len(counts), np.int32), counts.to_numpy(), starts)
        self._errors[name] = self._errors.get(name, 0.0) + reconstruction_error(seen)
        numbers = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths) + np.int32(first)
        return pa.table({GROUP: numbers, name: values, COUNT: counts})
