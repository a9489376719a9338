"""The box of every group: what its rows have in common on each quasi-identifier.

An ordered attribute gives a range, an unordered one the set of values that occur, a taxonomy the
lowest node above them, and suppression the one value or nothing. Each says how much it tells less
than the exact value would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.core._kernels import group_ranges
from sfumato.core.arrays import Codes, Counts, Flags, Floats, Ints, Words
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.keyed import Key
from sfumato.core.partition import Partition
from sfumato.core.taxonomy import Taxonomy


class Side(Protocol):
    """The boxes' extent along one attribute."""

    @property
    def attribute(self) -> Attribute:
        """The attribute this side lies along."""
        ...

    def penalties(self) -> Floats:
        """Per group, the normalized certainty penalty: 0 for one value, 1 for all of them."""
        ...

    @property
    def domain_size(self) -> float:
        """How many values there are."""
        ...

    def n_values(self) -> Floats:
        """Per group, how many of these values the side covers."""
        ...

    def numbers(self, key: Key) -> Counts:
        """Per group, a line of whole numbers that tells its side from others."""
        ...

    def covers(self, codes: Ints, groups: Codes) -> Flags:
        """Whether each row's code lies in the side of its group."""
        ...

    def taken(self, groups: Ints) -> Side:
        """The sides of these groups, in this order."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Smallest and largest value; ``missing`` marks groups in which it is sometimes missing.

    ``low`` and ``high`` are -1 where a group has missing values only.
    """

    attribute: Attribute
    low: Codes
    high: Codes
    missing: Flags

    @classmethod
    def around(cls, attribute: Attribute, codes: Ints, partition: Partition) -> Ranges:
        """The tightest ranges around the rows of each group."""
        low, high, missing = group_ranges(
            codes.astype(np.int32), partition.groups, partition.n_groups, attribute.missing_code
        )
        return cls(attribute, low, high, missing)

    def penalties(self) -> Floats:
        """Width over domain width; a value that may also be missing counts as unknown."""
        at = self.attribute.coordinates
        widths = np.where(self.low < 0, 0.0, at[self.high] - at[self.low])
        return np.where(self.missing & (self.low >= 0), 1.0, widths)

    @property
    def domain_size(self) -> float:
        """All from the first to the last, and the missing one."""
        at = self.attribute.places
        return float(at[-1] - at[0] + 1 if len(at) else 0) + self.attribute.has_missing

    def n_values(self) -> Floats:
        """Domain values between the ends, and the missing one where it may be."""
        at = np.append(self.attribute.places, 0.0)  # never empty: -1 must point somewhere
        inside = np.where(self.low < 0, 0.0, at[self.high] - at[self.low] + 1)
        return inside + self.missing

    def numbers(self, key: Key) -> Counts:  # noqa: ARG002
        """Both ends, and whether the value may be missing."""
        return np.stack([self.low, self.high, self.missing], axis=1, dtype=np.int64)

    def covers(self, codes: Ints, groups: Codes) -> Flags:
        """Between the ends, or missing where that may be."""
        lacks = codes == self.attribute.missing_code
        inside = (self.low[groups] <= codes) & (codes <= self.high[groups])
        return np.where(lacks, self.missing[groups], inside)

    def taken(self, groups: Ints) -> Ranges:
        """The ranges of these groups."""
        return Ranges(self.attribute, self.low[groups], self.high[groups], self.missing[groups])

    def extents(self) -> Floats:
        """Widths in the attribute's own unit (ranks for a categorical order)."""
        at = np.append(self.attribute.positions, 0.0)  # never empty: -1 must point somewhere
        return np.where(self.low < 0, 0.0, at[self.high] - at[self.low])

    def __repr__(self) -> str:
        return f"Ranges({self.attribute.name!r}, {len(self.low):,} groups)"


