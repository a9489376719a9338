"""Models for tests: settings of every built-in one, and some that only exist in Python."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.bound import Bound
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from sfumato.models.requirements import Requirement, requirements

# Two or three of each, from nearly harmless to demanding.
SETTINGS: tuple[BuiltIn, ...] = (
    KAnonymity(2),
    KAnonymity(4),
    KJoinAnonymity(3),
    LDiversity(1.25),
    LDiversity(1.75),
    LDiversity(3),
    DistinctLDiversity(2),
    DistinctLDiversity(3),
    EntropyLDiversity(1.5),
    EntropyLDiversity(2.75),
    RecursiveLDiversity(9.0, 2),
    RecursiveLDiversity(1.5, 2),
    RecursiveLDiversity(3.0, 3),
    TCloseness(0.4),
    TCloseness(0.25, "equal"),
    TCloseness(0.2, "ordered"),
)


@dataclass(frozen=True)
class InPython:
    """A built-in model in a user's clothes: ``passes`` and nothing compiled."""

    model: BuiltIn

    @property
    def needs_sensitive(self) -> bool:
        return self.model.needs_sensitive

    @property
    def on(self) -> str | None:
        return getattr(self.model, "on", None)

    def passes(self, groups: Histograms) -> Flags:
        return self.model.passes(groups)


@dataclass(frozen=True)
class Anything:
    """A user's own model that asks for nothing, of sizes or of values, where groups are given."""

    needs_sensitive: bool = True

    def passes(self, groups: Histograms) -> Flags:
        return np.ones(groups.n_groups, np.bool_)


class NobodyAlone:
    """The least a user's own model needs: at least two rows and two different values."""

    def passes(self, groups: Histograms) -> Flags:
        return np.asarray((groups.sizes >= 2) & (groups.distinct >= 2))


def needs_of(model: Any, table: Microdata) -> tuple[Requirement, ...]:
    return requirements(model, table.schema)


def bound_of(model: Any, table: Microdata) -> Bound:
    return Bound.of(needs_of(model, table), table)


def passing(needs: tuple[Requirement, ...], table: Microdata, partition: Partition) -> Flags:
    return Bound.of(needs, table).passing(partition)
