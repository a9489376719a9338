"""Figure 12: C_DM against sigma on five skewed attributes, k = 10."""

from __future__ import annotations

from sfumato_experiments.figure import Claim, Figure, falls, ratios
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options

_K = 10
_SIGMAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_QUICK_SIGMAS = (0.05, 0.1, 0.2, 0.4)


def run(options: Options) -> Figure:
    """Measure every method from high skew to almost none."""
    settings = [
        c.Setting(sigma, _K, c.skewed_samples(options, sigma=sigma))
        for sigma in (_QUICK_SIGMAS if options.quick else _SIGMAS)
    ]
    found = c.compare(settings, options)
    return Figure(
        number="12",
        title=f"Five skewed attributes (k = {_K})",
        x_label="standard deviation σ (share of the domain)",
        y_label=c.Y_LABEL,
        series=found.series,
        claims=(_GAP, _FALLS, _DIVIDED, *c.THEORY),
        notes=(f"{c.described(options)}; μ = {c.MU:g}; small σ is high skew", found.note),
        references=frozenset({c.FLOOR}),
        y_scale="log",
    )


def _gap_narrows(gaps: list[float]) -> bool:
    return gaps[0] == max(gaps) and gaps[0] > gaps[-1]


_GAP = Claim(
    "the difference to the rivals is most pronounced for high skew",
    "section 6.2",
    (c.STRICT, *c.RIVALS),
    lambda at: all(_gap_narrows(ratios(at[rival], at[c.STRICT])) for rival in c.RIVALS),
)
_FALLS = Claim(
    "the penalty of strict partitioning falls as the skew vanishes, up to the spread",
    "expected",
    (c.STRICT,),
    lambda at: falls(at[c.STRICT]),
)
_DIVIDED = Claim(
    "dividing equal rows, as relaxed partitioning does, helps most for high skew",
    "expected",
    (c.STRICT, c.RELAXED),
    lambda at: _gap_narrows(ratios(at[c.STRICT], at[c.RELAXED])),
)
