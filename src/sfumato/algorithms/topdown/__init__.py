"""TopDown: two-seed recursive clustering, then merging.

Xu, Wang, Pei, Wang, Shi, Fu: "Utility-based anonymization using local recoding", KDD 2006; as the
k-join-anonymity paper (TKDE, section 2.2) describes it:

    1. seeds: two rows whose common box is large: the one farthest from a random row, then the one
       farthest from that, ``rounds`` times
    2. every other row, in random order, goes to the seed's side whose NCP grows least
    3. the same for both sides, until a group has at most k rows
    4. a group of fewer than k rows takes rows from one that can spare them or is merged with its
       neighbour, whichever costs less NCP; the smallest such group is next, until there are none

NCP of a group is its rows times the penalty of its box (space.py), as the k-join paper
counts it. Step 2 by the growth of the box alone, as it can be read, does not work: the side that is
larger by chance then takes in nearly everything and single rows are split off one by one. Where the
papers are silent:

- Equal rows stay together, so a vector of k rows or more can be a group of its own.
- Under other models k is the fewest rows that a passing group can have, 1 for a user's own. Step 4
  merges whatever does not pass, and rows are taken only where both groups pass afterwards. Built-in
  models are kept when groups are merged; for any other the whole table is the last resort.
- The neighbour to merge with is the cheapest of all groups, exactly (search.py). The donor
  of rows is the cheapest to merge with among those that can spare them, and not one much farther
  away than that neighbour; what it gives are its points nearest to the taker's box.

A group has k rows or more and no upper bound: several small groups may find the same neighbour the
cheapest. A demanding model (l-diversity close to what the table bears, a small t) lets groups that
do not pass swallow one another; Mondrian, which only makes cuts that pass, loses less there, and
also on many evenly filled dimensions, where there is nothing to cluster.

Beyond memory the table is first cut into regions by Mondrian, and nothing is clustered across their
borders; release.json states how many there are.

Cost: O(v) per level of the splits for v different vectors, mostly about log2(v) levels; then a
search per group that does not pass. It looks at few groups where groups lie apart, and
at more and more of them, in the end at all, on many evenly filled dimensions: some nanoseconds for
each, but as many searches as groups. Of neighbours that cost the same the one met first is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import TIME_LIMIT, Progress, ignore_progress
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.goal import Goal, goal_of
from sfumato.algorithms.mondrian import Mondrian, MondrianPlan
from sfumato.algorithms.points import Points
from sfumato.algorithms.refine import refined, require_refine, require_unrefined, until_refined
from sfumato.algorithms.space import PointArrays, Sets, point_arrays, sets_of
from sfumato.algorithms.topdown.index import Index, fill_index, new_index
from sfumato.algorithms.topdown.merge import label_groups, merge_all, new_workspace
from sfumato.algorithms.topdown.plain import merge_all_plain
from sfumato.algorithms.topdown.split import new_table, new_tree, split_all
from sfumato.algorithms.topdown.taking import new_plan
from sfumato.core.arrays import Codes, Counts
from sfumato.core.boxes import Boxes
from sfumato.core.compiled import announce, watch
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.errors import ParameterError
from sfumato.models.bound import Bound, compile_rules, require_feasible
from sfumato.models.requirements import Requirement

_ROWS_EACH = 3  # a row that is clustered takes the memory of so many that are cut
_WATCHED = 200_000  # rows from which a run is long enough to be watched


@dataclass(frozen=True, slots=True)
class TopDown:
    """Clusters around two far seeds, split again and again; small groups are merged.

    More ``rounds`` look longer for seeds that are far apart; three are hardly ever improved on.
    ``refine`` passes then change groups where that loses less (refine/), for at most ``time_limit``
    seconds.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.TopDown(), sf.KAnonymity(10))
    >>> release.manifest.metrics["group_sizes"]["smallest"] >= 10
    True
    """

    name: ClassVar[str] = "topdown"
    form: ClassVar[str] = "generalized"
    rounds: int = 3
    refine: int = 0
    time_limit: float | None = TIME_LIMIT

    def __post_init__(self) -> None:
        """Refuse to look for nothing."""
        if self.rounds < 1:
            raise ParameterError(f"rounds must be 1 or more, not {self.rounds}", parameter="rounds")
        require_refine(self.refine, self.time_limit)

    @property
    def equal_together(self) -> bool:
        """Clusters are of points, until rows are regrouped."""
        return not self.refine

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
        weights: Counts | None = None,
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        bound = coarsened(require_feasible(needs, table, weights))
        found = self._divide(bound, _key(randomness, 0), until_refined(progress, self.refine))
        return refined(found, bound, self.refine, self.time_limit, randomness, progress)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Regions are Mondrian's."""
        require_unrefined(self.refine)
        Mondrian().require_planned(needs)

    def plan(self, engine: Engine, bound: Bound, room: Room, randomness: Randomness) -> TopDownPlan:
        """Let Mondrian cut until what is left can be clustered in memory."""
        smaller = room.for_larger(_ROWS_EACH)
        regions = Mondrian().plan(engine, bound, smaller, randomness)
        smaller.require_regions(regions.loads)
        keys = [_key(randomness, number) for number in range(len(regions.loads))]
        return TopDownPlan(self, regions, keys)

    def _divide(self, bound: Bound, key: Key, progress: Progress | None = None) -> Partition:
        rules = compile_rules(bound)
        points = Points.distinct(bound.table, rules.offsets if rules else {}, bound.weights)
        order = np.argsort(key.words(np.arange(len(points.weights)))).astype(np.int32)
        arrays, sets = point_arrays(bound.table, points, order), sets_of(bound.table)
        index = split_cloud(arrays, sets, rules.least if rules else 1, self.rounds, progress)
        if rules is None:
            merge_all_plain(points, arrays, sets, index, bound)
        else:
            merge(arrays, sets, goal_of(rules, bound.n_rows), index, progress)
        groups = np.empty(len(points.weights), np.int32)
        label_groups(index, arrays, groups)
        return Partition.of(groups[points.point_of_row])


