"""Adult: how much less exact than the best Python peers' releases, counted as they count.

Numerical cells cost (max - min) / range; categorical cells 0 for one value, else distinct values /
domain size. The best peer figures: 0.040, 0.066 and 0.159 at k = 5, 10, 50.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.data import ADULT_CATEGORIES, ADULT_QUASI, adult
from benchmarks.measure import Line, seconds
from sfumato.core.boxes import ValueSets
from sfumato.core.randomness import Randomness
from sfumato.forms.generalized.release import boxes_of
from sfumato.models.requirements import requirements

BEST_PEER = {5: 0.040, 10: 0.066, 50: 0.159}


def run(folder: Path | None) -> Iterator[Line]:
    """Loss and CPU time at the k that peers were measured at."""
    table, source = adult(folder)
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=ADULT_QUASI))
    for k, limit in BEST_PEER.items():
        partition = _partition(data, k)
        loss = as_peers_count(data, partition)
        detail = f"{source}, {partition.n_groups:,} groups, C_DM {sf.discernibility(partition):,}"
        yield Line(f"Adult NCP k={k}, value sets", loss, limit, "", detail)
        cpu = min(
            seconds(lambda k=k: _partition(data, k), clock=time.process_time)  # type: ignore[misc]
            for _ in range(5)
        )
        yield Line(f"Adult CPU k={k}", 1000 * cpu, 50.0, "ms")
    ordered = _ordered(table)
    boxes = boxes_of(ordered, partition := _partition(ordered, 5), "ranges")
    yield Line("Adult NCP k=5, ranges", sf.ncp(boxes, partition.sizes), 0.048, "", source)


def _partition(data: sf.Microdata, k: int) -> sf.Partition:
    needs = requirements(sf.KAnonymity(k), data.schema)
    return sf.Mondrian().partition(data, needs, Randomness())


def as_peers_count(data: sf.Microdata, partition: sf.Partition) -> float:
    """The mean loss of a cell, as the Python peers count it."""
    losses = []
    for side in boxes_of(data, partition, "sets"):
        penalties = side.penalties()
        if isinstance(side, ValueSets):
            values = side.n_values()
            penalties = np.where(values > 1, values / side.attribute.size, 0.0)
        losses.append(np.average(penalties, weights=partition.sizes))
    return float(np.mean(losses))


def _ordered(table: pa.Table) -> sf.Microdata:
    """Every category in alphabetical order, as the paper's ordered domains."""
    orders = {name: sorted(table[name].unique().to_pylist()) for name in ADULT_CATEGORIES}
    return sf.Microdata.from_arrow(table, sf.Schema(quasi=ADULT_QUASI, orders=orders))
