"""Timing in turns, and what a measured line is."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

PATIENCE = 3600.0  # seconds for a program that is measured; one that hangs ends the run


@dataclass(frozen=True, slots=True)
class Line:
    """One measured figure and the limit it has to keep."""

    name: str
    figure: float
    limit: float
    unit: str = "x"
    detail: str = ""

    @property
    def met(self) -> bool:
        return self.figure <= self.limit


def in_turns(
    ours: Callable[[], object],
    peer: Callable[[], object],
    repeats: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Median seconds of both, run alternately after one unmeasured run each."""
    ours()
    peer()
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(repeats):
        mine.append(seconds(ours, clock))
        theirs.append(seconds(peer, clock))
    return statistics.median(mine), statistics.median(theirs)


def ratio(
    name: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    limit: float,
    repeats: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> Line:
    """Our median over the peer's."""
    mine, theirs = in_turns(ours, peer, repeats, clock)
    return Line(name, mine / theirs, limit, detail=f"{mine:.3f} s against {theirs:.3f} s")


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of one run, the garbage of earlier ones collected before."""
    gc.collect()
    start = clock()
    run()
    return clock() - start
