"""The edge attack: who holds up the faces of published boxes.

A finding of ours, not of the paper. Boxes of a join release are drawn tightly around their lines,
and some faces can only be there because of a row of the microdata:

1. Trimming (algorithms/join/trim.py) ends when k lines are left, or when no face can go. A face can
   go if none of its rows is of the microdata and not more than (lines - k) of them have to go. So
   in a group of more than k lines, a face that one person alone holds up is a microdata row's. A
   face is the smallest or largest value of an ordered attribute, or any value of an unordered set;
   an attribute on which all lines agree has none.
2. Refinement draws its first boxes tightly around rows of the microdata, and publishes all of those
   rows inside. So every face of the box around all boxes of a sensitive group, and every value of
   its sets, is that of a microdata row: if only one person can be it, the person is in the table.

The attacker has a list which names everybody who may be in the microdata or among the publisher's
external rows, with the values they have there (the paper's presence attack, PD = universe). Then
what the attack says is certain. Where a box has fewer listed people than lines the list lacks
somebody, and nothing is claimed; that somebody is lacking elsewhere cannot be seen.

Attributes shown as labels, cells or text have no faces that could be told from their shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audits.breach.matching import Matches, cells_of
from sfumato.audits.breach.persons import Persons, has_declared, shared_domain
from sfumato.audits.join_risk.listed import Listed
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.attribute import as_floats
from sfumato.core.boxes import Ranges, ValueSets
from sfumato.core.schema import Role
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.reading import read_side
from sfumato.models.anonymity import KJoinAnonymity

_GAP = 1e-12  # of the domain: less may vanish when trimming computes with rounded numbers
_MOST_AXES = 256  # a face's number has room for no more


class Boxes(NamedTuple):
    """The different lines of a JAT: as a table, their number, and their sensitive group if any."""

    table: GeneralizedTable
    lines: Counts
    group: Codes | None


class _Axis(NamedTuple):
    """Boxes and listed values along one attribute, in codes of one domain.

    ``low`` and ``high`` are ends of ranges; of a set every value counts, and the first and last
    only tell whether it has more than one. ``sure`` marks the codes whose distance from their
    neighbours is enough for trimming to see it.
    """

    low: Codes
    high: Codes
    points: Codes
    sure: Flags
    is_set: bool


class _Held(NamedTuple):
    """That a listed vector holds up a face, given by a number."""

    face: Counts
    vector: Counts


def exposed(boxes: Boxes, listed: Listed) -> Counts:
    """The rows of a list that are surely in the microdata, ascending."""
    vectors, first, counts = listed
    manifest = boxes.table.manifest
    axes = [
        axis
        for column in manifest.of_role(Role.QUASI)[:_MOST_AXES]
        if (axis := _axis(column, boxes.table.groups, vectors)) is not None
    ]
    matches = list(cells_of(boxes.table, vectors.names).match(vectors))
    complete = _people(matches, counts, len(boxes.lines)) >= boxes.lines
    held = [
        *_by_trimming(boxes, axes, matches, complete, manifest),
        *_by_first_round(boxes, axes, matches, complete),
    ]
    if not held:
        return np.zeros(0, np.int64)
    # nobody else has the values of somebody who is alone
    rows: Counts = np.sort(first[_alone(held, counts)])
    return rows


def _people(matches: Sequence[Matches], counts: Counts, n_boxes: int) -> Counts:
    """How many listed people each box covers."""
    people = np.zeros(n_boxes, np.int64)
    for part in matches:
        np.add.at(people, part.cells, counts[part.vectors])
    return people


def _by_trimming(
    boxes: Boxes,
    axes: Sequence[_Axis],
    matches: Sequence[Matches],
    complete: Flags,
    manifest: Manifest,
) -> list[_Held]:
    """Faces of boxes that trimming has left with more lines than k."""
    ks = [one.get("k") for one in manifest.promise if one.get("model") == KJoinAnonymity.name]
    if manifest.algorithm.get("trim") is not True or not ks:
        return []
    k = max(k for k in ks if isinstance(k, int))
    open_ = complete & (boxes.lines > k)
    held = []
    for place, axis in enumerate(axes):
        movable = open_ & (axis.low < axis.high)
        for part in matches:
            points = axis.points[part.vectors]
            at_face = axis.is_set | (points == axis.low[part.cells])
            at_face |= points == axis.high[part.cells]
            kept = movable[part.cells] & at_face & axis.sure[points]
            faces = _number(part.cells[kept], place, points[kept])
            held.append(_Held(faces, part.vectors[kept]))
    return held


def _by_first_round(
    boxes: Boxes, axes: Sequence[_Axis], matches: Sequence[Matches], complete: Flags
) -> list[_Held]:
    """Faces of the box around all boxes of a sensitive group."""
    if boxes.group is None:
        return []
    group, n = boxes.group, int(boxes.group.max()) + 1
    whole = np.ones(n, np.bool_)
    whole[group[~complete]] = False
    held = []
    for place, axis in enumerate(axes):
        low, high = np.full(n, np.iinfo(np.int32).max), np.full(n, -1)
        np.minimum.at(low, group, axis.low)
        np.maximum.at(high, group, axis.high)
        for part in matches:
            points, of = axis.points[part.vectors], group[part.cells]
            at_face = axis.is_set | (points == low[of]) | (points == high[of])
            kept = whole[of] & at_face
            # numbers of groups lie below zero, those of boxes do not
            faces = _number(of[kept], place, points[kept])
            held.append(_Held(-1 - faces, part.vectors[kept]))
    return held


def _alone(held: Sequence[_Held], counts: Counts) -> Counts:
    """Vectors of people who hold up a face and have nobody beside them on it."""
    faces = np.concatenate([part.face for part in held])
    vectors = np.concatenate([part.vector for part in held])
    order = np.lexsort((vectors, faces))
    faces, vectors = faces[order], vectors[order]
    # a person may fall into several boxes of a sensitive group
    once = np.ones(len(faces), np.bool_)
    once[1:] = (np.diff(faces) != 0) | (np.diff(vectors) != 0)
    faces, vectors = faces[once], vectors[once]
    _, place, beside = np.unique(faces, return_inverse=True, return_counts=True)
    return np.unique(vectors[(beside[place] == 1) & (counts[vectors] == 1)])


def _number(owner: Codes, place: int, code: Codes) -> Counts:
    """One number for an owner's face on an attribute."""
    number: Counts = (owner.astype(np.int64) << 38) | (np.int64(place) << 30) | code
    return number


