"""What a release keeps of what goes with what, beside what its single columns tell anyway."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from sfumato.audits.usefulness import wording
from sfumato.core.arrays import Floats

MOST, LITTLE = 0.7, 0.3  # shares of an association that are kept


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """How a sensitive column is distributed by category of one column, or of two.

    Distances are total variation, on average over all rows: the share of a category's rows that
    would have to have another value. ``distance`` is that of the release, ``marginals`` of whoever
    knows the single columns and takes them for independent, ``best`` of the means of the release's
    own groups with quasi-identifiers known exactly (None where that is not cheap), and ``chance``
    what independence would give in a table of this size. Means are off by ``mean_distance`` and
    ``mean_marginals``, in standard deviations; None where there is no mean.
    """

    columns: tuple[str, ...]
    sensitive: str
    categories: tuple[str, ...]
    classes: tuple[str, ...]
    truth: Floats = field(repr=False)
    estimate: Floats = field(repr=False)
    distance: float
    marginals: float
    chance: float
    best: float | None = None
    mean_distance: float | None = None
    mean_marginals: float | None = None

    @property
    def associated(self) -> bool:
        """Whether there is something to keep: more than chance alone would show."""
        return self.marginals > 2 * self.chance

    @property
    def kept(self) -> float:
        """The share of the way from the marginals to the truth; below 0 the marginals are better.

        NaN where there is no association.
        """
        return 1 - self.distance / self.marginals if self.associated else math.nan

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        plain = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("truth", "estimate")
        }
        cells = {"truth": self.truth.tolist(), "estimate": self.estimate.tolist()}
        return {**plain, **cells, "associated": self.associated, "kept": self.kept}

    def __repr__(self) -> str:
        """Without the true counts."""
        return (
            f"Conditional({self.sensitive!r} by {' and '.join(self.columns)}, {self.distance:.1%} "
            f"off, marginals {self.marginals:.1%})"
        )


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly two columns go together: in the table, and as the release shows it.

    Cramér's V is of categories; Spearman's rank correlation of columns that have an order, else
    None. Marginals alone have 0 for both.
    """

    column: str
    sensitive: str
    v: float
    v_released: float
    rank: float | None
    rank_released: float | None


@dataclass(frozen=True, slots=True)
class Coefficient:
    """How much a sensitive number rises with an ordered column: slope of the regression line.

    In standard deviations for one standard deviation of the table, with its 95% interval in the
    table; marginals alone have 0.
    """

    column: str
    sensitive: str
    slope: float
    lo: float
    hi: float
    released: float

    @property
    def inside(self) -> bool:
        """Whether the release's slope lies in the table's interval."""
        return self.lo <= self.released <= self.hi


@dataclass(frozen=True, slots=True)
class Difference:
    """A category in which a class is much more, or less, frequent than in the whole table."""

    category: str
    sensitive: str
    of: str
    share: float
    usual: float
    released: float

    @property
    def survives(self) -> bool:
        """Whether the release shows at least half of it."""
        true = self.share - self.usual
        return (self.released - self.usual) / true >= 0.5


@dataclass(frozen=True, slots=True)
class Learner:
    """A model trained on the release, on the table and on the marginals; tested on other rows.

    AUC is 0.5 for guessing and 1 for perfection; ``off`` is how far predicted chances are from what
    happens, on average.
    """

    model: str
    sensitive: str
    asked: str
    rows: int
    auc: float
    auc_released: float
    off: float
    off_released: float
    off_marginals: float
    auc_marginals: float = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Usefulness:
    """What a release is good for, every figure beside that of the marginals alone.

    ``learners`` are empty unless they were asked for; ``unlearned`` says why there are none then.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10))
    >>> found = sf.usefulness(release, patients)
    >>> isinstance(found, sf.Usefulness), found.conditionals[0].columns
    (True, ('age',))
    """

    rows: int
    conditionals: tuple[Conditional, ...]
    associations: tuple[Association, ...] = ()
    coefficients: tuple[Coefficient, ...] = ()
    differences: tuple[Difference, ...] = ()
    learners: tuple[Learner, ...] = ()
    unlearned: str | None = None

    @property
    def associated(self) -> tuple[Conditional, ...]:
        """The questions in which there is something to keep."""
        return tuple(one for one in self.conditionals if one.associated)

    @property
    def distance(self) -> float:
        """How far conditional distributions are from the true ones, on average; NaN without."""
        return _mean([one.distance for one in self.associated])

    @property
    def marginals(self) -> float:
        """The same of the marginals alone."""
        return _mean([one.marginals for one in self.associated])

    @property
    def best(self) -> float | None:
        """The same of the means of the release's own groups; None where that is not known."""
        found = [one.best for one in self.associated if one.best is not None]
        return _mean(found) if len(found) == len(self.associated) and found else None

    @property
    def kept(self) -> float:
        """The share of all association that is kept; NaN where there is none."""
        return 1 - self.distance / self.marginals if self.associated else math.nan

    @property
    def verdict(self) -> str:
        """``keeps most``, ``keeps part``, ``keeps little`` or ``nothing to keep``."""
        if not self.associated:
            return "nothing to keep"
        if self.kept >= MOST:
            return "keeps most"
        return "keeps part" if self.kept >= LITTLE else "keeps little"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in plain words, the most important first."""
        return tuple(wording.sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """For machines; NaN where there is no figure."""
        return {
            "verdict": self.verdict,
            "kept": self.kept,
            "distance": self.distance,
            "marginals": self.marginals,
            "best": self.best,
            "sentences": list(self.sentences),
            "conditionals": [one.to_dict() for one in self.conditionals],
            "associations": [_plain(one) for one in self.associations],
            "coefficients": [{**_plain(one), "inside": one.inside} for one in self.coefficients],
            "differences": [{**_plain(one), "survives": one.survives} for one in self.differences],
            "learners": [_plain(one) for one in self.learners],
            "unlearned": self.unlearned,
        }

    def __repr__(self) -> str:
        """The verdict and its figures."""
        return (
            f"Usefulness({self.verdict}: {self.kept:.0%} of the association kept, "
            f"{self.distance:.1%} off, marginals {self.marginals:.1%})"
        )


def _mean(figures: list[float]) -> float:
    return sum(figures) / len(figures) if figures else math.nan


def _plain(one: Any) -> dict[str, Any]:
    return {part.name: getattr(one, part.name) for part in fields(one)}
