"""publish_file beyond memory, for generalized releases: from parts of a source to a folder.

The steps are those of grouping.py. The folder is byte for byte the one that ``publish`` and
``write`` make in memory with the same seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Plan, Planner, Stages
from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import Nodes, Ranges
from sfumato.core.fingerprint import (
    PUBLIC_KEY,
    DomainHashes,
    RowSum,
    rows_digest,
    stated,
    table_sum,
)
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role, Schema
from sfumato.engines.base import Engine
from sfumato.engines.coded import microdata
from sfumato.engines.domains import Counted, count_values, open_engine
from sfumato.engines.room import Room
from sfumato.engines.rows import Rows
from sfumato.engines.spill import scratch_folder
from sfumato.engines.stream import Scratch
from sfumato.errors import OutOfMemory
from sfumato.forms.checksums import sealed
from sfumato.forms.columns import Labels
from sfumato.forms.figures import generalized_figures
from sfumato.forms.files import FileFormat, write_table
from sfumato.forms.generalized.blocks import GROUPS, ROWS, Block, pieces
from sfumato.forms.generalized.release import (
    STEM,
    GeneralizedTable,
    boxes_of,
    published_groups,
    published_rows,
    require_means,
)
from sfumato.forms.manifest import FILE, Manifest
from sfumato.forms.remembering import noting_rows
from sfumato.io.folders import new_folder
from sfumato.io.owner_state import owner_key
from sfumato.io.writing import printable
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement
from sfumato.verbs.checks import require_form, stated_promises, warn_of_exposed
from sfumato.verbs.grouping import Grouped, Recipe, grouped
from sfumato.verbs.leaving_out import remaining

# the lines of all groups may take one part in so many of the memory
_LINES = 4


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be published, and how."""

    algorithm: Planner
    described: dict[str, Any]
    needs: tuple[Requirement, ...]
    labels: Labels
    means: bool | Sequence[str]
    format: FileFormat
    memory: int


def stream_generalized(
    rows: Rows, wish: Wish, output: str | Path, randomness: Randomness, force: bool, tell: Stages
) -> Manifest:
    """Write the release of rows that are read part by part, whole or not at all."""
    made_of: list[str] = []
    with (
        noting_rows(output, GeneralizedTable.kind, lambda _: made_of, stacklevel=8),
        new_folder(output, force=force) as folder,
    ):
        with scratch_folder(folder) as place, Scratch(place) as scratch:
            passage = Passage(tell)
            engine = open_engine(rows, scratch, passage.passed)
            passage.begin("counting values", 0)
            counted = count_values(engine, rows)
            require_form(GeneralizedTable.kind, wish.labels, counted.domain(), wish.needs)
            passage.begin("encoding", counted.n_parts)
            coded = counted.encoded(engine)
            manifest = _write(coded, counted, wish, randomness, folder, passage, made_of)
        manifest = sealed(manifest, folder)
        (folder / FILE).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


class Passage:
    """Tells how far a pass over the parts has come."""

    def __init__(self, tell: Stages) -> None:
        self._tell = tell
        self._stage, self._total, self._done = "", 0, 0

    def begin(self, stage: str, total: int) -> None:
        """A pass over so many parts begins, or several; 0: nobody knows yet over how many."""
        self._stage, self._total, self._done = stage, total, 0
        self._tell(stage, 0.0)

    def passed(self) -> None:
        """One more part is done; behind the last one the next pass begins."""
        self._done += 1
        if self._total:
            self._tell(self._stage, (self._done - 1) % self._total / self._total)


def _write(
    coded: Engine,
    counted: Counted,
    wish: Wish,
    randomness: Randomness,
    folder: Path,
    passage: Passage,
    made_of: list[str],
) -> Manifest:
    """Steps 2 to 4, and what release.json says of them."""
    schema, domain = counted.rows.schema, counted.domain()
    promise, means = stated_promises(wish.needs), require_means(domain, wish.means)
    purpose = (GeneralizedTable.kind, wish.labels, means, wish.described, promise)
    randomness.bind(purpose, lambda: rows_digest(_row_sum(coded, counted, PUBLIC_KEY), schema))
    key = owner_key()
    if key is not None:
        made_of.append(stated(_row_sum(coded, counted, key), schema, key))
    passage.begin("partitioning", counted.n_parts)
    bound = Bound.of_counts(wish.needs, domain, counted.sensitive, counted.n_rows)
    room = Room.of(wish.memory, len(schema.quasi))
    plan = wish.algorithm.plan(coded, bound, room, randomness)
    room.require_regions(plan.loads)
    coded, kept = remaining(coded, counted, plan)
    told = Manifest(
        GeneralizedTable.kind,
        promise,
        {**wish.described, **plan.stated},
        suppressed=counted.n_rows - kept.n_rows,
        seed=randomness.stated_seed,
        search=plan.notes,
    )
    recipe = Recipe(
        plan, schema, kept.attributes, kept.sensitive, wish.needs, wish.labels, means,
        _missing(plan, kept), randomness.key(GROUPS), randomness.key(ROWS),
        _bits(kept.n_rows, room),
    )  # fmt: skip
    headed = _headed(told, domain, recipe)
    seen = _Seen(wish)
    groups = grouped(coded, recipe, counted.n_parts, passage.begin)
    write_table(pieces(seen.passing(groups)), folder / f"{STEM}.{wish.format}")
    if seen.n_rows != kept.n_rows:
        raise counted.rows.changed()
    seen.warn(schema)
    return seen.stated(headed)


