"""What attackers found, each beside the promise, a baseline and a control."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sfumato.audits.attacks.results import Accuracy, Outcome
from sfumato.audits.audit.page import render
from sfumato.audits.defaults import FAILING
from sfumato.audits.report.writing import write_page
from sfumato.core.html import card, grid, note, share_bar

Verdict: TypeAlias = Literal["held", "known anyway", "not promised", "beaten", "invalid"]
GUESSES = "guesses {} right"
PROMISED, READ, CHANCE = "promised", "guessed by a plain reader", "so by chance"
_HEAD = ("attack", "", "right", "")
_DEVIATIONS = 2
NOTEWORTHY = 1.2  # times what is promised, or known without the release; less is noise and luck


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One attack: its name, who attacks, and what came of it in so many seconds.

    What an attacker ``does`` to how many people is a sentence; most guess their values. If it does
    a thing or not, ``fails`` says the latter. The bound is ``promised``, or, where nothing is, what
    a plain reader or chance reaches.
    """

    name: str
    who: str
    outcome: Outcome
    seconds: float
    does: str = GUESSES
    bound_is: str = PROMISED
    fails: str | None = None

    @property
    def guesses(self) -> bool:
        """Whether it is about sensitive values."""
        return self.does == GUESSES

    @property
    def is_news(self) -> bool:
        """Whether it belongs into a summary where no values are guessed: not if it came to nothing
        that could be expected.
        """
        return self.verdict != "held" or (self.fails is None and self.bound_is != CHANCE)

    @property
    def verdict(self) -> Verdict:
        """In a word."""
        found = self.outcome
        if not found.valid:
            return "invalid"
        nothing_promised = not found.promised or self.bound_is == READ
        if found.promised and found.gain > NOTEWORTHY:
            return "beaten"
        if nothing_promised:
            return "not promised" if found.attacker.right > 0 else "held"
        return "known anyway" if self._known_anyway else "held"

    @property
    def promised(self) -> bool:
        """Whether the bound is a promise, and not merely what a plain reader reaches."""
        return self.outcome.promised and self.bound_is == PROMISED

    @property
    def _known_anyway(self) -> bool:
        return self.outcome.attacker.right > NOTEWORTHY * self.outcome.bound

    @property
    def sentence(self) -> str:
        """In words."""
        found = self.outcome
        did = self.does.format(in_hundred(found.attacker.right))
        if self.verdict == "invalid":
            assert found.control is not None
            return (
                f"proves nothing: the control comes out at {in_hundred(found.control.right)}, "
                f"where {in_hundred(found.chance)} is what can be"
            )
        if self.fails is not None:
            return did if found.attacker.right > 0 else self.fails
        if not found.promised:
            beside = f", and {in_hundred(found.baseline)} are without the release"
            return f"{did}; nothing is promised about that{beside * (found.baseline > 0)}"
        if self.verdict == "beaten":
            most = max(found.bound, found.baseline)
            what = self.bound_is if found.bound >= found.baseline else "found without the release"
            times = "" if most == 0 else f"{found.gain:.1f} times "
            return f"{did}, {times}the {in_hundred(most)} {what}"
        if self._known_anyway:
            return (
                f"{did}; {in_hundred(found.baseline)} are without the release, "
                f"{in_hundred(found.bound)} {self.bound_is}"
            )
        return f"{did}; {in_hundred(found.bound)} are {self.bound_is}"

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        found = self.outcome
        return {
            "attack": self.name,
            "who": self.who,
            "attacker": _stated(found.attacker),
            "bound": found.bound,
            "baseline": found.baseline,
            "control": None if found.control is None else _stated(found.control),
            "chance_of_control": found.chance,
            "promised": self.promised,
            "gain": None if isinf(found.gain) else found.gain,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 2),
        }

    def __repr__(self) -> str:
        """In one line."""
        return f"Finding({self.name!r}, {self.verdict}: {self.sentence})"


