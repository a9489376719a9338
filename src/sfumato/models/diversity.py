"""l-diversity: a group's sensitive values differ enough (Machanavajjhala et al., ICDE 2006).

Four readings of "enough". The frequency form is the one of Anatomy (Definition 2) and bounds what
an attacker infers at 1/l; the distinct form bounds nothing when one value dominates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.histograms import Histograms
from sfumato.core.moments import python_values
from sfumato.errors import Infeasible, ParameterError
from sfumato.models._parameters import finite_number, whole_number
from sfumato.models._rules import DISTINCT, ENTROPY, FREQUENCY, RECURSIVE, TOLERANCE, Rule
from sfumato.models.base import BuiltIn


@dataclass(frozen=True, slots=True)
class LDiversity(BuiltIn):
    """The most frequent sensitive value makes up at most 1/l of the group.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> sf.row_breach(release).largest
    0.25
    """

    name: ClassVar[str] = "l-diversity"
    values_safe: ClassVar[bool] = True
    l: float
    on: str | None = None

    def __post_init__(self) -> None:
        """Refuse an l that means nothing."""
        object.__setattr__(self, "l", _required_l(self.l))

    def passes(self, groups: Histograms) -> Flags:
        """Largest count at most size / l."""
        return groups.largest <= groups.sizes * (1 + TOLERANCE) / self.l

    def rule(self, groups: Histograms) -> Rule:  # noqa: ARG002
        """The frequency rule."""
        return Rule(FREQUENCY, self.l, least=math.ceil(self.l - TOLERANCE))

    def lasting(self) -> DistinctLDiversity:
        """As many different values as l asks for, in any form."""
        return _as_many(self.l)

    def refusal(self, whole: Histograms) -> Infeasible:
        """The eligibility condition: no value more often than n / l."""
        n, (value, count) = int(whole.whole.sum()), _most_frequent(whole)
        # a whole l gets a whole answer, a fractional one an answer rounded down
        largest = n // count if self.l == int(self.l) else math.floor(1000 * n / count) / 1000
        way_out = f"the largest feasible l is {largest:g}"
        if largest < _LEAST_L:
            way_out = "no l is feasible; divide the value, or ask for t-closeness"
        return Infeasible(
            f"l = {self.l:g} is out of reach on {_name(whole)}: {_shown(value)} is the value of "
            f"{count:,} of {n:,} rows ({count / n:.1%}), and l-diversity allows it at most 1/l of "
            f"them; {way_out}",
            model=self,
            value=value,
            largest=largest,
        )


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(BuiltIn):
    """At least l different sensitive values; one of them may still dominate.

    >>> print(sf.KAnonymity(5) & sf.DistinctLDiversity(3))
    k-anonymity (k = 5) & distinct-l-diversity (l = 3)
    """

    name: ClassVar[str] = "distinct-l-diversity"
    values_safe: ClassVar[bool] = True
    l: int
    on: str | None = None

    def __post_init__(self) -> None:
        """Refuse an l that means nothing."""
        if whole_number(self.l) is None:
            raise ParameterError(f"l counts values: a whole number, not {self.l!r}", parameter="l")
        object.__setattr__(self, "l", _required_l(self.l))

    def passes(self, groups: Histograms) -> Flags:
        """At least l values present."""
        return groups.distinct >= self.l

    def rule(self, groups: Histograms) -> Rule:  # noqa: ARG002
        """The distinct rule."""
        return Rule(DISTINCT, float(self.l), least=self.l)

    def lasting(self) -> DistinctLDiversity:
        """Itself: rows that join a group take no value away."""
        return self

    def refusal(self, whole: Histograms) -> Infeasible:
        """Fewer values in the table than asked for."""
        largest = int(np.count_nonzero(whole.whole))
        return Infeasible(
            f"l = {self.l} is out of reach on {_name(whole)}: it has {largest} different values, "
            f"so the largest feasible l is {largest}",
            model=self,
            largest=largest,
        )


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(BuiltIn):
    """The entropy of the sensitive values is at least log l; l may be fractional.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.Mondrian(), sf.EntropyLDiversity(4)).manifest.groups
    153
    """

    name: ClassVar[str] = "entropy-l-diversity"
    values_safe: ClassVar[bool] = True
    l: float
    on: str | None = None

    def __post_init__(self) -> None:
        """Refuse an l that means nothing."""
        object.__setattr__(self, "l", _required_l(self.l))

    def passes(self, groups: Histograms) -> Flags:
        """Entropy at least log l."""
        return entropies(groups) >= math.log(self.l) - TOLERANCE

    def rule(self, groups: Histograms) -> Rule:  # noqa: ARG002
        """The entropy rule; l equally frequent values need l rows."""
        return Rule(ENTROPY, self.l, least=math.ceil(self.l - TOLERANCE))

    def lasting(self) -> DistinctLDiversity:
        """As many different values as l asks for, in any form."""
        return _as_many(self.l)

    def refusal(self, whole: Histograms) -> Infeasible:
        """Less entropy in the table than asked for."""
        value, count = _most_frequent(whole)
        # half the tolerance: l equally frequent values reach l in spite of rounding
        largest = math.floor(1000 * math.exp(entropies(whole.merged())[0] + TOLERANCE / 2)) / 1000
        return Infeasible(
            f"l = {self.l:g} is out of reach on {_name(whole)}: {_shown(value)} alone takes "
            f"{count / whole.whole.sum():.1%} of the rows; the largest feasible l is {largest:g}",
            model=self,
            value=value,
            largest=largest,
        )


@dataclass(frozen=True, slots=True)
class RecursiveLDiversity(BuiltIn):
    """(c, l)-diversity: r1 < c (r_l + ... + r_m), the counts sorted descending.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.Mondrian(), sf.RecursiveLDiversity(c=3.0, l=2)).manifest.groups
    407
    """

    name: ClassVar[str] = "recursive-cl-diversity"
    values_safe: ClassVar[bool] = True
    c: float
    l: int
    on: str | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        c = finite_number(self.c)
        if c is None or not c > 0:
            raise ParameterError(f"c must be finite and more than 0, not {self.c!r}", parameter="c")
        if whole_number(self.l) is None:
            raise ParameterError(f"l is a rank: a whole number, not {self.l!r}", parameter="l")
        object.__setattr__(self, "c", c)
        object.__setattr__(self, "l", _required_l(self.l))

    def passes(self, groups: Histograms) -> Flags:
        """Largest count below c times the tail from the l-th on."""
        tail = _tail(groups, self.l)
        return (tail > 0) & (groups.largest < self.c * tail)

    def rule(self, groups: Histograms) -> Rule:  # noqa: ARG002
        """The recursive rule; l values need l rows."""
        return Rule(RECURSIVE, self.c, float(self.l), least=self.l)

    def lasting(self) -> DistinctLDiversity:
        """As many different values as l asks for, in any form."""
        return _as_many(self.l)

    def refusal(self, whole: Histograms) -> Infeasible:
        """The table as a whole is too uneven."""
        value, count = _most_frequent(whole)
        largest = self._largest(whole.merged())
        hint = f"the largest feasible l is {largest}" if largest else "try a larger c"
        return Infeasible(
            f"(c, l) = ({self.c:g}, {self.l}) is out of reach on {_name(whole)}: "
            f"{_shown(value)} has {count:,} rows, not less than c times those of the {self.l}-th "
            f"value and below; with c = {self.c:g} {hint}",
            model=self,
            value=value,
            largest=largest,
        )

    def _largest(self, whole: Histograms) -> int:
        """The largest l this table bears with the same c; 0 when there is none."""
        counts = np.sort(whole.counts)[::-1]
        tails = counts[::-1].cumsum()[::-1]
        return int(np.count_nonzero(counts[0] < self.c * tails))


def entropies(groups: Histograms) -> Floats:
    """Entropy of each group's values, in nats."""
    shares = groups.shares
    return -groups.total(shares * np.log(shares))


