"""The section about what the release costs: figures of release.json, and the sizes of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.audits.report import charts
from sfumato.audits.report.text import figure, meter, number, part, percent, safe, table
from sfumato.forms.manifest import Manifest

_COLUMNS = 20


def section(manifest: Manifest) -> str:
    """What was lost, in the measures of the papers."""
    metrics = manifest.metrics
    drawings = []
    if histogram := metrics.get("group_sizes", {}).get("histogram"):
        labels, counts = size_bins({int(size): int(n) for size, n in histogram.items()})
        caption = f"{_sizes(metrics['group_sizes'])} Smaller groups keep more detail."
        drawings.append(figure(charts.sizes(labels, counts), "Rows per group", caption))
    if penalties := metrics.get("ncp_by_attribute"):
        drawings.append(_penalties(penalties))
    return part(
        "What it costs",
        "Hiding people costs detail. Of all these figures smaller is better; they compare releases "
        "of one table, not of different ones.",
        f"{table(('measure', 'meaning', ''), _figures(manifest), left=2)}"
        f'<div class="figures">{"".join(drawings)}</div>',
    )


def size_bins(histogram: Mapping[int, int]) -> tuple[list[str], list[int]]:
    """Group sizes as few columns: each size, or ranges that grow where the largest are far away."""
    sizes = np.array(sorted(histogram))
    counts = np.array([histogram[size] for size in sizes.tolist()])
    low, high = int(sizes[0]), int(sizes[-1])
    if high - low < _COLUMNS:
        edges = np.arange(low, high + 2)
    elif high > 20 * low:
        edges = np.unique(np.rint(np.geomspace(max(low, 1), high + 1, _COLUMNS + 1)).astype(int))
    else:
        step = -(-(high + 1 - low) // _COLUMNS)
        edges = np.arange(low, high + 1 + step, step)
    columns, _ = np.histogram(sizes, edges, weights=counts)
    labels = [
        str(first) if last == first + 1 else f"{first:,}–{last - 1:,}"
        for first, last in pairwise(edges.tolist())
    ]
    return labels, columns.astype(int).tolist()


def _sizes(stated: Mapping[str, Any]) -> str:
    if stated["smallest"] == stated["largest"]:
        return f"All groups have {number(stated['smallest'])}."
    return (
        f"From {number(stated['smallest'])} to {number(stated['largest'])}, half of the groups "
        f"have at most {number(stated['median'])}."
    )


def _figures(manifest: Manifest) -> Iterator[tuple[str, str, str]]:
    metrics, rows = manifest.metrics, manifest.rows
    if (ncp := metrics.get("ncp")) is not None:
        yield (
            "NCP",
            "how much of its attribute's range a published cell covers: 0% is exact, 100% unknown",
            percent(ncp),
        )
    if (alike := metrics.get("discernibility")) is not None:
        mean = number(alike / rows)
        meaning = f"how many rows look like a row ({mean} on average), summed over all rows"
        yield "Discernibility", meaning, number(alike)
    if (ratio := metrics.get("average_group_size")) is not None:
        yield "Average group size", "in units of k: 1 is the best that k allows", f"{ratio:.2f}"
    errors = metrics.get("reconstruction_error")
    for name, error in (errors if isinstance(errors, dict) else {"": errors}).items():
        if error is not None:
            yield (
                f"Reconstruction error{f' of {safe(name)}' if name else ''}",
                f"how far a row is from where it was ({error / rows:.2f} on average; 0 is "
                "exact, 1 anything), summed over all rows",
                number(error),
            )


def _penalties(penalties: Mapping[str, float]) -> str:
    rows = [
        (safe(name, 40), meter(penalty), percent(penalty))
        for name, penalty in sorted(penalties.items(), key=lambda item: -item[1])
    ]
    drawn = table(("attribute", "", "NCP"), rows, left=2)
    caption = "The attributes at the top lost most of their detail."
    return figure(drawn, "NCP by attribute", caption)
