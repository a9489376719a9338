"""The paper's Anatomize beyond memory: random blocks of rows, each divided by itself.

A block is a small table like the whole one: of every sensitive value it has its share of the rows,
rounded down or up, so that no value has more than 1/l of a block, as none has of the table. Which
rows of a value are in which block is chance: a row has a secret word, and the words of a value are
cut at the block's share of them.

    1. shares   of every value in every block (``share_out``), from the counts of the whole table
    2. words    are counted, by value and by their first bits; those around a cut are then looked
                at themselves, so that a cut lies exactly where it has to (``find_cuts``)
    3. deal     a row goes to the block between whose cuts its word lies; a block is divided as a
                table is (dealing.py)

Groups have every property of the paper's, in each block; the reconstruction error exceeds its lower
bound by a factor below 1 + blocks / n. That there are blocks is stated, since groups of one block
cannot hold rows of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize.dealing import anatomize
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.boxes import Boxes
from sfumato.core.compiled import kernel
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.coded import row_numbers, sensitive_codes
from sfumato.engines.room import Room
from sfumato.errors import OutOfMemory

BLOCKS = "blocks"  # the name under which their number is stated
_CUTS, _DEALING = "cuts", "dealing"  # the purposes of keys
_ROWS_PER_BIN = 64
# what planning takes at its peak: for a value in a block, for a word around a cut, and for a bin;
# a cut is kept
_CELL_BYTES, _AROUND_BYTES, _BIN_BYTES, _CUT_BYTES = 48, 48, 32, 8
_HIGHEST = np.uint64(2**64 - 1)
_EXACTLY = 100  # one part in so many of the memory is close enough to the least that does


@dataclass(frozen=True, slots=True, eq=False)
class BlockPlan:
    """Blocks of rows; a row is behind those of its value's ``cuts`` that are not above its word."""

    l: int
    leader: str
    column: int
    loads: Counts
    cuts: Words
    words: Key
    dealing: tuple[Key, ...]
    boxes: Boxes | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stated(self) -> Mapping[str, Any]:
        """How many blocks there are, unless the table is one, as in memory."""
        return {BLOCKS: len(self.loads)} if len(self.loads) > 1 else {}

    def of_rows(self, part: pa.Table) -> Codes:
        """The block of every row of a coded part."""
        return _blocks(*_of_part(part, self.column, self.words), self.cuts)

    def divide(self, number: int, table: Microdata, rows: Counts) -> Partition:  # noqa: ARG002
        """Divide the rows of a block."""
        return deal(table, self.leader, self.l, self.dealing[number])


def deal(table: Microdata, leader: str, l: int, key: Key) -> Partition:
    """Figure 3 on a table that is eligible, with the chance of a key."""
    codes = table.codes[leader].astype(np.int32)
    return Partition.of(anatomize(codes, table.attributes[leader].size, l, Randomness.of_key(key)))


def dealing_key(randomness: Randomness, block: int) -> Key:
    """Whoever deals a block, it is dealt alike."""
    return randomness.key(f"{_DEALING} {block}")


def plan_blocks(
    engine: Engine, counts: Counts, leader: str, column: int, l: int, room: Room,
    randomness: Randomness,
) -> BlockPlan:  # fmt: skip
    """Blocks that fit, of a table in which the values of ``leader`` have these counts."""
    _require_room(counts, l, room)
    shares = share_out(counts, l, _number(counts, l, room))
    n_blocks = shares.shape[1]
    words = randomness.key(_CUTS)
    return BlockPlan(
        l, leader, column, shares.sum(axis=0), find_cuts(engine, shares, column, words), words,
        tuple(dealing_key(randomness, block) for block in range(n_blocks)),
    )  # fmt: skip


