"""Anatomize for tables larger than memory, in a constant number of passes.

Xiao, Tao: "Anatomy: simple and effective privacy preservation", VLDB 2006, Figure 3 and Theorem 3.
The groups have the same distribution as those in memory. The order that is published must
not be the order of the file (the paper's external form keeps it), so rows are also shuffled:

    pass 1   count the sensitive values; the counts decide which values each group has (lines 3-8),
             and how many rows are left for lines 9-12. No row is needed for that.
             Every group is put into one of K blocks at random.
    pass 2   every row is drawn one of the places that its value has in the blocks, all equally
             likely, and is written to the shelf of that block.
    pass 3   a block fits into memory: its rows are dealt to its groups at random, and it is done.

Groups in random blocks, blocks one after the other and groups in random order inside a block are
groups in uniformly random order. So nothing is sorted, and time is linear (an external sort would
jump where it starts to spill): the file is read twice, a CSV file once more for its types; rows are
written to disk once in between and read once.

Memory is O(values * K) for the places, one chunk of rows in pass 2, one block in pass 3. K grows
with the table, a block does not. Chance comes from the operating system, 64 secret bits for every
row, never from a generator whose state could be guessed from what is published; only ties between
values (which the release shows anyway) are broken by a small generator.

Between passes 2 and 3 the spill holds all rows with their sensitive values, in Arrow's file
format, in a folder that only its owner may open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize import require_discrete
from sfumato.algorithms.anatomize.kernel import deal
from sfumato.algorithms.anatomize.plan import Plan, make_plan
from sfumato.algorithms.anatomize.stream_kernel import next_groups, spread
from sfumato.algorithms.anatomize.value_counts import (
    WORK_BYTES,
    ValueCounts,
    count_sensitive_values,
)
from sfumato.algorithms.base import Stages, silent
from sfumato.core._kernels import shuffle_groups
from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute
from sfumato.core.compiled import announce
from sfumato.core.histograms import Histograms
from sfumato.core.moments import comparable
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.core.spelling import require_one_spelling
from sfumato.engines.coded import codes_of
from sfumato.engines.memory import memory_or_half
from sfumato.engines.rows import Rows, checksum, open_rows
from sfumato.engines.spill import Spill
from sfumato.errors import ParameterError, PromiseBroken
from sfumato.io.csv_headers import FirstLine
from sfumato.models.base import Model
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement, requirements

# The size of a block and of a chunk; a sixteenth of the memory limit where that is less. It does
# not follow the memory, so that a seed gives the same release wherever there is enough of it.
_BLOCK_BYTES = 64 * 2**20
_SHARE = 16
# The spill lists one record batch per chunk and block, so blocks must not be too many: larger
# tables get larger blocks, and have to have memory for them.
_MOST_BLOCKS = 2048
_CODE = "code"  # the names of a shelf's columns are its own: c0, c1, ..., code


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some groups with all of their rows: what is published of the rows, and their codes."""

    rows: pa.Table
    codes: Codes
    groups: Partition


@dataclass(frozen=True, slots=True, eq=False)
class DividedFile:
    """A file whose groups are decided; ``blocks`` makes them, once, in their published order."""

    rows: int
    n_groups: int
    need: Requirement
    quasi: tuple[Attribute, ...]
    sensitive: Attribute
    fields: pa.Schema
    blocks: Iterator[Block]


def divide_file(
    source: str | Path,
    schema: Schema,
    model: Model,
    scratch: Path,
    randomness: Randomness,
    *,
    missing: str | Collection[str] = (),
    first: FirstLine | None = None,
    memory_limit: int | None = None,
    progress: Stages | None = None,
) -> DividedFile:
    """Divide the rows of a file (or of a pattern's files) into l-diverse groups.

    ``first`` says what the first line of CSV files is, if it is not obvious.
    ``scratch`` is a folder for what does not fit into memory; it is the caller's to remove.
    ``memory_limit`` is in bytes, half of what is available by default.
    """
    need = _require_streamable(schema, model)
    limit = memory_or_half(memory_limit)
    tell = progress or silent
    rows = open_rows(source, schema, (missing,) if isinstance(missing, str) else missing, first)
    (sensitive,) = schema.sensitive
    require_discrete(rows.attribute(sensitive)[0])
    tell("counting values", 0.0)
    counted = count_sensitive_values(rows, sensitive)
    if not counted.attribute.ordered:
        require_one_spelling(sensitive, comparable(counted.attribute.values))
    l = _require_feasible(need, counted)
    announce(next_groups)
    randomness.bind((str(need), dict(schema.roles)), lambda: checksum(source))
    block_bytes, n_blocks = _block_sizes(counted, limit)
    return DividedFile(
        rows=counted.rows,
        n_groups=counted.rows // l,
        need=need,
        quasi=tuple(rows.attribute(name)[0] for name in schema.quasi),
        sensitive=counted.attribute,
        fields=rows.fields([*schema.quasi, *schema.insensitive]),
        blocks=_blocks(rows, counted, l, n_blocks, block_bytes, scratch, randomness, tell),
    )