def _missing(plan: Plan, kept: Counted) -> frozenset[str]:
    """The quasi-identifiers of which some group is shown to lack a value.

    Of rows that are left out nothing must be told.
    """
    if plan.boxes is not None:
        sides = [side for side in plan.boxes if isinstance(side, Ranges | Nodes)]
        return frozenset(side.attribute.name for side in sides if side.missing.any())
    known = ((name, kept.attributes[name].missing_code) for name in kept.rows.schema.quasi)
    return frozenset(name for name, code in known if kept.counts[name][code:].any())


def _headed(told: Manifest, domain: Microdata, recipe: Recipe) -> Manifest:
    """The columns of the release, known before its groups are."""
    none = np.zeros(0, np.int32)
    own = None if recipe.plan.boxes is None else recipe.plan.boxes.taken(none)
    nobody = Partition(none, np.zeros(0, np.int64), own)
    boxes = boxes_of(domain, nobody, recipe.labels)
    lines, columns = published_groups(
        domain, nobody, boxes, recipe.labels, recipe.means, recipe.missing
    )
    rows, more = published_rows(domain, nobody.groups, lines)
    return told.of_tables((*columns, *more), lines, rows)


def _row_sum(coded: Engine, counted: Counted, key: bytes) -> RowSum:
    """The sums of all rows under a key."""
    hashes = DomainHashes.of(counted.attributes, key)
    return coded.reduce(_part_sum, RowSum.__add__, counted.rows.schema, counted.attributes, hashes)


def _part_sum(
    part: pa.Table, schema: Schema, attributes: Mapping[str, Attribute], hashes: DomainHashes
) -> RowSum:
    return table_sum(microdata(part, schema, attributes), hashes)


def _bits(n_rows: int, room: Room) -> int:
    """As many bits as it takes to have buckets that fit."""
    return max(0, (2 * n_rows // room.rows).bit_length())


@dataclass(slots=True)
class _Seen:
    """What release.json says of the groups, gathered while they are written."""

    wish: Wish
    lines: list[pa.Table] = field(default_factory=list)
    sizes: list[Counts] = field(default_factory=list)
    largest: list[Counts] = field(default_factory=list)
    bytes: int = 0

    def passing(self, groups: Iterator[Grouped]) -> Iterator[Block]:
        """The same groups, of each of which the line is kept."""
        for one in groups:
            self.lines.append(one.block.groups)
            self.sizes.append(one.sizes)
            self.largest.append(one.largest)
            self._require_memory(one.block.groups.nbytes)
            block = one.block
            # a set is turned into its text once, not in every row
            csv = self.wish.format == "csv"
            yield replace(block, groups=printable(block.groups)) if csv else block

    def warn(self, schema: Schema) -> None:
        """Say who is exposed though every promise is kept."""
        counts = np.concatenate(self.largest, axis=1)
        largest = dict(zip(schema.sensitive, counts, strict=True))
        warn_of_exposed(self.wish.needs, largest, np.concatenate(self.sizes))

    @property
    def n_rows(self) -> int:
        """How many rows have passed."""
        return sum(int(sizes.sum()) for sizes in self.sizes)

    def stated(self, headed: Manifest) -> Manifest:
        """What release.json states of the groups."""
        lines, sizes = pa.concat_tables(self.lines), np.concatenate(self.sizes)
        figures = generalized_figures(
            headed.promise, headed.of_role(Role.QUASI), lines, sizes, headed.suppressed
        )
        return replace(headed, rows=int(sizes.sum()), groups=len(sizes), metrics=figures)

    def _require_memory(self, more: int) -> None:
        self.bytes += more
        if self.bytes > self.wish.memory // _LINES:
            raise OutOfMemory(
                f"{self.wish.memory:,} bytes of memory are too few for the lines of all groups; "
                "allow more, or larger groups",
                doing="publishing",
            )
