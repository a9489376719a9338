"""Methods that search, where tables are not ordinary: many values, many columns, little time.

Random tables, of which nothing repeats. Times are processor times; the time limits are held against
the processor's clock as well, so that a busy machine does not matter.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import Line, seconds
from sfumato.algorithms import deadline
from sfumato.algorithms.base import Partitioner
from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.base import Model
from sfumato.models.requirements import requirements

CARDINALITIES = {80: 10.0, 160: 10.0, 320: 10.0, 1000: 10.0, 2000: 20.0}
OVERSHOT = 1.2
LIMIT = 2.0


@dataclass(frozen=True, slots=True)
class ThreeValues:
    """Three different values in every group, asked in Python."""

    needs_sensitive: bool = True
    on: str | None = None

    def passes(self, groups: Histograms) -> Flags:
        """Whether each group has them."""
        return groups.distinct >= 3

    def __str__(self) -> str:
        """What it is, in a line of results."""
        return "a model in Python"


def run(folder: Path | None) -> Iterator[Line]:  # noqa: ARG001
    """All lines; no data are needed."""
    yield from _siblings()
    yield from _grids()
    yield from _columns()


def _siblings() -> Iterator[Line]:
    for values, limit in CARDINALITIES.items():
        cpu, found = _measured(_table(10_000, 2, values), sf.Sibling(), sf.KAnonymity(5))
        name = f"Sibling k=5, 10,000 rows, 2 columns of {values:,} values"
        yield Line(name, cpu, limit, "s", _told(found))


def _grids() -> Iterator[Line]:
    algorithm = sf.SingleDimensional(time_limit=LIMIT)
    for rows, columns, values, model in (
        (10_000, 2, 5_000, sf.KAnonymity(5)),
        (10_000, 2, 5_000, sf.LDiversity(5)),
        (10_000, 2, 5_000, ThreeValues()),
        (100_000, 5, 50, sf.KAnonymity(5)),
        (100_000, 5, 1_000, sf.KAnonymity(5)),
        (100_000, 5, 50, ThreeValues()),
        (100_000, 2, 60_000, sf.KAnonymity(5)),
    ):
        with patch.object(deadline, "monotonic", time.process_time):
            cpu, found = _measured(_table(rows, columns, values), algorithm, model)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        name = (
            f"grid in {LIMIT:g} s, {rows:,} rows, {columns} columns of {values:,} values, {model}"
        )
        detail = f"{_told(found)}, C_DM {(found.sizes**2).sum():,}, process so far {peak:.2f} GiB"
        yield Line(name, cpu / LIMIT, OVERSHOT, "x", detail)


def _columns() -> Iterator[Line]:
    data = _table(10_000, 100, 10)
    for method in (sf.LocalRecoding, sf.FullDomain, sf.Subtree, sf.Sibling):
        cpu, found = _measured(data, method(), sf.KAnonymity(5))
        name = f"{method.name} k=5, 10,000 rows, 100 columns of 10 values"
        yield Line(name, cpu, 15.0, "s", _told(found))
    for method in (sf.LocalRecoding, sf.FullDomain):
        with patch.object(deadline, "monotonic", time.process_time):
            cpu, found = _measured(data, method(time_limit=LIMIT), sf.KAnonymity(5))
        yield Line(
            f"{method.name} in {LIMIT:g} s, the same", cpu / LIMIT, OVERSHOT, "x", _told(found)
        )


def _measured(data: sf.Microdata, algorithm: Partitioner, model: Model) -> tuple[float, Partition]:
    """Processor seconds, the kernels compiled before, and the groups."""
    small = _table(50, 2, 4)
    algorithm.partition(small, requirements(model, small.schema), Randomness())
    found: list[Partition] = []
    needs = requirements(model, data.schema)
    cpu = seconds(
        lambda: found.append(algorithm.partition(data, needs, Randomness())), time.process_time
    )
    return cpu, found[0]


def _told(found: Partition) -> str:
    ended = "cut short" if found.notes["cut_short"] else "to its end"
    return f"{ended}, {found.n_groups:,} groups, {found.notes['visited']:,} looks"


def _table(rows: int, columns: int, values: int) -> sf.Microdata:
    random = np.random.default_rng(0)
    quasi = {f"q{j}": random.integers(0, values, rows) for j in range(columns)}
    diseases = [f"disease {i}" for i in range(50)]
    table = pa.table({**quasi, "disease": random.choice(diseases, rows)})
    return sf.read(table, sf.Schema(quasi=list(quasi), sensitive=["disease"]))