def _require_streamable(schema: Schema, model: Model) -> Requirement:
    if len(schema.sensitive) > 1:
        raise ParameterError(
            f"streaming serves one sensitive column, not {', '.join(schema.sensitive)}; "
            "use the in-memory engine",
            parameter="engine",
        )
    needs = requirements(model, schema)
    if len(needs) != 1 or not isinstance(needs[0].model, LDiversity):
        raise ParameterError(
            f"streaming keeps l-diversity (frequency form), not {model}; use the in-memory engine",
            parameter="model",
        )
    return needs[0]


def _require_feasible(need: Requirement, counted: ValueCounts) -> int:
    """Raise unless the table is eligible; the size of the groups."""
    assert isinstance(need.model, LDiversity)
    present = np.flatnonzero(counted.sizes)
    whole = Histograms.of_keys(counted.attribute, present, counted.sizes[present], 1)
    if not need.model.passes(whole)[0]:
        raise need.model.refusal(whole)
    l = need.model.rule(whole).least
    if l > counted.rows // int(counted.sizes.max()):
        raise ParameterError(
            f"l = {need.model.l:g} is feasible, but only with groups of uneven size, which "
            "streaming does not make; use the in-memory engine, or a smaller whole number",
            parameter="l",
        )
    return l


def _block_sizes(counted: ValueCounts, limit: int) -> tuple[int, int]:
    """Bytes of a block, and how many there are: a power of two, to be chosen by random bits."""
    size = counted.rows * counted.row_bytes
    block_bytes = min(max(_BLOCK_BYTES, math.ceil(size / _MOST_BLOCKS)), max(1, limit // _SHARE))
    n_blocks = 1 << max(0, math.ceil(math.log2(size / block_bytes)))
    places = 16 * counted.attribute.size * n_blocks
    if n_blocks > _MOST_BLOCKS or places > max(limit // 2, _BLOCK_BYTES):
        raise ParameterError(
            f"{limit:,} bytes of memory are too few for {counted.rows:,} rows with "
            f"{counted.attribute.size:,} sensitive values; allow more with memory_limit",
            parameter="memory_limit",
        )
    return block_bytes, n_blocks


def _blocks(
    rows: Rows,
    counted: ValueCounts,
    l: int,
    n_blocks: int,
    block_bytes: int,
    scratch: Path,
    randomness: Randomness,
    tell: Stages,
) -> Iterator[Block]:
    """Passes 2 and 3."""
    plan = make_plan(counted, l, n_blocks, scratch, randomness)
    spill = _shelve(rows, counted, plan, block_bytes, scratch, randomness, tell)
    with closing(plan.spill), closing(spill):
        for block in range(n_blocks):
            tell("writing", block / n_blocks)
            made = _deal_block(plan, spill, block, rows, randomness)
            if made is not None:
                yield made
    tell("writing", 1.0)


def _shelve(
    rows: Rows,
    counted: ValueCounts,
    plan: Plan,
    chunk_bytes: int,
    scratch: Path,
    randomness: Randomness,
    tell: Stages,
) -> Spill:
    """Pass 2: every row to the shelf of a block that has a place for its value."""
    published = [*rows.schema.quasi, *rows.schema.insensitive]
    (sensitive,) = rows.schema.sensitive
    fields = pa.schema(
        [(f"c{i}", rows.types[name]) for i, name in enumerate(published)] + [(_CODE, pa.int32())]
    )
    done = 0
    with Spill(scratch / "rows.arrow", fields, plan.n_blocks) as spill:
        for chunk in _chunks(rows.scan([*published, sensitive]), chunk_bytes):
            tell("shuffling", done / counted.rows)
            codes = codes_of(counted.attribute, chunk.column(sensitive))
            _require_places(rows, codes, plan.trees)
            blocks = spread(codes, randomness.words(len(codes)), plan.trees)
            columns = [chunk.column(name) for name in published]
            spill.add(pa.table([*columns, pa.array(codes)], schema=fields), blocks)
            done += len(codes)
    if done != counted.rows:
        raise rows.changed()
    return spill


def _chunks(tables: Iterator[pa.Table], chunk_bytes: int) -> Iterator[pa.Table]:
    """Join small tables into ones of about so many bytes, what they take in work included."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.nbytes + table.num_rows * WORK_BYTES
        if size >= chunk_bytes:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _require_places(rows: Rows, codes: Codes, trees: Counts) -> None:
    known = codes.min(initial=0) >= 0
    if not known or np.any(np.bincount(codes, minlength=len(trees)) > trees[:, 1]):
        raise rows.changed()


def _deal_block(
    plan: Plan, spill: Spill, block: int, rows: Rows, randomness: Randomness
) -> Block | None:
    """Pass 3: deal the rows of a block to its groups at random."""
    values, groups = plan.slots(block)
    if not len(values):
        return None
    table = spill.block(block)
    codes: Codes = table.column(_CODE).to_numpy()
    order = np.argsort(values, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(values, minlength=len(plan.trees))))
    slots = groups[order]
    shuffle_groups(slots, starts, randomness.half_words(len(slots)))
    if not np.array_equal(np.diff(starts), np.bincount(codes, minlength=len(plan.trees))):
        raise PromiseBroken(
            "a block has not the rows that were planned; nothing is published (this is a bug)",
            failures=[block],
        )
    published: Sequence[str] = [*rows.schema.quasi, *rows.schema.insensitive]
    return Block(
        rows=pa.table(table.columns[:-1], schema=rows.fields(published)),
        codes=codes,
        groups=Partition.of(deal(codes, starts, slots)),
    )
