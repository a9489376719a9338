"""Small tables and attributes, built in one line."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Schema
from sfumato.core.taxonomy import Taxonomy

# The patients of the Mondrian paper, Figure 1.
PATIENTS: dict[str, list[Any]] = {
    "age": [25, 25, 26, 27, 27, 28],
    "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
    "zipcode": [53711, 53712, 53711, 53710, 53712, 53711],
    "disease": ["Flu", "Hepatitis", "Brochitis", "Broken Arm", "AIDS", "Hang Nail"],
}


def microdata(
    columns: Mapping[str, Any],
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    **described: Any,
) -> Microdata:
    """A table in which every column that is not sensitive is a quasi-identifier."""
    if quasi is None:
        quasi = [name for name in columns if name not in sensitive]
    schema = Schema(quasi=quasi, sensitive=list(sensitive), **described)
    return Microdata.from_arrow(pa.table(dict(columns)), schema)


def attribute(
    size: int,
    *,
    ordered: bool = False,
    taxonomy: Taxonomy | None = None,
    missing: bool = False,
) -> Attribute:
    """An attribute with the values v0, v1, ...; ``size`` does not count the missing one."""
    return Attribute(
        name="s",
        kind=Kind.CATEGORICAL,
        values=pa.array([f"v{i}" for i in range(size)], pa.string()),
        ordered=ordered or taxonomy is not None,
        has_missing=missing,
        taxonomy=taxonomy,
    )


def histograms(of: Attribute, counts: Sequence[Sequence[int]]) -> Histograms:
    """Groups that together are the whole table, given as lines of counts."""
    matrix: Counts = np.array(counts, np.int64)
    return Histograms.of_matrix(of, matrix, matrix.sum(axis=0))


def partition(groups: Sequence[int]) -> Partition:
    """A partition from the group of every row."""
    return Partition.of(np.array(groups, np.int32))


def groups_of(groups: Codes) -> set[frozenset[int]]:
    """The groups as sets of rows: equal for partitions that differ only in their labels."""
    rows: dict[int, list[int]] = {}
    for row, group in enumerate(groups.tolist()):
        rows.setdefault(group, []).append(row)
    return {frozenset(members) for members in rows.values()}
