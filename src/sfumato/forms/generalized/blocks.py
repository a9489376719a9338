"""Groups with their rows, in the order in which they are published; beyond memory, some at a time.

The order is a secret and nothing else: groups go by a keyed word of what is shown of them, rows of
a group are shuffled by keyed words of their numbers. So it does not depend on how a table was
divided into blocks, nor on the order in which an algorithm found the groups; and groups that look
alike, which are one to everybody outside, meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Words
from sfumato.core.partition import Partition
from sfumato.forms.compact import number_lines
from sfumato.forms.parts import parts_of


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Lines of ``groups``; ``group_of_row`` leads each row to one; ``rows`` hold the rest."""

    groups: pa.Table
    group_of_row: Codes
    rows: pa.Table

    @property
    def parts(self) -> list[int]:
        """The rows of the parts in which the block is written."""
        return parts_of(self.groups, self.group_of_row)

    def shown(self, low: int, length: int) -> pa.Table:
        """Some rows as they are published."""
        lines = self.groups.take(pa.array(self.group_of_row[low : low + length]))
        others = self.rows.slice(low, length)
        return pa.table(
            [*lines.columns, *others.columns], names=[*lines.column_names, *others.column_names]
        )

    def followed_by(self, other: Block) -> Block:
        """Two blocks as one."""
        shifted = other.group_of_row + np.int32(self.groups.num_rows)
        return Block(
            pa.concat_tables([self.groups, other.groups]),
            np.concatenate([self.group_of_row, shifted]),
            pa.concat_tables([self.rows, other.rows]),
        )

    def rest(self, low: int) -> Block:
        """The rows from one on, with the groups that they need."""
        first = int(self.group_of_row[low]) if low < len(self.group_of_row) else 0
        return Block(
            self.groups.slice(first),
            self.group_of_row[low:] - np.int32(first),
            self.rows.slice(low),
        )


def arranged(lines: pa.Table, words: Words, partition: Partition) -> tuple[pa.Table, Partition]:
    """Groups in the order of their words, those whose lines are alike as one."""
    numbers, first = number_lines(lines)
    order = np.argsort(words[first], kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return lines.take(pa.array(first[order])), Partition.of(place[numbers][partition.groups])


def pieces(blocks: Iterable[Block]) -> Iterator[pa.Table]:
    """The published rows of all blocks in the parts in which they are written.

    Where a part ends depends on its own rows alone, so only the last part of a block has to wait
    for the next one.
    """
    held: Block | None = None
    for block in blocks:
        held = block if held is None else held.followed_by(block)
        *whole, _ = held.parts
        low = 0
        for size in whole:
            yield held.shown(low, size)
            low += size
        held = held.rest(low)
    if held is not None:
        yield held.shown(0, len(held.group_of_row))
