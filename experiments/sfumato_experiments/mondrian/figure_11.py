"""Figure 11: C_DM against k on five skewed attributes (mu = 3.5, sigma = .2).

The paper compares it with Figure 10, so the curves of the uniform table are drawn again, except
those of relaxed partitioning, whose group sizes do not depend on the data.
"""

from __future__ import annotations

from sfumato_experiments.figure import Claim, Figure, Series, ratios
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure every method for growing k, and again on uniform data."""
    ks = c.QUICK_K if options.quick else c.SYNTHETIC_K
    found = c.compare(c.over_k(c.skewed_samples(options), ks), options.part(0.0, 0.5))
    compared = {name: method for name, method in c.METHODS.items() if name != c.RELAXED}
    uniform = c.compare(
        c.over_k(c.uniform_samples(options), ks), options.part(0.5, 1.0), compared
    ).series
    return Figure(
        number="11",
        title=f"Five skewed attributes (σ = {c.SIGMA:g})",
        x_label="k",
        y_label=c.Y_LABEL,
        series={
            **{name: found.series[name] for name in c.METHODS},
            **{_on_uniform(name): uniform[name] for name in compared},
            c.FLOOR: found.series[c.FLOOR],
        },
        claims=(c.BEST, c.BEST_WHEN_SMALL, _MORE_PRONOUNCED, c.GROWS, _DUPLICATES, *c.THEORY),
        notes=(f"{c.described(options)}; σ in shares of the domain, μ = {c.MU:g}", found.note),
        references=frozenset({c.FLOOR}),
        x_scale="log",
        y_scale="log",
    )


def _on_uniform(name: str) -> str:
    return f"{name} (uniform data)"


def _worst_ratio(at: Series, rival: str, method: str) -> float:
    return max(ratios(at[rival], at[method]))


_MORE_PRONOUNCED = Claim(
    "the difference to the rivals is much more pronounced than on uniform data",
    "section 6.2",
    (c.STRICT, *c.RIVALS, *map(_on_uniform, (c.STRICT, *c.RIVALS))),
    lambda at: all(
        _worst_ratio(at, rival, c.STRICT)
        > _worst_ratio(at, _on_uniform(rival), _on_uniform(c.STRICT))
        for rival in c.RIVALS
    ),
)
_DUPLICATES = Claim(
    "for the smallest k, skewed data cost more: equal rows cannot be separated",
    "expected",
    (c.STRICT, _on_uniform(c.STRICT)),
    lambda at: at[c.STRICT][0].y > at[_on_uniform(c.STRICT)][0].y,
)
