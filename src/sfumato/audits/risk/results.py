"""What is found out about risk, as values; ``wording`` says it in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sfumato.audits.risk import wording
from sfumato.core.arrays import Floats
from sfumato.core.html import card, grid, histogram, lines

LIKELY = 0.5  # of guessing a value
_SURE = 0.9  # the last bin of guesses
BINS = 10  # of the best guesses, each a tenth wide; the last one holds certainty, too


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """How likely a person is found: the worst case, on average, and how many above 20%.

    ``each`` is the chance of every person, or of every row where a row is a person, in the order of
    the table; None where the rows are not in memory.
    """

    highest: float
    average: float
    above: int
    each: Floats | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """For machines, without the single people."""
        return {"highest": self.highest, "average": self.average, "above_20_percent": self.above}


@dataclass(frozen=True, slots=True)
class Population:
    """The people among whom an outsider looks, and how many of them nobody resembles.

    ``estimator`` names where both figures come from.
    """

    size: float
    unique: float
    estimator: str

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"size": self.size, "unique": self.unique, "estimator": self.estimator}


@dataclass(frozen=True, slots=True)
class AttributeRisk:
    """What is learned of a sensitive column by who knows all quasi-identifiers of a person.

    ``certain`` people have one possible value, ``likely`` ones a best guess of 50% or more
    (certain ones among them). ``guesses`` counts people by the chance of the best guess, in tenths,
    ``highest`` is that of the best of all, and ``baseline`` the share of the most frequent value in
    the whole table. ``exposed`` people are the likely ones; where every second person has the most
    frequent value anyway, those with a best guess of 90% or more (``sure``), and where nine of ten
    have it, the certain ones.
    """

    name: str
    people: int
    certain: int
    likely: int
    guesses: tuple[int, ...]
    highest: float
    baseline: float

    @property
    def common(self) -> bool:
        """Whether every second person has the most frequent value anyway."""
        return self.baseline >= LIKELY

    @property
    def sure(self) -> float:
        """The chance from which on a best guess says something of a person."""
        if not self.common:
            return LIKELY
        return _SURE if self.baseline < _SURE else 1.0

    @property
    def exposed(self) -> int:
        """How many people's value is guessed with that chance."""
        if not self.common:
            return self.likely
        return self.guesses[-1] if self.baseline < _SURE else self.certain

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        stated = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**stated, "sure": self.sure, "exposed": self.exposed}


@dataclass(frozen=True, slots=True)
class UniqueSet:
    """Columns that single people out together, while no fewer of them do."""

    columns: tuple[str, ...]
    people: int


@dataclass(frozen=True, slots=True)
class ColumnShare:
    """A column's part in it: people singled out by sets with it, and those alone without it."""

    name: str
    people: int
    alone_without: int


@dataclass(frozen=True, slots=True)
class UniqueSets:
    """Minimal unique sets of up to ``largest`` columns, those of most people first.

    ``people`` are singled out by at least one of them.
    """

    largest: int
    people: int
    sets: tuple[UniqueSet, ...]
    columns: tuple[ColumnShare, ...]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "largest": self.largest,
            "people": self.people,
            "sets": [{"columns": list(one.columns), "people": one.people} for one in self.sets],
            "columns": [
                {"column": one.name, "people": one.people, "alone_without": one.alone_without}
                for one in self.columns
            ],
        }

    def __repr__(self) -> str:
        """How many there are."""
        return (
            f"UniqueSets({len(self.sets):,} up to {self.largest} columns, {self.people:,} people)"
        )


@dataclass(frozen=True, slots=True)
class SensitiveProfile:
    """What could be promised about one sensitive attribute."""

    name: str
    most_frequent_share: float
    largest_l: int
    largest_distinct_l: int
    largest_entropy_l: float
    largest_m: int

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """How exposed people are, in a table or in a release, on the quasi-identifiers together.

    ``classes`` are groups of rows that cannot be told apart; counts are of rows, or of people where
    a column names them. ``unique_rows`` people stand alone, ``rows_in_small_classes`` have fewer
    than four others beside them. ``marketer`` is the share of all people who would be found if
    everybody were looked for. ``journalist`` is None without a population. ``exact`` tells whether
    whoever is found is found with the sensitive values. ``sets`` and ``sensitive`` are about tables
    only.

    >>> risk = sf.assess("patients.csv", sf.read_schema("patients.toml"))
    >>> isinstance(risk, sf.Risk), risk.smallest_class
    (True, 1)
    """

    quasi: tuple[str, ...]
    rows: int
    people: int
    classes: int
    unique_rows: int
    rows_in_small_classes: int
    smallest_class: int
    largest_k: int
    prosecutor: Chances
    marketer: float
    journalist: Chances | None = None
    households: Chances | None = None
    population: Population | None = None
    attributes: tuple[AttributeRisk, ...] = ()
    sets: UniqueSets | None = None
    sensitive: tuple[SensitiveProfile, ...] = ()
    exact: bool = True

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in plain words, the most important first."""
        return tuple(wording.sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)} | {
            "sentences": list(self.sentences)
        }

    def _repr_html_(self) -> str:
        """The sentences, and how surely values can be guessed."""
        rows = [
            (one.name, one.certain, one.likely, histogram(one.guesses, "people by best guess"))
            for one in self.attributes
        ]
        head = ("sensitive", "certain", "50% or more", "best guess, 0 to 100%")
        return card(repr(self), lines(self.sentences), grid(head, rows) if rows else "")

    def __repr__(self) -> str:
        """The figures that matter most."""
        likely = "".join(
            f", {one.name} certain for {one.certain:,} and likely for {one.likely:,}"
            for one in self.attributes
        )
        return (
            f"Risk({self.people:,} people in {self.classes:,} classes, {self.unique_rows:,} alone, "
            f"smallest {self.smallest_class:,}{likely})"
        )


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value