def _axis(column: PublishedColumn, boxes: pa.Table, listed: Persons) -> _Axis | None:
    """An attribute whose published form shows faces, or None."""
    listed_sets = pa.types.is_list(boxes.schema.field(column.columns[0]).type)
    if column.form != "range" and not (column.form == "set" and listed_sets):
        return None
    side = read_side(column, boxes)
    domain = shared_domain(column, side.attribute, listed.values[column.name])
    places = np.append(_codes(side.attribute.values, domain), np.int32(-1))
    points = _points(listed, column.name, domain)
    if isinstance(side, Ranges):
        return _Axis(places[side.low], places[side.high], points, _apart(domain), False)
    assert isinstance(side, ValueSets)
    # of an unordered attribute every value is a face, of an ordered one the first and last
    codes, heads, every = places[side.codes], side.starts[:-1], np.ones(len(domain) + 1, np.bool_)
    low, high = np.minimum.reduceat(codes, heads), np.maximum.reduceat(codes, heads)
    return _Axis(low, high, points, every, not has_declared(column))


def _points(listed: Persons, name: str, domain: pa.Array) -> Codes:
    """Codes of the listed vectors; -1 for a missing value, which no box covers."""
    codes = np.append(_codes(listed.values[name], domain), np.int32(-1))
    return codes[listed.codes[name]]


def _apart(domain: pa.Array) -> Flags:
    """Values that are far enough from both neighbours, and one entry for what is no value."""
    if not (pa.types.is_temporal(domain.type) or pa.types.is_primitive(domain.type)):
        return np.ones(len(domain) + 1, np.bool_)
    if pa.types.is_boolean(domain.type):
        return np.ones(len(domain) + 1, np.bool_)
    places = as_floats(domain) / 2  # halves, so that no two doubles are too far apart
    span = np.ptp(places) if len(places) else 0.0
    steps = np.abs(np.diff(places)) >= _GAP * span if span > 0 else np.zeros(len(places) - 1, bool)
    return np.append(np.append(True, steps) & np.append(steps, True), False)


def _codes(values: pa.Array, domain: pa.Array) -> Codes:
    places: Codes = pc.index_in(values.cast(domain.type), domain).fill_null(-1).to_numpy()
    return places
