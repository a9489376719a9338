"""How far estimates are off: measured when a database is made, and kept for its owner.

A few hundred random questions are asked, and their estimates compared with the rows. How far they
are off depends most on how many rows a question finds, so errors are told by that share.

**Not public.** An answer is a function of groups and signatures: exchange the values of two people
of a group, and it stays what it is. An error does not: it is the difference between an answer and
the truth, and whoever knows a question and its error knows its truth. Here the questions are drawn
from a stream that only the owner can repeat, and forgotten, and quantiles over dozens of them are
kept to three digits. That makes them hard to use, which is no proof: with few rows, or with all
values but one known, somebody could try which tables would have had these quantiles. What could be
told without any doubt is a function of groups and signatures again, and everybody has one already:
the interval, whose ends say how far an estimate can be off. So ``sfumato statdb info`` shows errors
to the owner, who may tell readers what they are worth, and so does ``sfumato statdb query`` below
estimates; neither ``StatDB.info`` nor the server does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.statdb.count.conditions import Conditions
from sfumato.statdb.responder import Responder

QUESTIONS = 300
_SHARES = (0.001, 0.01, 0.1, 1.0)
_MOST_QUASI = 3
_NARROWEST = 0.01  # part of a domain


class ErrorBand(NamedTuple):
    """Questions that find at most this ``share`` of the rows, and more than the band before.

    Of errors relative to the truth, half are at most ``half`` and nine in ten at most ``most``.
    """

    share: float
    questions: int
    half: float
    most: float


def measured_errors(
    responder: Responder, table: Microdata, randomness: Randomness
) -> tuple[ErrorBand, ...]:
    """Errors of estimates of COUNT over the rows of which a database was made."""
    found: list[tuple[int, float]] = []
    for conditions in _questions(responder, randomness):
        truth = _truth(table, conditions)
        if truth:
            found.append((truth, abs(responder.counted(conditions).estimate - truth) / truth))
    truths, errors = np.array(found, np.float64).reshape(-1, 2).T
    bands = np.searchsorted(_SHARES, truths / table.n_rows)
    return tuple(
        ErrorBand(share, len(own), *(float(f"{one:.3g}") for one in np.quantile(own, (0.5, 0.9))))
        for band, share in enumerate(_SHARES)
        for own in [errors[bands == band]]
        if len(own)
    )


def bands_of(
    errors: Iterable[ErrorBand], estimates: Iterable[float], n_rows: int
) -> list[ErrorBand]:
    """The bands that counts seem to belong to, by their estimates."""
    errors = list(errors)
    ends = [band.share * n_rows for band in errors]
    found = {int(np.searchsorted(ends, estimate)) for estimate in estimates}
    return [band for place, band in enumerate(errors) if place in found]


def _questions(responder: Responder, randomness: Randomness) -> Iterator[Conditions]:
    """Ranges of the sensitive attribute and one to three others, narrow ones as often as wide."""
    quasi, sensitive = responder.schema.quasi, responder.sensitive
    for _ in range(QUESTIONS):
        # without a condition on quasi-identifiers every answer is exact
        n = 1 + int(randomness.words(1)[0] % np.uint64(_MOST_QUASI))
        names = [quasi[q] for q in randomness.permutation(len(quasi))[:n].tolist()]
        yield {name: (_range(responder, name, randomness),) for name in (*names, sensitive)}


def _range(responder: Responder, name: str, randomness: Randomness) -> tuple[int, int]:
    size = responder.axes[name].size
    wide, where = (randomness.words(2) / 2.0**64).tolist()
    length = max(1, round(size * _NARROWEST**wide))
    first = min(int(where * size), size - 1)
    return first, min(first + length, size) - 1


def _truth(table: Microdata, conditions: Conditions) -> int:
    hit = np.ones(table.n_rows, np.bool_)
    for name, ((first, last),) in conditions.items():
        hit &= (table.codes[name] >= first) & (table.codes[name] <= last)
    return int(np.count_nonzero(hit))
