"""Figures 18 and 19: running time against the ratio |PD| / |MT|, k and d."""

from __future__ import annotations

from sfumato_experiments.figure import Claim, Figure, Series, falls
from sfumato_experiments.kja import claims as c
from sfumato_experiments.kja import layout, runs
from sfumato_experiments.kja.runs import PARTS, Bench, Family, Part
from sfumato_experiments.paper import Options, Run

_STABLE = 2.0  # times are noisier than losses
_TWICE = (1.5, 3.0)


def figure(number: str, part: Part, algorithm: str) -> Run:
    """The experiment behind one part of a figure."""

    def run(options: Options) -> Figure:
        bench = Bench.of("census", options)
        shown = layout.families(algorithm)
        series = runs.curves(
            bench, shown, runs.settings(part, "census", options), lambda loss: loss.seconds
        )
        return Figure(
            number=f"{number}{part}",
            title=layout.title(f"Time of {algorithm}, census data", part, "census", options),
            x_label=runs.X_LABELS[part],
            y_label="CPU seconds",
            series=series,
            panels=layout.panels(shown),
            claims=(_MONDRIAN if algorithm == "Mondrian" else _TOPDOWN)(part, shown[0]),
            notes=(
                bench.said,
                layout.draws(options),
                "partitioning only, one thread; the join is not counted",
            ),
            x_scale="linear" if part == "c" else "log",
            y_scale="log",
        )

    return run


def _by_ratio(family: Family) -> tuple[Claim, ...]:
    return (
        c.about(family.methods[1:], "the time of both KJA methods grows with PD", c.grows),
        c.constant(family.name, _STABLE),
        c.about(
            family.methods,
            "no run takes more than a few minutes (three)",
            lambda curve: max(point.y for point in curve) <= 180,
        ),
    )


def _mondrian(part: Part, family: Family) -> tuple[Claim, ...]:
    if part == "a":
        return (*_by_ratio(family), _twice(family))
    if part == "b":
        return (c.about(family.methods, "the time of all three falls with k", falls),)
    return (_stable(family.methods, "the time of all three is unaffected by d"),)


def _topdown(part: Part, family: Family) -> tuple[Claim, ...]:
    kja = family.methods[1:]
    if part == "a":
        text = f"{family.direct} and {family.refined} take roughly the same time: within 50%"
        return (*_by_ratio(family), c.close(*kja, 1.5, text))
    if part == "b":
        return (
            c.about([family.name], f"the time of {family.name} falls with k", falls),
            _stable(kja, "the time of both KJA methods is stable in k"),
        )
    return (
        c.about([family.name], f"the time of {family.name} grows with d", c.grows),
        _stable(kja, "the time of both KJA methods is stable in d"),
    )


def _stable(names: tuple[str, ...], text: str) -> Claim:
    return c.about(
        names, f"{text}: within a factor of {_STABLE:g}", lambda curve: c.spread(curve) <= _STABLE
    )


def _twice(family: Family) -> Claim:
    low, high = _TWICE

    def check(at: Series) -> bool:
        return low <= at[family.refined][-1].y / at[family.direct][-1].y <= high

    return Claim(
        f"at the largest ratio {family.refined} is about two times ({low:g} to {high:g}) slower "
        f"than {family.direct}",
        c.WHERE,
        (family.direct, family.refined),
        check,
    )


_MONDRIAN, _TOPDOWN = _mondrian, _topdown

FIGURES: dict[str, Run] = {
    f"{number}{part}": figure(number, part, algorithm)
    for number, algorithm in (("18", "Mondrian"), ("19", "TopDown"))
    for part in PARTS
}