@dataclass(frozen=True, slots=True)
class Audit:
    """All findings about one sensitive column, and about people whatever their values.

    ``bound`` is the promised chance of a right guess; if nothing of that kind is promised it is the
    chance of a reader who takes all ways to hand out the values of a group for equally likely, and
    ``promised`` is False. ``not_run`` says of attacks why they were not made. Where no value can be
    guessed ``sensitive`` is None, and ``bound`` and ``baseline`` are 0.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> found = sf.audit(release, patients, attacks=["reader", "learner"])
    >>> isinstance(found, sf.Audit)
    True
    >>> [one.name for one in found.findings]
    ['reader', 'learner']
    """

    name: str
    sensitive: str | None
    people: int
    bound: float
    promised: bool
    baseline: float
    studied: str
    findings: tuple[Finding, ...]
    not_run: dict[str, str]
    seed: int

    @property
    def worst(self) -> Finding | None:
        """The attack on values that gains most, of those that prove something."""
        valid = [one for one in self.findings if one.outcome.valid and one.guesses]
        return max(valid, key=lambda one: one.outcome.gain, default=None)

    @property
    def valid(self) -> bool:
        """Whether every control came out as it must."""
        return all(one.outcome.valid for one in self.findings)

    def fails(self, above: float = FAILING) -> bool:
        """Whether an attacker gains more than so many times what is promised or known anyway."""
        return any(one.outcome.gain > above for one in self.findings if one.outcome.valid)

    @property
    def summary(self) -> str:
        """One honest line."""
        others = [one for one in self.findings if not one.guesses]
        told = [f"{one.name}: {one.sentence}" for one in others if one.verdict != "held"]
        if (worst := self.worst) is None or self.sensitive is None:
            news = [one for one in self.findings if one.is_news] or self.findings
            return "; ".join(f"{one.name}: {one.sentence}" for one in news) or (
                "nothing is proved: no attack was made whose control came out as it must"
            )
        guessing = sum(one.guesses for one in self.findings)
        several = guessing > 1
        who = f"the best of {guessing} attackers, who" if several else "an attacker who"
        beside = worst.outcome
        said = "the promise says" if worst.bound_is == PROMISED else "for a plain reader it is"
        if worst.bound_is == READ and beside.attacker.right < beside.bound:
            said = "a plain reader does better and reaches"
        return (
            f"{who} {worst.who}{',' * several} guesses {self.sensitive} right for "
            f"{in_hundred(beside.attacker.right)} people{_margin(beside.attacker)}; {said} "
            f"{in_hundred(beside.bound)}, and without the release a learner is right for "
            f"{in_hundred(beside.baseline)}" + "".join(f"; {one}" for one in told)
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "made_by": "sfumato audit",
            "release": self.name,
            "sensitive": self.sensitive,
            "people": self.people,
            "bound": None if self.sensitive is None else self.bound,
            "promised": self.promised,
            "baseline": None if self.sensitive is None else self.baseline,
            "studied": self.studied,
            "valid": self.valid,
            "summary": self.summary,
            "findings": [one.to_dict() for one in self.findings],
            "not_run": self.not_run,
            "seed": self.seed,
        }

    def write_html(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the report: one file that opens anywhere, without a network."""
        return write_page(render(self), path, force=force)

    def write_json(self, path: str | Path, *, force: bool = False) -> Path:
        """Write all figures."""
        return write_page(json.dumps(self.to_dict(), indent=2) + "\n", path, force=force)

    def _repr_html_(self) -> str:
        """Every attack, the share of people it is right about, and a tick at what is promised."""
        rows = [
            (one.name, one.verdict, share_bar(one.outcome.attacker.right, one.outcome.bound),
             one.sentence)
            for one in self.findings
        ]  # fmt: skip
        return card(f"Audit of {self.name}", note(self.summary), grid(_HEAD, rows, left=4))

    def __repr__(self) -> str:
        """A summary in one line; ``to_dict`` and ``write_html`` have the rest."""
        return f"Audit({self.name!r}, {len(self.findings)} attacks: {self.summary})"


def in_hundred(share: float) -> str:
    """A share of people as one says it."""
    hundred = 100 * share
    said = f"{hundred:.0f}" if hundred >= 9.95 or hundred == 0 else f"{hundred:.1f}"
    return f"{said} of 100"


def _margin(one: Accuracy) -> str:
    """How far a share may be off by chance; nothing where that would not be seen."""
    margin = round(100 * _DEVIATIONS * one.noise)
    return f" (give or take {margin})" if margin else ""


def _stated(one: Accuracy) -> dict[str, Any]:
    return {
        "people": one.n,
        "right": one.right,
        "surest": one.surest,
        "claimed": one.claimed,
        "noise": one.noise,
    }
