"""Replay: a change as an attacker will see it, looked at before anything is written.

Three things that an attacker compares, who asks before and after a change:

1. *Lists.* Every newcomer's list is told by answers. No value may have more than 1/m of the places
   of a newcomer's group, and the newcomer's own value has to be among them. It never is otherwise;
   should it be, nothing is written.
2. *Frequencies.* Among the values of a list, the most frequent in the database, or the rarest, may
   be the newcomer's more often than others. Both guesses are made for all newcomers, and compared
   with 1/m. Newcomers who hide among each other are guessed at 1/m by whatever is the same for all;
   those who come at once are guessed more often if they have other values than the database.
3. *Returns.* Somebody who is deleted and inserted with the same quasi-identifiers in one change is
   told by them, if nobody else has them, and has two lists. The values in both are few, often one.

An owner may accept the second (``accept_exposure``) and the third (``accept_returns``). Somebody
who left in an earlier change is not looked for: the database forgets who has left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.errors import DataError
from sfumato.statdb.responder import Responder

_DEVIATIONS = 6.0  # once in a hundred million changes by chance
_TOLERANCE = 1e-9


class Arrivals(NamedTuple):
    """Values of the places of newcomers' groups; group and value of every newcomer."""

    groups: Sequence[Codes]
    number: Ints
    values: Ints

    @classmethod
    def nobody(cls) -> Arrivals:
        """No newcomers."""
        return cls((), np.zeros(0, np.int64), np.zeros(0, np.int64))


def require_hidden(came: Arrivals, m: int) -> None:
    """Raise if a newcomer's group tells more than 1/m."""
    for one in came.groups:
        if np.bincount(one).max() > len(one) / m + _TOLERANCE:
            raise DataError(
                f"a newcomer's value would be told with a chance above 1/{m}; the database is as "
                "it was"
            )
    own = zip(came.number.tolist(), came.values.tolist(), strict=True)
    if not all((came.groups[number] == value).any() for number, value in own):
        raise DataError("a newcomer's value would not be on its list; the database is as it was")


def guessed(came: Arrivals, frequencies: Counts) -> float:
    """How many newcomers are guessed right by the frequencies of values, the better way."""
    if not len(came.values):
        return 0.0
    best = 0.0
    for end in (np.argmax, np.argmin):
        guesses = np.array([one[end(frequencies[one])] for one in came.groups])
        best = max(best, float((guesses[came.number] == came.values).mean()))
    return best


def is_exposing(share: float, n: int, m: int) -> bool:
    """Whether so many right guesses of n are more than 1/m and chance."""
    chance = 1 / m
    return n > 0 and share > chance + _DEVIATIONS * float(np.sqrt(chance * (1 - chance) / n))


def returning(
    responder: Responder,
    gone: Mapping[str, Ints],
    came: Mapping[str, Ints],
    old_values: Ints,
    new_values: Ints,
) -> int:
    """How many of those who come have the quasi-identifiers of one who goes, and of nobody else.

    Whoever has the same value, too, is another person.
    """
    left, entered = _lines(gone, old_values), _lines(came, new_values)
    both = [
        one
        for one, values in left.items()
        if len(values) == 1 == len(entered.get(one, ())) and values != entered[one]
    ]
    return sum(_rows(responder, list(gone), one) == 1 for one in both)


def _lines(codes: Mapping[str, Ints], values: Ints) -> dict[tuple[int, ...], list[int]]:
    """The values of everybody with certain quasi-identifiers."""
    found: dict[tuple[int, ...], list[int]] = {}
    columns = (column.tolist() for column in codes.values())
    for *line, value in zip(*columns, values.tolist(), strict=True):
        found.setdefault(tuple(line), []).append(value)
    return found


def _rows(responder: Responder, names: Sequence[str], line: tuple[int, ...]) -> int:
    """How many rows of the database have these codes."""
    stored = responder.stored
    alike = stored.flags(stored.everybody)
    for name, code in zip(names, line, strict=True):
        alike = alike & (stored.codes[name][: len(alike)] == code)
    return int(alike.sum())