def _number(counts: Counts, l: int, room: Room) -> int:
    """How many blocks there are."""
    # a block may have some rows more than its share, so that no value is too frequent in it
    return -(-int(counts.sum()) // max(l, room.rows - 2 * l))


def share_out(counts: Counts, l: int, n_blocks: int) -> Counts:
    """How many rows of every value each block has: a line per value.

    No value has more than 1/l of a block, if none has of the table. The argument is that of
    frontier/__init__.py, a block being a large group: with N rows left for it and those behind it,
    a block of s (a multiple of l) takes of a value that has c rows left c s/N of them, rounded down
    or up, and up where more than (N - s) // l would be left otherwise.
    """
    left, n_rows = counts.astype(np.int64), int(counts.sum())
    size = -(-n_rows // (n_blocks * l)) * l
    shares = []
    while n_rows - size >= l:
        share, over = np.divmod(left * size, n_rows)
        up = left - share > (n_rows - size) // l
        missing = size - int(share.sum()) - int(up.sum())
        if missing > 0:  # those that lose most by rounding down are rounded up as well
            losing = np.where(up, -1, over)
            up[np.argsort(-losing, kind="stable")[:missing]] = True
        share += up
        shares.append(share)
        left, n_rows = left - share, n_rows - int(share.sum())
    return np.stack([*shares, left], axis=1)


def find_cuts(engine: Engine, shares: Counts, column: int, key: Key) -> Words:
    """The words at which blocks begin, but for the first one: a line per value.

    As many words of the value lie below a cut as the blocks before it have places.
    """
    places = np.cumsum(shares, axis=1)
    counts, places = places[:, -1], places[:, :-1]
    if not places.shape[1]:
        return np.zeros((len(counts), 0), np.uint64)
    bins = Bins.of(counts)
    ends = np.cumsum(engine.reduce(count_words, np.add, bins, column, key))
    below = np.append(0, ends)
    # words by value and size: the cut's own, or the value's last where nothing is behind the cut
    wanted = below[bins.starts][:, None] + np.minimum(places, counts[:, None] - 1)
    at = np.searchsorted(ends, wanted, side="right")
    numbers, words = engine.reduce(words_in, _joined, bins, np.unique(at), column, key)
    order = np.lexsort((words, numbers))
    found = words[order][np.searchsorted(numbers[order], at) + wanted - below[at]]
    return np.where(places < counts[:, None], found, _HIGHEST)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Words of value v are counted in bins from ``starts[v]`` on, by their first ``bits[v]``."""

    starts: Counts
    bits: Counts
    total: int

    @classmethod
    def of(cls, counts: Counts) -> Bins:
        """Bins of some words each, for values that have so many."""
        bits = np.log2(np.maximum(1, counts // _ROWS_PER_BIN)).astype(np.int64)
        ends = np.cumsum(1 << bits)
        return cls(ends - (1 << bits), bits, int(ends[-1]))

    def numbers(self, values: Codes, words: Words) -> Counts:
        """The bin of every word."""
        bits = self.bits[values].astype(np.uint64)
        # a shift by all 64 bits is none at all
        places = np.where(bits > 0, words >> (np.uint64(64) - np.maximum(bits, 1)), 0)
        return self.starts[values] + places.astype(np.int64)


def count_words(part: pa.Table, bins: Bins, column: int, key: Key) -> Counts:
    """The task of the first pass: how many words are in every bin."""
    return np.bincount(bins.numbers(*_of_part(part, column, key)), minlength=bins.total)


def words_in(
    part: pa.Table, bins: Bins, wanted: Counts, column: int, key: Key
) -> tuple[Counts, Words]:
    """The task of the second pass: the words in some bins, with the bin of each."""
    values, words = _of_part(part, column, key)
    numbers = bins.numbers(values, words)
    among = np.isin(numbers, wanted)
    return numbers[among], words[among]


def _joined(some: tuple[Counts, Words], more: tuple[Counts, Words]) -> tuple[Counts, Words]:
    return np.concatenate([some[0], more[0]]), np.concatenate([some[1], more[1]])


def _of_part(part: pa.Table, column: int, key: Key) -> tuple[Codes, Words]:
    """The sensitive value of every row of a coded part, and its word."""
    return sensitive_codes(part)[:, column], key.words(row_numbers(part))


@kernel
def _blocks(values: Codes, words: Words, cuts: Words) -> Codes:
    """How many cuts of its value are not above the word of every row."""
    blocks = np.empty(values.size, np.int32)
    for i in range(values.size):
        blocks[i] = np.searchsorted(cuts[values[i]], words[i], side="right")
    return blocks


def needed_bytes(counts: Counts, n_blocks: int) -> int:
    """What finding the cuts of so many blocks takes at its peak."""
    if n_blocks == 1:
        return 0
    bins = Bins.of(counts)
    # of a value that has few words all are around its one bin, however many blocks there are
    around = np.minimum(n_blocks - 1, 1 << bins.bits) * (counts / (1 << bins.bits))
    return (
        _CELL_BYTES * len(counts) * n_blocks
        + _AROUND_BYTES * int(around.sum())
        + _BIN_BYTES * bins.total
    )


def _fits(counts: Counts, l: int, room: Room) -> bool:
    n_blocks = _number(counts, l, room)
    kept = _CUT_BYTES * len(counts) * (n_blocks - 1)
    return needed_bytes(counts, n_blocks) <= room.free and kept <= room.bytes


def _require_room(counts: Counts, l: int, room: Room) -> None:
    if _fits(counts, l, room):
        return
    low, high = room.memory, 2 * room.memory
    while not _fits(counts, l, room.with_memory(high)):  # with more memory there are fewer blocks
        low, high = high, 2 * high
    while high - low > room.memory // _EXACTLY:
        middle = (low + high) // 2
        fits = _fits(counts, l, room.with_memory(middle))
        low, high = (low, middle) if fits else (middle, high)
    raise OutOfMemory(
        f"{room.memory:,} bytes of memory are too few to deal {len(counts):,} sensitive values "
        f"to {_number(counts, l, room):,} blocks; allow {high:,}",
        doing="publishing",
    )
