"""The people on a list that an attacker may have, also beyond memory: all that counts of them is
which combinations of values there are, and how many people have each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.audits.breach.known_values import require_alike
from sfumato.audits.breach.persons import Persons
from sfumato.core.arrays import Counts
from sfumato.core.foreign import our_errors
from sfumato.core.schema import Role
from sfumato.engines.choice import Engine
from sfumato.engines.coded import row_numbers
from sfumato.engines.lists import CodedList
from sfumato.engines.memory import memory_or_half
from sfumato.engines.room import Room
from sfumato.engines.rows import open_named
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.engines.vectors import added_up, counted, times_of, vector_codes
from sfumato.errors import DataError, SchemaError
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.io.dialects import Dialect
from sfumato.io.files import open_file
from sfumato.io.tables import Source, read_table
from sfumato.verbs.listing import is_streamed

_ROWS_EACH = 3  # to match a vector with boxes takes the memory of so many rows of a region


class Listed(NamedTuple):
    """The different ``vectors`` of a list, the ``first`` row that has each, and how many do."""

    vectors: Persons
    first: Counts
    counts: Counts

    @classmethod
    def of(cls, boxes: GeneralizedTable, people: pa.Table, rows: Counts, times: Counts) -> Listed:
        """Rows of a list, by their numbers, each of which stands for so many."""
        names = people.column_names
        persons = Persons.listed(boxes, people, names)
        require_alike(boxes, persons, names)
        vectors, numbers, _ = persons.distinct()
        first = np.empty(vectors.n_rows, np.int64)
        first[numbers[::-1]] = rows[::-1]  # what is written last stays
        counts = np.bincount(numbers, times, vectors.n_rows).astype(np.int64)
        return cls(vectors, first, counts)


class ListReading(NamedTuple):
    """How a list is read; see ``join_risk``."""

    columns: Mapping[str, str]
    missing: Collection[str]
    header: bool | None
    engine: Engine
    memory_limit: int | None

    @our_errors("reading a list")
    def listed(self, boxes: GeneralizedTable, external: Source) -> Listed:
        """The people on a list, by the quasi-identifiers of a release."""
        stated = (boxes.manifest.external or {}).get("columns", {})
        likely = [*_names(boxes), *self.columns.values(), *stated.values()]
        if is_streamed(external, likely, self.engine):
            return self._streamed(boxes, Path(external))
        theirs = read_table(external, missing=self.missing, header=self.header, trim=True)
        called = self._called(boxes, theirs.column_names)
        people = pa.table([theirs.column(other) for other in called.values()], names=list(called))
        rows = np.arange(people.num_rows)
        return Listed.of(boxes, people, rows, np.ones(len(rows), np.int64))

    def _streamed(self, boxes: GeneralizedTable, path: Path) -> Listed:
        dialect = Dialect.said(None, self.header)
        called = self._called(boxes, open_file(path, self.missing, dialect).names)
        people = CodedList(open_named(path, called, self.missing, dialect), list(called))
        room = Room.of(memory_or_half(self.memory_limit), len(called)).for_larger(_ROWS_EACH)
        with TemporaryDirectory() as place, Scratch(Path(place)) as scratch:
            parts = StreamEngine(people.parts, scratch, lambda: None).keep(_counted, people)
            if not people.n_rows:
                raise DataError(
                    f"{path} has columns but no rows; there is nothing to publish", source=str(path)
                )
            found = added_up(parts, people.sizes, people.n_rows, room, "the external list")
        codes = vector_codes(found)
        columns = {
            name: values.take(pa.array(codes[:, j]))
            for j, (name, values) in enumerate(people.values.items())
        }
        return Listed.of(boxes, pa.table(columns), row_numbers(found), times_of(found))

    def _called(self, boxes: GeneralizedTable, found: Sequence[str]) -> dict[str, str]:
        """What the quasi-identifiers are called on the list."""
        # the publisher's own list may be given, which release.json knows the names of
        stated = (boxes.manifest.external or {}).get("columns", {})
        called = {
            name: self.columns.get(name, name if name in found else stated.get(name, name))
            for name in _names(boxes)
        }
        for name, other in called.items():
            if found.count(other) != 1:
                raise SchemaError(
                    f"the external list must have one column {other!r}; it has {', '.join(found)}",
                    column=name,
                )
        return called


def _names(boxes: GeneralizedTable) -> list[str]:
    return [column.name for column in boxes.manifest.of_role(Role.QUASI)]


def _counted(part: pa.Table, people: CodedList) -> pa.Table:
    return counted(row_numbers(part), vector_codes(part), people.sizes)
