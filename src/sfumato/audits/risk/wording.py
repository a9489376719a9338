"""Risk in plain words: who is exposed, to whom, and through which columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.audits.risk.results import AttributeRisk, ColumnShare, Risk

MOST_IMPORTANT = 3
_LISTED = 6  # names of columns in a sentence
_SETS = 3
_LITTLE = 0.0005  # which would be rounded to nothing

FORMULAS = {
    "prosecutor": "1 / f: one of the f people who look alike, sought by somebody who knows that "
    "the person is in the table",
    "journalist": "1 / F: one of the F people of the population who look alike; from weights its "
    "mean, p * integral of u^(f-1) / (p + (1-p) u) over [0, 1] with p = f / sum of weights "
    "(Benedetti and Franconi)",
    "marketer": "the mean of all people's chances: (classes) / (people) without a population",
    "household": "1 - product of (1 - chance) over the members: whoever finds one has found all",
    "best guess": "the share of the most frequent value among people who look alike",
    "minimal unique set": "columns on which a person is alone, and on no part of them",
}


def sentences(risk: Risk) -> Iterator[str]:
    """Everything, the most important first."""
    yield _about_finding(risk)
    known = f"their {listed(risk.quasi)}"
    # where only some are told, the most exposed ones must be among them
    for one in sorted(risk.attributes, key=lambda one: (-one.certain, -one.exposed)):
        yield _about_value(one, known)
        known = "these"  # which need no second list
    yield _about_all(risk)
    yield from _about_sets(risk)
    yield from _about_population(risk)
    if risk.households is not None:
        yield (
            "Whoever finds one member has found the household: on average a person is found with "
            f"a chance of {_share(risk.households.average)}, at worst "
            f"{risk.households.highest:.0%}."
        )


def listed(names: Sequence[str], most: int = _LISTED) -> str:
    """Names of columns in a sentence."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def people(amount: int) -> str:
    """``1 person``, ``2 people``."""
    return f"{amount:,} {'person' if amount == 1 else 'people'}"


def _share(value: float) -> str:
    """A share that is not nothing is not called 0.0%, nor one that is not all 100.0%."""
    if 0 < value < _LITTLE:
        return "less than 0.1%"
    return "more than 99.9%" if 1 - _LITTLE < value < 1 else f"{value:.1%}"


def _about_finding(risk: Risk) -> str:
    known = listed(risk.quasi)
    if not risk.unique_rows:
        return (
            f"Nobody stands alone on {known}: everybody is one of {risk.smallest_class:,} at "
            "least who look alike."
        )
    stand = "stands" if risk.unique_rows == 1 else "stand"
    share = _share(risk.unique_rows / risk.people)
    seen = "finds the row" if risk.exact else "sees that the person is in the table"
    return (
        f"{people(risk.unique_rows)} of {risk.people:,} ({share}) {stand} alone on {known}: "
        f"whoever knows these {seen}."
    )


def _about_value(one: AttributeRisk, known: str) -> str:
    sure = f"{one.sure:.0%}{' or more' if one.sure < 1 else ''}"
    usual = f"{one.baseline:.1%} of all have the most frequent one"
    if not one.exposed:
        return (
            f"Nobody's {one.name} can be guessed at {sure} by whoever knows {known}; the best "
            f"guess is right at {one.highest:.0%} ({usual})."
        )
    who = f"{people(one.certain)}'s" if one.certain else "Nobody's"
    more, anyway = one.exposed - one.certain, f" ({usual})" if one.common else ""
    others = f"{more:,} more" if one.certain else people(more)
    rest = f"; of {others} it can be guessed at {sure}" if more else ""
    return f"{who} {one.name} is certain to whoever knows {known}{rest}{anyway}."


def _about_all(risk: Risk) -> str:
    found = round(risk.marketer * risk.people)
    inside = risk.journalist is None
    there, knowing = (
        ("", "") if inside else
        (" in the population", " by whoever knows that they are in the table")
    )  # fmt: skip
    many = risk.rows_in_small_classes
    return (
        f"Whoever looks for everybody{there} finds about {people(found)} "
        f"({_share(risk.marketer)}); {people(many)} ({_share(many / risk.people)}) "
        f"are found with a chance above 20%{knowing}."
    )


def _about_sets(risk: Risk) -> Iterator[str]:
    found = risk.sets
    if found is None and risk.sensitive:
        yield "Which columns single people out was not looked for."
    if found is None or not found.sets:
        return
    for one in found.sets[:_SETS]:
        out = "singles" if len(one.columns) == 1 else "single"
        alone = "alone " if len(one.columns) == 1 else ""
        yield f"{listed(one.columns)} {alone}{out} out {people(one.people)}."
    if len(found.columns) > 1:
        best = min(found.columns, key=lambda one: one.alone_without)
        if best.alone_without < risk.unique_rows:
            yield _without(risk, best)


def _without(risk: Risk, best: ColumnShare) -> str:
    return (
        f"Without {best.name}, {best.alone_without:,} instead of {risk.unique_rows:,} people would "
        "stand alone."
    )


def _about_population(risk: Risk) -> Iterator[str]:
    found, outside = risk.population, risk.journalist
    if found is None or outside is None:
        return
    yield (
        f"Among {found.size:,.0f} people of the population about {found.unique:,.0f} are unlike "
        f"all others ({found.estimator}); a person of the table is found there with a chance of "
        f"{_share(outside.average)} on average, {_share(outside.highest)} at worst."
    )