@dataclass(frozen=True, slots=True, eq=False)
class ValueSets:
    """The values that occur: group g has ``codes[starts[g]:starts[g + 1]]``, ascending."""

    attribute: Attribute
    starts: Counts
    codes: Codes

    @classmethod
    def around(cls, attribute: Attribute, codes: Ints, partition: Partition) -> ValueSets:
        """The sets of values found in each group."""
        found = Histograms.of_groups(attribute, codes, partition.groups, partition.n_groups)
        return cls(attribute, found.starts, found.values)

    def penalties(self) -> Floats:
        """(values - 1) / (domain - 1)."""
        return (np.diff(self.starts) - 1) / max(1, self.attribute.size - 1)

    @property
    def domain_size(self) -> float:
        """All values."""
        return float(self.attribute.size)

    def n_values(self) -> Floats:
        """Values in the set."""
        return np.diff(self.starts).astype(np.float64)

    def numbers(self, key: Key) -> Counts:
        """A keyed word of each set."""
        return key.list_words(self.codes, self.starts).view(np.int64)[:, None]

    def covers(self, codes: Ints, groups: Codes) -> Flags:
        """In the set."""
        owners = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        keys = owners * self.attribute.size + self.codes
        wanted = groups.astype(np.int64) * self.attribute.size + codes
        return np.isin(wanted, keys)

    def taken(self, groups: Ints) -> ValueSets:
        """The sets of these groups."""
        lengths = np.diff(self.starts)[groups]
        starts = np.append(0, np.cumsum(lengths))
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        codes = self.codes[np.repeat(self.starts[:-1][groups], lengths) + within]
        return ValueSets(self.attribute, starts, codes)

    def __repr__(self) -> str:
        return f"ValueSets({self.attribute.name!r}, {len(self.starts) - 1:,} groups)"


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The lowest taxonomy node above the values; -1 where a group has missing values only."""

    attribute: Attribute
    taxonomy: Taxonomy
    nodes: Codes
    missing: Flags

    @classmethod
    def above(cls, ranges: Ranges) -> Nodes:
        """Climb from ranges of leaves to their lowest common ancestors."""
        taxonomy = ranges.attribute.taxonomy
        if taxonomy is None:
            raise TypeError(f"{ranges.attribute.name} has no taxonomy")
        known = ranges.low >= 0
        nodes = np.full(len(known), -1, np.int32)
        nodes[known] = taxonomy.covering(ranges.low[known], ranges.high[known])
        return cls(ranges.attribute, taxonomy, nodes, ranges.missing)

    def penalties(self) -> Floats:
        """(leaves below - 1) / (all leaves - 1); possibly missing counts as unknown."""
        spread = (self.taxonomy.n_leaves(self.nodes) - 1) / max(1, len(self.taxonomy.leaves) - 1)
        unknown = self.missing & (self.nodes >= 0)
        return np.where(unknown, 1.0, np.where(self.nodes < 0, 0.0, spread))

    @property
    def domain_size(self) -> float:
        """All leaves, and the missing value."""
        return float(len(self.taxonomy.leaves) + self.attribute.has_missing)

    def n_values(self) -> Floats:
        """Leaves below the node, and the missing value where it may be."""
        inside = np.where(self.nodes < 0, 0, self.taxonomy.n_leaves(self.nodes))
        return (inside + self.missing).astype(np.float64)

    def numbers(self, key: Key) -> Counts:  # noqa: ARG002
        """The node, and whether the value may be missing."""
        return np.stack([self.nodes, self.missing], axis=1, dtype=np.int64)

    def covers(self, codes: Ints, groups: Codes) -> Flags:
        """Below the node, or missing where that may be."""
        nodes = self.nodes[groups]
        first, last = self.taxonomy.first_leaf[nodes], self.taxonomy.last_leaf[nodes]
        inside = (nodes >= 0) & (first <= codes) & (codes <= last)
        return np.where(codes == self.attribute.missing_code, self.missing[groups], inside)

    def taken(self, groups: Ints) -> Nodes:
        """The nodes of these groups."""
        return Nodes(self.attribute, self.taxonomy, self.nodes[groups], self.missing[groups])

    def __repr__(self) -> str:
        return f"Nodes({self.attribute.name!r}, {len(self.nodes):,} groups)"


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The one value that all rows of a group have, or -1: suppressed, anything."""

    attribute: Attribute
    codes: Codes

    @classmethod
    def around(cls, attribute: Attribute, codes: Ints, partition: Partition) -> Cells:
        """Values where a group has one only."""
        first = np.zeros(partition.n_groups, np.int32)
        first[partition.groups] = codes
        differs = np.zeros(partition.n_groups, np.bool_)
        differs[partition.groups[codes != first[partition.groups]]] = True
        return cls(attribute, np.where(differs, -1, first).astype(np.int32))

    def penalties(self) -> Floats:
        """A suppressed cell counts 1."""
        return (self.codes < 0).astype(np.float64)

    @property
    def domain_size(self) -> float:
        """All values; where nothing is shown anywhere, nobody knows how many there are."""
        return float(self.attribute.size) or np.inf

    def n_values(self) -> Floats:
        """One, or all."""
        return np.where(self.codes < 0, self.domain_size, 1.0)

    def numbers(self, key: Key) -> Counts:  # noqa: ARG002
        """The value, or none."""
        return self.codes[:, None].astype(np.int64)

    def covers(self, codes: Ints, groups: Codes) -> Flags:
        """The value itself, or anything."""
        shown = self.codes[groups]
        covered: Flags = (shown < 0) | (shown == codes)
        return covered

    def taken(self, groups: Ints) -> Cells:
        """The cells of these groups."""
        return Cells(self.attribute, self.codes[groups])

    def __repr__(self) -> str:
        return f"Cells({self.attribute.name!r}, {len(self.codes):,} groups)"


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """One side per quasi-identifier, in schema order.

    >>> from sfumato.core.boxes import Ranges
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> halves = sf.Partition.of((patients.codes["age"] > 30).astype("int32"))
    >>> sf.Boxes((Ranges.around(patients.attributes["age"], patients.codes["age"], halves),))
    Boxes(Ranges('age', 2 groups))
    """

    sides: tuple[Side, ...]

    def __iter__(self) -> Iterator[Side]:
        """Side after side."""
        return iter(self.sides)

    def words(self, key: Key, *more: Counts) -> Words:
        """A keyed word of each group's box, and of what else is shown of it, a number each."""
        beside = [numbers[:, None] for numbers in more]
        return key.line_words(np.hstack([*(side.numbers(key) for side in self.sides), *beside]))

    def taken(self, groups: Ints) -> Boxes:
        """The boxes of these groups, in this order."""
        return Boxes(tuple(side.taken(groups) for side in self.sides))

    def __repr__(self) -> str:
        return f"Boxes({', '.join(map(repr, self.sides))})"
