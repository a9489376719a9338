"""Information loss of a partition, as the papers measure it.

Every function takes the partition or its boxes; smaller is always better.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.core.arrays import Counts, Floats
from sfumato.core.boxes import Boxes, Ranges, Side
from sfumato.core.partition import Partition
from sfumato.errors import ParameterError


def discernibility(partition: Partition) -> int:
    """C_DM: every row costs the size of its group, so the sum of squared sizes.

    >>> import numpy as np
    >>> sf.discernibility(sf.Partition.of(np.array([0, 0, 1, 1, 1])))
    13
    """
    return int(np.square(partition.sizes).sum())


def average_group_size(partition: Partition, k: int) -> float:
    """C_AVG: rows per group, in units of k; 1 is the best k allows.

    >>> import numpy as np
    >>> sf.average_group_size(sf.Partition.of(np.array([0, 0, 0, 1, 1, 1])), k=2)
    1.5
    """
    return partition.n_rows / partition.n_groups / k


def ncp(boxes: Boxes, sizes: Counts, left_out: int = 0) -> float:
    """Normalized certainty penalty: mean over all cells, 0 exact to 1 unknown.

    The cells of rows that were ``left_out`` count 1.

    >>> from sfumato.core.boxes import Ranges
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> halves = sf.Partition.of((patients.codes["age"] > 30).astype("int32"))
    >>> ages = Ranges.around(patients.attributes["age"], patients.codes["age"], halves)
    >>> round(sf.ncp(sf.Boxes((ages,)), halves.sizes), 3)
    0.514
    """
    return float(np.mean(list(ncp_by_attribute(boxes, sizes, left_out).values())))


def ncp_by_attribute(boxes: Boxes, sizes: Counts, left_out: int = 0) -> dict[str, float]:
    """The mean penalty of each attribute's cells."""
    rows = int(sizes.sum()) + left_out
    return {
        side.attribute.name: float(((side.penalties() * sizes).sum() + left_out) / rows)
        for side in boxes
    }


def iloss(boxes: Boxes, sizes: Counts, weights: Mapping[str, float] | None = None) -> float:
    """ILoss: (values covered - 1) / domain size per cell, weighted by attribute, summed over rows.

    Attributes without a weight weigh 1.

    >>> from sfumato.core.boxes import Ranges
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> halves = sf.Partition.of((patients.codes["age"] > 30).astype("int32"))
    >>> ages = Ranges.around(patients.attributes["age"], patients.codes["age"], halves)
    >>> round(sf.iloss(sf.Boxes((ages,)), halves.sizes))
    508
    """
    given = dict(weights or {})
    known = {side.attribute.name for side in boxes}
    for name in given:
        if name not in known:
            raise ParameterError(f"a weight for {name!r}, which has no box", parameter="weights")
    return float(
        sum(
            given.get(side.attribute.name, 1.0) * np.sum(_lost_shares(side) * sizes)
            for side in boxes
        )
    )


def _lost_shares(side: Side) -> Floats:
    """(values covered - 1) / domain size; all of it where nobody knows how many there are."""
    covered = side.n_values()
    if np.isinf(side.domain_size):
        return np.isinf(covered).astype(np.float64)
    return (covered - 1) / side.domain_size


def perimeter(boxes: Boxes, sizes: Counts) -> float:
    """Raw NCP as the k-join paper prints it: twice the box's extents, summed over rows.

    >>> from sfumato.core.boxes import Ranges
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> halves = sf.Partition.of((patients.codes["age"] > 30).astype("int32"))
    >>> ages = Ranges.around(patients.attributes["age"], patients.codes["age"], halves)
    >>> round(sf.perimeter(sf.Boxes((ages,)), halves.sizes))
    81204
    """
    total = 0.0
    for side in boxes:
        if not isinstance(side, Ranges):
            raise ParameterError(
                f"{side.attribute.name!r} is unordered, so its boxes have no perimeter",
                parameter="boxes",
            )
        total += 2 * float(np.sum(side.extents() * sizes))
    return total


def group_sizes(partition: Partition) -> dict[int, int]:
    """How many groups have each size, ascending."""
    sizes, counts = np.unique(partition.sizes, return_counts=True)
    return {int(size): int(count) for size, count in zip(sizes, counts, strict=True)}
