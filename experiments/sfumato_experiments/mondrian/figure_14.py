"""Figure 14: C_DM against k on the Adult table, eight ordered attributes."""

from __future__ import annotations

from sfumato_experiments.data import adult
from sfumato_experiments.figure import Claim, Figure, ratios
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure every method for growing k. One table, and sizes without chance: one run each."""
    ks = c.QUICK_K if options.quick else c.SYNTHETIC_K
    table, said = adult(options.data)
    return Figure(
        number="14",
        title="Adult" if said.startswith("Adult") else "Stand-in for Adult",
        x_label="k",
        y_label=c.Y_LABEL,
        series=c.compare(c.over_k([table], ks), options),
        claims=(c.BEST, _SMALL_K, c.GROWS, *c.THEORY),
        notes=(said,),
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
