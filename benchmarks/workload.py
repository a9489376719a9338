"""Mondrian cut for a workload: how much better it answers that workload, and how much worse others.

Relative errors and relative widths of bounds, over those of a release that knew no query: for the
workload itself, for another one of the same kind (what was anticipated, but not word by word), and
for one of another kind (what was not; there the figure is a price, and its limit generous). Boxes
span a tenth of the space of some attributes; "dynamic" are intervals of a fifth of two random
quasi-identifiers and of the sensitive attribute.

In the stand-ins all columns are independent. Estimates from boxes of any shape are about right then
(a workload makes them up to twice as wrong), so that only bounds have a limit there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import sfumato as sf
from benchmarks.data import ADULT_QUASI, CENSUS_QUASI, adult, census
from benchmarks.measure import Line, seconds
from sfumato.asking.compare import compare
from sfumato.core.query import Query
from sfumato.queries.workloads import dynamic_workload, range_workload

QUERIES = 200
K = (10, 25)
ROWS = 100_000
LARGE, MANY = 1_000_000, 1000
LIMIT_SECONDS = 20.0
Make = Callable[[sf.Microdata, int], tuple[Query, ...]]


def boxes(*attributes: str) -> Make:
    return lambda data, seed: range_workload(
        data, queries=QUERIES, attributes=attributes or None, seed=seed
    )


def dynamic(data: sf.Microdata, seed: int) -> tuple[Query, ...]:
    return dynamic_workload(data, queries=QUERIES, length=0.2, seed=seed)


class Case(NamedTuple):
    """A kind of workload, another one, and the limits: own, same kind, other kind."""

    name: str
    own: Make
    other: Make
    limits: tuple[float, float, float]


_ASKED = boxes("age", "education_num", "occupation")
THREE = Case("3 of 8", _ASKED, boxes("age", "sex", "marital_status", "race"), (0.4, 0.5, 30.0))
ALL = Case("all 8", boxes(), _ASKED, (0.4, 0.5, 3.0))
DYNAMIC = Case("dynamic", dynamic, boxes(), (0.6, 1.0, 6.0))


def run(folder: Path | None) -> Iterator[Line]:
    """Ratios on Adult and on census rows, and the time that a large workload takes."""
    table, source = adult(folder)
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=ADULT_QUASI))
    for k in K:
        for case in (THREE, ALL):
            yield from _ratios(f"{source}, {k=}", data, k, case)
    rows, source = census(folder, LARGE)
    schema = sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation")
    data = sf.Microdata.from_arrow(rows.slice(0, ROWS), schema)
    for k in K:
        yield from _ratios(f"{source}, {k=}", data, k, DYNAMIC)
    yield _time(sf.Microdata.from_arrow(rows, schema), source)


def _ratios(source: str, data: sf.Microdata, k: int, case: Case) -> Iterator[Line]:
    workload = case.own(data, 1)
    usual = sf.publish(data, sf.Mondrian(), sf.KAnonymity(k), seed=0)
    served = sf.publish(data, sf.Mondrian(workload=workload), sf.KAnonymity(k), seed=0)
    asked = {"itself": workload, "same kind": case.own(data, 2), "other kind": case.other(data, 3)}
    for (which, queries), limit in zip(asked.items(), case.limits, strict=True):
        before, after = compare(usual, data, queries), compare(served, data, queries)
        name = f"{source}, {case.name}, {which}"
        yield Line(
            f"error, {name}",
            after.average / before.average,
            math.inf if "stand-in" in source else limit,
            detail=f"average {after.average:.3f} against {before.average:.3f}, "
            f"median {after.median:.3f} against {before.median:.3f}",
        )
        yield Line(
            f"bounds, {name}",
            after.relative_width / before.relative_width,
            limit,
            detail=f"relative width {after.relative_width:.2f} against "
            f"{before.relative_width:.2f}, {after.mean_width:,.0f} rows against "
            f"{before.mean_width:,.0f}",
        )


def _time(data: sf.Microdata, source: str) -> Line:
    algorithm = sf.Mondrian(workload=dynamic_workload(data, queries=MANY, length=0.2, seed=1))

    def publish() -> object:
        return sf.publish(data, algorithm, sf.KAnonymity(10), seed=0)

    detail = f"{data.n_rows:,} rows of {source}"
    return Line(f"publish for {MANY:,} queries", seconds(publish), LIMIT_SECONDS, "s", detail)
