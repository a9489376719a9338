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

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.histograms import Histograms
from sfumato.models.base import BuiltIn, Model, has
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement

MANY = 1024  # values; in a group of ten, two rare ones meet in one class once in twenty


def coarsened(bound: Bound) -> Bound:
    """The table with values of large sensitive domains merged, where that is safe.

    Who satisfies the result satisfies the real requirements.
    """
    coarse = bound
    for name in dict.fromkeys(need.attribute for need in bound.needs):
        if name is not None and bound.table.attributes[name].size > MANY:
            coarse = _merged(coarse, name)
    # so many values may have been asked for that merged ones are too few
    return coarse if coarse.feasible else bound


def _merged(bound: Bound, name: str) -> Bound:
    table, needs = bound.table, bound.needs
    about = [at for at, need in enumerate(needs) if need.attribute == name]
    counts = bound.everyone[about[0]].whole
    if all(has(needs[at].model, "values_safe") for at in about):
        return _with_classes(bound, needs, name, _rare_together(counts), ordered=False)
    n_values = int(np.count_nonzero(counts))
    width = -(-n_values // MANY)
    slack = 2 * width / max(1, n_values - 1)
    stricter = list(needs)
    for at in about:
        model = _on_neighbours(needs[at].model, table.attributes[name], slack)
        if model is None:
            return bound
        stricter[at] = replace(needs[at], model=model)
    classes = np.maximum(0, np.cumsum(counts > 0) - 1) // width
    return _with_classes(bound, tuple(stricter), name, classes, ordered=True)


def _on_neighbours(model: Model, attribute: Attribute, slack: float) -> Model | None:
    if isinstance(model, BuiltIn):
        return model.on_neighbours(attribute, slack)
    return model if has(model, "values_safe") else None


def _rare_together(counts: Counts) -> Counts:
    """Frequent values keep a class of their own, the rest share the other half of them."""
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    half = MANY // 2
    return np.where(rank < half, rank, half + rank % half)


def _with_classes(
    bound: Bound, needs: tuple[Requirement, ...], name: str, classes: Counts, *, ordered: bool
) -> Bound:
    """The requirements on merged values, their counts merged as well."""
    merged = Attribute(name, Kind.CATEGORICAL, pa.array(range(MANY)), ordered=ordered)
    of_code: Ints = classes.astype(np.int16)
    table = bound.table
    table = replace(
        table,
        attributes={**table.attributes, name: merged},
        codes={**table.codes, name: of_code[table.codes[name]]},
    )
    everyone = tuple(
        Histograms.of_whole(merged, _summed(seen, classes)) if need.attribute == name else seen
        for need, seen in zip(needs, bound.everyone, strict=True)
    )
    return Bound(table, needs, everyone, {**bound.classes, name: of_code}, bound.weights)


def _summed(seen: Histograms, classes: Counts) -> Counts:
    return np.bincount(classes, weights=seen.whole, minlength=MANY).astype(np.int64)
