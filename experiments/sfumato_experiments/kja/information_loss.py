"""Figures 10 to 13, 16 and 17: modified NCP and DM against the ratio |PD| / |MT|, k and d."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from sfumato_experiments.figure import Claim, Curve, Figure, falls, rises
from sfumato_experiments.kja import claims as c
from sfumato_experiments.kja import layout, runs
from sfumato_experiments.kja.runs import MONDRIAN, PARTS, Bench, DataName, Family, Loss, Part
from sfumato_experiments.kja.tables import scale_of
from sfumato_experiments.paper import Options, Run

Metric: TypeAlias = Literal["NCP", "DM"]
# the factors of section 5 at the largest ratio: Direct, Refinement
GAINS: Mapping[tuple[str, Metric], tuple[float, float]] = {
    ("Mondrian", "NCP"): (3.04, 2.15),
    ("Mondrian", "DM"): (14.35, 4.96),
    ("TopDown", "NCP"): (2.1, 3.51),
    ("TopDown", "DM"): (2.22, 3.4),
}
_SIX_TIMES = (4, 8)
_INSENSITIVE = 1.25


def figure(number: str, part: Part, data: DataName, algorithm: str, metric: Metric) -> Run:
    """The experiment behind one part of a figure."""

    def run(options: Options) -> Figure:
        bench = Bench.of(data, options)
        shown = layout.families(algorithm)
        places = runs.settings(part, data, options)
        rows = scale_of(options).microdata
        series = runs.curves(bench, shown, places, lambda loss: _value(loss, metric) / rows)
        return Figure(
            number=f"{number}{part}",
            title=layout.title(f"{metric} of {algorithm}, {data} data", part, data, options),
            x_label=runs.X_LABELS[part],
            y_label=f"{metric} per row of MT",
            series=series,
            panels=layout.panels(shown),
            claims=_claims(part, data, shown[0], metric),
            notes=(
                bench.said,
                layout.draws(options),
                *layout.gains(shown, series, last=part == "a"),
            ),
            x_scale="linear" if part == "c" else "log",
            y_scale="log",
        )

    return run


def _value(loss: Loss, metric: Metric) -> float:
    return loss.ncp if metric == "NCP" else loss.dm


def _claims(part: Part, data: DataName, family: Family, metric: Metric) -> tuple[Claim, ...]:
    kja = family.methods[1:]
    if part == "a":
        own = (
            c.wins(family, kja, metric, beyond=1),
            c.constant(family.name),
            c.about(kja, f"the {metric} of KJA falls as PD grows", falls),
            *(_gains(family, metric) if data == "census" else ()),
        )
    elif part == "b":
        own = (
            c.wins(family, kja, metric),
            c.about(family.methods, f"the {metric} of all three grows with k", c.grows),
            *((_six_times(kja),) if (metric, family.name) == ("DM", "Mondrian") else ()),
        )
    else:
        own = (c.wins(family, kja, metric), *_by_d(family, metric))
    return (*own, _rivals(data, family))


def _gains(family: Family, metric: Metric) -> tuple[Claim, ...]:
    factors = GAINS[family.name, metric]
    return tuple(
        claim
        for method, times in zip(family.methods[1:], factors, strict=True)
        for claim in c.gain(family, method, times, metric)
    )


def _by_d(family: Family, metric: Metric) -> tuple[Claim, ...]:
    if metric == "NCP":
        return (c.about(family.methods, "the NCP of all three grows with d", c.grows),)
    if family.name == "Mondrian":
        text = f"DM is not sensitive to d: its points differ by at most {_INSENSITIVE - 1:.0%}"
        return (c.about(family.methods, text, lambda curve: c.spread(curve) <= _INSENSITIVE),)
    return (
        c.about(
            family.methods,
            "DM follows no trend with d: no curve rises or falls at every step",
            lambda curve: not rises(curve) and not rises(curve[::-1]),
        ),
        _fluctuates(family, MONDRIAN),
    )


def _fluctuates(family: Family, other: Family) -> Claim:
    pairs = list(zip(family.methods, other.methods, strict=True))
    return Claim(
        f"DM varies more with d than for {other.name}: highest over lowest point, all three",
        c.WHERE,
        (*family.methods, *other.methods),
        lambda at: all(c.spread(at[mine]) > c.spread(at[theirs]) for mine, theirs in pairs),
    )


def _six_times(kja: tuple[str, ...]) -> Claim:
    low, high = _SIX_TIMES

    def check(curve: Curve) -> bool:
        return low <= curve[-1].y / curve[0].y <= high

    return c.about(
        kja, f"at the largest k the DM of KJA is about six times ({low} to {high}) the first", check
    )


def _rivals(data: DataName, family: Family) -> Claim:
    """Direct against Refinement: which is better depends on the data and the algorithm."""
    if data == "uniform":
        most = 1.1 if family.name == "Mondrian" else 1.2
        said = "are almost identical" if family.name == "Mondrian" else "have a narrow margin"
        text = f"{family.direct} and {family.refined} {said}: within {most - 1:.0%}"
        return c.close(family.direct, family.refined, most, text)
    first, second = (
        (family.direct, family.refined)
        if family.name == "Mondrian"
        else (family.refined, family.direct)
    )
    return c.better(first, second, f"{first} is better than {second}", beyond=1)


def _parts(number: str, data: DataName, algorithm: str, metric: Metric) -> dict[str, Run]:
    return {f"{number}{part}": figure(number, part, data, algorithm, metric) for part in PARTS}


CENSUS_FIGURES: dict[str, Run] = {
    **_parts("10", "census", "Mondrian", "NCP"),
    **_parts("11", "census", "Mondrian", "DM"),
    **_parts("12", "census", "TopDown", "NCP"),
    **_parts("13", "census", "TopDown", "DM"),
}
UNIFORM_FIGURES: dict[str, Run] = {
    **_parts("16", "uniform", "Mondrian", "NCP"),
    **_parts("17", "uniform", "TopDown", "NCP"),
}
