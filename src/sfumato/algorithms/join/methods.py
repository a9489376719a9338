"""Direct and Refinement: from a partitioner to its k-join-anonymous counterpart.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010,
section 4. MT is the microdata, PD the external table, JT the two joined (core/joined.py).

    Direct:      1. run the algorithm on JT under "at least k rows"
                 2. drop groups without a row of MT
    Refinement:  1. run the algorithm on MT, under k-anonymity and any other model: sensitive groups
                 2. run it again inside each box, on the rows of JT that fall into it and that no
                    other box has kept; axes that take turns go on where the box was left
                 3. drop groups without a row of MT
    both:        in a group of more than k rows, external rows at the faces of its box are dropped
                 where that shrinks the box (trim.py)

Refinement keeps every group inside a box of the first round, so a row of MT is linked to the same
sensitive values as without the external table. Boxes of the first round may overlap (those of
clusters do), and whoever hides rows of one of them cannot hide those of another: two rows between
three people are a given person's more often than once in two. So boxes choose one after another,
those with the fewest people first, and each chooses among all people in it of whom no line is kept
yet. What it drops again is there for the next. A row of PD in more than ``_CHOICES`` boxes can be
chosen by that many of them, random ones.

Neither step asks who has which values, only how many have them: rows of PD that are alike may be
one row with a weight, if the algorithm never tells equal rows apart. A list of everybody then takes
the memory of its different vectors.

Direct without trimming looks at MT only to see which groups have a row of it. All else shows
something of MT: the first round's boxes touch rows of MT at every face, and in a trimmed group that
kept more than k rows, who is alone at a face is of MT. docs/joining.md says what somebody with the
same PD makes of that.

Cost: that of the algorithm on JT; for Refinement on MT and on the parts of JT, up to ``_CHOICES``
times where boxes overlap, and a search of the boxes for every row of PD.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from sfumato.algorithms.base import (
    InTurns,
    Partitioner,
    Progress,
    Weighing,
    require_algorithm,
)
from sfumato.algorithms.frontier import Frontier
from sfumato.algorithms.join.point_location import Inside, boxes_around, inside_of
from sfumato.algorithms.join.trim import trimmed
from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Flags, Ints
from sfumato.core.joined import Joined
from sfumato.core.microdata import Microdata
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.requirements import Requirement

_HOMES = "homes"  # the purpose of a key
_CHOICES = 8  # boxes that may choose a person


@dataclass(frozen=True, slots=True, eq=False)
class JoinPartition:
    """Groups of the rows of ``joined``, the dropped ones left out.

    ``inside`` says how many rows of the microdata each group holds, one at least. With a
    ``first`` round, ``sensitive`` is the group of that round which each group lies in.
    """

    joined: Joined
    partition: Partition
    inside: Counts
    first: Partition | None = None
    sensitive: Codes | None = None


class JoinMethod(Protocol):
    """The seam: how a partitioner makes use of an external table."""

    name: ClassVar[str]

    @property
    def algorithm(self) -> Partitioner:
        """What divides rows into groups."""
        ...

    @property
    def trim(self) -> bool:
        """Whether external rows that a group does not need are dropped."""
        ...

    def partition(
        self,
        joined: Joined,
        k: int,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> JoinPartition:
        """Groups of at least k joined rows; ``needs`` are about the microdata."""
        ...


@dataclass(frozen=True, slots=True)
class Direct:
    """Run the algorithm on everyone; keep the groups with somebody of the microdata in them.

    Such a release tells where the people of the microdata are. It holds no sensitive values:
    a group may hold one row of the microdata only, whose values would be its own.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"])
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> release = sf.publish_join(table, voters, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(10))
    >>> release.joined.column_names
    ['age_min', 'age_max', 'sex']
    """

    name: ClassVar[str] = "direct"
    algorithm: Partitioner
    trim: bool = True

    def __post_init__(self) -> None:
        """Refuse an algorithm whose groups have no boxes of their own."""
        _require_boxes(self.algorithm)

    def partition(
        self,
        joined: Joined,
        k: int,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> JoinPartition:
        """Groups of at least k joined rows."""
        if any(need.attribute is not None for need in needs):
            raise ParameterError(
                "Direct publishes no sensitive values, so it can promise nothing about them; "
                "use Refinement",
                parameter="model",
            )
        wanted = (Requirement(KJoinAnonymity(k), None),)
        found = _groups(
            self.algorithm, joined.everyone, wanted, randomness, joined.weights, progress
        )
        groups = _useful(found, joined.n_inside)
        return _result(joined, _trimmed(joined, groups, k) if self.trim else groups)


@dataclass(frozen=True, slots=True)
class Refinement:
    """Run the algorithm on the microdata; then divide each group further with external rows.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive="disease")
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> method = sf.Refinement(sf.Mondrian())
    >>> release = sf.publish_join(table, voters, method, sf.KJoinAnonymity(10))
    >>> sum(release.sensitive_groups["count"].to_pylist())
    200
    """

    name: ClassVar[str] = "refinement"
    algorithm: Partitioner
    trim: bool = True

    def __post_init__(self) -> None:
        """Refuse an algorithm whose groups have no boxes of their own."""
        _require_boxes(self.algorithm)

    def partition(
        self,
        joined: Joined,
        k: int,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> JoinPartition:
        """Groups of at least k joined rows inside groups of the microdata that meet the needs."""
        _require_no_frontier(self.algorithm, needs)
        if joined.n_inside < k:
            raise Infeasible(
                f"k = {k} is more than the microdata's {joined.n_inside:,} rows, and Refinement "
                "begins with groups of k of them; use Direct, or a smaller k",
                model=KJoinAnonymity(k),
                largest=joined.n_inside,
            )
        first_needs = (Requirement(KAnonymity(k), None), *needs)
        groups, turns = _groups_from(0, self.algorithm, joined.microdata, first_needs, randomness)
        first = Partition.of(groups)
        groups = self._refined(joined, first, turns, k, randomness, progress)
        found = _result(joined, groups)
        sensitive = np.empty(found.partition.n_groups, np.int32)
        sensitive[found.partition.groups[: joined.n_inside]] = first.groups
        return replace(found, first=first, sensitive=sensitive)

    def _refined(
        self,
        joined: Joined,
        first: Partition,
        turns: Codes,
        k: int,
        randomness: Randomness,
        progress: Progress | None,
    ) -> Codes:
        """Run the algorithm inside every box of the first round, from its turn on."""
        groups = np.full(joined.everyone.n_rows, LEFT_OUT, np.int32)
        chosen_from = _people_inside(joined, first, randomness)
        own, starts = rows_by_group(first.groups, first.n_groups)
        people = _loads(chosen_from, joined.loads[joined.n_inside :])
        n_groups = done = 0
        for box in np.argsort(people, kind="stable").tolist():
            others = joined.n_inside + _of_box(chosen_from, box)
            others = others[groups[others] == LEFT_OUT]
            rows = np.concatenate([own[starts[box] : starts[box + 1]], others])
            found = self._chosen(joined, rows, len(rows) - len(others), turns[box], k, randomness)
            kept = found >= 0
            groups[rows[kept]] = found[kept] + np.int32(n_groups)
            n_groups += int(found.max()) + 1
            done += int(people[box])
            if progress is not None:
                progress(done / max(1, int(people.sum())))
        return groups

    def _chosen(
        self,
        joined: Joined,
        rows: Ints,
        n_inside: int,
        turn: int,
        k: int,
        randomness: Randomness,
    ) -> Codes:
        """Groups of some rows, the first of which are of the microdata, without those to drop."""
        people, loads = joined.everyone.take(rows), joined.loads[rows]
        groups = np.zeros(len(rows), np.int32)
        if loads.sum() >= 2 * k:
            wanted = (Requirement(KJoinAnonymity(k), None),)
            weights = None if joined.weights is None else loads
            groups, _ = _groups_from(turn, self.algorithm, people, wanted, randomness, weights)
        groups = _useful(groups, n_inside)
        inside = np.arange(len(rows)) < n_inside
        return trimmed(people, groups, inside, loads, k) if self.trim else groups


def _people_inside(joined: Joined, first: Partition, randomness: Randomness) -> Inside:
    """The people in each box of the first round who are not of the microdata."""
    outside = joined.everyone.quasi_codes()[joined.n_inside :]
    # whoever has these values, and however many they are, the chance is the same
    words = randomness.key(_HOMES).line_words(outside)
    return inside_of(boxes_around(joined.microdata, first), outside, words, _CHOICES)


def _loads(inside: Inside, weights: Counts) -> Counts:
    """How many people there are in each box."""
    added: Counts = np.append(0, np.cumsum(weights[inside.points]))
    return np.diff(added[inside.starts])


def _of_box(inside: Inside, box: int) -> Ints:
    return inside.points[inside.starts[box] : inside.starts[box + 1]]


def merges(algorithm: Partitioner) -> bool:
    """Whether an algorithm can do with people who are alike as one row, however many they are."""
    return isinstance(algorithm, Weighing) and algorithm.equal_together


def _require_boxes(algorithm: Partitioner) -> None:
    require_algorithm(algorithm)
    if algorithm.form != "generalized":
        raise ParameterError(
            f"{algorithm.name} makes groups without boxes; use Mondrian or TopDown",
            parameter="algorithm",
        )


def _require_no_frontier(algorithm: Partitioner, needs: tuple[Requirement, ...]) -> None:
    """Smaller boxes inside those of the first round say more of who is in which group, which is
    what somebody who replays the frontier has to know.
    """
    if isinstance(algorithm, Frontier) and any(need.attribute is not None for need in needs):
        raise ParameterError(
            "frontier gives some people's values away to whoever knows their groups, and with a "
            "list these are told for more of them (docs/joining.md); use Mondrian or TopDown",
            parameter="algorithm",
        )


def _groups(
    algorithm: Partitioner,
    table: Microdata,
    needs: tuple[Requirement, ...],
    randomness: Randomness,
    weights: Counts | None = None,
    progress: Progress | None = None,
) -> Codes:
    """Groups of an algorithm that draws boxes around them and leaves no row out."""
    if weights is None:
        found = algorithm.partition(table, needs, randomness, progress)
    else:
        assert isinstance(algorithm, Weighing)
        found = algorithm.partition(table, needs, randomness, progress, weights)
    return _drawn(algorithm, found)


def _groups_from(
    turn: int,
    algorithm: Partitioner,
    table: Microdata,
    needs: tuple[Requirement, ...],
    randomness: Randomness,
    weights: Counts | None = None,
) -> tuple[Codes, Codes]:
    """As ``_groups``, from some turn on; also the turn that is next in each, 0 where none are
    taken.
    """
    if isinstance(algorithm, InTurns) and algorithm.in_turns:
        found, turns = algorithm.partition_from(turn, table, needs, randomness, weights)
        return _drawn(algorithm, found), turns
    groups = _groups(algorithm, table, needs, randomness, weights)
    return groups, np.zeros(int(groups.max()) + 1, np.int32)


def _drawn(algorithm: Partitioner, found: Partition) -> Codes:
    """Its groups, if boxes can be drawn around them."""
    if found.boxes is not None or found.n_left_out:
        raise ParameterError(
            f"{algorithm.name} recodes whole columns or leaves rows out; k-join-anonymity needs "
            "groups with boxes around them: use Mondrian or TopDown",
            parameter="algorithm",
        )
    return found.groups


def _useful(groups: Codes, n_inside: int) -> Codes:
    """Leave out the groups without a row of the microdata."""
    useful: Flags = np.zeros(int(groups.max()) + 1, np.bool_)
    useful[groups[:n_inside]] = True
    kept: Codes = np.where((groups >= 0) & useful[groups], groups, np.int32(LEFT_OUT))
    return kept


def _trimmed(joined: Joined, groups: Codes, k: int) -> Codes:
    return trimmed(joined.everyone, groups, joined.inside, joined.loads, k)


def _result(joined: Joined, groups: Codes) -> JoinPartition:
    """Groups numbered without gaps, and how many rows of the microdata each has."""
    inside = np.bincount(groups[: joined.n_inside])
    numbers = (np.cumsum(inside > 0) - 1).astype(np.int32)
    packed: Codes = np.where(groups >= 0, numbers[groups], np.int32(LEFT_OUT))
    return JoinPartition(joined, Partition.of(packed), inside[inside > 0])
