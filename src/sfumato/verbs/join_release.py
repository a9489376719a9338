"""From groups of joined rows to the release that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import describe
from sfumato.algorithms.join.methods import JoinMethod, JoinPartition
from sfumato.core.arrays import Codes, Ints
from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms
from sfumato.core.joined import Joined
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.forms.columns import Labels, side_for
from sfumato.forms.compact import number_lines
from sfumato.forms.figures import generalized_figures
from sfumato.forms.joined.release import (
    SENSITIVE_GROUP,
    JoinRelease,
    OwnFigures,
    joined_tables,
    sensitive_tables,
)
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.metrics import information_loss as loss
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import Model
from sfumato.models.requirements import Requirement, requirements
from sfumato.verbs.checks import require_kept, stated_promises, warn_of_exposed


@dataclass(frozen=True, slots=True)
class Wish:
    """How a table is joined and shown."""

    method: JoinMethod
    k: int
    others: Model | None
    labels: Labels

    def needs(self, table: Microdata) -> tuple[Requirement, ...]:
        """What is asked of the microdata besides k."""
        return () if self.others is None else requirements(self.others, table.schema)

    @property
    def algorithm(self) -> dict[str, Any]:
        """The method as release.json states it."""
        return {
            "name": self.method.name,
            "algorithm": describe(self.method.algorithm),
            "trim": self.method.trim,
        }


class Riders(NamedTuple):
    """People of the microdata who are in sensitive groups, but no lines of their boxes."""

    table: Microdata
    groups: Codes


def built(
    found: JoinPartition,
    wish: Wish,
    provenance: dict[str, Any],
    randomness: Randomness,
    riders: Riders | None = None,
) -> JoinRelease:
    """The release, checked once more."""
    joined, sizes = found.joined, found.partition.loads(found.joined.weights)
    rows, partition = found.partition.kept()
    everyone = joined.everyone.take(rows)
    boxes = Boxes(
        tuple(
            side_for(attribute, everyone.codes[attribute.name], partition, wish.labels)
            for attribute in everyone.quasi
        )
    )
    # numbers and order of groups are chance, both the JAT's and the SI's
    order = randomness.permutation(partition.n_groups)
    sizes = sizes[order]
    promise = (Requirement(KJoinAnonymity(wish.k), None),)
    require_kept(promise, {}, Partition(_places_in(order)[partition.groups], sizes))
    stated = stated_promises(promise)
    apart = _apart(found, wish, randomness, riders)
    sensitive = None if apart.sensitive is None else apart.sensitive[order]
    lines, columns = joined_tables(boxes.taken(order), sensitive, wish.labels)
    # groups that look alike are one to everybody outside, and must not be told apart by the order
    numbers, first = number_lines(lines)
    lines, sizes = lines.take(pa.array(first)), np.bincount(numbers, sizes).astype(np.int64)
    manifest = Manifest(
        kind=JoinRelease.kind,
        promise=(*stated, *apart.promise),
        algorithm=wish.algorithm,
        rows=int(sizes.sum()),
        groups=len(sizes),
        metrics=generalized_figures(stated, columns, lines, sizes),
        external=provenance,
        seed=randomness.stated_seed,
    ).of_tables((*columns, *apart.columns), lines, *apart.sis.values())
    figures = _own_figures(joined, found, boxes)
    groups = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return JoinRelease(lines, groups, apart.sis, manifest, figures)


class _Apart(NamedTuple):
    """What is published apart from the boxes: the sensitive group of each, the SI of each column,
    their description, and what is promised of them.
    """

    sensitive: Codes | None = None
    sis: dict[str, pa.Table] = {}  # noqa: RUF012  (never changed)
    columns: tuple[PublishedColumn, ...] = ()
    promise: tuple[dict[str, Any], ...] = ()


def _apart(
    found: JoinPartition, wish: Wish, randomness: Randomness, riders: Riders | None
) -> _Apart:
    if found.first is None or found.sensitive is None:
        return _Apart()
    numbers = _places_in(randomness.permutation(found.first.n_groups))
    first, seen = sensitive_groups(found, riders, numbers)
    needs = (Requirement(KAnonymity(wish.k), None), *wish.needs(found.joined.microdata))
    require_kept(needs, seen, first)
    warn_of_exposed(needs, {name: one.largest for name, one in seen.items()}, first.sizes)
    sis, columns = sensitive_tables(first.sizes, seen)
    # a promise about sizes is about the sensitive groups', not about a column
    promise = (
        {**stated, "on": stated.get("on") or SENSITIVE_GROUP} for stated in stated_promises(needs)
    )
    return _Apart(numbers[found.sensitive], sis, columns, tuple(promise))


def sensitive_groups(
    found: JoinPartition, riders: Riders | None, numbers: Codes
) -> tuple[Partition, dict[str, Histograms]]:
    """The groups of the first round under these numbers, and the values of each."""
    assert found.first is not None
    table, groups = found.joined.microdata, numbers[found.first.groups]
    codes = {one.name: table.codes[one.name] for one in table.sensitive}
    if riders is not None:
        groups = np.append(groups, numbers[riders.groups])
        codes = {name: np.append(own, riders.table.codes[name]) for name, own in codes.items()}
    first = Partition.of(groups)
    seen = {
        name: Histograms.of_groups(table.attributes[name], own, groups, first.n_groups)
        for name, own in codes.items()
    }
    return first, seen


def _own_figures(joined: Joined, found: JoinPartition, boxes: Boxes) -> OwnFigures:
    try:
        perimeter: float | None = loss.perimeter(boxes, found.inside)
    except ParameterError:
        perimeter = None  # sets of unordered values have none
    return OwnFigures(
        matching=joined.matching,
        ncp=loss.ncp(boxes, found.inside),
        discernibility=int(np.square(found.inside).sum()),
        perimeter=perimeter,
    )


def _places_in(order: Ints) -> Codes:
    """From a group's old number to its place in an order."""
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places
