"""How often each value occurs in each group: all that a privacy model may see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sfumato.core._kernels import codes_by_group, count_values
from sfumato.core.arrays import Codes, Counts, Floats, Ints
from sfumato.core.attribute import Attribute

BLOCK = 2**22  # rows whose groups are counted at once
_PART = 2**16  # codes


def count_codes(codes: Ints, size: int, weights: Counts | None = None) -> Counts:
    """How often each code occurs; some at a time, as NumPy widens what it counts."""
    counts = np.zeros(size, np.int64)
    part = max(_PART, size)
    for low in range(0, len(codes), part):
        some = None if weights is None else weights[low : low + part]
        counts += np.bincount(codes[low : low + part], some, size).astype(np.int64, copy=False)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """Counts of one attribute's values, group after group, zeros left out.

    Entry i says that value ``values[i]`` occurs ``counts[i]`` times in its group; the entries of
    group g are ``starts[g]`` to ``starts[g + 1]``. ``whole`` counts each value in the whole table.
    Without an attribute there is one value, and counts are group sizes.

    >>> import numpy as np
    >>> groups = sf.Histograms.of_sizes(np.array([3, 1, 2]))
    >>> sf.KAnonymity(2).passes(groups).tolist()
    [True, False, True]
    """

    attribute: Attribute | None
    starts: Counts
    values: Codes
    counts: Counts
    whole: Counts

    @classmethod
    def of_sizes(cls, sizes: Counts) -> Histograms:
        """Groups with known sizes and nothing else."""
        return cls(
            attribute=None,
            starts=np.arange(len(sizes) + 1, dtype=np.int64),
            values=np.zeros(len(sizes), np.int32),
            counts=sizes,
            whole=np.array([sizes.sum()], np.int64),
        )

    @classmethod
    def of_groups(
        cls,
        attribute: Attribute,
        codes: Ints,
        groups: Codes,
        n_groups: int,
        weights: Counts | None = None,
    ) -> Histograms:
        """Count the codes of an attribute inside each group; ``weights`` say for how many rows."""
        if weights is not None:
            keys, entry = np.unique(groups * np.int64(attribute.size) + codes, return_inverse=True)
            return cls.of_keys(attribute, keys, np.bincount(entry, weights), n_groups)
        if n_groups == 1:
            return cls.of_everyone(attribute, codes)
        sizes = count_codes(groups, n_groups)
        if _ascends(groups):
            return cls.of_runs(attribute, codes, sizes)
        starts = np.append(0, np.cumsum(sizes))
        ordered = codes_by_group(codes.astype(np.int32), groups, starts)
        return cls.of_runs(attribute, ordered, sizes)

    @classmethod
    def of_runs(cls, attribute: Attribute, codes: Ints, sizes: Counts) -> Histograms:
        """Count the codes of groups that follow each other and have so many rows each.

        Some groups at a time: what counting takes is much more than the rows themselves.
        """
        starts = np.append(0, np.cumsum(sizes))
        blocks = [
            _counted(attribute, codes[starts[low] : starts[high]], starts[low : high + 1])
            for low, high in _whole_groups(starts)
        ]
        ends = np.cumsum([0, *(len(one.values) for one in blocks)])
        return cls(
            attribute,
            np.append(
                _joined([one.first[:-1] + end for one, end in zip(blocks, ends[:-1], strict=True)]),
                ends[-1],
            ),
            _joined([one.values for one in blocks]),
            _joined([one.counts for one in blocks]),
            np.sum([one.whole for one in blocks], axis=0),
        )

    @classmethod
    def of_everyone(cls, attribute: Attribute, codes: Ints) -> Histograms:
        """Count the codes of an attribute in one group of all rows."""
        return cls.of_whole(attribute, count_codes(codes, attribute.size))

    @classmethod
    def of_matrix(cls, attribute: Attribute, matrix: Counts, whole: Counts) -> Histograms:
        """Groups given as a matrix of counts, a line per group and a column per value."""
        found = np.flatnonzero(matrix)
        built = cls.of_keys(attribute, found, matrix.ravel()[found], len(matrix))
        return cls(attribute, built.starts, built.values, built.counts, whole)

    @classmethod
    def of_keys(
        cls, attribute: Attribute, keys: Counts, counts: Counts, n_groups: int
    ) -> Histograms:
        """Counts of ascending keys: group * (size of the attribute) + code."""
        groups, values = np.divmod(keys, attribute.size)
        starts = np.zeros(n_groups + 1, np.int64)
        np.cumsum(np.bincount(groups, minlength=n_groups), out=starts[1:])
        whole = np.bincount(values, weights=counts, minlength=attribute.size).astype(np.int64)
        return cls(attribute, starts, values.astype(np.int32), counts.astype(np.int64), whole)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Counts:
        """Rows in each group."""
        return np.add.reduceat(self.counts, self.starts[:-1])

    @property
    def distinct(self) -> Counts:
        """Different values in each group."""
        return np.diff(self.starts)

    @property
    def largest(self) -> Counts:
        """Count of the most frequent value in each group."""
        return np.maximum.reduceat(self.counts, self.starts[:-1])

    @property
    def groups(self) -> Codes:
        """The group of every entry."""
        return np.repeat(np.arange(self.n_groups, dtype=np.int32), self.distinct)

    @property
    def shares(self) -> Floats:
        """Every entry's share of its group."""
        return self.counts / self.sizes[self.groups]

    def total(self, entries: Floats) -> Floats:
        """Sum of one number per entry over each group."""
        return np.add.reduceat(entries, self.starts[:-1])

    def one_group(self, counts: Counts) -> Histograms:
        """One group in which each value occurs so often, of the same table."""
        return replace(self.of_whole(self.attribute, counts), whole=self.whole)

    def merged(self) -> Histograms:
        """The whole table as one group."""
        return self.of_whole(self.attribute, self.whole)

    @classmethod
    def of_whole(cls, attribute: Attribute | None, whole: Counts) -> Histograms:
        """One group of all rows, given how often each value occurs."""
        present = np.flatnonzero(whole)
        starts = np.array([0, len(present)], np.int64)
        return cls(attribute, starts, present.astype(np.int32), whole[present], whole)

    def __repr__(self) -> str:
        """Sizes only: counts of a small group are about persons."""
        of = "sizes" if self.attribute is None else repr(self.attribute.name)
        return f"Histograms({of}, {len(self.starts) - 1:,} groups, {len(self.whole):,} values)"


