"""The time of an answer, which the paper tells without a figure (section 1.4): less than 0.05 s.

Processor time of one thread, query by query, on n-SAL-7 with the usual workload; the first query,
which loads the compiled kernels, is asked before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import sfumato as sf
from sfumato.statdb.responder import Responder
from sfumato_experiments.figure import Claim, Figure, Point
from sfumato_experiments.paper import Options
from sfumato_experiments.statdb import comparison as c
from sfumato_experiments.statdb.tables import scale_of, source

LIMIT = 50.0  # milliseconds


def run(options: Options) -> Figure:
    """Median and longest time of both dynamic methods."""
    scale, points = scale_of(options), dict[str, list[Point]]()
    for done, n in enumerate(scale.ns):
        options.progress(done / len(scale.ns))
        table = source(options).table(scale.d, n)
        queries = sf.dynamic_workload(table, queries=scale.queries, seed=0)
        for method in (c.DYN_ANA, c.DYN_GEN):
            responder = c.METHODS[method](table)
            assert isinstance(responder, Responder)
            times = milliseconds(responder, queries)
            points.setdefault(f"{method} median", []).append(Point(n, median(times)))
            points.setdefault(f"{method} longest", []).append(Point(n, max(times)))
    return Figure(
        number="time",
        title=f"Answer time (d = {scale.d}, ql = {scale.share}%, λ = {scale.dimensions})",
        x_label=c.X_LABELS["d"],
        y_label="milliseconds",
        series={name: tuple(curve) for name, curve in points.items()},
        claims=tuple(_quick(f"{method} longest") for method in (c.DYN_ANA, c.DYN_GEN)),
        notes=(
            source(options).said,
            f"{scale.queries:,} queries per point, m = {c.M}; processor time of one thread",
        ),
        panels={
            method: {name: f"{method} {name}" for name in ("median", "longest")}
            for method in (c.DYN_ANA, c.DYN_GEN)
        },
        y_scale="log",
    )


def milliseconds(responder: Responder, queries: Sequence[sf.Query]) -> list[float]:
    """Processor time of every answer."""
    responder.count(queries[0])
    times = []
    for query in queries:
        start = time.thread_time_ns()
        responder.count(query)
        times.append((time.thread_time_ns() - start) / 1e6)
    return times


def _quick(curve: str) -> Claim:
    return Claim(
        f"every answer of {curve.split()[0]} takes less than 0.05 seconds",
        "section 1.4",
        (curve,),
        lambda at: all(point.y < LIMIT for point in at[curve]),
    )
