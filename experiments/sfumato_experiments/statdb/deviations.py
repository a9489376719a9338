"""Figures 8 and 10: standard deviations of the lengths of result intervals, for Figures 7 and 9."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sfumato_experiments.figure import Claim, Figure
from sfumato_experiments.paper import Options, Run
from sfumato_experiments.statdb import comparison as c


def figures(number: str, methods: tuple[str, ...]) -> Mapping[str, Run]:
    """The four parts."""
    return {f"{number}{part}": partial(run, number, part, methods) for part in c.PARTS}


def run(number: str, part: c.Part, methods: tuple[str, ...], options: Options) -> Figure:
    """One curve per method."""
    found = c.compare(part, methods, options)
    mine, others = methods[0], methods[1:]
    return Figure(
        number=f"{number}{part}",
        title=c.title("Standard deviation of lengths", part, options),
        x_label=c.X_LABELS[part],
        y_label="rows",
        series={
            method: c.curve(found, method, lambda outcome: outcome.deviation) for method in methods
        },
        claims=tuple(_steadier(mine, other) for other in others if other not in c.BESIDE),
        notes=c.notes(found, options),
    )


def _steadier(method: str, other: str) -> Claim:
    return Claim(
        f"the lengths of {method} deviate less than those of {other}",
        "section 9",
        (method, other),
        lambda at: all(
            mine.y < theirs.y for mine, theirs in zip(at[method], at[other], strict=True)
        ),
    )
