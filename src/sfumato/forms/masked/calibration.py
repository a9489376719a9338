"""How far counts from a masked table are off, measured where it is made, and stated in it.

Chance explains a part of the errors only: values that many people share, groups with a scatter of
their own, or columns that a model takes for independent make the same errors in every release. So
the publisher asks the release what readers may ask, holds the answers against the table, and states
by how much intervals of chance have to be stretched to hold the truth as often as they say. (Split
conformal prediction: Papadopoulos, Proedrou, Vovk, Gammerman: "Inductive confidence machines for
regression", ECML 2002. An interval that would have held for 80% of some questions holds for the
next one of their kind with that chance.)

Questions are about one, two or three masked columns: a range of ranks of each, or some of its
values, from narrow to wide. By the number of columns the stretch is the largest that any width
needs, at least 1. Its two digits tell how well a release answers, and no more of its table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.answers.packing import Domain
from sfumato.core.arrays import Flags, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.microdata import Microdata
from sfumato.core.moments import comparable
from sfumato.forms.masked.answers import LEVEL, Masked
from sfumato.forms.masked.doubt import Told, doubt
from sfumato.queries.values import Range, Values

WIDTHS = (0.05, 0.15, 1 / 3, 0.6)  # of all ranks
_COLUMNS = 3  # in a question, at most
_ASKED = 6  # masked columns that are asked about, at most
_CONDITIONS, _QUESTIONS = 8, 40  # of each column, and of each number of columns, by width
_ROOM = 4_000_000  # rows by conditions, from where on there are fewer of these
_DIGITS = 2


class _Condition(NamedTuple):
    """What a column tells of a condition, and for whom it is true."""

    told: Told
    true: Flags


def stretches(answers: Masked, table: Microdata) -> list[float]:
    """By how much intervals have to be stretched for one, two and more masked columns."""
    chance = np.random.default_rng(0)  # which questions is no secret
    names = [name for name in answers.blurs if _has_values(table, name)]
    names = [names[place] for place in chance.permutation(len(names))[:_ASKED]]
    needed: dict[int, list[float]] = {}
    for width in WIDTHS:
        conditions = {
            name: list(_conditions(answers, table, name, width, chance)) for name in names
        }
        for n in range(1, min(_COLUMNS, len(names)) + 1):
            asked = [_away(answers, one) for one in _questions(answers, conditions, n, chance)]
            if asked:
                needed.setdefault(n, []).append(_at_level(asked))
    far = NormalDist().inv_cdf((1 + LEVEL) / 2)
    return [_rounded(max(by_width) / far) for by_width in needed.values()] or [1.0]


def _questions(
    answers: Masked,
    conditions: Mapping[str, Sequence[_Condition]],
    n: int,
    chance: np.random.Generator,
) -> Iterator[dict[str, _Condition]]:
    """Conditions on n columns that may be asked about together."""
    sets = [names for names in combinations(conditions, n) if answers.refused(names) is None]
    for _ in range(_QUESTIONS if sets else 0):
        names = sets[int(chance.integers(len(sets)))]
        yield {
            name: conditions[name][int(chance.integers(len(conditions[name])))] for name in names
        }


def _conditions(
    answers: Masked, table: Microdata, name: str, width: float, chance: np.random.Generator
) -> Iterator[_Condition]:
    attribute, codes = table.attributes[name], table.codes[name]
    known = np.sort(codes[codes != attribute.missing_code])
    many = np.clip(_ROOM // table.n_rows, 2, _CONDITIONS)
    for _ in range(int(many)):
        wanted = _wanted(attribute, known, width, chance)
        true = Domain(attribute).marks(wanted)[codes].astype(np.bool_)
        yield _Condition(Told.by(answers.blurs[name], wanted), true)


def _has_values(table: Microdata, name: str) -> bool:
    return bool((table.codes[name] != table.attributes[name].missing_code).any())


def _wanted(attribute: Attribute, known: Ints, width: float, chance: np.random.Generator) -> Values:
    """A range from somebody's value to another's, perhaps from the least or up to the greatest one;
    or some categories.
    """
    if attribute.kind is not Kind.NUMERICAL:
        seen = np.unique(known)
        some = chance.permutation(seen)[: max(1, round(width * len(seen)))]
        return Values(points=frozenset(comparable(attribute.values.take(pa.array(some)))))
    many = min(len(known) - 1, round(len(known) * width))
    first = (0, int(chance.integers(0, len(known) - many)), len(known) - many - 1)[
        chance.integers(3)
    ]
    ends = pa.array(known[[first, first + many]])
    return Values(ranges=(Range(*comparable(attribute.values.take(ends))),))


def _away(answers: Masked, asked: Mapping[str, _Condition]) -> float:
    """How many errors away the truth is."""
    true = np.logical_and.reduce([one.true for one in asked.values()]).sum()
    if answers.told_exactly(asked):
        return 0.0
    rows = np.ones(len(answers.sizes))
    found = doubt(
        [one.told for one in asked.values()],
        rows,
        drawn=answers.drawn,
        keeps=answers.keeps(asked),
    )
    return found.away(float(true))


def _at_level(asked: Sequence[float]) -> float:
    """What holds for the next question with the chance of the level."""
    place = min(len(asked), ceil((len(asked) + 1) * LEVEL))
    return float(np.sort(asked)[place - 1])


def _rounded(stretch: float) -> float:
    return float(f"{max(1.0, stretch):.{_DIGITS}g}")
