"""The guarantee and the answers in plain words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from typing import Any

from sfumato.core.answer import Answer
from sfumato.core.predicates import Both, Compare, Either, Missing, OneOf, Predicate, Within
from sfumato.core.query import Aggregate, Query
from sfumato.core.words import Words
from sfumato.statdb.responder import Responder


def short_guarantee(responder: Responder) -> str:
    """One sentence, for every answer."""
    return (
        "The truth lies between lo and hi; whoever sees all answers to all questions still guesses "
        f"a person's {responder.sensitive} right with a chance of at most 1 in {responder.m}, "
        "if every way to hand out the values looked equally likely beforehand."
    )


def long_guarantee(responder: Responder) -> str:
    """A paragraph, for readers of the schema."""
    known = (
        "The other columns count as known to everybody, and so does who is in the table."
        if responder.framework == "anatomy"
        else "The other columns are not shown row by row; which values they can have is public."
    )
    groups = (
        f"shares a group with at least {responder.m - 1} others, all of a different "
        f"{responder.sensitive}; in the versions behind all questions, the values of a person's "
        "group are the same."
        if responder.size is None
        else f"shares a group with others in which no {responder.sensitive} has more than 1 in "
        f"{responder.m} of all places; all questions are answered from the same groups."
    )
    return (
        "Every answer is an interval that contains the true value. It is taken from an anonymized "
        f"version of the table in which every person {groups} {known} Equal "
        "questions have equal answers, however often and by whomever they are asked, and what is "
        "refused depends on the question alone. The promise is weaker for people whose values can "
        "be guessed from what is known about them anyway, or who share a value with somebody whose "
        "value is known."
    )


def sentence(answer: Answer, asked: Query, rows: int, words: Words | None = None) -> str:
    """What a single count says."""
    if answer.lo == answer.hi:
        number = f"Exactly {answer.lo:,}"
    else:
        number = f"Between {answer.lo:,} and {answer.hi:,}"
    if not asked.where:
        return f"{number} people are in the table."
    conditions = _conditions(asked, words or Words())
    return f"{number} of the {rows:,} people in the table match {conditions}."


def in_words(asked: Query, words: Words | None = None) -> str:
    """A whole question, for headlines: average wage of people with age from 30 to 50, by sex."""
    words = words or Words()
    names = _listed((_measure(one, words) for one in asked.select), "and")
    whom = "people"
    if asked.where:
        whom = f"people with {_conditions(asked, words)}"
    counted = all(one.attribute is None for one in asked.select)
    what = whom if counted else f"{names} of {whom if asked.where else 'all people'}"
    if counted and not asked.where:
        what = "all people"
    by = [isolated(words.label(name)) for name in asked.by]
    return f"{what}, by {_listed(by, 'and')}" if by else what


def isolated(text: str) -> str:
    """A text whose letters do not turn around those beside it.

    Marks that turn letters around are shown by their numbers.
    """
    clean = _TURNING.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in clean):
        return f"\N{FIRST STRONG ISOLATE}{clean}\N{POP DIRECTIONAL ISOLATE}"
    return clean


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = frozenset(("R", "AL"))
_MEASURES = {
    "avg": "average",
    "sum": "sum of",
    "min": "smallest",
    "max": "largest",
    "count": "number with known",
}


def _measure(one: Aggregate, words: Words) -> str:
    if one.attribute is None:
        return "number"
    return f"{_MEASURES.get(one.function, one.function)} {isolated(words.measured(one.attribute))}"


def _conditions(asked: Query, words: Words) -> str:
    return _listed((_condition(name, one, words) for name, one in asked.where.items()), "and")


def _condition(name: str, predicate: Predicate, words: Words) -> str:
    def shown(value: Any) -> str:
        own = words.name(name, value)
        return _shown(value) if own is None else isolated(own)

    parts = [_part(part, shown) for part in _alternatives(predicate)]
    return f"{isolated(words.measured(name))} {_listed(parts, 'or')}"


def _alternatives(predicate: Predicate) -> list[Predicate]:
    found: list[Predicate] = []
    while isinstance(predicate, Either):
        found.append(predicate.second)
        predicate = predicate.first
    return [predicate, *reversed(found)]


def _joined(predicate: Predicate) -> list[Predicate]:
    found: list[Predicate] = []
    while isinstance(predicate, Both):
        found.append(predicate.second)
        predicate = predicate.first
    return [predicate, *reversed(found)]


def _part(predicate: Predicate, shown: Callable[[Any], str]) -> str:
    match predicate:
        case Both(Compare(">=", low), Compare("<=", high)):
            return f"from {shown(low)} to {shown(high)}"
        case OneOf(values) if values:
            return _listed(sorted(map(shown, values)), "or")
        case Missing():
            return "unknown"
        case Within(x, y, radius):
            return f"at most {radius:g} away from ({x:g}, {y:g})"
        case Both():
            return _listed((_part(one, shown) for one in _joined(predicate)), "and")
    return "of no value that occurs"


def _listed(parts: Iterable[str], word: str) -> str:
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last


def _shown(value: Any) -> str:
    return value.isoformat() if isinstance(value, date | datetime | time) else isolated(str(value))
