"""The figures of release.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.metrics import information_loss as loss
from sfumato.metrics.reconstruction import (
    generalized_reconstruction_error,
    reconstruction_error,
)
from sfumato.models.anonymity import KAnonymity
from sfumato.models.requirements import Requirement


def group_figures(needs: tuple[Requirement, ...], partition: Partition) -> dict[str, Any]:
    """Figures of release.json that depend on the groups alone."""
    k = max((need.model.k for need in needs if isinstance(need.model, KAnonymity)), default=None)
    figures: dict[str, Any] = {"discernibility": loss.discernibility(partition)}
    if k is not None:
        figures["average_group_size"] = loss.average_group_size(partition, k)
    figures["group_sizes"] = {
        "smallest": int(partition.sizes.min()),
        "median": float(np.median(partition.sizes)),
        "mean": partition.n_rows / partition.n_groups,
        "largest": int(partition.sizes.max()),
        "histogram": {str(size): n for size, n in loss.group_sizes(partition).items()},
    }
    return figures


def box_figures(partition: Partition, boxes: Boxes, left_out: int) -> dict[str, Any]:
    """Figures of release.json about boxes; a row that is left out counts as unknown."""
    return {
        "ncp": loss.ncp(boxes, partition.sizes, left_out),
        "ncp_by_attribute": loss.ncp_by_attribute(boxes, partition.sizes, left_out),
        "iloss": loss.iloss(boxes, partition.sizes),
        "reconstruction_error": generalized_reconstruction_error(boxes, partition.sizes),
    }


def anatomy_figures(groups: Mapping[str, Histograms]) -> dict[str, Any]:
    """Figures of release.json about QIT and ST."""
    errors = {name: reconstruction_error(seen) for name, seen in groups.items()}
    return {"reconstruction_error": errors}
