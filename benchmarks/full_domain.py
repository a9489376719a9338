"""Optimal full-domain generalization: Adult with the shared hierarchies, and sixteen columns.

Adult has 6,480 level vectors, all of which are looked at once more to see that the best was found.
The sixteen columns of the KDD census have 327,680: age and weeks worked in intervals, all others
flat. There the figure of interest is how far the result is from a bound that none can beat.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.measure import Line, seconds
from benchmarks.recoding import QUASI, SIXTEEN
from sfumato.algorithms.recoding.base import levels_of
from sfumato.algorithms.recoding.frequency_sets import FrequencySet
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.judge import Judge
from sfumato.algorithms.recoding.levels import LevelJudge
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.core.randomness import Randomness
from sfumato.core.taxonomy_builders import interval_taxonomy
from sfumato.models.bound import Bound
from sfumato.models.requirements import Requirement, requirements

LIMITS = {0.0: 0.5, 0.05: 2.0}  # seconds, by the share of rows that may be left out


def run(folder: Path | None) -> Iterator[Line]:
    """Nothing without the data: a stand-in has no hierarchies worth measuring."""
    if folder is None or not (folder / "adult_hierarchies.parquet").is_file():
        return
    data = _adult(folder)
    needs = requirements(sf.KAnonymity(5), data.schema)
    for suppress, limit in LIMITS.items():
        yield from _optimal(data, needs, suppress, limit)
    yield from _cuts(data, needs)
    yield from _sixteen(folder)


def _optimal(
    data: sf.Microdata, needs: tuple[Requirement, ...], suppress: float, limit: float
) -> Iterator[Line]:
    algorithm = FullDomain(suppress=suppress)
    found = algorithm.solve(data, needs)
    cpu = min(
        seconds(lambda: algorithm.solve(data, needs), clock=time.process_time) for _ in range(3)
    )
    name = f"Adult k=5, full domain, {suppress:.0%} left out"
    detail = f"looked at {found.visited:,} of {found.level_vectors:,} level vectors"
    yield Line(f"{name}: CPU", cpu, limit, "s", detail)
    best = _best_of_all(data, needs, suppress)
    yield Line(f"{name}: NCP", found.cost, best + 1e-12, "", f"best of all: {best:.4f}")


def _best_of_all(data: sf.Microdata, needs: tuple[Requirement, ...], suppress: float) -> float:
    bound = Bound.of(needs, data)
    exact, _ = FrequencySet.of(bound)
    ladders = [levels_of(attribute) for attribute in data.quasi]
    judge = LevelJudge(ladders, exact, Judge.of(bound, suppress, "ncp"))
    verdicts = map(judge.verdict, itertools.product(*(range(top + 1) for top in judge.top)))
    return min(verdict.cost for verdict in verdicts if verdict.allowed)


def _cuts(data: sf.Microdata, needs: tuple[Requirement, ...]) -> Iterator[Line]:
    for algorithm in (Subtree(), Subtree(suppress=0.05), Sibling(), Sibling(suppress=0.05)):
        cpu = min(
            seconds(
                lambda algorithm=algorithm: algorithm.partition(data, needs, Randomness()),  # type: ignore[misc]
                clock=time.process_time,
            )
            for _ in range(2)
        )
        partition = algorithm.partition(data, needs, Randomness())
        if partition.boxes is None:
            raise TypeError(f"{algorithm} gave no boxes")
        loss = sf.ncp(partition.boxes, partition.sizes, partition.n_left_out)
        yield Line(f"Adult k=5, {algorithm}: CPU", cpu, 2.0, "s", f"NCP {loss:.4f}")


def _sixteen(folder: Path) -> Iterator[Line]:
    table = pq.read_table(folder / "kdd_census_income.parquet", columns=list(SIXTEEN))
    trees = {
        "age": interval_taxonomy(0, 99, (5, 10, 20)),
        "weeks_worked": interval_taxonomy(0, 52, (13, 26)),
    }
    data = sf.read(table, sf.Schema(quasi=SIXTEEN, taxonomies=trees))
    needs = requirements(sf.KAnonymity(5), data.schema)
    for suppress in LIMITS:
        start = time.perf_counter()
        found = FullDomain(suppress=suppress).solve(data, needs)
        taken = time.perf_counter() - start
        detail = (
            f"NCP {found.cost:.4f}, none below {found.bound:.4f}; looked at "
            f"{found.visited:,} of {found.level_vectors:,} level vectors"
        )
        name = f"sixteen columns, {data.n_rows:,} rows, k=5, full domain, {suppress:.0%} left out"
        yield Line(name, taken, 60.0, "s", detail)


def _adult(folder: Path) -> sf.Microdata:
    taxonomies = sf.read_taxonomies(folder / "adult_hierarchies.parquet")
    table = pq.read_table(folder / "adult.parquet")
    train = table.filter(pc.equal(table["split"].cast(pa.string()), "train")).drop_null()
    named = {name: taxonomies[name] for name in QUASI}
    return sf.read(train, sf.Schema(quasi=QUASI, taxonomies=named))
