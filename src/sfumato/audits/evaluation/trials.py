"""What following an advice would do to this very table: the release is made again, and measured.

An advice is worth what it brings. Nothing that is made here is written or kept; where a table is
large, or a release cannot be made again from what it states, nothing is tried and nothing advised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.mondrian import Mondrian
from sfumato.asking.compare import compare
from sfumato.audits.audit.control import promised, remade
from sfumato.audits.defaults import QUICK_ROWS
from sfumato.audits.evaluation.distributions import Distribution, distribution
from sfumato.audits.evaluation.query_errors import QueryErrors
from sfumato.audits.usefulness import Asked, Usefulness
from sfumato.core.microdata import Microdata
from sfumato.engines.parts import TableParts
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import Release
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import Model
from sfumato.verbs.publishing import publish

WIDE, EMPTY = 0.5, 0.95  # NCP of an attribute that says little, and of one that says nothing
MOVED = 0.10  # share of the rows that estimates put into another bin
LARGE_GROUPS = 2.0  # mean group size in units of k
FAIR = 0.2  # relative error
_HELPS = 0.9  # of what it was before
_SECONDS = 5.0  # for a search
SIZES = (KAnonymity.name, KJoinAnonymity.name)


@dataclass(frozen=True, slots=True)
class Effect:
    """One figure before, and after following an advice; smaller is better."""

    before: float
    after: float

    @property
    def helps(self) -> bool:
        """Whether it is worth a word."""
        return self.after < _HELPS * self.before


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A release that can be made again, with the figures that call for trying something."""

    manifest: Manifest
    table: TableParts
    algorithm: Partitioner
    model: Model
    distributions: tuple[Distribution, ...]
    errors: QueryErrors | None
    usefulness: Usefulness | None

    def effects(self) -> dict[str, Effect]:
        """What helps, by the name of the advice, and how much."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)  # said of the release itself
            return {name: effect for name, effect in self._tried() if effect.helps}

    def _tried(self) -> Iterator[tuple[str, Effect]]:
        tries: Mapping[str, Callable[[], Effect | None]] = {
            "sets": self._sets,
            "lighter": self._lighter,
            "cuts": self._cuts,
            "relaxed": self._relaxed,
            "narrower": self._narrower,
            "workload": self._workload,
            "near": self._near,
        }
        for name, attempt in tries.items():
            try:
                effect = attempt()
            except SfumatoError:
                continue  # not feasible that way
            if effect is not None:
                yield name, effect

    def _again(self, algorithm: Partitioner | None = None, model: Model | None = None,
               table: Microdata | None = None, **options: Any) -> Release:  # fmt: skip
        made: Any = publish
        found: Release = made(
            table or self.table.domain, algorithm or self.algorithm, model or self.model,
            form=self.manifest.kind, seed=1, **options,
        )  # fmt: skip
        return found

    def _sets(self) -> Effect | None:
        worst = worst_of(self.distributions)
        forms = {column.name: column.form for column in self.manifest.columns}
        if worst is None or worst.distance < MOVED or forms[worst.attribute] != "label":
            return None
        made = self._again(labels="sets")
        shown = distribution(made, self.table, worst.attribute, None)
        return Effect(worst.distance, shown.distance)

    def _lighter(self) -> Effect | None:
        ratio, own = (
            self._ratio(self.manifest),
            [one for one in self.manifest.promise if one["model"] in SIZES],
        )
        if ratio < LARGE_GROUPS or not own or len(own) == len(self.manifest.promise):
            return None
        return Effect(ratio, self._ratio(self._again(model=promised(own)).manifest))

    def _cuts(self) -> Effect | None:
        if not isinstance(self.algorithm, Mondrian) or self.algorithm.cuts != "median":
            return None
        return self._larger(replace(self.algorithm, cuts="all"))

    def _relaxed(self) -> Effect | None:
        if getattr(self.algorithm, "relaxed", None) is not False:
            return None
        return self._larger(replace(self.algorithm, relaxed=True))  # type: ignore[type-var]

    def _larger(self, algorithm: Partitioner) -> Effect | None:
        ratio = self._ratio(self.manifest)
        if ratio < LARGE_GROUPS:
            return None
        return Effect(ratio, self._ratio(self._again(algorithm).manifest))

    def _narrower(self) -> Effect | None:
        """The others' NCP without the attribute that lost most, if that says something yet."""
        penalties = self.manifest.metrics.get("ncp_by_attribute", {})
        worst = widest(penalties)
        if worst is None or len(penalties) < 2:
            return None
        others = [name for name in self.table.schema.quasi if name != worst]
        made = self._again(table=self.table.domain.of_quasi(others))
        found = made.manifest.metrics["ncp_by_attribute"]
        means = [sum(known[name] for name in others) / len(others) for known in (penalties, found)]
        return Effect(*means)

    def _workload(self) -> Effect | None:
        seen, algorithm = self.errors, self.algorithm
        unaware = isinstance(algorithm, Mondrian) and "workload" not in self.manifest.algorithm
        if seen is None or not seen.given or not unaware or seen.comparison.median < FAIR:
            return None
        made = self._again(replace(algorithm, workload=seen.queries))  # type: ignore[type-var]
        return Effect(seen.comparison.median, compare(made, self.table, seen.queries).median)

    def _near(self) -> Effect | None:
        seen = self.usefulness
        if seen is None or not isinstance(self.algorithm, Anatomize) or self.algorithm.near:
            return None
        made = self._again(replace(self.algorithm, near=True))
        return Effect(seen.distance, Asked.of(self.table).usefulness(made, best=False).distance)

    @staticmethod
    def _ratio(manifest: Manifest) -> float:
        return float(manifest.metrics.get("average_group_size") or 0.0)


def trial_of(
    manifest: Manifest,
    table: TableParts,
    distributions: tuple[Distribution, ...],
    errors: QueryErrors | None,
    useful: Usefulness | None,
) -> Trial | None:
    """What can be tried; None where a release of this kind or size is not made again."""
    algorithm = remade(manifest.algorithm)
    kinds = (GeneralizedTable.kind, AnatomizedTables.kind)
    within = any("within" in one for one in manifest.promise)
    if algorithm is None or manifest.kind not in kinds or within:
        return None
    if table.engine is not None or table.n_rows > QUICK_ROWS:
        return None
    if getattr(algorithm, "time_limit", None) is not None:
        algorithm = replace(algorithm, time_limit=_SECONDS)  # type: ignore[type-var]
    try:
        model = promised(manifest.promise)
    except SfumatoError:
        return None  # a model of the owner's own
    return Trial(manifest, table, algorithm, model, distributions, errors, useful)


def worst_of(distributions: tuple[Distribution, ...]) -> Distribution | None:
    """The attribute that is furthest off."""
    return max(distributions, key=lambda shown: shown.distance, default=None)


def widest(penalties: Mapping[str, float]) -> str | None:
    """The attribute that lost most, of those that are wide and not empty."""
    wide = {name: share for name, share in penalties.items() if WIDE <= share < EMPTY}
    return max(wide, key=lambda name: wide[name], default=None)