@dataclass(frozen=True, slots=True, eq=False)
class TopDownPlan:
    """Regions of a table, each of which is clustered by itself."""

    algorithm: TopDown
    regions: MondrianPlan
    keys: Sequence[Key]
    boxes: Boxes | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def loads(self) -> Counts:
        """The rows of every region."""
        return self.regions.loads

    @property
    def stated(self) -> Mapping[str, Any]:
        """How many regions there are, unless the table is one, as in memory."""
        return {"regions": len(self.keys)} if len(self.keys) > 1 else {}

    def of_rows(self, part: pa.Table) -> Codes:
        """The region of every row of a coded part."""
        return self.regions.of_rows(part)

    def divide(self, number: int, table: Microdata, rows: Counts) -> Partition:  # noqa: ARG002
        """Cluster the rows of a region."""
        return self.algorithm._divide(self.regions.bound.over(table), self.keys[number])


def _key(randomness: Randomness, region: int) -> Key:
    """Whatever parts a table has, and whoever clusters a region, its points stand in one order."""
    return randomness.key(f"{TopDown.name} {region}")


def split_cloud(
    arrays: PointArrays, sets: Sets, least: int, rounds: int, progress: Progress | None = None
) -> Index:
    """Steps 1 to 3: groups of at most ``least`` rows, or of one point."""
    n_rows = int(arrays.weights.sum())
    tree, room = new_tree(len(arrays.weights), n_rows), new_table(arrays, sets)

    def run(control: Counts) -> int:
        return split_all(arrays, sets, least, rounds, tree, room, control)

    announce(split_all)
    n_nodes = _watched(run, n_rows, n_rows, progress, 0.0)
    index = new_index(tree, n_nodes, arrays, sets)
    fill_index(index, tree, arrays, sets)
    return index


def merge(
    arrays: PointArrays, sets: Sets, goal: Goal, index: Index, progress: Progress | None = None
) -> None:
    """Step 4, from the kernel."""
    n_nodes = len(index.heads)
    plan, workspace = new_plan(len(arrays.weights)), new_workspace(n_nodes, len(goal.whole))

    def run(control: Counts) -> int:
        return merge_all(arrays, sets, goal, index, plan, workspace, control)

    announce(merge_all)
    _watched(run, n_nodes, int(arrays.weights.sum()), progress, 0.5)


def _watched(
    run: Callable[[Counts], int], total: int, n_rows: int, progress: Progress | None, done: float
) -> int:
    """Run one of the two halves; its share of the whole starts at ``done``."""
    if n_rows < _WATCHED:
        return run(np.zeros(2, np.int64))
    told = progress or ignore_progress
    return watch(run, total, lambda share: told(done + share / 2))
