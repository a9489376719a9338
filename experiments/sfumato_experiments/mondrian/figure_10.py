"""Figure 10: C_DM against k on five uniform attributes."""

from __future__ import annotations

from sfumato_experiments.figure import Figure
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure every method for growing k."""
    ks = c.QUICK_K if options.quick else c.SYNTHETIC_K
    found = c.compare(c.over_k(c.uniform_samples(options), ks), options)
    return Figure(
        number="10",
        title="Five uniform attributes",
        x_label="k",
        y_label=c.Y_LABEL,
        series=found.series,
        claims=(c.BEST, c.BEST_WHEN_SMALL, c.GROWS, *c.THEORY),
        notes=(c.described(options), found.note),
        references=frozenset({c.FLOOR}),
        x_scale="log",
        y_scale="log",
    )
