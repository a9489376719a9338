"""What a global recoding costs, whether it keeps the model, and what that says about others.

Rows of groups that fail are left out, as long as they are not too many; leaving them out changes
the whole table, to which some models compare, so the rest is looked at again until all pass.

Two cost measures. Both count what is shown (``base``) and what is left out, and of both the first
part never falls when values are generalized further, which makes it a bound for all coarser
recodings:

- ncp: the mean penalty of all cells, those of rows that are left out counting 1;
- discernibility: squared group sizes; a row that is left out costs as much as the table has rows.

A verdict also speaks about all finer recodings: they cost at least ``excess`` more than what they
show, for the rows that they leave out too. It is infinite when all of them fail. If no row may be
left out, any failure is theirs as well, provided that groups that pass still do so when they are
merged, as under the models that ship. If some may, that is not enough: a safe group may fail once
it has taken in an unsafe one, so that a finer recoding can leave out fewer rows. But a group that
is too small, or has too few different values, fails however it is divided, and nearly every model
demands something in that respect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sfumato.algorithms.recoding.base import Recoding, boxes_of
from sfumato.algorithms.recoding.frequency_sets import FrequencySet, laid_out, recoded_groups
from sfumato.algorithms.recoding.kernel import total_penalties
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.errors import ParameterError
from sfumato.models._rules import TOLERANCE
from sfumato.models.base import BuiltIn, has
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement

Cost: TypeAlias = Literal["ncp", "discernibility"]


class Verdict(NamedTuple):
    """What is known about one recoding."""

    cost: float
    base: float
    excess: float
    allowed: bool

    @classmethod
    def no(cls, base: float = 0.0) -> Verdict:
        """It fails, and everything finer as well."""
        return cls(math.inf, base, math.inf, allowed=False)

    @property
    def doomed(self) -> bool:
        """Whether every finer recoding fails."""
        return self.excess == math.inf


@dataclass(frozen=True, slots=True)
class Judge:
    """The requirements, the rows that may be left out, and the measure of cost.

    A group of fewer than ``least`` rows meets no requirements.
    """

    needs: tuple[Requirement, ...]
    n_rows: int
    limit: int
    cost: Cost
    least: int = 1

    @classmethod
    def of(cls, bound: Bound, suppress: float, cost: Cost) -> Judge:
        """A judge of recodings of this table; ``suppress`` is a share of its rows."""
        n_rows = bound.n_rows
        # a share such as 0.29 of 100 rows must not lose one of them to rounding
        limit = math.floor(suppress * n_rows + TOLERANCE)
        least = max((rule.least for rule in bound.rules() if rule is not None), default=1)
        return cls(bound.needs, n_rows, min(limit, n_rows - 1), cost, least)

    @property
    def merging(self) -> bool:
        """Whether groups that pass also pass when they are merged."""
        return all(has(need.model, "merging_safe") for need in self.needs)

    @property
    def strict(self) -> bool:
        """Whether one group that fails dooms a recoding, and all that are finer."""
        return self.limit == 0 and self.merging

    def too_small(self, sizes: Counts) -> bool:
        """Whether groups of these sizes are enough to say no, whatever they hold."""
        return self.strict and bool(sizes.min() < self.least)

    def verdict(self, groups: FrequencySet, recodings: Sequence[Recoding]) -> Verdict:
        """Look at the groups that a recoding forms."""
        keep = self.kept(groups)
        left_out = self.n_rows - int(groups.weights[keep].sum())
        costs = self._costs(groups, recodings)
        return Verdict(
            cost=float(costs[keep].sum()) + self._alone * left_out,
            base=float(costs.sum()),
            excess=self._excess(groups, costs) if left_out else 0.0,
            allowed=left_out <= self.limit,
        )

    def base(self, groups: FrequencySet, recodings: Sequence[Recoding]) -> float:
        """What groups cost when all of them are shown."""
        return float(self._costs(groups, recodings).sum())

    def partition(
        self,
        exact: FrequencySet,
        vector_of_row: Codes,
        recodings: tuple[Recoding, ...],
        notes: Mapping[str, Any],
    ) -> Partition:
        """Rows that are alike once recoded, those of groups that fail left out."""
        groups = exact.rolled_up(recodings)
        keep = self.kept(groups)
        number = np.where(keep, np.cumsum(keep) - 1, LEFT_OUT).astype(np.int32)
        group_of_vector, _ = recoded_groups(exact.codes, recodings)
        boxes = boxes_of(recodings, groups.codes[keep])
        return Partition.of(number[group_of_vector][vector_of_row], boxes, notes=notes)

    def kept(self, groups: FrequencySet) -> Flags:
        """The groups that are published: all pass, compared with no others.

        When they are too few, none of them will be published, and looking on would be in vain.
        """
        keep = groups.passing(self.needs)
        alone = all(has(need.model, "group_alone") for need in self.needs)
        enough = self.n_rows - self.limit
        while not alone and not keep.all() and groups.weights[keep].sum() >= enough:
            still = groups.kept(keep).passing(self.needs)
            if still.all():
                break
            keep[keep] = still
        return keep

    def _excess(self, groups: FrequencySet, costs: Floats) -> float:
        """By how much all finer recodings cost more than what they show, at least."""
        if self.strict:
            return math.inf
        short = ~groups.passing(tuple(_lasting(self.needs)))
        lost = int(groups.weights[short].sum())
        return self._alone * lost - float(costs[short].sum()) if lost <= self.limit else math.inf

    @property
    def _alone(self) -> float:
        """What a row costs that is left out."""
        return 1 / self.n_rows if self.cost == "ncp" else float(self.n_rows)

    def _costs(self, groups: FrequencySet, recodings: Sequence[Recoding]) -> Floats:
        """What each group costs when it is shown."""
        if self.cost == "discernibility":
            return np.square(groups.weights.astype(np.float64))
        penalties = total_penalties(groups.codes, *laid_out([one.penalties for one in recodings]))
        return penalties * groups.weights / (len(recodings) * self.n_rows)


def require_share(suppress: float) -> None:
    """Raise unless this is a share of the rows that may be left out."""
    if not 0 <= suppress < 1:
        raise ParameterError(
            f"suppress must be a share of the rows, 0 or more and below 1, not {suppress}",
            parameter="suppress",
        )


def _lasting(needs: tuple[Requirement, ...]) -> Iterator[Requirement]:
    """What the requirements demand of a group at least, in models that outlast any merging."""
    for need in needs:
        model = need.model.lasting() if isinstance(need.model, BuiltIn) else None
        if model is not None:
            yield Requirement(model, need.attribute)
