"""What the paper says of its curves, and how to see it in ours.

Words such as "almost identical" need a number; the text of each claim names ours. "half" marks the
lower hurdle that we set beside a factor of the paper's: other data, same direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato_experiments.figure import Claim, Curve, Series, falls, ratios, rises
from sfumato_experiments.kja.runs import Family

WHERE = "section 5"
LEVEL = 1.1
Check = Callable[[Curve], bool]


def grows(curve: Curve) -> bool:
    """The last point lies above the first, and no step goes down by more than the noise."""
    return falls(tuple(point._replace(y=-point.y) for point in curve))


def spread(curve: Curve) -> float:
    """The highest point over the lowest."""
    return max(point.y for point in curve) / min(point.y for point in curve)


def about(names: Sequence[str], text: str, check: Check, where: str = WHERE) -> Claim:
    """Something that is true of each of these curves."""
    return Claim(text, where, tuple(names), lambda at: all(check(at[name]) for name in names))


def constant(name: str, most: float = LEVEL) -> Claim:
    """The conventional algorithm does not look at PD."""
    return about(
        [name],
        f"{name} is constant: no point is more than {most:g} times another",
        lambda curve: spread(curve) <= most,
    )


def final_gain(at: Series, family: Family, method: str) -> float:
    """How many times lower a method lies than the algorithm alone at the last place."""
    return at[family.name][-1].y / at[method][-1].y


def gain(family: Family, method: str, times: float, of: str) -> tuple[Claim, Claim]:
    """The paper's factor at the largest ratio, and half of its distance from 1."""
    needs = (family.name, method)
    return (
        Claim(
            f"at the largest ratio {method} has at least {times:g} times lower {of}",
            WHERE,
            needs,
            lambda at: final_gain(at, family, method) >= times,
        ),
        Claim(
            f"at the largest ratio {method} has at least {times / 2:.3g} times lower {of}",
            "half of the paper's factor",
            needs,
            lambda at: final_gain(at, family, method) >= times / 2,
        ),
    )


def better(first: str, second: str, text: str, *, beyond: float = 1.0) -> Claim:
    """One method lies lower wherever PD adds rows, or at most as high."""

    def check(at: Series) -> bool:
        above = [point for point in at[second] if point.x > beyond]
        return all(ratio >= 1 for ratio in ratios(tuple(above), at[first]))

    return Claim(text, WHERE, (first, second), check)


def close(first: str, second: str, most: float, text: str) -> Claim:
    """Two methods never differ by more than a factor."""

    def check(at: Series) -> bool:
        return all(1 / most <= ratio <= most for ratio in ratios(at[first], at[second]))

    return Claim(text, WHERE, (first, second), check)


def wins(family: Family, methods: Sequence[str], of: str, *, beyond: float = 0.0) -> Claim:
    """The direction that every figure must show."""

    def check(at: Series) -> bool:
        alone = tuple(point for point in at[family.name] if point.x > beyond)
        return all(min(ratios(alone, at[method])) >= 1 for method in methods)

    return Claim(f"KJA has the lower {of} everywhere", WHERE, (family.name, *methods), check)


__all__ = [
    "WHERE", "about", "better", "close", "constant", "falls", "final_gain", "gain", "grows",
    "ratios", "rises", "spread", "wins",
]  # fmt: skip
