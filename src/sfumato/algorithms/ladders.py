"""Ladders: the levels on which one attribute's values can be told apart, from exact to not at all.

A taxonomy gives its own levels. Without one, ordered values stand in blocks of 4, 16, 64, ...
neighbours, and unordered ones are exact or together. A missing value stands alone until the top,
where everything is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.attribute import Attribute

_FACTOR = 4


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """``classes[level][code]``: codes of equal class are alike; ``penalties`` is the price of it.

    Penalties are certainty penalties: 0 for an exact value, 1 for any value.
    """

    classes: tuple[Codes, ...]
    penalties: tuple[Floats, ...]

    @property
    def height(self) -> int:
        """The level on which everything is alike."""
        return len(self.classes) - 1

    def costs(self, weights: Counts) -> Floats:
        """The mean penalty on each level, for codes of these weights."""
        return np.array([np.average(level, weights=weights) for level in self.penalties])


def ladder(attribute: Attribute) -> Ladder:
    """The levels of an attribute."""
    if attribute.taxonomy is not None:
        tree = attribute.taxonomy
        levels = [tree.at_level(level) for level in range(tree.height + 1)]
    elif attribute.ordered:
        levels = _blocks(len(attribute.values))
    else:
        levels = [np.arange(len(attribute.values), dtype=np.int32)]
    return _with_missing(attribute, _merging(levels))


def _merging(levels: list[Codes]) -> list[Codes]:
    """Levels that merge something, without the one where all is merged."""
    sizes = [len(np.unique(level)) for level in levels]
    return [
        level
        for level, size, below in zip(levels, sizes, [np.inf, *sizes], strict=False)
        if 1 < size < below
    ]


def _blocks(size: int) -> list[Codes]:
    ranks, width = np.arange(size, dtype=np.int32), 1
    levels = []
    while width < size:
        levels.append(ranks // np.int32(width))
        width *= _FACTOR
    return levels


def _with_missing(attribute: Attribute, levels: list[Codes]) -> Ladder:
    """Missing is a class of its own below the top; the top is always there, as one class."""
    alone = np.full(int(attribute.has_missing), np.iinfo(np.int32).max, np.int32)
    top = np.zeros(attribute.size, np.int32)
    classes = [np.append(level, alone).astype(np.int32) for level in levels]
    if attribute.size > 1 and not classes:
        classes = [np.arange(attribute.size, dtype=np.int32)]
    penalties = [_penalties(attribute, level) for level in classes]
    return Ladder((*classes, top), (*penalties, _top_penalties(attribute)))


def _penalties(attribute: Attribute, classes: Codes) -> Floats:
    """How much of the domain each code's class covers."""
    _, of_code, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    if attribute.taxonomy is None and attribute.ordered:
        at = attribute.coordinates
        low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
        np.minimum.at(low, of_code, at)
        np.maximum.at(high, of_code, at)
        widths: Floats = (high - low)[of_code]
        return widths
    spread: Floats = (sizes[of_code] - 1) / max(1, attribute.size - 1)
    return spread


def _top_penalties(attribute: Attribute) -> Floats:
    return np.full(attribute.size, float(attribute.size > 1))
