"""Two join releases of different people as one: groups beside groups, nothing of either changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Ints
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.forms.compact import number_lines
from sfumato.forms.figures import generalized_figures
from sfumato.forms.joined.release import COUNT, SENSITIVE_GROUP, JoinRelease
from sfumato.forms.manifest import Manifest, PublishedColumn, encoded


def united(
    before: JoinRelease, more: JoinRelease | None, randomness: Randomness, **stated: Any
) -> JoinRelease:
    """The groups of both in a new random order, under new numbers; ``stated`` is of the manifest.

    Groups that show the same are one, as in any release.
    """
    parts = [before] if more is None else [before, more]
    _require_alike(parts)
    new_numbers = _numbers([_sensitive_groups(one) for one in parts], randomness)
    lines = pa.concat_tables(
        [_renumbered(one.groups, new) for one, new in zip(parts, new_numbers, strict=True)]
    )
    sizes = np.concatenate([np.bincount(one.group_of_row) for one in parts])
    order = randomness.permutation(len(sizes))
    lines, sizes = lines.take(pa.array(order)).combine_chunks(), sizes[order]
    numbers, first = number_lines(lines)
    lines, sizes = lines.take(pa.array(first)), np.bincount(numbers, sizes).astype(np.int64)
    sis = {
        name: _sorted(
            [_renumbered(one.sis[name], new) for one, new in zip(parts, new_numbers, strict=True)],
            {column.name: column for column in before.manifest.columns}.get(name),
        )
        for name in before.sis
    }
    manifest = _manifest(before.manifest, lines, sizes, stated)
    groups = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return JoinRelease(lines, groups, sis, manifest)


def _manifest(known: Manifest, lines: pa.Table, sizes: Ints, stated: Mapping[str, Any]) -> Manifest:
    columns = known.of_role(Role.QUASI)
    promise = tuple(one for one in known.promise if one.get("on") is None)
    return replace(
        known,
        rows=int(sizes.sum()),
        groups=len(sizes),
        metrics=generalized_figures(promise, columns, lines, sizes),
        **stated,
    )


def _require_alike(parts: list[JoinRelease]) -> None:
    first = parts[0]
    for other in parts[1:]:
        for ours, theirs in zip(first.manifest.columns, other.manifest.columns, strict=True):
            if ours != theirs:
                raise _unlike(ours.name)
        for name, kind in first.manifest.types:
            if dict(other.manifest.types).get(name) != kind:
                raise _unlike(name)


def _unlike(name: str) -> SchemaError:
    return SchemaError(
        f"column {name!r} is described otherwise than in the releases before, which are published "
        "again beside the newcomers; keep its type, order and taxonomy as they were",
        column=name,
    )


def _sensitive_groups(release: JoinRelease) -> int:
    """How many there are; they are numbered from 1 on."""
    if not release.sis:
        return 0
    return int(pc.max(next(iter(release.sis.values())).column(SENSITIVE_GROUP)).as_py())


def _numbers(counts: list[int], randomness: Randomness) -> list[Codes]:
    """New numbers of the sensitive groups of each part, 0 for none."""
    places = randomness.permutation(sum(counts)).astype(np.int32) + np.int32(1)
    ends = np.cumsum([0, *counts])
    return [np.append(np.int32(0), places[a:b]) for a, b in pairwise(ends.tolist())]


def _renumbered(table: pa.Table, numbers: Codes) -> pa.Table:
    if SENSITIVE_GROUP not in table.column_names:
        return table
    place = table.column_names.index(SENSITIVE_GROUP)
    new = numbers[table.column(SENSITIVE_GROUP).to_numpy()]
    return table.set_column(place, SENSITIVE_GROUP, pa.array(new, pa.int32()))


def _sorted(parts: list[pa.Table], column: PublishedColumn | None) -> pa.Table:
    """An SI by group, then value in its order."""
    table = pa.concat_tables(parts)
    keys = [table.column(SENSITIVE_GROUP).to_numpy()]
    if column is not None:
        keys.insert(0, encoded(column, table.column(column.name))[1])
    order = pa.array(np.lexsort(keys))
    found: pa.Table = table.take(order).combine_chunks()
    assert COUNT in found.column_names
    return found
