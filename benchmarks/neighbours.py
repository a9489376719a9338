"""Groups of neighbours against groups that ignore who people are: answers, bounds, loss, time.

The questions: those of the Anatomy paper (section 6.1, three of the quasi-identifiers) and those of
the StatDB paper (ranges of two). Groups of l rows (size l) are compared with the paper's, which
have as many; groups of the default size with those. "Sharpened" are estimates that learn from all
groups (sf.sharpen). benchmarks/attackers.py has the other side, benchmarks/tradeoff.py both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import Line, ratio
from sfumato.audits.attacks.results import shuffled
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements
from sfumato_experiments.statdb.tables import SALARY, survey

L, ROWS, QUERIES = 10, 200_000, 300
TIMED = 1_000_000
SEED = 43  # of questions that no choice was made by
ADULT = ("age", "workclass", "education_num", "marital_status", "race", "sex", "native_country")
BOXES = {3: 0.034, 5: 0.175, 7: 0.289}


class Answers(NamedTuple):
    """Mean relative error of estimates, and mean width of bounds, relative to the truth."""

    error: float
    width: float


def run(folder: Path | None) -> Iterator[Line]:
    """Both sides on two tables, boxes on Adult, and the time."""
    yield from _timed(folder)
    if folder is None:
        return
    salaries = survey(folder, ROWS).rows
    quasi = [name for name in salaries.column_names if name != SALARY]
    schema = sf.Schema(quasi=quasi, sensitive=SALARY)
    people = sf.read(salaries, schema)
    yield from _answers("salary (EPH)", people)
    yield from _control("salary (EPH), shuffled", shuffled(people, 0))
    schema = sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation")
    yield from _answers("occupation (ACS)", sf.read(census(folder, ROWS)[0], schema))
    yield from _boxes(folder)


def _timed(folder: Path | None) -> Iterator[Line]:
    table, _ = census(folder, TIMED)
    data = sf.Microdata.from_arrow(
        table, sf.Schema(quasi=CENSUS_QUASI, sensitive=table.column_names[-1])
    )
    diverse = requirements(sf.LDiversity(L), data.schema)
    anonymous = requirements(sf.KAnonymity(L), data.schema)
    for name, way in {"size l": sf.Anatomize(size=L), "default size": sf.Anatomize()}.items():
        yield ratio(
            f"neighbours, {name} / Mondrian k={L}, {data.n_rows:,} rows, processor time",
            lambda way=way: way.partition(data, diverse, Randomness()),  # type: ignore[misc]
            lambda: sf.Mondrian().partition(data, anonymous, Randomness()),
            limit=2.5,
            clock=time.process_time,
        )


def _control(name: str, people: sf.Microdata) -> Iterator[Line]:
    """What learning costs where there is nothing to learn."""
    for groups, way in {"paper": sf.Anatomize(near=False), "default size": sf.Anatomize()}.items():
        release = sf.publish(people, way, sf.LDiversity(L), seed=0)
        learnt = sf.sharpen(release)
        for asked, workload in questions_to(people).items():
            usual, sharper = (measured(one, people, workload).error for one in (release, learnt))
            title = f"{name}, {asked}: error, {groups}, sharpened / not"
            detail = f"{sharper:.4f} against {usual:.4f}"
            yield Line(title, sharper / usual, math.inf, detail=detail)


def _answers(name: str, people: sf.Microdata) -> Iterator[Line]:
    model = sf.LDiversity(L)
    ways = {
        "paper": sf.Anatomize(near=False),
        "size l": sf.Anatomize(size=L),
        "default size": sf.Anatomize(),
    }
    releases = {way: sf.publish(people, made, model, seed=0) for way, made in ways.items()}
    error = releases["size l"].metrics["reconstruction_error"][people.schema.sensitive[0]]
    least = sf.least_reconstruction_error(people.n_rows, L)
    yield Line(f"{name}, size l: RCE / lower bound", error / least, 1.01)
    for asked, workload in questions_to(people).items():
        found = {way: measured(release, people, workload) for way, release in releases.items()}
        paper, small, usual = found["paper"], found["size l"], found["default size"]
        what = f"{name}, {asked}"
        for side, limit in (("error", 0.2), ("width", 0.15)):
            ours, theirs = getattr(small, side), getattr(paper, side)
            detail = f"{ours:.4f} against {theirs:.4f}"
            yield Line(f"{what}: {side}, size l / paper", ours / theirs, limit, detail=detail)
            later = getattr(usual, side)
            detail = f"{later:.4f} against {ours:.4f}"
            yield Line(f"{what}: {side}, default size / size l", later / ours, 1.6, detail=detail)
        for way, release in releases.items():
            learnt = measured(sf.sharpen(release), people, workload).error
            detail = f"{learnt:.4f} against {paper.error:.4f}; not sharpened {found[way].error:.4f}"
            title = f"{what}: error, {way}, sharpened / paper"
            yield Line(
                title, learnt / paper.error, math.inf if way == "paper" else 0.2, "x", detail
            )


def questions_to(people: sf.Microdata) -> dict[str, tuple[sf.Query, ...]]:
    """Those of the two papers."""
    return {
        "3 of 7": sf.anatomy_workload(people, queries=QUERIES, dimensionality=3, seed=SEED),
        "ranges of 2": sf.dynamic_workload(
            people, queries=QUERIES, dimensionality=2, length=0.2, seed=SEED
        ),
    }


def measured(
    release: sf.AnatomizedTables | sf.Sharpened,
    people: sf.Microdata,
    workload: tuple[sf.Query, ...],
) -> Answers:
    """How a release answers, beside the people it is about."""
    truths = np.array([people.count(query).estimate for query in workload])
    answers = [release.count(query) for query, truth in zip(workload, truths, strict=True) if truth]
    truths = truths[truths > 0]
    estimates = np.array([answer.estimate for answer in answers])
    widths = np.array([answer.hi - answer.lo for answer in answers])
    return Answers(float(np.mean(abs(estimates / truths - 1))), float(np.mean(widths / truths)))


def _boxes(folder: Path) -> Iterator[Line]:
    """Adult: frequency l-diverse boxes around groups of neighbours."""
    table = pq.read_table(folder / "adult.parquet")
    rows = table.filter(pc.equal(table["split"].cast(pa.string()), "train"))
    rows = rows.drop_null().select([*ADULT, "occupation"])
    people = sf.read(rows, sf.Schema(quasi=ADULT, sensitive="occupation"))
    for l, limit in BOXES.items():
        losses = {
            way.name: sf.publish(people, way, sf.LDiversity(l), seed=0).metrics["ncp"]
            for way in (sf.Frontier(), sf.Mondrian())
        }
        detail = f"Mondrian {losses['mondrian']:.4f}"
        yield Line(f"Adult, l={l}: NCP of boxes", losses["frontier"], limit, "", detail)