class _Block(NamedTuple):
    """Where the entries of each group start, the values, how often each occurs, and in all."""

    first: Counts
    values: Codes
    counts: Counts
    whole: Counts


def _counted(attribute: Attribute, codes: Ints, starts: Counts) -> _Block:
    ordered = codes.astype(np.int32, copy=False)
    first, values, counts, whole = count_values(ordered, starts - starts[0], attribute.size)
    if len(codes) < BLOCK:
        return _Block(first, values[: first[-1]], counts[: first[-1]], whole)
    # copies: else as many places as there are rows stay in memory behind a few entries
    return _Block(first, values[: first[-1]].copy(), counts[: first[-1]].copy(), whole)


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _ascends(groups: Codes) -> bool:
    """Whether rows stand group by group, where it pays to know."""
    if len(groups) <= BLOCK:
        return False
    for low in range(0, len(groups) - 1, BLOCK):
        some = groups[low : low + BLOCK + 1]
        if (some[1:] < some[:-1]).any():
            return False
    return True


def _whole_groups(starts: Counts) -> Iterator[tuple[int, int]]:
    """Runs of groups with about as many rows as are counted at once."""
    low, n_groups = 0, len(starts) - 1
    while low < n_groups or not low:
        high = int(np.searchsorted(starts, starts[low] + BLOCK, side="right")) - 1
        high = min(max(high, low + 1), n_groups)
        yield low, high
        low = max(high, 1)
