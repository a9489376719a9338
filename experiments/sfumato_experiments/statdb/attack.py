"""The equality attack on a statistical database, by an adversary who knows everybody's QI values.

The version behind an answer is the best one for its question, and which one is best depends on the
sensitive values. Over exactly two rows of one bucket, with one value wanted of those they can have,

    COUNT has the upper end 1   when the two rows have different values
                            2   when they have the same one, or cannot meet in a group

since groups have every value once, rows that can meet and differ share a group in the best version.
So rows with an upper end of 1 are neighbours; whoever is connected is in the same cohort, and the
rows of a cohort that are not neighbours share a value. The bucket is then known up to its labels.
One known person labels a class, or a correlation of QI and sensitive values does.

Only public names are used; nothing is read from the database but answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import sfumato as sf


class Cohort(NamedTuple):
    """Rows that are regrouped among each other: the values they share, in classes of equal rows."""

    values: tuple[Any, ...]
    classes: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class Adversary:
    """Asks a database about persons, whom the column ``person`` tells apart, and their values."""

    db: sf.StatDB
    person: str
    sensitive: str
    asked: int = field(default=0)

    def cohorts(self, persons: Sequence[int], domain: Sequence[Any]) -> list[Cohort]:
        """All rows in cohorts and classes, from answers only."""
        buckets: dict[tuple[Any, ...], list[int]] = {}
        for one in persons:
            values = tuple(value for value in domain if self._upper([one], value))
            buckets.setdefault(values, []).append(one)
        return [cohort for found in buckets.items() for cohort in self._divided(*found)]

    def _divided(self, values: tuple[Any, ...], rows: list[int]) -> Iterator[Cohort]:
        while rows:
            first = rows[0]
            others = self._neighbours(values, first, rows)
            # those with the first row's value are neighbours of a neighbour
            equal = self._neighbours(values, others[0], rows)
            members = [row for row in rows if row in {*others, *equal}]
            yield Cohort(values, tuple(self._classes(values, members)))
            rows = [row for row in rows if row not in {*members}]

    def _classes(self, values: tuple[Any, ...], members: list[int]) -> Iterator[tuple[int, ...]]:
        while members:
            others = self._neighbours(values, members[0], members)
            yield tuple(row for row in members if row not in {*others})
            members = others

    def _neighbours(self, values: tuple[Any, ...], row: int, among: list[int]) -> list[int]:
        return [
            other for other in among if other != row and self._upper([row, other], values[0]) == 1
        ]

    def _upper(self, persons: list[int], value: Any) -> int:
        self.asked += 1
        where = {self.person: sf.one_of(persons), self.sensitive: sf.one_of([value])}
        return int(self.db.count(sf.Query(where)).hi)


def labelled_by_persons(
    cohorts: Sequence[Cohort], known: Mapping[int, Any], truth: Mapping[int, Any]
) -> float:
    """The chance to guess a value right, over all whose value is not known beforehand.

    A class with a known person has that person's value; the others are guessed among what is left.
    """
    right = total = 0.0
    for values, classes in cohorts:
        told = [next((known[row] for row in rows if row in known), None) for rows in classes]
        free = len(values) - sum(value is not None for value in told)
        for rows, value in zip(classes, told, strict=True):
            unknown = [row for row in rows if row not in known]
            total += len(unknown)
            right += sum(value == truth[row] if value is not None else 1 / free for row in unknown)
    return right / total


def labelled_by_likelihood(
    cohorts: Sequence[Cohort],
    likelihood: Mapping[Any, np.ndarray[Any, Any]],
    truth: Mapping[int, Any],
) -> float:
    """How often the most likely labels are right; ``likelihood[value][row]`` is a logarithm."""
    right = total = 0
    for values, classes in cohorts:
        scores = np.array(
            [[likelihood[value][list(rows)].sum() for value in values] for rows in classes]
        )
        for rows, best in zip(classes, best_labels(scores), strict=True):
            right += sum(truth[row] == values[best] for row in rows)
            total += len(rows)
    return right / total


def best_labels(scores: np.ndarray[Any, Any]) -> list[int]:
    """The column of every row in the assignment with the largest sum, each column at most once.

    By sets of columns, 2^m of them: meant for small m.
    """
    rows, columns = scores.shape
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for row in range(rows):
        longer: dict[int, tuple[float, list[int]]] = {}
        for taken, (score, chosen) in best.items():
            for column in range(columns):
                if taken >> column & 1:
                    continue
                key, found = taken | 1 << column, score + float(scores[row, column])
                if key not in longer or found > longer[key][0]:
                    longer[key] = (found, [*chosen, column])
        best = longer
    return max(best.values())[1]
