"""Global recoding: what becomes of the values of one attribute, the same in the whole table.

A recoding says which class every code joins and how the classes are shown. The latter is a side
with one entry per class, from which the side of any groups is taken.

The levels of an attribute with a taxonomy are those of ``Taxonomy.at_level``; without one they are
the value itself and nothing. A missing value is a value of its own that joins the others at the
last level only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.algorithms.base import Progress
from sfumato.algorithms.points_plan import PointsPlan, plan_points
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import Boxes, Cells, Nodes, Side
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.models.bound import Bound, feasible, require_feasible
from sfumato.models.requirements import Requirement

_ROWS_EACH = 5  # of the memory of a row, for a combination and the frequency sets it is in


class Global:
    """What methods share that see the different vectors alone, in memory and beyond."""

    __slots__ = ()
    form: ClassVar[str] = "generalized"

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,  # noqa: ARG002
        progress: Progress | None = None,
    ) -> Partition:
        """Group the rows that are alike as they are shown."""
        return self._divide(require_feasible(needs, table), progress)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Any model is kept by points."""

    def plan(
        self,
        engine: Engine,
        bound: Bound,
        room: Room,
        randomness: Randomness,  # noqa: ARG002
    ) -> PointsPlan:
        """Choose what is shown of the different vectors of a table beyond memory."""
        self.require_planned(bound.needs)
        return plan_points(self._divide, engine, feasible(bound), room, each=_ROWS_EACH)

    def _divide(self, bound: Bound, progress: Progress | None = None) -> Partition:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Recoding:
    """``classes[c]`` is the class of code c and ``penalties[c]`` what it costs to show that.

    ``side`` shows the classes, one after another; there are ``n_classes`` of them.
    """

    classes: Codes
    penalties: Floats
    side: Side
    n_classes: int

    @classmethod
    def of(cls, side: Side, classes: Codes) -> Recoding:
        """Codes in numbered classes that are shown so."""
        return cls(classes, side.penalties()[classes], side, int(classes.max()) + 1)


def levels_of(attribute: Attribute) -> tuple[Recoding, ...]:
    """The levels of an attribute, from its values up to the one that tells nothing."""
    taxonomy = attribute.taxonomy
    if taxonomy is None:
        return flat(attribute, shown=True), flat(attribute, shown=False)
    below = range(top_level(attribute))
    levels = tuple(labelled(attribute, taxonomy.at_level(level)) for level in below)
    return *levels, labelled(attribute, np.zeros(attribute.missing_code, np.int32), joined=True)


def top_level(attribute: Attribute) -> int:
    """The level that tells nothing."""
    # a tree of one leaf gets a level more, at which a missing value can join it
    return 1 if attribute.taxonomy is None else max(1, attribute.taxonomy.height)


def flat(attribute: Attribute, *, shown: bool) -> Recoding:
    """Every value as it is, or none."""
    codes = np.arange(attribute.size, dtype=np.int32)
    cells = codes if shown else np.full(attribute.size, -1, np.int32)
    first, classes = numbered(cells)
    return Recoding.of(Cells(attribute, cells[first]), classes)


def labelled(attribute: Attribute, nodes: Codes, *, joined: bool = False) -> Recoding:
    """A node for every leaf; a missing value stays apart unless it is ``joined`` to the root."""
    if attribute.taxonomy is None:
        raise TypeError(f"{attribute.name} has no taxonomy")
    missing = np.full(attribute.size, joined and attribute.has_missing)
    missing[attribute.missing_code :] = True
    if attribute.has_missing:
        nodes = np.append(nodes, np.int32(0 if joined else -1))
    first, classes = numbered(nodes)
    side = Nodes(attribute, attribute.taxonomy, nodes[first], missing[first])
    return Recoding.of(side, classes)


def numbered(shown: Codes) -> tuple[Ints, Codes]:
    """Where each thing that is shown comes first, and the number of what is shown of every code."""
    _, first, classes = np.unique(shown, return_index=True, return_inverse=True)
    return first, classes.astype(np.int32)


def boxes_of(recodings: tuple[Recoding, ...], codes: Codes) -> Boxes:
    """The boxes of groups of which one vector of codes each is known."""
    sides = (each.side.taken(each.classes[codes[:, j]]) for j, each in enumerate(recodings))
    return Boxes(tuple(sides))
