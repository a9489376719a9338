"""Anatomize: nearly optimal groups for publishing QI values and sensitive values apart.

Xiao, Tao: "Anatomy: simple and effective privacy preservation", VLDB 2006. Groups are made of
neighbours, dealt at random inside Mondrian's leaves (frontier/__init__.py), or, with
``near=False``, of anybody, as in the paper's Figure 3:

    2.     hash the rows into bins by sensitive value
    3-8.   while at least l bins are not empty:
             a new group takes one random row from each of the l largest bins
    9-12.  each row that is left (at most l - 1) joins a random group without its value

Ties between bins are broken at random (the paper does not say how). Afterwards every group has at
least l rows, all of different sensitive values, and the reconstruction error exceeds its lower
bound by a factor below 1 + 1/n (Theorem 4). Linear time.

That is frequency l-diversity. For any other model, groups that do not pass are merged with each
other until all do: merging keeps l-diversity, and ends at the latest with the whole table. With
several sensitive attributes the one that asks for the most rows leads, and merging serves the rest.

Such groups ignore who people are, so that what is known of people says in a group what it says in
the whole table: answers lose every association, and whoever has learned it elsewhere sorts the
members of a group by it. Neighbours are alike; docs/neighbours.md has the figures of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from sfumato.algorithms.anatomize.blocks import deal, dealing_key, plan_blocks
from sfumato.algorithms.anatomize.dealing import merged
from sfumato.algorithms.base import Plan, Progress, require_compiled
from sfumato.algorithms.frontier import Aims, divide, plan_regions, require_size
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import count_codes
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.bound import Bound, feasible, require_feasible
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement

# Small groups of all different values let whoever has learned from others sort their members, and
# in larger ones everybody's guess is nearly as good as 1/l; docs/neighbours.md has the figures.
TIMES = 5


@dataclass(frozen=True, slots=True)
class Anatomize:
    """Groups of neighbours whose sensitive values are rare; without ``near`` as in the paper.

    Groups of neighbours have at least ``size`` rows, rounded up to a multiple of l: five times l
    by default. The paper's have l rows of l different values.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> release.st.column_names
    ['group_id', 'disease', 'count']
    """

    name: ClassVar[str] = "anatomize"
    form: ClassVar[str] = "anatomized"
    near: bool = True
    size: int | None = None

    def __post_init__(self) -> None:
        """Refuse a size that is none, or has no effect."""
        require_size(self.size)
        if self.size is not None and not self.near:
            raise ParameterError(
                "size is for groups of neighbours: the paper's have l rows", parameter="size"
            )

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        bound = require_feasible(needs, table)
        if not table.schema.sensitive:
            raise SchemaError("Anatomize needs a sensitive column; the schema names none")
        if self.near:
            return divide(self._aims(bound), bound, randomness, progress)
        leader, l = _leader(bound)
        partition = deal(table, leader, l, dealing_key(randomness, 0))
        # l rows of l different values are l-diverse; anything else has to be looked at
        rest = bound.without(lambda need: _is_met(need, leader, l))
        return merged(rest, partition, randomness) if rest.needs else partition

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Neighbours are planned for all built-in models; the paper's groups for its own."""
        require_compiled(needs)
        if not self.near and (len(needs) > 1 or not isinstance(needs[0].model, LDiversity)):
            raise ParameterError(
                "beyond memory the paper's groups are made for l-diversity (frequency form) of one "
                "sensitive column; use groups of neighbours (near), or the in-memory engine",
                parameter="engine",
            )

    def plan(self, engine: Engine, bound: Bound, room: Room, randomness: Randomness) -> Plan:
        """Mondrian's regions for neighbours, random blocks for the paper's groups."""
        bound = feasible(bound)
        if self.near:
            return plan_regions(self._aims(bound), engine, bound, room, randomness)
        leader, l = _leader(bound)
        if not _is_met(bound.needs[0], leader, l):
            raise ParameterError(
                f"{bound.needs[0]} is feasible, but only with groups of uneven size, which are not "
                "made beyond memory; use the in-memory engine, or a smaller whole number",
                parameter="l",
            )
        column = bound.table.schema.sensitive.index(leader)
        counts = bound.everyone[0].whole
        return plan_blocks(engine, counts, leader, column, l, room, randomness)

    def _aims(self, bound: Bound) -> Aims:
        # cuts elsewhere than at medians take twice the time, and make no difference to answers
        return Aims.of(bound, self.size, TIMES, frontier=False, cuts="median")


def require_discrete(attribute: Attribute) -> None:
    """Raise for a sensitive attribute whose values hardly repeat: groups of them hide nothing."""
    kind = attribute.values.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        raise SchemaError(
            f"{attribute.name!r} is continuous ({kind}), so its values hardly repeat; divide it "
            f"into classes: bins = 50 under [attributes.{attribute.name}], bins={{...}} in Schema",
            column=attribute.name,
        )


def _leader(bound: Bound) -> tuple[str, int]:
    """The sensitive attribute that asks for the largest groups, and the l to build them with."""
    table = bound.table
    seen = {
        need.attribute: whole.whole for need, whole in zip(bound.needs, bound.everyone, strict=True)
    }
    leader, most = table.schema.sensitive[0], 1
    for need, rule in zip(bound.needs, bound.rules(), strict=True):
        if rule is not None and rule.least > most:
            leader, most = need.attribute or leader, rule.least
    if leader not in seen:  # nothing but a size is asked for
        seen[leader] = count_codes(table.codes[leader], table.attributes[leader].size)
    return leader, max(1, min(most, bound.n_rows // int(seen[leader].max())))


def _is_met(need: Requirement, leader: str, l: int) -> bool:
    return isinstance(need.model, LDiversity) and need.attribute == leader and need.model.l <= l
