"""Record linkage by distance: which published lines are nearest to a person.

After Pagliuca, Seri: "Some results of individual ranking method on the system of enterprise
accounts annual survey", 1999, as statistical offices do it. Whoever knows somebody's quasi-
identifiers looks for the line with the least distance to them, and takes what it shows. Here that
is done twice.

1. ``Nearest`` guesses values in any release of groups. Lines are where people of their group are,
   as these are known; the distance is that of Gower: on an ordered axis the difference by the width
   of the domain, on another one 1 if values differ, and the mean over all axes. The values of the
   lines nearest to a person, each by its share in its group, are likely, and the person's own group
   has to hand out what it has.
2. ``picked`` is about lines, whatever they show: in a release of boxes, the chance to pick a
   person's own line out of all that may be it. A line of a box that covers few people is likelier
   to be one of theirs; with boxes that do not overlap, the chance is one by the lines of the box.

Lines are compared with a sample of people, so the time is linear in the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import AT_ONCE, Guesses
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.breach.matching import ShownCells
from sfumato.audits.breach.persons import Persons
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute

_LEAST = 1e-3  # of a chance: what near lines do not show may be all the same


@dataclass(frozen=True, slots=True)
class Nearest:
    """The values of so many nearest lines, out of those of so many people."""

    lines: int = 20
    sample: int = 1_000
    seed: int = 0

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """The likeliest value of everybody; ``known`` are values of some persons, -1 for others."""
        random = np.random.default_rng(self.seed)
        n = len(candidates.points)
        chosen = np.sort(random.choice(n, min(n, self.sample), replace=False))
        shares = shown_shares(candidates)[chosen]
        near = _Near(candidates.quasi, candidates.points[chosen], shares, self.lines)
        return Outside(near).guess(candidates, known)


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """People at some points, and the shares of values in their groups."""

    quasi: tuple[Attribute, ...]
    points: Codes
    shares: Floats
    lines: int

    def log_chances(self, points: Codes) -> Floats:
        """The logarithm of the mean of the nearest lines' shares, for every point."""
        found = np.empty((len(points), self.shares.shape[1]))
        step = max(1, AT_ONCE * 64 // max(1, len(self.points)))
        for low in range(0, len(points), step):
            apart = gower(self.quasi, points[low : low + step], self.points)
            # a person is not its own neighbour: what it may have is known already
            apart[apart == 0] = np.inf
            lines = min(self.lines, len(self.points)) - 1
            nearest = np.argpartition(apart, lines, axis=1)[:, : lines + 1]
            found[low : low + step] = self.shares[nearest].mean(axis=1)
        logarithms: Floats = np.log(found + _LEAST)
        return logarithms


def gower(quasi: tuple[Attribute, ...], some: Codes, others: Codes) -> Floats:
    """The distance of each of some points to each of the others."""
    apart = np.zeros((len(some), len(others)), np.float32)
    for j, attribute in enumerate(quasi):
        here, there = some[:, j, None], others[None, :, j]
        if attribute.ordered and attribute.size > 1:
            apart += np.abs(here - there) / np.float32(attribute.size - 1)
        else:
            apart += here != there
    return apart / len(quasi)


def shown_shares(candidates: Candidates) -> Floats:
    """For every point the shares of values in the groups that may be its own."""
    values, groups, claims = candidates.values, candidates.groups, candidates.claims
    table = np.zeros((values.n_groups, candidates.n_values))
    table[values.groups, values.values] = values.shares
    of_claim = np.zeros((candidates.n_claims, candidates.n_values))
    np.add.at(of_claim, groups.owners, table[groups.items])
    sums = np.zeros((len(claims.starts) - 1, candidates.n_values))
    np.add.at(sums, claims.owners, of_claim[claims.items])
    sums /= np.maximum(sums.sum(axis=1, keepdims=True), _LEAST)
    shares = np.zeros((len(candidates.points), candidates.n_values))
    shares[candidates.person_points] = sums[candidates.subjects]
    return shares


def picked(cells: ShownCells, people: Persons, strangers: Persons | None = None) -> Floats:
    """For everybody the chance that the line which is likeliest theirs is; 0 outside all boxes.

    Boxes are held against all ``people`` who may be in them. ``strangers`` look for a line of
    theirs in their place.
    """
    lines = np.add.reduceat(cells.rows, cells.starts[:-1]).astype(np.float64)
    covered = np.zeros(len(lines))
    vectors, numbers, counts = people.distinct()
    for part in cells.match(vectors):
        np.add.at(covered, part.cells, counts[part.vectors])
    if strangers is not None:
        vectors, numbers, _ = strangers.distinct()
    each = 1 / np.maximum(covered, lines)  # for one of its lines, to be a given person's
    best, whole = np.zeros(vectors.n_rows), np.zeros(vectors.n_rows)
    for part in cells.match(vectors):
        np.maximum.at(best, part.vectors, each[part.cells])
        np.add.at(whole, part.vectors, (lines * each)[part.cells])
    chances: Floats = (best / np.maximum(whole, best + (whole == 0)))[numbers]
    return chances
