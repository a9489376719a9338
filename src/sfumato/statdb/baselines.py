"""What dynamic anonymization is compared with (section 9 of the paper), under the same questions.

sta-ana    one anatomized version for all queries, by Anatomize; intervals by Lemma 3
sta-gen    one generalized version for all queries, by Mondrian; intervals by Lemma 2
ran-pert   sensitive values kept with probability p = (|A| - m) / (m (|A| - 1)); 80 % confidence

The paper's sta-gen is a version "obtained using the algorithm in [19]", Mondrian. Its cuts cannot
make all values of a group different; under frequency l-diversity none has more than 1/m of a
group's rows, which leaves the same chance to guess, and that is reported as sta-gen. With
``unique`` every such group is divided further, by Anatomize, into groups of m different values: a
version that a statistical database could use. Its boxes lie in Mondrian's: no interval is longer.

Where its search finds the optimum, G-Count never loses against the version that its bucketization
comes from. But signatures look at values alone, and a version cut in the space of quasi-identifiers
may do better (600,000 salaries, average lengths): with one condition 7,172 rows against 4,293 of
sta-gen and 3,559 of its refinement, with two 1,420 against 1,644 and 1,317, with three 143 against
437 and 327.

All three are releases, and answer as releases do; ``result_intervals`` takes from every method what
the paper's figures compare. The intervals of ran-pert may miss the truth. They are those of
Agrawal, Srikant and Thomas, whom the paper follows, or on demand the normal approximation, which is
far shorter (forms/perturbed/answers.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.anatomize.dealing import fill_slots
from sfumato.algorithms.base import Progress
from sfumato.algorithms.mondrian import Mondrian
from sfumato.asking.ask import answerer, bound_all
from sfumato.core.arrays import Floats
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import Seed
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.perturbed.answers import Chance, Perturbed
from sfumato.forms.perturbed.release import PerturbedTable
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement
from sfumato.statdb.layout.places import sensitive_of
from sfumato.statdb.layout.signatures import require_m
from sfumato.statdb.responder import Responder
from sfumato.verbs import perturb, publish


class Intervals(NamedTuple):
    """Result intervals, query by query."""

    lo: Floats
    hi: Floats

    @property
    def lengths(self) -> Floats:
        """How long they are."""
        return self.hi - self.lo


def static_anatomy(table: Microdata, m: int = 10, seed: Seed | None = None) -> AnatomizedTables:
    """sta-ana: QIT and ST of groups with m different values."""
    _require(table, m)
    return publish(table, Anatomize(near=False), LDiversity(m), form="anatomized", seed=seed)


def static_generalization(
    table: Microdata, m: int = 10, seed: Seed | None = None, *, unique: bool = False
) -> GeneralizedTable:
    """sta-gen: boxes in which no value has more than 1/m of the rows; ``unique``: m different."""
    _require(table, m)
    algorithm = UniqueMondrian(m) if unique else Mondrian()
    return publish(table, algorithm, LDiversity(m), seed=seed)


@dataclass(frozen=True, slots=True)
class UniqueMondrian:
    """Mondrian's groups, each divided further by Anatomize into groups of different values."""

    name: ClassVar[str] = "unique-mondrian"
    form: ClassVar[str] = "generalized"
    m: int

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table into m-unique groups."""
        cut = Mondrian().partition(table, needs, randomness, progress)
        codes = table.codes[sensitive_of(table).name]
        rows = np.lexsort((codes, cut.groups))
        groups, n_groups = np.empty(table.n_rows, np.int32), 0
        for own in np.split(rows, np.cumsum(cut.sizes)[:-1]):
            slots, more = fill_slots(np.bincount(codes[own]), self.m, randomness)
            groups[own] = n_groups + slots
            n_groups += more
        return Partition.of(groups)


def random_perturbation(table: Microdata, m: int = 10, seed: Seed | None = None) -> PerturbedTable:
    """ran-pert: noise that keeps a guess at 1/m."""
    _require(table, m)
    return perturb(table, m=m, seed=seed)


def result_intervals(
    source: Responder | AnatomizedTables | GeneralizedTable | PerturbedTable,
    queries: Iterable[str | Query],
    chance: Chance = "tail",
) -> Intervals:
    """The intervals that the paper compares: bounds, or of ran-pert the 80 % interval."""
    if isinstance(source, Responder):
        counts = source.counts(queries)
        return Intervals(counts.lo.astype(np.float64), counts.hi.astype(np.float64))
    asked = answerer(source)
    wheres = [bound.where for bound in bound_all(asked, queries)]
    found = [
        asked.likely(where, chance=chance)
        if isinstance(asked, Perturbed)
        else asked.find(where).counted()
        for where in wheres
    ]
    ends = np.array([(one.lo, one.hi) for one in found], np.float64).reshape(-1, 2)
    return Intervals(ends[:, 0], ends[:, 1])


def _require(table: Microdata, m: int) -> None:
    require_m(m)
    sensitive_of(table)
