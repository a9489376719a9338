"""What was tried and what came out: points, those that no other beats, and the one to take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.audits.audit import Audit
from sfumato.audits.evaluation import attacking
from sfumato.audits.report.text import percent, plural
from sfumato.audits.risk import AttributeRisk, Risk
from sfumato.audits.risk.wording import listed
from sfumato.audits.usefulness import Usefulness
from sfumato.audits.usefulness.results import MOST
from sfumato.core.html import card, grid, lines, note, share_bar
from sfumato.exploring.grid import Setting

_MANY = 0.1  # of all people: where so many are exposed a release is not good
_NEAR = 0.05  # of usefulness: less is no reason to expose people


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One release: how exposed people are in it, what it is good for, what it lost.

    ``refused`` says why there is none, and ``largest`` what would be feasible. ``guess`` is the
    chance of the best guess of a sensitive value on average over all people and sensitive columns;
    where nothing is sensitive, the chance to be found. ``attacked`` is what the quickest attacker
    makes of it. ``loss`` is the NCP, None where quasi-identifiers are exact; ``gone``
    are columns of which nothing is left for want of a taxonomy. ``seconds`` are of processor time.
    """

    setting: Setting
    refused: str | None = None
    largest: float | None = None
    risk: Risk | None = None
    useful: Usefulness | None = None
    guess: float = math.nan
    attacked: Audit | None = None
    loss: float | None = None
    groups: int = 0
    left_out: int = 0
    gone: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def surest(self) -> float:
        """The chance of the surest guess of anybody's value."""
        assert self.risk is not None
        return max((one.highest for one in self.risk.attributes), default=self.guess)

    @property
    def learned(self) -> float | None:
        """How often somebody is right who thinks; None where nobody was let loose."""
        worst = None if self.attacked is None else self.attacked.worst
        return None if worst is None else worst.outcome.attacker.right

    @property
    def certain(self) -> int:
        """How many people's value is certain."""
        assert self.risk is not None
        return max((one.certain for one in self.risk.attributes), default=0)

    @property
    def likely(self) -> int:
        """How many people's value is guessed at 50% or more; at 90% where half have one value."""
        assert self.risk is not None
        return max((one.exposed for one in self.risk.attributes), default=0)

    @property
    def usefulness(self) -> float:
        """What is kept of what goes with what; where nothing does, of the detail of columns."""
        if self.useful is not None and not math.isnan(self.useful.kept):
            return self.useful.kept
        return 1.0 - (self.loss or 0.0)

    def beats(self, other: Point) -> bool:
        """Whether it is as good in both respects and better in one."""
        mine, theirs = (self.guess, -self.usefulness), (other.guess, -other.usefulness)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]

    def to_dict(self) -> dict[str, Any]:
        """For machines, without single people."""
        stated = {"method": self.setting.method, **self.setting.promises}
        if self.refused is not None:
            return {**stated, "refused": self.refused}
        assert self.risk is not None
        return {
            **stated,
            "guess": self.guess,
            "surest_guess": self.surest,
            "certain": self.certain,
            "likely": self.likely,
            "attacked": None if self.attacked is None else attacking.stated(self.attacked),
            "found": self.risk.prosecutor.highest,
            "usefulness": self.usefulness,
            "verdict": None if self.useful is None else self.useful.verdict,
            "distance": None if self.useful is None else _number(self.useful.distance),
            "marginals": None if self.useful is None else _number(self.useful.marginals),
            "loss": self.loss,
            "groups": self.groups,
            "left_out": self.left_out,
            "gone": list(self.gone),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        """The two figures that decide."""
        if self.refused is not None:
            return f"Point({self.setting!r}, refused)"
        return f"Point({self.setting!r}, guess {self.guess:.1%}, useful {self.usefulness:.0%})"


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """Points of a grid, in the order in which they were tried.

    ``before`` is the risk of the table, ``left`` the settings for which no time was left.
    ``source``, ``schema`` and ``reading`` (options) are what a command names the table by.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> found = sf.explore(patients, methods=["mondrian", "anatomy"], l=[2, 4], seed=1)
    >>> isinstance(found, sf.Exploration), len(found.points)
    (True, 4)
    >>> print(found.recommended.setting.command("patients.csv", "patients.toml"))
    sfumato publish patients.csv -s patients.toml --method ... -o out
    """

    before: Risk
    points: tuple[Point, ...]
    left: tuple[Setting, ...] = ()
    source: str | Sequence[str] = "table.csv"
    schema: str = "schema.toml"
    reading: Sequence[str] = ()
    seed: int | None = field(default=None, repr=False)

    @property
    def feasible(self) -> tuple[Point, ...]:
        """Points of which there is a release."""
        return tuple(one for one in self.points if one.refused is None)

    @property
    def frontier(self) -> tuple[Point, ...]:
        """Points that no other beats, the safest first."""
        some = self.feasible
        best = [one for one in some if not any(other.beats(one) for other in some)]
        return tuple(sorted(best, key=lambda one: (one.guess, -one.usefulness)))

    @property
    def recommended(self) -> Point:
        """Of the points that keep most or miss it by five points, those at which fewest people's
        value is guessed at 50% or more; of these the most useful, and of those that are as useful
        within five points the safest. Where none keeps most, of the more useful ones. Where a
        column is sensitive, k-anonymity alone is recommended only if nothing else is feasible.
        """
        every = self._promising
        enough = min(MOST, max(one.usefulness for one in every)) - _NEAR
        useful = [one for one in every if one.usefulness >= enough]
        fewest = min(one.likely for one in useful)
        some = [one for one in useful if one.likely == fewest]
        best = max(one.usefulness for one in some)
        near = [one for one in some if one.usefulness >= best - _NEAR]
        return min(near, key=lambda one: (one.guess, -one.usefulness))

    @property
    def _promising(self) -> tuple[Point, ...]:
        """Points that promise something of sensitive values, if there are such points and values.

        Whether k alone exposes anybody is luck: of the table, and of the seed.
        """
        some = tuple(one for one in self.feasible if one.setting.about_values)
        return some if some and any(_attributes(one) for one in some) else self.feasible

    @property
    def shown(self) -> tuple[Point, ...]:
        """The frontier, and behind it the recommended one if another beats it."""
        best = self.frontier
        return best if self.recommended in best else (*best, self.recommended)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why that one, in plain words."""
        one, some = self.recommended, self.feasible
        many = sum(other.likely > one.likely for other in some)
        told = [
            _poor(one, some), _exposed(one), _compared(many, len(some)), _attacked(one),
            _useful(one), _present(one),
        ]  # fmt: skip
        beaten = [other for other in some if other.usefulness > one.usefulness + _NEAR]
        if beaten:
            better = max(beaten, key=lambda other: other.usefulness)
            told.append(
                f"More is kept by {better.setting.method} with {better.setting.words} "
                f"({percent(better.usefulness)}), where {_people(better.likely)} can be guessed so."
            )
        return tuple(filter(None, told))

    @property
    def hints(self) -> tuple[str, ...]:
        """What the owner could say of the table, so that a method loses less."""
        gone: dict[str, dict[str, None]] = {}
        for one in self.feasible:
            if one.gone:
                gone.setdefault(one.setting.method, {}).update(dict.fromkeys(one.gone))
        return tuple(
            f"{method} left nothing of {listed(tuple(names))} under some promises: without a "
            "taxonomy it shows a column as it is or not at all (docs/taxonomies.md)."
            for method, names in gone.items()
        )

    @property
    def command(self) -> str:
        """What to type to publish the recommended one."""
        return self.typed(self.recommended.setting)

    def typed(self, setting: Setting) -> str:
        """What to type to publish this table with another setting."""
        return setting.command(self.source, self.schema, self.reading)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        places = {id(one): place for place, one in enumerate(self.points)}
        return {
            "rows": self.before.rows,
            "seed": self.seed,
            "points": [one.to_dict() for one in self.points],
            "frontier": [places[id(one)] for one in self.frontier],
            "recommended": places[id(self.recommended)],
            "reasons": list(self.reasons),
            "hints": list(self.hints),
            "command": self.command,
            "python": self.recommended.setting.python,
            "left": [{"method": one.method, **one.promises} for one in self.left],
        }

    def write_html(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the page: one file that opens anywhere, without a network."""
        from sfumato.audits.report.writing import write_page
        from sfumato.exploring.page import render

        return write_page(render(self), path, force=force)

    def _repr_html_(self) -> str:
        """The frontier, and why one of it is recommended."""
        rows = [
            (one.setting.method, one.setting.words, share_bar(one.guess), percent(one.guess),
             f"{one.likely:,}", share_bar(one.usefulness), percent(one.usefulness),
             "recommended" if one is self.recommended else "")
            for one in self.frontier
        ]  # fmt: skip
        head = ("method", "promise", "best guess", "", "exposed", "kept", "", "")
        return card(
            repr(self),
            grid(head, rows, left=2),
            lines((*self.reasons, *self.hints)),
            note("True figures are among these: they are for the owner of the table."),
        )

    def __repr__(self) -> str:
        """How much was tried, and the one to take."""
        return (
            f"Exploration({len(self.points):,} points, {len(self.feasible):,} feasible, "
            f"{len(self.frontier):,} on the frontier, recommended {self.recommended.setting!r})"
        )


def _attributes(one: Point) -> Sequence[AttributeRisk]:
    return () if one.risk is None else one.risk.attributes


def _poor(one: Point, some: Sequence[Point]) -> str:
    """Said first where the best there is exposes many."""
    if not _is_poor(one):
        return ""
    safest = min(some, key=lambda other: (other.likely, -other.usefulness))
    if _is_poor(safest):
        return (
            "No release that was tried is good: at each of them the values of many people can be "
            f"guessed, {safest.likely:,} at least; promise more of the values, or publish fewer "
            "columns."
        )
    return (
        f"It is not good, as the values of many people can be guessed; {safest.setting.method} "
        f"with {safest.setting.words} keeps {percent(safest.usefulness)}, and exposes "
        f"{_people(safest.likely)}."
    )


def _is_poor(one: Point) -> bool:
    return any(found.exposed > _MANY * found.people for found in _attributes(one))


def _exposed(one: Point) -> str:
    if one.risk is None or not one.risk.attributes:
        return f"Somebody is found with a chance of {percent(one.guess)} on average."
    return (
        f"{_whose(one.likely)} can be guessed at 50% or more{_anyway(one.risk)}; "
        f"the surest guess is right with {percent(one.surest)}, the average one with "
        f"{percent(one.guess)}."
    )


def _anyway(risk: Risk) -> str:
    """Of which columns so much is known without a release."""
    named = [
        f"{one.name} {'at 90% or more' if one.sure < 1 else 'with certainty'}, as "
        f"{percent(one.baseline)} of all have one value"
        for one in risk.attributes
        if one.common
    ]
    return f" ({'; '.join(named)})" if named else ""


def _compared(many: int, of: int) -> str:
    if not many:
        return ""
    return f"Of the {plural(of, 'feasible point')} {many} would let more people be guessed so."


def _attacked(one: Point) -> str:
    return "" if one.attacked is None else f"Attacked: {one.attacked.summary}."


def _useful(one: Point) -> str:
    if one.useful is None or math.isnan(one.useful.kept):
        return (
            "There is nothing to keep of what goes with what; of the detail of columns "
            f"{percent(one.usefulness)} stays."
        )
    return (
        f"It {one.useful.verdict} of what goes with what ({percent(one.useful.kept)}): conditional "
        f"distributions are off by {percent(one.useful.distance)}, the marginals alone by "
        f"{percent(one.useful.marginals)}."
    )


def _present(one: Point) -> str:
    if one.loss is not None:
        return ""
    return "Quasi-identifiers stay exact: it can be seen who is in the table."


def _whose(number: int) -> str:
    return f"The values of {_people(number)}" if number else "Nobody's value"


def _people(number: int) -> str:
    if not number:
        return "nobody"
    return f"{number:,} {'person' if number == 1 else 'people'}"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
