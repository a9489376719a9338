"""Figure 10: C_DM against k on five uniform attributes."""

from __future__ import annotations

from sfumato_experiments.figure import Figure
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure every method for growing k."""
    ks = c.QUICK_K if options.quick else c.SYNTHETIC_K
    return Figure(
        number="10",
        title="Five uniform attributes",
        x_label="k",
        y_label=c.Y_LABEL,
        series=c.compare(c.over_k(c.uniform_tables(options), ks), options),
        claims=(c.BEST, c.GROWS, *c.THEORY),
        notes=(c.described(options),),
        references=frozenset({c.FLOOR}),
        x_scale="log",
        y_scale="log",
    )
