"""publish_file beyond memory: from parts of a source to a folder.

The steps are those of grouping.py. The folder is byte for byte the one that ``publish`` and
``write`` make in memory with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Plan, Planner, Stages
from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import Boxes, Nodes, Ranges
from sfumato.core.fingerprint import (
    PUBLIC_KEY,
    DomainHashes,
    RowSum,
    rows_digest,
    stated,
    table_sum,
)
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.engines.base import Engine
from sfumato.engines.cluster import Workers
from sfumato.engines.coded import microdata
from sfumato.engines.domains import Counted, count_values
from sfumato.engines.opening import engine_for
from sfumato.engines.room import Room
from sfumato.engines.rows import Rows
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.checksums import sealed
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.forms.form import GROUPS, ROWS
from sfumato.forms.generalized.release import GeneralizedTable, require_means
from sfumato.forms.identifying import different
from sfumato.forms.manifest import FILE, Manifest
from sfumato.forms.remembering import noting_rows
from sfumato.io.folders import new_folder
from sfumato.io.owner_state import owner_key
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement
from sfumato.verbs.apart import Apart, ApartFiles
from sfumato.verbs.boxed import Boxed, BoxedFiles
from sfumato.verbs.checks import (
    require_form,
    stated_promises,
    warn_of_exposed,
    warn_of_identifying,
    warn_of_lost,
)
from sfumato.verbs.grouping import Grouped, Recipe, Shape, grouped
from sfumato.verbs.leaving_out import remaining


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be published, and how."""

    algorithm: Planner
    described: dict[str, Any]
    needs: tuple[Requirement, ...]
    form: str
    labels: Labels
    means: bool | Sequence[str]
    format: FileFormat
    memory: int


class ReleaseFiles(Protocol):
    """The files of a form, written group by group."""

    @property
    def shape(self) -> Shape:
        """What they show of groups."""
        ...

    def headed(self, told: Manifest, domain: Microdata, boxes: Boxes | None) -> Manifest:
        """What release.json says of the columns, known before any group is."""
        ...

    def write(self, groups: Iterator[Grouped], folder: Path) -> None:
        """Write all groups."""
        ...

    def figures(self, headed: Manifest, sizes: Counts) -> dict[str, Any]:
        """What release.json says of the groups, once they are written."""
        ...


def stream_release(
    rows: Rows,
    wish: Wish,
    output: str | Path,
    randomness: Randomness,
    force: bool,
    tell: Stages,
    workers: Workers | None = None,
) -> Manifest:
    """Write the release of rows that are read part by part, whole or not at all.

    Without workers this process does all of it.
    """
    made_of: list[str] = []
    with (
        noting_rows(output, wish.form, lambda _: made_of, stacklevel=8),
        new_folder(output, force=force) as folder,
    ):
        passage = Passage(tell)
        with engine_for(rows, workers, folder, Path(output), passage.passed) as engine:
            passage.begin("counting values", 0)
            counted = count_values(engine, rows, wish.memory)
            require_form(wish.form, wish.labels, counted.domain(), wish.needs)
            passage.begin("encoding", counted.n_parts)
            coded = counted.encoded(engine)
            rows.require_unchanged()
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
    purpose = (wish.form, wish.labels, means, wish.described, promise)
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
        wish.form,
        promise,
        {**wish.described, **plan.stated},
        suppressed=counted.n_rows - kept.n_rows,
        seed=randomness.stated_seed,
        search=plan.notes,
    )
    files = STREAMED[wish.form](wish, schema, means, _missing(plan, kept))
    headed = files.headed(told, domain, plan.boxes)
    recipe = Recipe(
        plan, files.shape, schema, kept.attributes, kept.sensitive, wish.needs,
        randomness.key(GROUPS), randomness.key(ROWS), _bits(kept.n_rows, room),
    )  # fmt: skip
    seen = _Seen(dict.fromkeys(schema.insensitive, 0))
    files.write(seen.passing(grouped(coded, recipe, counted.n_parts, passage.begin)), folder)
    sizes = np.concatenate(seen.sizes)
    if int(sizes.sum()) != kept.n_rows:
        raise counted.rows.changed()
    largest = np.concatenate(seen.largest, axis=1)
    warn_of_exposed(wish.needs, dict(zip(schema.sensitive, largest, strict=True)), sizes)
    warn_of_identifying(seen.different, kept.n_rows)
    figures = files.figures(headed, sizes)
    warn_of_lost(wish.algorithm, kept.attributes, figures)
    return replace(headed, rows=kept.n_rows, groups=len(sizes), metrics=figures)


def _boxed_files(
    wish: Wish, _schema: Schema, means: Sequence[str], missing: frozenset[str]
) -> BoxedFiles:
    return BoxedFiles(Boxed(wish.labels, means, missing), wish.format, wish.memory)


def _apart_files(
    wish: Wish, schema: Schema, _means: Sequence[str], _missing: frozenset[str]
) -> ApartFiles:
    return ApartFiles(Apart(), wish.format, schema.sensitive)


# the forms that can be written group by group
STREAMED: Mapping[str, Callable[..., ReleaseFiles]] = {
    GeneralizedTable.kind: _boxed_files,
    AnatomizedTables.kind: _apart_files,
}


def _missing(plan: Plan, kept: Counted) -> frozenset[str]:
    """The quasi-identifiers of which some group is shown to lack a value.

    Of rows that are left out nothing must be told.
    """
    if plan.boxes is not None:
        sides = [side for side in plan.boxes if isinstance(side, Ranges | Nodes)]
        return frozenset(side.attribute.name for side in sides if side.missing.any())
    known = ((name, kept.attributes[name].missing_code) for name in kept.rows.schema.quasi)
    return frozenset(name for name, code in known if kept.counts[name][code:].any())


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


@dataclass(frozen=True, slots=True)
class _Seen:
    """Sizes of groups and counts of their most frequent values, gathered while they pass.

    ``different`` values of insensitive columns are those of each part: a value in several parts,
    which are as large as the memory bears, counts in each.
    """

    different: dict[str, int]
    sizes: list[Counts] = field(default_factory=list)
    largest: list[Counts] = field(default_factory=list)

    def passing(self, groups: Iterator[Grouped]) -> Iterator[Grouped]:
        """The same groups."""
        for one in groups:
            self.sizes.append(one.sizes)
            self.largest.append(one.largest)
            for name in self.different:
                self.different[name] += different(one.rows.column(name))
            yield one
