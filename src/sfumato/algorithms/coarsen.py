"""Fewer sensitive values to count, where there are too many to count at every cut.

A cut costs time in proportion to the number of sensitive values, and a column of exact incomes has
as many as rows. Merging rare values into one never makes a group look more diverse: it has fewer
different values, a larger most frequent one, less entropy. So what passes l-diversity on merged
values passes on the real ones, and partitioning may look at merged ones. (It is not so for
t-closeness, where merging hides distance.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.core.attribute import Attribute, Kind
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from sfumato.models.requirements import Requirement, passing

MANY = 1024  # values; in a group of ten, two rare ones meet in one class once in twenty
_DIVERSITY = (LDiversity, DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity)


def coarsened(table: Microdata, needs: tuple[Requirement, ...]) -> Microdata:
    """The table with rare values of large sensitive domains merged, where that is safe."""
    coarse = table
    for name in table.schema.sensitive:
        about = [need for need in needs if need.attribute == name]
        if table.attributes[name].size > MANY and all(
            isinstance(need.model, _DIVERSITY) for need in about
        ):
            coarse = _merged(coarse, name)
    everyone = Partition.of(np.zeros(table.n_rows, np.int32))
    # so many values may have been asked for that merged ones are too few
    return coarse if passing(needs, coarse, everyone).all() else table


def _merged(table: Microdata, name: str) -> Microdata:
    """Frequent values keep a class of their own, the rest share the other half of them."""
    codes = table.codes[name]
    counts = np.bincount(codes, minlength=table.attributes[name].size)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    half = MANY // 2
    classes = np.where(rank < half, rank, half + rank % half).astype(np.int16)
    merged = Attribute(name, Kind.CATEGORICAL, pa.array(range(MANY)), ordered=False)
    return replace(
        table,
        attributes={**table.attributes, name: merged},
        codes={**table.codes, name: classes[codes]},
    )
