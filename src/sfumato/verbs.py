"""The verbs: a table, an algorithm and a privacy model become a release.

(The module is not called publish: importing it would then hide the function of that name.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sfumato.algorithms.base import Partitioner, describe
from sfumato.core.boxes import Boxes
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import PromiseBroken
from sfumato.metrics import information_loss as loss
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn, Model
from sfumato.models.requirements import Requirement, passing, requirements
from sfumato.releases.columns import Labels, require_labels
from sfumato.releases.generalized import (
    GeneralizedTable,
    boxes_of,
    published_rows,
    require_means,
)
from sfumato.releases.manifest import Manifest

Stages: TypeAlias = Callable[[str, float], None]


def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    labels: Labels = "ranges",
    means: bool | Sequence[str] = False,
    seed: int | None = None,
    progress: Stages | None = None,
) -> GeneralizedTable:
    """Make a generalized release that keeps the model's promise.

    ``labels`` says how boxes are shown: "ranges" (two columns with the bounds; sets of values for
    unordered categories), "sets" (sets for all categories), "taxonomy" (labels of the tree where
    there is one) or "text" (one readable column each, with labels where there is a tree).
    ``means`` adds the group's mean of numerical quasi-identifiers. A ``seed`` makes the run
    repeatable, and whoever knows it can undo the published order; without one, chance comes from
    the operating system. ``progress`` hears the stage and the share of it that is done.
    """
    require_labels(labels)
    averaged = require_means(table, means)
    needs = requirements(model, table.schema)
    tell = progress or silent
    randomness = Randomness(seed)
    partition = algorithm.partition(
        table, needs, randomness, lambda share: tell("partitioning", share)
    )
    _require_kept(table, needs, partition)
    tell("generalizing", 0.0)
    boxes = boxes_of(table, partition, labels)
    rows, columns = published_rows(table, partition, boxes, labels, averaged, randomness)
    return GeneralizedTable(
        rows,
        Manifest(
            kind=GeneralizedTable.kind,
            promise=tuple(_stated(need) for need in needs),
            algorithm=describe(algorithm),
            rows=partition.n_rows,
            groups=partition.n_groups,
            columns=columns,
            metrics=_metrics(needs, partition, boxes),
        ),
    )


def silent(stage: str, share: float) -> None:
    """Tell nobody."""


def _require_kept(table: Microdata, needs: tuple[Requirement, ...], partition: Partition) -> None:
    """An algorithm's word is not enough: look at every group once more before it leaves."""
    failing = np.flatnonzero(~passing(needs, table, partition))
    if len(failing):
        raise PromiseBroken(
            f"{len(failing)} of {partition.n_groups} groups break "
            f"{' & '.join(map(str, needs))}; nothing is published (this is a bug in the algorithm)",
            failures=failing.tolist(),
        )


def _stated(need: Requirement) -> dict[str, Any]:
    if not isinstance(need.model, BuiltIn):
        return {"model": "custom", "class": type(need.model).__name__, "on": need.attribute}
    stated = need.model.to_dict()
    return stated if need.attribute is None else {**stated, "on": need.attribute}


def _metrics(needs: tuple[Requirement, ...], partition: Partition, boxes: Boxes) -> dict[str, Any]:
    """The loss figures of release.json."""
    k = max((need.model.k for need in needs if isinstance(need.model, KAnonymity)), default=None)
    figures: dict[str, Any] = {"discernibility": loss.discernibility(partition)}
    if k is not None:
        figures["average_group_size"] = loss.average_group_size(partition, k)
    return {
        **figures,
        "ncp": loss.ncp(boxes, partition.sizes),
        "ncp_by_attribute": loss.ncp_by_attribute(boxes, partition.sizes),
        "iloss": loss.iloss(boxes, partition.sizes),
        "group_sizes": {
            "smallest": int(partition.sizes.min()),
            "median": float(np.median(partition.sizes)),
            "mean": partition.n_rows / partition.n_groups,
            "largest": int(partition.sizes.max()),
            "histogram": loss.group_sizes(partition),
        },
    }
