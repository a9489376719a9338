"""What a release by a cluster costs, as docs/cluster.md has it: the passes of every method, and
what those of Mondrian take.

The counters of cluster.py and tests/unit/engines/test_cluster_model.py hold it against what is
done. It assumes cuts at the median; values that many people share make some regions larger, and a
round or two more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from sfumato.engines import cluster, domains
from sfumato.engines.room import Room

# how the regions of a method are found: by cuts, each one pass over codes, or in these passes
CUTTING = ("mondrian", "topdown", "frontier", "anatomize")
POINTS = ("local-recoding", "branch-mondrian", "full-domain", "subtree", "sibling")
_BEFORE, _AFTER = ["tally", "coded"], ["region_of", "divided, bucket_of", "published, as_it_is"]
_COMBINATIONS = ["count_rows", "bucket_of", "add_up, as_it_is"]
_BLOCKS = ["count_words", "words_in"]
_EVEN, _SAFE = ["count_first_bits", "words_in_bins"], ["count_values_in"]
_WEIGHED = ["wanted_of_part"]

_NUMBER, _CODE, _COUNT = 8, 2, 8  # bytes of a row's number, of a code, of a count


@dataclass(frozen=True, slots=True)
class Wish:
    """Rows of so many quasi-identifiers and sensitive columns; ``slots`` are the different values
    of all quasi-identifiers, ``memory`` is what a task may take.
    """

    rows: int
    quasi: int
    sensitive: int
    slots: int
    memory: int


class Cost(NamedTuple):
    """Of the rows and of what is told about them.

    ``tasks`` are those of a pass over the rows, ``rounds`` the stages one after the other,
    ``moved`` the bytes of rows that change places, ``counts`` the bytes of counts that reach the
    driver, ``reads`` how often a piece of a file is opened when rows meet in regions, and
    ``piece`` its rows.
    """

    tasks: int
    cuts: int
    regions: int
    buckets: int
    rounds: int
    moved: int
    counts: int
    reads: int
    piece: int


def cost(wish: Wish) -> Cost:
    """Of Mondrian under a model that counts rows alone."""
    room = Room.of(wish.memory, wish.quasi).rows
    tasks = -(-wish.rows // cluster.SPLIT_ROWS)
    cuts = max(0, math.ceil(math.log2(wish.rows / room)))
    regions = 1 << cuts
    reads = tasks * regions * -(-cluster.SPLIT_ROWS // domains.PART_ROWS)
    return Cost(
        tasks,
        cuts,
        regions,
        1 << (2 * wish.rows // room).bit_length(),
        # some merge what many tasks have counted
        len(passes("mondrian", cuts)) + (1 + cuts) * _merges(tasks),
        wish.rows * (_NUMBER + _CODE * (wish.quasi + wish.sensitive)),
        _results(tasks) * _COUNT * wish.slots * (regions - 1),
        reads,
        wish.rows // reads,
    )


def passes(
    method: str,
    cuts: int,
    *,
    blocks: bool = False,
    relaxed: bool = False,
    sensitive: bool = False,
    workload: bool = False,
) -> list[str]:
    """The stages of a release, but for fingerprints and where many results are merged.

    ``blocks`` are the paper's groups (``--no-near``), ``relaxed`` cuts part equal rows, under
    ``sensitive`` rules or not; then these are the fewest, as each axis that is tried takes as many.
    """
    cut = ["count_nodes", *(relaxed * _EVEN), *(relaxed * sensitive * _SAFE)]
    plan = _BLOCKS if blocks else [*(workload * _WEIGHED), *(cuts * cut)]
    return [*_BEFORE, *(_COMBINATIONS if method in POINTS else plan), *_AFTER]


def seconds(wish: Wish, workers: int, at_worker: float, at_driver: float) -> tuple[float, float]:
    """On the clock: of the workers side by side, and of the driver, from seconds of one row."""
    return wish.rows * at_worker / workers, wish.rows * at_driver


def _results(tasks: int) -> int:
    """How many of a fold reach the driver."""
    for _ in range(_merges(tasks)):
        tasks = -(-tasks // cluster.FAN_IN)
    return tasks


def _merges(tasks: int) -> int:
    """Stages that merge what tasks have found, until the driver can."""
    return 0 if tasks <= cluster.FAN_IN else 1 + _merges(-(-tasks // cluster.FAN_IN))
