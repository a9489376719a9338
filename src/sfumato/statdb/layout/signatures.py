"""The first version: which signatures there are, and how many groups have each.

Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, section 4: any m-unique partition may come first;
it fixes the signatures, and with them the bucketization (Definition 11). Two ways to find one:

"anatomize"   the groups that Anatomize makes, as they come (the paper takes an algorithm like it)
"signatures"  signatures with the largest multiplicity (beyond the paper): while a value is left,
              the m most frequent values become a signature of

                  x = min(count of the m-th value, floor(N/m) - count of the (m+1)-th)

              groups, N being the rows that are left. After it no value has more than 1/m of the
              rest, so the rest is as feasible as the whole. x can be 0 only when fewer than m * m
              rows are left; these are Anatomize's.

Either way at most m - 1 rows remain, of different values (Anatomy, Property 1); each joins a group
without its value, which then has a signature of its own. There is such a group: there are
floor(n/m) of them, at least as many as the value has rows, and one of these rows is in none.

How long intervals get depends on the buckets in two ways (600,000 salaries in 50 classes, m = 10,
whole buckets; benchmarks/statdb.py). Number: Anatomize breaks ties at random, so hardly two groups
are alike, 59,010 buckets, length 4,817; with ties broken by a fixed but mixed order of values about
350 buckets and 950; signatures make 21 buckets and 816. Likeness: with ties broken by the order of
salaries, neighbouring classes share a signature, and 350 buckets give 415. Such a signature tells
more about a person, though its m values keep the promise; so nothing here seeks it.

Counts of values are all that is looked at, in about (signatures) m log(values) steps; which rows of
a value go where is decided later, at random. Ties between values are broken at random.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sfumato.algorithms.anatomize.dealing import fill_slots
from sfumato.core._kernels import number_rows, rows_by_group
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.moments import python_values
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.statdb.layout.signature_kernel import take_largest

Plan: TypeAlias = Literal["signatures", "anatomize"]
Signature: TypeAlias = tuple[int, ...]
MODEL = "m-uniqueness"


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """Signature b has the codes ``values[starts[b]:starts[b + 1]]``, ascending, and so many groups.

    The largest bucket comes first.
    """

    starts: Counts
    values: Codes
    groups: Counts

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, bucket: int) -> Signature:
        return tuple(self.values[self.starts[bucket] : self.starts[bucket + 1]].tolist())


def require_m(m: int) -> None:
    """Raise unless m hides something."""
    if type(m) is not int or m < 2:
        raise ParameterError(
            f"m counts the values among which a row hides: a whole number from 2, not {m!r}",
            parameter="m",
        )


def require_m_unique(sensitive: Attribute, counts: Counts, m: int) -> None:
    """Raise unless some partition is m-unique: no value may have more than 1/m of the rows."""
    n, most = int(counts.sum()), int(counts.max())
    if most * m <= n:
        return
    (value,) = python_values(sensitive.decode(np.array([counts.argmax()])))
    largest = n // most
    shown = "a missing value" if value is None else repr(value)
    advice = (
        f"the largest feasible m is {largest}"
        if largest >= 2
        else "no m hides a value that more than half of the rows have"
    )
    raise Infeasible(
        f"m = {m} is out of reach on {sensitive.name!r}: {shown} is the value of {most:,} of "
        f"{n:,} rows ({most / n:.1%}), and every group has it at most once in m rows; {advice}",
        model=MODEL,
        value=value,
        largest=largest,
    )


def plan(counts: Counts, m: int, first: Plan, randomness: Randomness) -> Signatures:
    """Signatures for values that occur so often; feasible, see ``require_m_unique``."""
    left = counts.astype(np.int64)
    found: Counter[Signature] = Counter()
    if first == "signatures":
        _take_largest(left, m, found, randomness)
    _take_groups(left, m, found, randomness)
    _place_residue(left, found, randomness)
    return as_arrays(found)


def as_arrays(found: Counter[Signature]) -> Signatures:
    """Signatures with their numbers of groups, largest first."""
    buckets = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    sizes = [len(signature) for signature, _ in buckets]
    return Signatures(
        np.append(0, np.cumsum(sizes)).astype(np.int64),
        np.array([value for signature, _ in buckets for value in signature], np.int32),
        np.array([groups for _, groups in buckets], np.int64),
    )


def signatures_of(codes: Ints, partition: Partition, m: int) -> list[Signature]:
    """The values of every group of a first version that is given; raise if it is not m-unique."""
    if partition.n_left_out or partition.n_rows != len(codes):
        raise ParameterError("a first version has every row in a group", parameter="partition")
    rows, starts = rows_by_group(partition.groups, partition.n_groups)
    found = [_signature(codes[group]) for group in np.split(rows, starts[1:-1])]
    if any(len(set(values)) < len(values) or len(values) < m for values in found):
        raise ParameterError(
            f"the partition is not {m}-unique: every group needs at least {m} rows, "
            "all of different sensitive values",
            parameter="partition",
        )
    return found


def _take_largest(left: Counts, m: int, found: Counter[Signature], randomness: Randomness) -> None:
    """Signatures of the m most frequent values, as often as the rest can bear."""
    mixed = randomness.permutation(len(left)).astype(np.int64)
    ranks = np.empty(len(left), np.int64)
    ranks[mixed] = np.arange(len(left))
    occurring = mixed[left[mixed] > 0]
    first = occurring[np.argsort(-left[occurring], kind="stable")]
    lines, times = take_largest(left, ranks, first, m)
    for line, x in zip(np.sort(lines, axis=1).tolist(), times.tolist(), strict=True):
        found[tuple(line)] += x


def _take_groups(left: Counts, m: int, found: Counter[Signature], randomness: Randomness) -> None:
    """Groups as Anatomize makes them, of all that is left if it can make one."""
    n_values = len(left)
    if np.count_nonzero(left) < m:
        return
    slots, n_groups = fill_slots(left, m, randomness)
    values, starts = _values_by_group(left, slots, n_groups)
    sizes = np.diff(starts)
    # one line per group, filled up with a code that no value has
    lines = np.full((n_groups, int(sizes.max())), n_values, np.int32)
    lines[np.arange(lines.shape[1]) < sizes[:, None]] = values
    _, first, times = number_rows(lines, np.full(lines.shape[1], n_values + 1, np.int64))
    for group, x in zip(first.tolist(), times.tolist(), strict=True):
        found[tuple(lines[group, : sizes[group]].tolist())] += x
    left[:] = 0


def _values_by_group(sizes: Counts, slots: Codes, n_groups: int) -> tuple[Codes, Counts]:
    """The values of every group, ascending: that is the order of bins, and sorting keeps it."""
    values = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    rows, starts = rows_by_group(slots, n_groups)
    return values[rows], starts


def _place_residue(left: Counts, found: Counter[Signature], randomness: Randomness) -> None:
    """Every row that is left joins a random group that lacks its value."""
    for value in np.flatnonzero(left).tolist():
        lacking = [signature for signature in found if value not in signature]
        ends = np.cumsum([found[signature] for signature in lacking])
        drawn = int(randomness.words(1)[0] % np.uint64(ends[-1]))
        chosen = lacking[int(np.searchsorted(ends, drawn, "right"))]
        found[chosen] -= 1
        found[_signature(np.array([*chosen, value]))] += 1
        found += Counter()  # drops signatures that no group has any more


def _signature(values: Ints) -> Signature:
    return tuple(np.sort(values).tolist())