def _as_many(l: float) -> DistinctLDiversity:
    # the tolerance lets a group on the limit pass, and must not ask for one value more
    return DistinctLDiversity(math.ceil(l - TOLERANCE))


def _tail(groups: Histograms, depth: int) -> Counts:
    """Rows of each group whose value is not among its depth - 1 most frequent ones."""
    order = np.lexsort((-groups.counts, groups.groups))
    rank = np.arange(len(order)) - groups.starts[groups.groups]
    return np.add.reduceat(np.where(rank >= depth - 1, groups.counts[order], 0), groups.starts[:-1])


def _most_frequent(whole: Histograms) -> tuple[Any, int]:
    code = int(np.argmax(whole.whole))
    attribute = whole.attribute
    value = None if attribute is None else python_values(attribute.decode(np.array([code])))[0]
    return value, int(whole.whole[code])


def _name(whole: Histograms) -> str:
    return repr(whole.attribute.name) if whole.attribute is not None else "the table"


def _shown(value: Any) -> str:
    return "(missing)" if value is None else repr(value)


_LEAST_L = 1.001  # below, rounding decides what passes


def _required_l(l: Any) -> float:
    number = finite_number(l)
    if number is None or number < 1:
        raise ParameterError(f"l must be a finite number above 1, not {l!r}", parameter="l")
    if number < _LEAST_L:
        raise ParameterError(
            f"l = {l} promises nothing: a group whose rows have one value, or nearly all, would "
            "pass, and publish it of each of them; use 2 or more",
            parameter="l",
        )
    return number
