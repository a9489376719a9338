"""Figures 7 and 9: average result intervals of the methods, around the average actual result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sfumato_experiments.figure import Claim, Curve, Figure, Series
from sfumato_experiments.paper import Options, Run
from sfumato_experiments.statdb import comparison as c

TRUTH = "actual result"
_NEAR_ZERO = 0.01  # of the actual result
_OURS = "ours; not in the paper"


def figures(number: str, methods: tuple[str, ...]) -> Mapping[str, Run]:
    """The four parts."""
    return {f"{number}{part}": partial(run, number, part, methods) for part in c.PARTS}


def run(number: str, part: c.Part, methods: tuple[str, ...], options: Options) -> Figure:
    """Both ends of the intervals, on average."""
    found = c.compare(part, methods, options)
    series = {TRUTH: c.curve(found, methods[0], lambda outcome: outcome.truth)}
    for method in methods:
        series[_lower(method)] = c.curve(found, method, lambda outcome: outcome.lo)
        series[_upper(method)] = c.curve(found, method, lambda outcome: outcome.hi)
    return Figure(
        number=f"{number}{part}",
        title=c.title("Average result intervals", part, options),
        x_label=c.X_LABELS[part],
        y_label="rows",
        series=series,
        claims=(_revealing if c.DYN_ANA in methods else _concealing)(part),
        notes=c.notes(found, options),
        references=frozenset({TRUTH}),
        panels={
            _PANELS.get(method, method): {
                TRUTH: TRUTH,
                "upper end": _upper(method),
                "lower end": _lower(method),
            }
            for method in methods
        },
    )


_PANELS = {
    c.RAN_PERT: "ran-pert (80% confidence)",
    c.NORMAL: "ran-pert (80%, normal)",
    c.COHORTS: "dyn-ana, cohort = 8",
    c.BOXES: "boxes of neighbours",
}


def _lower(method: str) -> str:
    return f"{method} lower"


def _upper(method: str) -> str:
    return f"{method} upper"


def lengths(at: Series, method: str) -> list[float]:
    """Average lengths, place by place."""
    ends = zip(at[_lower(method)], at[_upper(method)], strict=True)
    return [upper.y - lower.y for lower, upper in ends]


def _revealing(part: c.Part) -> tuple[Claim, ...]:
    return (
        _shorter(c.DYN_ANA, c.STA_ANA),
        _shorter(c.DYN_ANA, c.RAN_PERT),
        _shorter_where_few(c.DYN_ANA, c.RAN_PERT),
        Claim(
            "the lower end of sta-ana is close to zero: below 1% of the actual result",
            "section 9",
            (_lower(c.STA_ANA),),
            lambda at: _useless(at[_lower(c.STA_ANA)], at[TRUTH]),
        ),
        Claim(
            "the lower end of ran-pert is zero",
            "section 9",
            (_lower(c.RAN_PERT),),
            lambda at: _useless(at[_lower(c.RAN_PERT)], at[TRUTH]),
        ),
        *(_follows_truth(method) for method in (c.DYN_ANA, c.STA_ANA, c.RAN_PERT)),
        *([_shrinks(c.STA_ANA)] if part == "a" else []),
        _shorter(c.NEAR, c.COHORTS, _OURS),
    )


def _concealing(part: c.Part) -> tuple[Claim, ...]:
    followers = (c.DYN_GEN,) if part == "a" else (c.DYN_GEN, c.STA_GEN)
    return (
        _shorter(c.DYN_GEN, c.STA_GEN),
        *([_SHORTER_AT_LAST] if part == "a" else []),
        *(_follows_truth(method) for method in followers),
        *([_GROWS] if part == "a" else []),
        _shorter(c.BOXES, c.STA_GEN, _OURS),
    )


def _shorter(method: str, other: str, where: str = "section 9") -> Claim:
    return Claim(
        f"the intervals of {method} are shorter than those of {other}",
        where,
        (_upper(method), _upper(other)),
        lambda at: all(
            mine < theirs
            for mine, theirs in zip(lengths(at, method), lengths(at, other), strict=True)
        ),
    )


def _shorter_where_few(method: str, other: str) -> Claim:
    def check(at: Series) -> bool:
        fewest = min(range(len(at[TRUTH])), key=lambda place: at[TRUTH][place].y)
        return lengths(at, method)[fewest] < lengths(at, other)[fewest]

    text = f"they are, at least where the actual result is smallest: {method} against {other}"
    return Claim(text, "section 9, weakened", (_upper(method), _upper(other)), check)


def _follows_truth(method: str) -> Claim:
    """Ordered by the actual result, lengths are ordered too."""

    def check(at: Series) -> bool:
        by_truth = sorted(zip((point.y for point in at[TRUTH]), lengths(at, method), strict=True))
        ordered = [length for _, length in by_truth]
        return ordered == sorted(ordered)

    text = f"the intervals of {method} become shorter when the actual result decreases"
    return Claim(text, "section 9, in general", (_upper(method),), check)


def _shrinks(method: str) -> Claim:
    return Claim(
        f"the interval of {method} shrinks as d increases: shorter at the end",
        "section 9",
        (_upper(method),),
        lambda at: lengths(at, method)[-1] < lengths(at, method)[0],
    )


_SHORTER_AT_LAST = Claim(
    "they are, at least with the most quasi-identifiers: dyn-gen against sta-gen",
    "section 9, weakened",
    (_upper(c.DYN_GEN), _upper(c.STA_GEN)),
    lambda at: lengths(at, c.DYN_GEN)[-1] < lengths(at, c.STA_GEN)[-1],
)
_GROWS = Claim(
    "the interval of sta-gen grows longer as d increases: longer at the end",
    "section 9",
    (_upper(c.STA_GEN),),
    lambda at: lengths(at, c.STA_GEN)[-1] > lengths(at, c.STA_GEN)[0],
)


def _useless(lower: Curve, truth: Curve) -> bool:
    pairs = zip(lower, truth, strict=True)
    return all(end.y <= _NEAR_ZERO * actual.y for end, actual in pairs)
