"""What a release by a cluster costs, as docs/cluster.md has it: a model of Mondrian's passes.

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
        # values, codes and what is exchanged twice; some merge what many tasks have counted
        5 + cuts + (1 + cuts) * _merges(tasks),
        wish.rows * (_NUMBER + _CODE * (wish.quasi + wish.sensitive)),
        _results(tasks) * _COUNT * wish.slots * (regions - 1),
        reads,
        wish.rows // reads,
    )


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
