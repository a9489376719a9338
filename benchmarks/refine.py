"""Refined boxes: how much less they lose, how long that takes, and what it does to COUNT.

Limits of NCP, as sfumato counts it and as the Python peers do (quality.py), are about one pass over
Mondrian's groups of Adult. Errors are those of refined boxes over those of Mondrian's; they are
told, not limited.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

import sfumato as sf
from benchmarks.data import ADULT_QUASI, CENSUS_QUASI, adult, census
from benchmarks.measure import Line, seconds
from benchmarks.quality import as_peers_count
from sfumato.algorithms.base import Partitioner
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.forms.generalized.release import boxes_of
from sfumato.models.base import Model
from sfumato.models.requirements import requirements

LIMITS = {5: (0.023, 0.030), 10: (0.041, 0.052), 50: (0.114, 0.130)}  # by k: ours, as peers count
DIVERSE = {3: 0.034, 5: 0.175, 7: 0.289}  # by l: what unrefined frontiers must reach
SECONDS = 0.3
ROWS = 100_000


def run(folder: Path | None) -> Iterator[Line]:
    """Loss, processor time, and errors of COUNT."""
    table, source = adult(folder)
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=ADULT_QUASI))
    for k, (ours, peers) in LIMITS.items():
        model = sf.KAnonymity(k)
        found, before = (_partition(data, sf.Mondrian(refine=n), model) for n in (1, 0))
        detail = f"{source}, {_ncp(data, before):.4f} before"
        more = ", ".join(
            f"{n} passes {_ncp(data, _partition(data, sf.Mondrian(refine=n), model)):.4f}"
            for n in (3, 6)
        )
        yield Line(f"Adult NCP k={k}, refine=1", _ncp(data, found), ours, "", f"{detail}, {more}")
        detail = f"{as_peers_count(data, before):.4f} before"
        yield Line(
            f"the same as peers count, k={k}", as_peers_count(data, found), peers, "", detail
        )
        work = partial(_partition, data, sf.Mondrian(refine=1), model)
        cpu = min(seconds(work, clock=time.process_time) for _ in range(5))
        yield Line(f"Adult CPU k={k}, refine=1", cpu, SECONDS, "s", "Mondrian included")
    yield from _diverse(table)
    yield from _errors(table, ADULT_QUASI, source)
    rows, source = census(folder, ROWS)
    yield from _errors(rows, CENSUS_QUASI, source)


def _diverse(table: pa.Table) -> Iterator[Line]:
    quasi = [name for name in ADULT_QUASI if name != "occupation"]
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=quasi, sensitive="occupation"))
    for l, limit in DIVERSE.items():
        losses = [
            _ncp(data, _partition(data, sf.Frontier(refine=n), sf.LDiversity(l)))
            for n in (1, 0, 3, 6)
        ]
        detail = "{1:.4f} before, 3 passes {2:.4f}, 6 passes {3:.4f}".format(*losses)
        yield Line(f"Adult NCP l={l}, Frontier(refine=1)", losses[0], limit, "", detail)


def _errors(table: pa.Table, quasi: tuple[str, ...], source: str) -> Iterator[Line]:
    rest = [name for name in quasi if name != "occupation"]
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=rest, sensitive="occupation"))
    plain, better = (
        sf.publish(data, sf.Mondrian(refine=n), sf.KAnonymity(10), seed=1) for n in (0, 1)
    )
    for name, queries in _questions(data).items():
        before, after = (sf.compare(release, data, queries).average for release in (plain, better))
        detail = f"{after:.3f} against {before:.3f}"
        yield Line(f"COUNT error, {source}, k=10, {name}", after / before, math.inf, "x", detail)


def _questions(data: sf.Microdata) -> dict[str, tuple[Query, ...]]:
    asked = {
        f"values of {d} QIs and occupation": sf.anatomy_workload(
            data, queries=1000, dimensionality=d, seed=3
        )
        for d in (1, 3, 5, len(data.quasi))
    }
    some = [one.name for one in data.quasi]
    return asked | {
        f"ranges of {d} QIs": sf.range_workload(data, queries=300, attributes=some[:d], seed=3)
        for d in (2, 4, len(some))
    }


def _partition(data: sf.Microdata, algorithm: Partitioner, model: Model) -> sf.Partition:
    return algorithm.partition(data, requirements(model, data.schema), Randomness(1))


def _ncp(data: sf.Microdata, partition: sf.Partition) -> float:
    return sf.ncp(boxes_of(data, partition, "sets"), partition.sizes)
