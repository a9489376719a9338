"""k-join-anonymity: CPU time against limits and a k-d tree, growth, gains over the algorithm alone.

10,000 persons are the microdata, all 958,515 the external table (with the data folder; a generated
stand-in of that size without), d = 4, k = 50. The join itself is not in the times.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

import sfumato as sf
from benchmarks.measure import Line, seconds
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.join.methods import JoinMethod, JoinPartition
from sfumato.algorithms.topdown import TopDown
from sfumato.core.randomness import Randomness
from sfumato.forms.generalized.release import boxes_of
from sfumato.models.requirements import requirements
from sfumato_experiments.kja import stand_in
from sfumato_experiments.kja.tables import ID, QUASI, SURVEY, numbered, persons_first

MICRODATA, PERSONS, D, K = 10_000, 958_515, 4, 50
SMALL, LARGE = 100_000, 1_000_000
REPEATS = 3
# our algorithm, its limit in CPU seconds, the paper's gains in NCP and DM: Direct, Refinement
_MONDRIAN = sf.Mondrian(choose="round-robin", cuts="median")
_CASES: tuple[tuple[str, Partitioner, float, tuple[tuple[float, float], ...]], ...] = (
    ("Mondrian", _MONDRIAN, 2.0, ((3.04, 14.35), (2.15, 4.96))),
    ("TopDown", TopDown(), 12.0, ((2.1, 2.22), (3.51, 3.4))),
)


def run(folder: Path | None) -> Iterator[Line]:
    """Speed and gains of both methods over both algorithms."""
    rows, source = _people(folder)
    joined = _joined(rows.slice(0, PERSONS))
    for name, algorithm, limit, paper in _CASES:
        yield from _case(joined, name, algorithm, limit, paper, source)
    yield _against_tree(joined)
    yield _growth(rows)


def _case(
    joined: sf.Joined,
    name: str,
    algorithm: Partitioner,
    limit: float,
    paper: tuple[tuple[float, float], ...],
    source: str,
) -> Iterator[Line]:
    ncp, dm = _alone(joined, algorithm)
    methods: tuple[JoinMethod, ...] = (sf.Direct(algorithm), sf.Refinement(algorithm))
    for ending, method, expected in zip(("DIR", "REF"), methods, paper, strict=True):
        cpu, found = _timed(method, joined)
        size = f"{joined.everyone.n_rows:,} joined rows of {source}"
        yield Line(f"{name}{ending} k={K}, CPU", cpu, limit, "s", size)
        losses = _losses(joined, found)
        for metric, before, after, gain in zip(
            ("NCP", "DM"), (ncp, dm), losses, expected, strict=True
        ):
            yield Line(
                f"{name}{ending}: half the paper's gain in {metric} / ours",
                gain / 2 * after / before,
                1.0,
                detail=f"{before / after:.2f} times lower than {name} (paper: {gain:g})",
            )


def _timed(method: JoinMethod, joined: sf.Joined) -> tuple[float, JoinPartition]:
    """Least CPU seconds, after one run that compiles, and what was found."""
    found = method.partition(joined, K, (), Randomness(0))
    return _least(method, joined), found


def _least(method: JoinMethod, joined: sf.Joined) -> float:
    return min(_cpu(lambda: method.partition(joined, K, (), Randomness(0))))


def _cpu(work: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    return [seconds(work, clock=time.process_time) for _ in range(repeats)]


def _alone(joined: sf.Joined, algorithm: Partitioner) -> tuple[float, float]:
    """NCP and DM of plain k-anonymity in the same domains."""
    table = joined.microdata
    found = algorithm.partition(table, requirements(sf.KAnonymity(K), table.schema), Randomness(0))
    boxes = boxes_of(table, found, "ranges")
    return sf.ncp(boxes, found.sizes), float(sf.discernibility(found))


def _losses(joined: sf.Joined, found: JoinPartition) -> tuple[float, float]:
    rows, partition = found.partition.kept()
    boxes = boxes_of(joined.everyone.take(rows), partition, "ranges")
    return sf.ncp(boxes, found.inside), float(np.square(found.inside).sum())


def _against_tree(joined: sf.Joined) -> Line:
    everyone = joined.everyone
    points = np.stack(
        [attribute.coordinates[everyone.codes[attribute.name]] for attribute in everyone.quasi],
        axis=1,
    )
    method = sf.Direct(_MONDRIAN)
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(5):  # in turns
        mine += _cpu(lambda: method.partition(joined, K, (), Randomness(0)), 1)
        theirs += _cpu(lambda: cKDTree(points, leafsize=2 * K - 1, balanced_tree=True), 1)
    ours, tree = statistics.median(mine), statistics.median(theirs)
    return Line(
        f"MondrianDIR k={K} / cKDTree build",
        ours / tree,
        0.6,
        detail=f"{ours:.3f} s against {tree:.3f} s of CPU",
    )


def _growth(rows: pa.Table) -> Line:
    method = sf.Direct(_CASES[1][1])
    taken = [_least(method, _joined(rows.slice(0, size))) for size in (SMALL, LARGE)]
    return Line(
        f"TopDownDIR, {SMALL:,} to {LARGE:,} joined rows",
        taken[1] / taken[0],
        15.0,
        detail=f"{taken[0]:.2f} s and {taken[1]:.2f} s of CPU",
    )


def _people(folder: Path | None) -> tuple[pa.Table, str]:
    """A million rows in random order, persons first, further quarters of theirs after them."""
    path = folder / SURVEY if folder else None
    random = np.random.default_rng(0)
    if path is not None and path.is_file():
        rows, persons = persons_first(path)
        source = "eph_2004_2015"
        later = persons + random.permutation(rows.num_rows - persons)[: LARGE - persons]
    else:
        rows, persons, source = stand_in.persons(LARGE, seed=0), PERSONS, "generated stand-in"
        later = np.arange(persons, LARGE)
    order = np.concatenate([random.permutation(persons), later])
    return numbered(rows.take(pa.array(order)).select(QUASI[:D])), source


def _joined(external: pa.Table) -> sf.Joined:
    schema = sf.Schema(identifiers=[ID], quasi=QUASI[:D])
    table = sf.Microdata.from_arrow(external.slice(0, MICRODATA), schema, id=ID)
    return sf.join(table, external)
