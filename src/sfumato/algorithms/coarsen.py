"""Fewer sensitive values to count, where there are too many to count at every cut.

A cut costs time in proportion to the number of sensitive values, and a column of exact incomes has
as many as rows. Two kinds of merging are safe, so that partitioning may look at merged values:

- Diversity: merging rare values into one never makes a group look more diverse. It has fewer
  different values, a larger most frequent one, less entropy.
- Closeness along an order: of V values, w neighbours at a time become one. Between two merged
  values the real ones lead at most w - 1 steps astray, for the group's mass and for the table's, so
  distances grow by at most 2 (w - 1) / (V - 1). A t that is smaller by more than that is asked for.

Merging hides distances between values without an order; there, closeness is judged exactly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from sfumato.models.requirements import Requirement, passing

MANY = 1024  # values; in a group of ten, two rare ones meet in one class once in twenty
_DIVERSITY = (LDiversity, DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity)


class Coarse(NamedTuple):
    """A table with merged values; who satisfies ``needs`` on it satisfies the real ones."""

    table: Microdata
    needs: tuple[Requirement, ...]


def coarsened(table: Microdata, needs: tuple[Requirement, ...]) -> Coarse:
    """The table with values of large sensitive domains merged, where that is safe."""
    coarse = Coarse(table, needs)
    for name in table.schema.sensitive:
        if table.attributes[name].size > MANY:
            coarse = _merged(coarse, name)
    everyone = Partition.of(np.zeros(table.n_rows, np.int32))
    # so many values may have been asked for that merged ones are too few
    kept = passing(coarse.needs, coarse.table, everyone).all()
    return coarse if kept else Coarse(table, needs)


def _merged(coarse: Coarse, name: str) -> Coarse:
    table, needs = coarse
    about = [need for need in needs if need.attribute == name]
    counts = np.bincount(table.codes[name], minlength=table.attributes[name].size)
    if all(isinstance(need.model, _DIVERSITY) for need in about):
        return Coarse(_with_classes(table, name, _rare_together(counts), ordered=False), needs)
    n_values = int(np.count_nonzero(counts))
    width = -(-n_values // MANY)
    slack = 2 * width / max(1, n_values - 1)
    if not all(_allows(need, table.attributes[name], slack) for need in about):
        return coarse
    classes = np.maximum(0, np.cumsum(counts > 0) - 1) // width
    return Coarse(
        _with_classes(table, name, classes, ordered=True),
        tuple(_stricter(need, slack) if need.attribute == name else need for need in needs),
    )


def _allows(need: Requirement, attribute: Attribute, slack: float) -> bool:
    """Whether a requirement can be judged on neighbours that are merged."""
    model = need.model
    if isinstance(model, TCloseness):
        return model.distance_of(attribute) == "ordered" and model.t > slack
    return isinstance(model, _DIVERSITY)


def _stricter(need: Requirement, slack: float) -> Requirement:
    model = need.model
    if isinstance(model, TCloseness):
        model = replace(model, t=model.t - slack, distance="ordered")
    return replace(need, model=model)


def _rare_together(counts: Counts) -> Counts:
    """Frequent values keep a class of their own, the rest share the other half of them."""
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    half = MANY // 2
    return np.where(rank < half, rank, half + rank % half)


def _with_classes(table: Microdata, name: str, classes: Counts, *, ordered: bool) -> Microdata:
    merged = Attribute(name, Kind.CATEGORICAL, pa.array(range(MANY)), ordered=ordered)
    codes = {**table.codes, name: classes.astype(np.int16)[table.codes[name]]}
    return replace(table, attributes={**table.attributes, name: merged}, codes=codes)
