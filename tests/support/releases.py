"""Releases of any partition, and estimates in plain Python to compare with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.algorithms.base import Progress
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.predicates import Either, Missing
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.columns import Labels
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.models.requirements import Requirement
from tests.support.models import Anything


def manifest(kind: str, columns: Sequence[PublishedColumn], rows: int, groups: int) -> Manifest:
    return Manifest(kind, (), {}, rows, groups, tuple(columns), (), {})


def of_rows(table: pa.Table, columns: Sequence[PublishedColumn]) -> GeneralizedTable:
    """A generalized release given row by row, every row a box of its own."""
    rows = table.num_rows
    described = manifest("generalized", columns, rows, rows)
    shown = described.quasi_columns
    others = [name for name in table.column_names if name not in shown]
    return GeneralizedTable(
        table.select(shown), np.arange(rows, dtype=np.int32), table.select(others), described
    )


@dataclass(frozen=True, slots=True)
class Fixed:
    """An algorithm whose result is known beforehand."""

    groups: tuple[int, ...]
    name: ClassVar[str] = "fixed"
    form: ClassVar[str] = "generalized"

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        return Partition.of(np.array(self.groups, np.int32))


def anatomized(table: Microdata, groups: Sequence[int]) -> AnatomizedTables:
    return sf.publish(table, Fixed(tuple(groups)), Anything(), form="anatomized")


def generalized(
    table: Microdata, groups: Sequence[int], labels: Labels = "ranges", means: Sequence[str] = ()
) -> GeneralizedTable:
    asked = Anything(needs_sensitive=False)
    return sf.publish(table, Fixed(tuple(groups)), asked, labels=labels, means=list(means))


def rows_of(table: Microdata) -> list[dict[str, Any]]:
    """The microdata row by row."""
    decoded = {
        name: attribute.decode(table.codes[name]).to_pylist()
        for name, attribute in table.attributes.items()
    }
    for name in table.schema.insensitive:
        decoded[name] = table.insensitive.column(name).to_pylist()
    return [{name: values[row] for name, values in decoded.items()} for row in range(table.n_rows)]


def holds(query: Query, row: Mapping[str, Any]) -> bool:
    """Whether a row satisfies the conditions, all of them lists, on the attributes it has."""
    return all(row[name] in listed(query, name) for name in query.where if name in row)


def listed(query: Query, name: str) -> set[Any]:
    """The values that a condition made of a list wants."""
    predicate = query.where[name]
    parts = [predicate.first, predicate.second] if isinstance(predicate, Either) else [predicate]
    wanted: set[Any] = set()
    for part in parts:
        wanted |= {None} if isinstance(part, Missing) else set(part.values)  # type: ignore[attr-defined]
    return wanted


def naive_exact(table: Microdata, query: Query) -> int:
    return sum(holds(query, row) for row in rows_of(table))


def naive_anatomized(release: AnatomizedTables, query: Query) -> float:
    qit = release.qit.to_pylist()
    total = 0.0
    for group in {row["group_id"] for row in qit}:
        rows = [row for row in qit if row["group_id"] == group]
        expected = float(sum(holds(query, row) for row in rows))
        for name, st in release.sts.items():
            if name in query.where:
                records = [record for record in st.to_pylist() if record["group_id"] == group]
                matching = sum(record["count"] for record in records if holds(query, record))
                expected *= matching / len(rows)
        total += expected
    return total


def naive_generalized(release: GeneralizedTable, query: Query) -> float:
    described = release.manifest.columns
    total = 0.0
    for row in release.table.to_pylist():
        share = 1.0
        for column in described:
            if column.name in query.where:
                inside = values_inside(column, row, release.table)
                wanted = listed(query, column.name)
                share *= sum(value in wanted for value in inside) / len(inside)
        total += share
    return total


def values_inside(column: PublishedColumn, row: Mapping[str, Any], table: pa.Table) -> list[Any]:
    if column.role != Role.QUASI:
        return [row[column.name]]
    if column.form == "set":
        return list(row[column.name])
    missing = [None] if row.get(f"{column.name}_missing") else []
    if column.form == "label":
        return _leaves(column, row[column.name]) + missing
    low, high = row[f"{column.name}_min"], row[f"{column.name}_max"]
    if low is None:
        return missing
    domain = _domain(column, low, high, table)
    return domain[domain.index(low) : domain.index(high) + 1] + missing


def _domain(column: PublishedColumn, low: Any, high: Any, table: pa.Table) -> list[Any]:
    if column.taxonomy is not None:
        return list(Taxonomy.from_nested(column.taxonomy).leaves)
    if column.order is not None:
        return list(column.order)
    if isinstance(low, int):
        return list(range(low, high + 1))
    ends = [table[f"{column.name}_{end}"].to_pylist() for end in ("min", "max")]
    return sorted({value for values in ends for value in values} - {None})


def _leaves(column: PublishedColumn, label: str | None) -> list[Any]:
    if label is None:
        return []
    tree = Taxonomy.from_nested(column.taxonomy or {})
    node = tree.labels.index(label)
    return list(tree.leaves[tree.first_leaf[node] : tree.last_leaf[node] + 1])
