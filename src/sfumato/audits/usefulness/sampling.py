"""Rows that a release makes equally likely, as codes of the table's own domains.

Of boxes each row gets values anywhere in its box, all being equally likely; of exact rows with
values in groups each gets one of its group's values, as often as the group has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audits.evidence import evidence_of
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.boxes import Cells, Nodes, Ranges, Side, ValueSets
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.forms.anatomized.release import GROUP
from sfumato.forms.evidence import codes_of
from sfumato.forms.reading import read_side
from sfumato.forms.registry import Release, form_of

_NONE = -1  # a value that the table does not have


def sampled(
    release: Release, table: Microdata, sensitive: str, most: int, seed: int
) -> tuple[Codes, Ints]:
    """At most so many rows: quasi-identifiers, a line each, and sensitive codes."""
    random = np.random.default_rng(seed)
    draw = _boxed if form_of(release).boxes else _grouped
    points, values = draw(release, table, sensitive, most, random)
    known = (points != _NONE).all(axis=1) & (values != _NONE)
    return points[known], values[known]


def _boxed(
    release: Any, table: Microdata, sensitive: str, most: int, random: np.random.Generator
) -> tuple[Codes, Ints]:
    rows = random.permutation(len(release.group_of_row))[:most]
    groups = release.group_of_row[rows]
    columns = {column.name: column for column in release.manifest.of_role(Role.QUASI)}
    points = [
        _inside(read_side(columns[one.name], release.groups), one, groups, random)
        for one in table.quasi
    ]
    column = next(one for one in release.manifest.of_role(Role.SENSITIVE) if one.name == sensitive)
    found, codes = codes_of(column, release.rows.column(sensitive).take(pa.array(rows)))
    values = translated(found, table.attributes[sensitive])[codes]
    return np.stack(points, axis=1).astype(np.int32), values


def _grouped(
    release: Any, table: Microdata, sensitive: str, most: int, random: np.random.Generator
) -> tuple[Codes, Ints]:
    shown = form_of(release).guessed(release)
    rows = random.permutation(shown.qit.num_rows)[:most]
    some = shown.qit.take(pa.array(rows))
    described = {column.name: column for column in release.manifest.columns}
    points = []
    for one in table.quasi:
        found, codes = codes_of(described[one.name], some.column(one.name))
        points.append(translated(found, one)[codes])
    held = evidence_of(release).histograms(sensitive)
    assert held.attribute is not None
    numbers = np.unique(shown.qit[GROUP].to_numpy())
    groups = np.searchsorted(numbers, some[GROUP].to_numpy())
    ends = np.cumsum(held.counts)
    before = np.append(0, ends)[held.starts]
    places = before[groups] + (random.random(len(rows)) * held.sizes[groups]).astype(np.int64)
    codes = held.values[np.searchsorted(ends, places, side="right")]
    values = translated(held.attribute, table.attributes[sensitive])[codes]
    return np.stack(points, axis=1).astype(np.int32), values


def translated(found: Attribute, own: Attribute) -> Ints:
    """The table's code of each code of a release, the missing one last."""
    values = found.values
    if values.type != own.values.type:
        values = values.cast(own.values.type) if len(values) else own.values[:0]
    codes = pc.index_in(values, own.values).fill_null(_NONE).to_numpy(zero_copy_only=False)
    missing = own.missing_code if own.has_missing else _NONE
    return np.append(codes, missing).astype(np.int64)


def _inside(side: Side, own: Attribute, groups: Codes, random: np.random.Generator) -> Counts:
    """A random code of the table inside the side of each row's group."""
    chance = random.random(len(groups))
    if isinstance(side, Ranges):
        low, high = _ends(side, own)
        found = low[groups] + (chance * (high - low + 1)[groups]).astype(np.int64)
        return _or_missing(found, side.low[groups] < 0, own)
    if isinstance(side, Nodes):
        codes, nodes = translated(side.attribute, own), side.nodes[groups]
        first, last = side.taxonomy.first_leaf[nodes], side.taxonomy.last_leaf[nodes]
        leaves = first + (chance * (last - first + 1)).astype(np.int64)
        return _or_missing(codes[leaves], nodes < 0, own)
    codes = translated(side.attribute, own)
    if isinstance(side, ValueSets):
        starts, sizes = side.starts[:-1][groups], np.diff(side.starts)[groups]
        return np.asarray(codes[side.codes[starts + (chance * sizes).astype(np.int64)]])
    assert isinstance(side, Cells)
    anything = (chance * own.size).astype(np.int64)
    shown = side.codes[groups]
    return np.where(shown < 0, anything, codes[shown])


def _ends(side: Ranges, own: Attribute) -> tuple[Counts, Counts]:
    if own.kind is Kind.NUMERICAL and side.attribute.kind is Kind.NUMERICAL:
        at = np.append(side.attribute.positions, 0.0)
        low = np.searchsorted(own.positions, at[side.low], side="left")
        high = np.searchsorted(own.positions, at[side.high], side="right") - 1
        return low, np.maximum(high, low).clip(max=max(len(own.values) - 1, 0))
    codes = translated(side.attribute, own)
    return codes[side.low], codes[side.high]


def _or_missing(codes: Counts, lacks: np.ndarray[Any, Any], own: Attribute) -> Counts:
    return np.where(lacks, own.missing_code if own.has_missing else _NONE, codes)
