"""Figure 14: C_DM against k on the Adult table, eight ordered attributes."""

from __future__ import annotations

import numpy as np

from sfumato_experiments.data import adult
from sfumato_experiments.figure import Claim, Figure, ratios
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.mondrian.trees import with_adult_trees
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure every method for growing k. One table, and sizes without chance: one run each."""
    ks = c.QUICK_K if options.quick else c.SYNTHETIC_K
    table, said = adult(options.data)
    if options.quick:
        table, said = table.take(np.arange(0, table.n_rows, 10)), f"{said}; every tenth of them"
    sample = c.Sample(table, with_adult_trees(table, options.data))
    found = c.compare(c.over_k([sample], ks), options)
    return Figure(
        number="14",
        title="Adult" if said.startswith("Adult") else "Stand-in for Adult",
        x_label="k",
        y_label=c.Y_LABEL,
        series=found.series,
        claims=(c.BEST, c.BEST_WHEN_SMALL, _SMALL_K, c.GROWS, *c.THEORY),
        notes=(said, found.note),
        references=frozenset({c.FLOOR}),
        x_scale="log",
        y_scale="log",
    )


_SMALL_K = Claim(
    "the difference to the rivals is most pronounced for small k; later they become comparable",
    "section 6.2",
    (c.STRICT, *c.RIVALS),
    lambda at: all(
        ratios(at[rival], at[c.STRICT])[0] > ratios(at[rival], at[c.STRICT])[-1]
        for rival in c.RIVALS
    ),
)
