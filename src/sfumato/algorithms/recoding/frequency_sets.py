"""Frequency sets: the groups that a recoding forms, with all that models may see of them.

LeFevre, DeWitt, Ramakrishnan: "Incognito: efficient full-domain k-anonymity", SIGMOD 2005: the
frequency set of a generalization is computed from that of a more specific one ("roll-up"), never
from the rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms.recoding.base import Recoding
from sfumato.algorithms.recoding.kernel import classes_of, leaves_too_few, total_penalties
from sfumato.core._kernels import number_rows, rows_by_group
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.compiled import announce
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement

Entry = TypeVar("Entry", np.int32, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class FrequencySet:
    """Group g has ``weights[g]`` rows, and ``codes[g]`` is the vector of one of them.

    ``seen`` holds the histograms of the sensitive attributes that a model asks about.
    """

    codes: Codes
    weights: Counts
    seen: Mapping[str, Histograms]

    @classmethod
    def of(cls, bound: Bound) -> tuple[FrequencySet, Codes]:
        """Groups of rows that are equal on all quasi-identifiers, and the group of every row."""
        table, weights = bound.table, bound.weights
        codes = table.quasi_codes()
        groups, first, sizes = number_rows(codes, table.quasi_sizes())
        alike = Partition(groups, sizes)
        seen = {
            need.attribute: need.histograms(table, alike, weights=weights)
            for need in bound.needs
            if need.attribute is not None
        }
        return cls(codes[first], alike.loads(weights), seen), groups

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self.weights)

    def rolled_up(self, recodings: Sequence[Recoding]) -> FrequencySet:
        """The groups after a coarser recoding."""
        return self.merged(*recoded_groups(self.codes, recodings))

    def merged(self, groups: Codes, first: Codes) -> FrequencySet:
        """Groups taken together: into which each goes, and the first that goes there."""
        weights = self.sizes(groups)
        seen = {name: _merged(found, groups, len(first)) for name, found in self.seen.items()}
        return FrequencySet(self.codes[first], weights, seen)

    def sizes(self, groups: Codes) -> Counts:
        """How many rows groups have that are taken together."""
        return np.bincount(groups, weights=self.weights).astype(np.int64)

    def kept(self, keep: Flags) -> FrequencySet:
        """Some of the groups, as if they were the whole table."""
        seen = {name: _kept(found, keep) for name, found in self.seen.items()}
        return FrequencySet(self.codes[keep], self.weights[keep], seen)

    def passing(self, needs: Sequence[Requirement]) -> Flags:
        """Per group, whether it meets every requirement."""
        verdict = np.ones(len(self), np.bool_)
        for need in needs:
            sizes_only = need.attribute is None
            verdict &= need.model.passes(
                Histograms.of_sizes(self.weights) if sizes_only else self.seen[str(need.attribute)]
            )
        return verdict


def compile_first() -> None:
    """Look at one vector, so that the compiler's time is nobody's search time."""
    announce(classes_of)
    one, flags = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    codes, starts, sizes = np.zeros((1, 1), np.int32), np.zeros(1, np.int64), np.ones(1, np.int64)
    number_rows(classes_of(codes, starts, starts, one), sizes)
    rows_by_group(one, 1)
    total_penalties(codes, starts, np.zeros(1))
    leaves_too_few(one, sizes, one, sizes, flags, 1)


def recoded_groups(codes: Codes, recodings: Sequence[Recoding]) -> tuple[Codes, Codes]:
    """The group of every vector once it is recoded, and the first vector of every group."""
    telling = [(j, each) for j, each in enumerate(recodings) if each.n_classes > 1]
    if not telling:
        return np.zeros(len(codes), np.int32), np.zeros(1, np.int32)
    columns = np.array([j for j, _ in telling], np.int64)
    sizes = np.array([each.n_classes for _, each in telling], np.int64)
    starts, table = laid_out([each.classes for _, each in telling])
    groups, first, _ = number_rows(classes_of(codes, columns, starts, table), sizes)
    return groups, first


def laid_out(parts: Sequence[NDArray[Entry]]) -> tuple[Counts, NDArray[Entry]]:
    """Arrays one after another, and where each begins."""
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    return starts, np.concatenate(parts)


def _merged(found: Histograms, into: Codes, n_groups: int) -> Histograms:
    """Histograms of groups that are merged: ``into`` says which joins which."""
    groups = into[found.groups]
    # sorted by value, then stably by group: two counting sorts instead of one by comparison
    by_value, _ = rows_by_group(found.values, len(found.whole))
    by_group, _ = rows_by_group(groups[by_value], n_groups)
    order = by_value[by_group]
    keys = groups[order].astype(np.int64) * len(found.whole) + found.values[order]
    first = np.flatnonzero(np.append(True, np.diff(keys) > 0))
    return _of_keys(found, keys[first], np.add.reduceat(found.counts[order], first), n_groups)


def _kept(found: Histograms, keep: Flags) -> Histograms:
    entries = keep[found.groups]
    number = np.cumsum(keep) - 1
    keys = number[found.groups[entries]] * len(found.whole) + found.values[entries]
    return _of_keys(found, keys, found.counts[entries], int(keep.sum()))


def _of_keys(found: Histograms, keys: Counts, counts: Counts, n_groups: int) -> Histograms:
    if found.attribute is None:
        raise TypeError("group sizes have no keys")
    return Histograms.of_keys(found.attribute, keys, counts, n_groups)
