"""Microaggregation against neighbours in scipy's tree, and against MDAV that looks at all rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import sfumato as sf
from benchmarks import masks_alike
from benchmarks.measure import Line, seconds
from sfumato.core.arrays import Codes, Floats

ROWS, COLUMNS, K = 100_000, 5, 5
FEW = 5_000
TIMES = 3.0  # of a tree and its neighbours
NO_WORSE = 1.02


def run(folder: Path | None) -> Iterator[Line]:
    """Time at 100,000 rows, loss at 5,000, and all masks on real tables."""
    sf.Microaggregate(K).groups(_normal(1_000))  # the compiler's time is not measured
    for name, made in (("normal", _normal), ("correlated", _correlated), ("incomes", _incomes)):
        yield _against_tree(name, made(ROWS))
    for name, made in (("normal", _normal), ("correlated", _correlated), ("incomes", _incomes)):
        points = made(FEW)
        ours, plain = lost(points, sf.Microaggregate(K).groups(points)), lost(points, mdav(points))
        detail = f"SSE/SST {ours:.5f} against {plain:.5f}"
        yield Line(f"{FEW:,} {name} rows: SSE / plain MDAV's", ours / plain, NO_WORSE, "x", detail)
    if folder is not None:
        yield from masks_alike.lines(folder)


def _against_tree(name: str, points: Floats) -> Line:
    from scipy.spatial import cKDTree

    ours, tree = [], []
    for _ in range(3):  # in turns
        tree.append(seconds(lambda: cKDTree(points).query(points, K), time.process_time))
        ours.append(seconds(lambda: sf.Microaggregate(K).groups(points), time.process_time))
    detail = f"{min(ours):.2f} s against {min(tree):.2f} s of processor time"
    what = f"MDAV of {ROWS:,} x {COLUMNS} {name} numbers, k={K}, over cKDTree and {K} neighbours"
    return Line(what, min(ours) / min(tree), TIMES, "x", detail)


def _normal(rows: int) -> Floats:
    return np.random.default_rng(0).normal(size=(rows, COLUMNS))


def _correlated(rows: int) -> Floats:
    mixed = _normal(rows) @ np.random.default_rng(1).normal(size=(COLUMNS, COLUMNS))
    found: Floats = mixed / mixed.std(axis=0)
    return found


def _incomes(rows: int) -> Floats:
    """Heavy tails, and many equal numbers."""
    raw = np.round(np.exp(_normal(rows)) * 20)
    found: Floats = raw / raw.std(axis=0)
    return found


def lost(points: Floats, groups: Codes) -> float:
    """SSE / SST."""
    sizes = np.bincount(groups)
    means = np.column_stack([np.bincount(groups, column) / sizes for column in points.T])
    whole = ((points - points.mean(axis=0)) ** 2).sum()
    return float(((points - means[groups]) ** 2).sum() / whole)


def mdav(points: Floats) -> Codes:
    """The steps of the paper, looking at every row that is left."""
    groups, left, made = np.full(len(points), -1, np.int32), np.arange(len(points)), 0

    def apart(at: Floats) -> Floats:
        found: Floats = ((points[left] - at) ** 2).sum(axis=1)
        return found

    def farthest(at: Floats) -> Floats:
        found: Floats = points[left[apart(at).argmax()]]
        return found

    while len(left) >= 2 * K:
        ends = [farthest(points[left].mean(axis=0))]
        if len(left) >= 3 * K:
            ends.append(farthest(ends[0]))
        for at in ends:
            near = np.argsort(apart(at), kind="stable")[:K]
            groups[left[near]], left, made = made, np.delete(left, near), made + 1
    groups[left] = made
    return groups
