"""A release of a table beyond memory, through an engine.

    1. count     the values of every column (one pass over the source), and encode it (another)
    2. plan      the algorithm's first cuts, from counts that add up over parts
    3. exchange  rows by region; a region is divided in memory, and becomes groups with their rows
    4. exchange  groups by the first bits of their keyed words; what meets is published together

The steps between are tasks, functions of a part and of one recipe; what a form of release shows of
groups is said by its shape (boxed.py, apart.py). The order of the release hangs
on keys and row numbers, so it is byte for byte the one that ``publish`` makes of the table in
memory.

Memory: a region or a bucket of rows at a time, the counts of a pass, and what the figures of
release.json need of every group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Plan
from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Schema
from sfumato.engines.base import Engine
from sfumato.engines.coded import ROW, SENSITIVE, matrix_of, microdata, row_numbers
from sfumato.models.requirements import Requirement
from sfumato.verbs.checks import require_kept

_WORD, _PEOPLE = "word", "people"
_LINE, _LARGEST, _BESIDE = "line", "largest", "beside"  # the first letters of columns
_NONE = np.zeros((0, 0), np.int64)


class Shape(Protocol):
    """What a form of release shows of groups."""

    @property
    def unused(self) -> Sequence[str]:
        """Columns of coded parts that nothing is shown of once rows are in groups."""
        ...

    def lines(
        self, table: Microdata, partition: Partition, numbers: Counts, key: Key
    ) -> tuple[pa.Table, Words]:
        """A line for every group, and a keyed word by which it is published; ``numbers`` are those
        of the rows.
        """
        ...

    def arranged(
        self, lines: pa.Table, words: Words, partition: Partition
    ) -> tuple[pa.Table, Partition]:
        """Groups in the order of their words, those that look alike as one."""
        ...

    def rows(self, people: pa.Table, recipe: Recipe) -> dict[str, pa.Array]:
        """What is shown of rows; ``people`` are coded, and in their published order."""
        ...

    def beside(self, seen: Mapping[str, Histograms]) -> dict[str, pa.Array]:
        """What else is shown of every group."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What every task is told; ``counts`` are those of the sensitive values in the whole table."""

    plan: Plan
    shape: Shape
    schema: Schema
    attributes: Mapping[str, Attribute]
    counts: Mapping[str, Counts]
    needs: tuple[Requirement, ...]
    groups: Key
    rows: Key
    bits: int  # of a word, which are the number of a bucket


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Groups in their published order, with their rows.

    ``largest`` are the counts of the most frequent value in each, a line per sensitive attribute;
    ``beside`` is what a shape adds.
    """

    lines: pa.Table
    sizes: Counts
    rows: pa.Table
    largest: Counts
    beside: Mapping[str, pa.ChunkedArray]

    @property
    def group_of_row(self) -> Codes:
        """The line of every row."""
        return np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)


def grouped(
    engine: Engine, recipe: Recipe, n_parts: int, begin: Callable[[str, int], None]
) -> Iterator[Grouped]:
    """Steps 3 and 4: the groups of coded rows, in the order in which they are published.

    ``begin`` hears of every pass, and of how many parts it has.
    """
    n_regions, n_buckets = len(recipe.plan.loads), 1 << recipe.bits
    begin("spilling", n_parts)
    regions = engine.exchange(region_of, n_regions, divided, recipe)
    begin("dividing", n_regions)
    buckets = regions.exchange(bucket_of, n_buckets, published, recipe)
    begin("writing", n_buckets)
    for part in buckets.parts():
        if part.num_rows:
            yield _read(part)


def region_of(part: pa.Table, recipe: Recipe) -> Codes:
    """The region of every row."""
    return recipe.plan.of_rows(part)


def divided(part: pa.Table, number: int, recipe: Recipe) -> pa.Table:
    """The groups of a region: a line each, and its rows."""
    table = microdata(part, recipe.schema, recipe.attributes)
    partition = recipe.plan.divide(number, table, row_numbers(part))
    lines, words = recipe.shape.lines(table, partition, row_numbers(part), recipe.groups)
    rows, starts = rows_by_group(partition.groups, partition.n_groups)
    people = part.drop_columns(list(recipe.shape.unused)).take(pa.array(rows))
    return _nested(lines, starts, people, {_WORD: pa.array(words)})


def bucket_of(groups: pa.Table, recipe: Recipe) -> Codes:
    """The bucket of every group; later buckets are published later."""
    words = groups.column(_WORD).to_numpy()
    if not recipe.bits:
        return np.zeros(len(words), np.int32)
    buckets: Codes = (words >> np.uint64(64 - recipe.bits)).astype(np.int32)
    return buckets


def published(groups: pa.Table, number: int, recipe: Recipe) -> pa.Table:  # noqa: ARG001
    """The groups of a bucket as they are published, their promises looked at once more."""
    if not groups.num_rows:
        return groups
    lines, sizes, people = _apart(groups)
    found = Partition.of(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
    words = groups.column(_WORD).to_numpy()
    lines, partition = recipe.shape.arranged(lines, words, found)
    numbers = people.column(ROW).to_numpy()
    if partition.n_groups < found.n_groups:  # rows of groups that met, in the table's order
        order = np.argsort(numbers, kind="stable")
        people, numbers = people.take(pa.array(order)), numbers[order]
        partition = replace(partition, groups=partition.groups[order])
    codes = matrix_of(people.column(SENSITIVE))
    seen = {
        name: _counted(recipe, name, codes[:, j], partition)
        for j, name in enumerate(recipe.schema.sensitive)
    }
    require_kept(recipe.needs, seen, partition)
    rows = partition.published_order(recipe.rows.half_words(numbers))
    # never without a column; the number is not published
    shown = {ROW: pa.array(numbers[rows])}
    shown |= recipe.shape.rows(people.take(pa.array(rows)), recipe)
    starts = np.append(0, np.cumsum(partition.sizes))
    more = {f"{_LARGEST}{j}": pa.array(one.largest) for j, one in enumerate(seen.values())}
    beside = recipe.shape.beside(seen).items()
    more |= {f"{_BESIDE}{name}": array for name, array in beside}
    return _nested(lines, starts, pa.table(shown), more)


def _nested(
    lines: pa.Table, starts: Counts, people: pa.Table, more: Mapping[str, pa.Array]
) -> pa.Table:
    """A line for every group, and its rows as a list."""
    columns = [column.combine_chunks() for column in people.columns]
    rows = pa.StructArray.from_arrays(columns, people.column_names)
    lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), rows)
    names = [f"{_LINE}{name}" for name in lines.column_names]
    return pa.table([*lines.columns, lists, *more.values()], [*names, _PEOPLE, *more])


def _apart(groups: pa.Table) -> tuple[pa.Table, Counts, pa.Table]:
    """The lines of groups, their sizes, and their rows."""
    names = [name for name in groups.column_names if name.startswith(_LINE)]
    lines = groups.select(names).rename_columns([name[len(_LINE) :] for name in names])
    lists = groups.column(_PEOPLE).combine_chunks()
    rows = lists.flatten()
    people = pa.table(rows.flatten(), [field.name for field in rows.type])
    return lines, lists.value_lengths().to_numpy().astype(np.int64), people


def _read(groups: pa.Table) -> Grouped:
    """Published groups, as they came from a task."""
    lines, sizes, people = _apart(groups)
    names = [name for name in groups.column_names if name.startswith(_LARGEST)]
    largest = np.stack([groups.column(name).to_numpy() for name in names]) if names else _NONE
    beside = {
        name[len(_BESIDE) :]: groups.column(name)
        for name in groups.column_names
        if name.startswith(_BESIDE)
    }
    return Grouped(lines, sizes, people.drop_columns([ROW]), largest, beside)


def _counted(recipe: Recipe, name: str, codes: Codes, partition: Partition) -> Histograms:
    """The sensitive values of groups, compared with the whole table."""
    found = Histograms.of_groups(
        recipe.attributes[name], codes, partition.groups, partition.n_groups
    )
    return replace(found, whole=recipe.counts[name])
