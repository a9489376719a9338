"""Anatomize: nearly optimal groups for publishing QI values and sensitive values apart.

Xiao, Tao: "Anatomy: simple and effective privacy preservation", VLDB 2006 (Figure 3).

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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize.kernel import create_groups, deal
from sfumato.algorithms.base import Progress
from sfumato.core._kernels import shuffle_groups
from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute
from sfumato.core.compiled import announce
from sfumato.core.histograms import count_codes
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import SchemaError
from sfumato.models.bound import Bound, require_feasible
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Anatomize:
    """Groups of l rows with l different sensitive values.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> release.st.column_names
    ['group_id', 'disease', 'count']
    """

    name: ClassVar[str] = "anatomize"
    form: ClassVar[str] = "anatomized"

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        bound = require_feasible(needs, table)
        leader, l = _leader(bound)
        announce(create_groups)
        groups = anatomize(
            table.codes[leader].astype(np.int32), table.attributes[leader].size, l, randomness
        )
        partition = Partition.of(groups)
        # l rows of l different values are l-diverse; anything else has to be looked at
        others = tuple(need for need in needs if not _is_met(need, leader, l))
        return _merged(Bound.of(others, table), partition, randomness) if others else partition


def anatomize(codes: Codes, n_values: int, l: int, randomness: Randomness) -> Codes:
    """The group of every row, for eligible codes: none more often than 1/l of all rows."""
    sizes = count_codes(codes, n_values)
    starts = np.append(0, np.cumsum(sizes))
    slots, _ = fill_slots(sizes, l, randomness)
    # slots are shuffled instead of rows: each bin's share of them fits the processor's cache
    shuffle_groups(slots, starts, randomness.half_words(len(codes)))
    return deal(codes, starts, slots)


def fill_slots(sizes: Counts, l: int, randomness: Randomness) -> tuple[Codes, int]:
    """For every row of every bin, bin after bin, the group that takes it; and how many groups."""
    starts = np.append(0, np.cumsum(sizes))
    slots = np.full(starts[-1], -1, np.int32)
    left = sizes.astype(np.int64)
    order = np.argsort(-left, kind="stable")
    n_groups = create_groups(left, order, starts, l, randomness.words(1), slots)
    for value in np.flatnonzero(left):
        _place_residue(slots[starts[value] : starts[value + 1]], n_groups, randomness)
    return slots, n_groups


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
    if not table.schema.sensitive:
        raise SchemaError("Anatomize needs a sensitive column; the schema names none")
    leader, most = table.schema.sensitive[0], 1
    for need, rule in zip(bound.needs, bound.rules(), strict=True):
        if rule is not None and rule.least > most:
            leader, most = need.attribute or leader, rule.least
    counts = count_codes(table.codes[leader], table.attributes[leader].size)
    return leader, max(1, min(most, table.n_rows // int(counts.max())))


def _is_met(need: Requirement, leader: str, l: int) -> bool:
    return isinstance(need.model, LDiversity) and need.attribute == leader and need.model.l <= l


def _place_residue(slots: Codes, n_groups: int, randomness: Randomness) -> None:
    """Lines 9 to 12: the rows left in a bin join random groups that lack its value."""
    lacking = np.ones(n_groups, np.bool_)
    lacking[slots[slots >= 0]] = False
    left = np.flatnonzero(slots < 0)
    candidates = np.flatnonzero(lacking)
    chosen = candidates[randomness.permutation(len(candidates))[: len(left)]]
    slots[left] = chosen


def _merged(bound: Bound, partition: Partition, randomness: Randomness) -> Partition:
    """Merge groups that do not pass, two by two, until all pass."""
    while partition.n_groups > 1:
        failing = np.flatnonzero(~bound.passing(partition))
        if not len(failing):
            break
        shuffled = failing[randomness.permutation(len(failing))]
        into = np.arange(partition.n_groups)
        pairs = len(shuffled) // 2
        into[shuffled[pairs : 2 * pairs]] = shuffled[:pairs]
        if len(shuffled) % 2:
            # the odd one out joins any other group
            others = np.delete(np.arange(partition.n_groups), shuffled[-1])
            other = others[int(randomness.words(1)[0] % np.uint64(len(others)))]
            into[shuffled[-1]] = into[other]
        _, renumbered = np.unique(into[partition.groups], return_inverse=True)
        partition = Partition.of(renumbered.astype(np.int32))
    return partition
