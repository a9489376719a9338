"""k-anonymity: a person is hidden among at least k rows (Samarati and Sweeney, 1998).

k-join-anonymity: among at least k people, some of whom are known from elsewhere (Sacharidis,
Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010, Definition 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.errors import Infeasible, ParameterError
from sfumato.models._parameters import whole_number
from sfumato.models._rules import SIZE, Rule
from sfumato.models.base import BuiltIn


@dataclass(frozen=True, slots=True)
class KAnonymity(BuiltIn):
    """Every group has at least k rows.

    It bounds the chance of picking a person's row at 1/k. It says nothing about the sensitive
    value: k rows that all hold the same disease give it away.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10))
    >>> release.manifest.metrics["group_sizes"]["smallest"]
    10
    """

    name: ClassVar[str] = "k-anonymity"
    needs_sensitive: ClassVar[bool] = False
    k: int

    def __post_init__(self) -> None:
        """Refuse a k that means nothing."""
        k = whole_number(self.k)
        if k is None or k < 1:
            raise ParameterError(
                f"k must be a whole number, 2 or more, not {self.k!r}", parameter="k"
            )
        if k == 1:
            raise ParameterError(
                "k = 1 promises nothing: every row is a group of one row or more; use 2 or more",
                parameter="k",
            )
        object.__setattr__(self, "k", k)

    def passes(self, groups: Histograms) -> Flags:
        """At least k rows."""
        return groups.sizes >= self.k

    def rule(self, groups: Histograms) -> Rule:  # noqa: ARG002
        """The size rule."""
        return Rule(SIZE, float(self.k), least=self.k)

    def lasting(self) -> KAnonymity:
        """Itself: rows that join a group make it no smaller."""
        return self

    def refusal(self, whole: Histograms) -> Infeasible:
        """More asked for than there are rows."""
        n = int(whole.whole.sum())
        return Infeasible(
            f"k = {self.k} is more than the table's {n:,} rows; the largest possible k is {n}",
            model=self,
            largest=n,
        )


@dataclass(frozen=True, slots=True)
class KJoinAnonymity(KAnonymity):
    """Every group has at least k rows of the microdata and an external table joined.

    At least one of them is of the microdata, or the group is not published. It bounds the chance
    of picking a person's row at 1/k like k-anonymity, if the external rows are real people.

    >>> print(sf.KJoinAnonymity(10) & sf.DistinctLDiversity(3))
    k-join-anonymity (k = 10) & distinct-l-diversity (l = 3)
    """

    name: ClassVar[str] = "k-join-anonymity"
