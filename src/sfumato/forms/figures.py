"""The figures of release.json, computed from what is published and nothing else.

A figure that looked at rows left out, or at values that only they have, would tell about them. And
anybody with the files can compute every figure again: ``verify`` does. Numbers are rounded to nine
digits, so that the order in which a machine sums them up cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.core.boxes import Boxes
from sfumato.core.schema import Role
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.reading import read_boxes
from sfumato.metrics import information_loss as loss
from sfumato.metrics.reconstruction import generalized_reconstruction_error
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity

_DIGITS = 9
_SIZES = {KAnonymity.name, KJoinAnonymity.name}
Promise = Iterable[Mapping[str, Any]]


def generalized_figures(
    promise: Promise,
    columns: Sequence[PublishedColumn],
    groups: pa.Table,
    sizes: Counts,
    left_out: int = 0,
) -> dict[str, Any]:
    """Figures of boxes, one line of ``groups`` each; a row that is left out counts as unknown."""
    boxes = read_boxes(columns, groups)
    return rounded({**_group_figures(promise, sizes), **_box_figures(boxes, sizes, left_out)})


def published_figures(manifest: Manifest, groups: pa.Table, sizes: Counts) -> dict[str, Any]:
    """The same, from what a release states of itself."""
    columns = manifest.of_role(Role.QUASI)
    return generalized_figures(manifest.promise, columns, groups, sizes, manifest.suppressed)


def anatomized_figures(
    promise: Promise, sizes: Counts, errors: Mapping[str, float]
) -> dict[str, Any]:
    """Figures of groups whose sensitive values are counted apart, with the errors of each."""
    return rounded({**_group_figures(promise, sizes), "reconstruction_error": errors})


def group_figures(promise: Promise, sizes: Counts) -> dict[str, Any]:
    """Figures of groups about which nothing else is known."""
    return rounded(_group_figures(promise, sizes))


def rounded(figures: Mapping[str, Any]) -> dict[str, Any]:
    """A nest of figures with no more digits than can be relied on."""
    return {name: _rounded(figure) for name, figure in figures.items()}


def _rounded(figure: Any) -> Any:
    if isinstance(figure, Mapping):
        return rounded(figure)
    return float(f"{figure:.{_DIGITS}g}") if isinstance(figure, float) else figure


def _group_figures(promise: Promise, all_sizes: Counts) -> dict[str, Any]:
    """Figures that depend on the groups alone."""
    sizes, counts = np.unique(all_sizes, return_counts=True)
    ks = [one["k"] for one in promise if one["model"] in _SIZES and not one.get("on")]
    mean = float((sizes * counts).sum() / counts.sum())
    figures: dict[str, Any] = {"discernibility": int((sizes * sizes * counts).sum())}
    if ks:
        figures["average_group_size"] = mean / max(ks)
    figures["group_sizes"] = {
        "smallest": int(sizes[0]),
        "median": _median(sizes, counts),
        "mean": mean,
        "largest": int(sizes[-1]),
        "histogram": dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True)),
    }
    return figures


def _median(sizes: Counts, counts: Counts) -> float:
    ends = np.cumsum(counts)
    low, high = (int(ends[-1]) - 1) // 2, int(ends[-1]) // 2
    middle = [sizes[np.searchsorted(ends, place, side="right")] for place in (low, high)]
    return float(sum(middle)) / 2


def _box_figures(boxes: Boxes, sizes: Counts, left_out: int) -> dict[str, Any]:
    penalties = loss.ncp_by_attribute(boxes, sizes, left_out)
    return {
        "ncp": float(np.mean(list(penalties.values()))),
        "ncp_by_attribute": penalties,
        "iloss": loss.iloss(boxes, sizes),
        "reconstruction_error": generalized_reconstruction_error(boxes, sizes),
    }
