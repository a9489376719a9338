"""People who look alike, counted part by part: sizes of classes and best guesses of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.audits.risk.kernel import SEVERAL
from sfumato.audits.risk.results import BINS, LIKELY, AttributeRisk, Chances
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata

SMALL = 5  # classes below this size are what re-identification studies call rare
_NEARLY = 1e-12  # a share of exactly a half, computed as a double


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """The classes of rows in memory: of each row its class, of each class rows and people.

    ``who`` numbers the people of the rows; None where every row is a person.
    """

    number: Codes
    first: Codes
    rows: Counts
    people: Counts
    who: Codes | None

    @classmethod
    def of(cls, table: Microdata, who: Codes | None = None) -> Alike:
        """Find the classes of a table on all quasi-identifiers."""
        return cls._of(who, *number_rows(table.quasi_codes(), table.quasi_sizes()))

    @classmethod
    def of_groups(cls, groups: Codes, who: Codes) -> Alike:
        """Of rows that are in these groups already."""
        _, first, number, rows = np.unique(
            groups, return_index=True, return_inverse=True, return_counts=True
        )
        return cls._of(who, number.astype(np.int32), first.astype(np.int32), rows)

    @classmethod
    def _of(cls, who: Codes | None, number: Codes, first: Codes, rows: Counts) -> Alike:
        if who is None:
            return cls(number, first, rows, rows, None)
        pairs = np.stack([number, who], axis=1, dtype=np.int32)
        room = np.array([len(rows), int(who.max(initial=0)) + 1], np.int64)
        _, heads, _ = number_rows(pairs, room)
        people = np.bincount(number[heads], minlength=len(rows)).astype(np.int64)
        return cls(number, first, rows, people, who)

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return len(self.number) if self.who is None else int(self.who.max(initial=-1)) + 1

    def only(self) -> Codes:
        """The only person of each class, or SEVERAL."""
        if self.who is None:
            numbers = np.arange(len(self.rows), dtype=np.int32)
            return np.where(self.rows == 1, numbers, np.int32(SEVERAL))
        return np.where(self.people == 1, self.who[self.first], np.int32(SEVERAL))

    def worst(self, of_classes: Floats) -> Floats:
        """A number per class as one per person: that of the worst of the person's rows."""
        of_rows: Floats = of_classes[self.number]
        if self.who is None:
            return of_rows
        worst = np.zeros(self.n_people)
        np.maximum.at(worst, self.who, of_rows)
        return worst

    def guesses(self, values: Histograms) -> Floats:
        """The chance of the best guess of a value, per class; who is alone has no secret."""
        shares: Floats = values.largest / self.rows
        return np.where(self.people == 1, 1.0, shares)


def people_of(column: pa.ChunkedArray) -> Codes:
    """Number the people whom a column names; a missing name is somebody else's every time."""
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    known, indices = len(coded.dictionary), coded.indices
    numbers: Codes = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)
    missing = indices.is_null().to_numpy(zero_copy_only=False)
    numbers[missing] = known + np.arange(np.count_nonzero(missing), dtype=np.int32)
    return numbers


def chances_of(each: Floats) -> Chances:
    """A summary of everybody's chances."""
    above = int(np.count_nonzero(each > 1 / SMALL + _NEARLY))
    return Chances(float(each.max()), float(each.mean()), above, each)


def household_chances(each: Floats, households: Codes) -> Chances:
    """Whoever finds one member has found all: 1 minus the chance that nobody is found."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-each)
    sums = np.full(int(households.max()) + 1, 0.0)
    np.add.at(sums, households, missed)
    return chances_of(1 - np.exp(sums[households]))


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many classes have which size, and how well values are guessed; tallies add up."""

    sizes: Mapping[int, int]
    guesses: Mapping[str, Counts]
    certain: Mapping[str, int]
    likely: Mapping[str, int]
    highest: Mapping[str, float]

    @classmethod
    def of_table(cls, table: Microdata) -> Tally:
        """The classes of rows, each of which is a person."""
        if not table.n_rows:
            return cls({}, {}, {}, {}, {})
        alike = Alike.of(table)
        return cls.of_groups(
            alike.rows,
            {
                one.name: Histograms.of_groups(
                    one, table.codes[one.name], alike.number, len(alike.rows)
                ).largest
                for one in table.sensitive
            },
        )

    @classmethod
    def of_groups(cls, sizes: Counts, largest: Mapping[str, Counts]) -> Tally:
        """Groups, each with the count of its most frequent value."""
        found, times = np.unique(sizes, return_counts=True)
        shares = {name: counts / sizes for name, counts in largest.items()}
        return cls(
            dict(zip(found.tolist(), times.tolist(), strict=True)),
            {name: _binned(share, sizes) for name, share in shares.items()},
            {name: int(sizes[share == 1].sum()) for name, share in shares.items()},
            {name: int(sizes[share >= LIKELY].sum()) for name, share in shares.items()},
            {name: float(share.max()) for name, share in shares.items()},
        )

    def together(self, other: Tally) -> Tally:
        """With the classes of other people."""
        if not self.sizes or not other.sizes:
            return self if self.sizes else other
        sizes = {
            size: self.sizes.get(size, 0) + other.sizes.get(size, 0)
            for size in {**self.sizes, **other.sizes}
        }
        return Tally(
            sizes,
            {name: self.guesses[name] + other.guesses[name] for name in self.guesses},
            {name: self.certain[name] + other.certain[name] for name in self.certain},
            {name: self.likely[name] + other.likely[name] for name in self.likely},
            {name: max(self.highest[name], other.highest[name]) for name in self.highest},
        )

    @property
    def people(self) -> int:
        """How many there are."""
        return sum(size * times for size, times in self.sizes.items())

    @property
    def small(self) -> int:
        """How many have fewer than four others beside them."""
        return sum(size * times for size, times in self.sizes.items() if size < SMALL)

    @property
    def classes(self) -> int:
        """How many kinds of people there are."""
        return sum(self.sizes.values())

    def chances(self, each: Floats | None = None) -> Chances:
        """1 / (size of the class), of everybody."""
        return Chances(1 / min(self.sizes), self.classes / self.people, self.small, each)

    def attribute(self, name: str, baseline: float) -> AttributeRisk:
        """What is learned of a sensitive column."""
        return AttributeRisk(
            name,
            self.people,
            self.certain[name],
            self.likely[name],
            tuple(self.guesses[name].tolist()),
            self.highest[name],
            baseline,
        )


def guessed(name: str, best: Floats, baseline: float) -> AttributeRisk:
    """The same from everybody's own best guess."""
    return AttributeRisk(
        name,
        len(best),
        int(np.count_nonzero(best == 1)),
        int(np.count_nonzero(best >= LIKELY)),
        tuple(_binned(best, np.ones(len(best), np.int64)).tolist()),
        float(best.max()),
        baseline,
    )


def _binned(share: Floats, people: Counts) -> Counts:
    bins = np.minimum((share * BINS + _NEARLY).astype(np.int64), BINS - 1)
    return np.bincount(bins, people, BINS).astype(np.int64)
