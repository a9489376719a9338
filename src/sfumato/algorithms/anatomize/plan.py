"""The groups of the streamed Anatomize before they have rows: which values, in which block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize.stream_kernel import next_groups, tally
from sfumato.algorithms.anatomize.value_counts import ValueCounts
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.randomness import Randomness
from sfumato.engines.spill import Spill

_CHUNK_ROWS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The groups before they have rows: where values have places, and who joins late."""

    l: int
    n_blocks: int
    trees: Counts
    spill: Spill
    late: tuple[tuple[int, int, int], ...]  # block, group of the block, value

    def slots(self, block: int) -> tuple[Codes, Codes]:
        """The values of a block's groups, and the group of each."""
        lists = self.spill.block(block).column("values").combine_chunks()
        values: Codes = lists.flatten().to_numpy()
        groups = np.repeat(np.arange(len(lists), dtype=np.int32), self.l)
        late = [(group, value) for at, group, value in self.late if at == block]
        return (
            np.append(values, np.array([value for _, value in late], np.int32)),
            np.append(groups, np.array([group for group, _ in late], np.int32)),
        )


def make_plan(
    counted: ValueCounts, l: int, n_blocks: int, scratch: Path, randomness: Randomness
) -> Plan:
    """The values of every group. They are made twice: first to see which rows are left."""
    state = randomness.words(1)
    left = counted.sizes.copy()
    n_groups = sum(len(values) // l for values, _ in _groups(left, l, state))
    assert left.max() <= 1, "Property 1 of the paper"
    assert n_groups == counted.rows // l
    residue = np.flatnonzero(left)
    lacking = n_groups - (counted.sizes - left)[residue]
    wait = (randomness.words(len(residue)) % lacking.astype(np.uint64)).astype(np.int64)

    trees = np.zeros((counted.attribute.size, 2 * n_blocks), np.int64)
    filled = np.zeros(n_blocks, np.int64)
    late: list[tuple[int, int, int]] = []
    fields = pa.schema([("values", pa.list_(pa.int32(), l))])
    with Spill(scratch / "groups.arrow", fields, n_blocks) as spill:
        first = 0
        again = _groups(counted.sizes.copy(), l, state, residue, wait)
        for values, joined in again:
            blocks = _random_blocks(len(values) // l, n_blocks, randomness)
            tally(values, l, blocks, trees)
            lists = pa.FixedSizeListArray.from_arrays(pa.array(values), l)
            spill.add(pa.table([lists], schema=fields), blocks)
            for value, group in zip(residue, joined - first, strict=True):
                if 0 <= group < len(blocks):
                    block = int(blocks[group])
                    place = int(filled[block] + np.count_nonzero(blocks[:group] == block))
                    late.append((block, place, int(value)))
                    trees[value, n_blocks + block] += 1
            filled += np.bincount(blocks, minlength=n_blocks)
            first += len(blocks)
    for node in range(n_blocks - 1, 0, -1):
        trees[:, node] = trees[:, 2 * node] + trees[:, 2 * node + 1]
    assert np.array_equal(trees[:, 1], counted.sizes)
    return Plan(l, n_blocks, trees, spill, tuple(late))


def _groups(
    sizes: Counts,
    l: int,
    state: Words,
    residue: Counts | None = None,
    wait: Counts | None = None,
) -> Iterator[tuple[Codes, Counts]]:
    """The values of all groups, in chunks, and which groups the residue has joined so far."""
    residue = np.zeros(0, np.int64) if residue is None else residue
    wait = np.zeros(0, np.int64) if wait is None else wait
    joined = np.full(len(residue), -1, np.int64)
    order = np.argsort(-sizes, kind="stable")
    last = np.full(len(sizes), -1, np.int64)
    state = state.copy()
    first = 0
    while True:
        values = np.empty(max(1, _CHUNK_ROWS // l) * l, np.int32)
        made = next_groups(sizes, order, last, state, residue, wait, joined, first, l, values)
        if not made:
            return
        yield values[: made * l], joined
        first += made


def _random_blocks(n: int, n_blocks: int, randomness: Randomness) -> Codes:
    # the number of blocks is a power of two, so every block is equally likely
    return (randomness.words(n) & np.uint64(n_blocks - 1)).astype(np.int32)
