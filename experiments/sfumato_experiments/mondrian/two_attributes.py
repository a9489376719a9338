"""What Figures 15 to 17 share: a table of two attributes that both models partition.

A thousand rows, two skewed attributes of fifty values. Such a grid is found and proven optimal
within a few thousand nodes, so the node limit is only there to keep a promise to the clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import sfumato as sf
from sfumato.algorithms.intervals import SingleDimensional
from sfumato_experiments.data import discrete_skewed
from sfumato_experiments.figure import Box, Curve, Drawing, Point
from sfumato_experiments.mondrian.comparison import SINGLE, STRICT, Method
from sfumato_experiments.paper import Options

X, Y = "q1", "q2"
METHODS: dict[str, Method] = {
    SINGLE: SingleDimensional(time_limit=None, node_limit=20_000),
    STRICT: sf.Mondrian(),
}
CARDINALITY = 50
MU = 25.0
SIGMA = 0.2
KS = (10, 25, 50)


def tables(options: Options) -> list[sf.Microdata]:
    """A table for every seed: the paper's thousand rows, or fewer."""
    rows = 200 if options.quick else 1_000
    return [
        discrete_skewed(rows, 2, CARDINALITY, mu=MU, sigma=SIGMA, seed=seed)
        for seed in range(options.seeds)
    ]


def releases(method: str, table: sf.Microdata) -> Iterator[sf.GeneralizedTable]:
    """The table published for each k."""
    return (sf.publish(table, METHODS[method], sf.KAnonymity(k), seed=0) for k in KS)


def drawings(table: sf.Microdata, partitions: Sequence[Sequence[Box]]) -> dict[str, Drawing]:
    """A picture for each k."""
    rows = [(float(x), float(y)) for x, y in table.quasi_codes()]
    found = zip(KS, partitions, strict=True)
    return {f"k = {k}": Drawing(rows, boxes) for k, boxes in found}


def boxes(release: sf.GeneralizedTable) -> list[Box]:
    """The box of every group."""
    ends = (f"{X}_min", f"{X}_max", f"{Y}_min", f"{Y}_max")
    columns = (release.groups.column(name).to_pylist() for name in ends)
    return [Box(*map(float, ends)) for ends in zip(*columns, strict=True)]


def over_seeds(runs: Sequence[Sequence[float]]) -> Curve:
    """A curve over k from a line of values per seed."""
    by_k = zip(KS, np.transpose(runs).tolist(), strict=True)
    return tuple(Point.of(k, values) for k, values in by_k)


def described(options: Options) -> str:
    """The parameters, for the notes."""
    return (
        f"{tables(options)[0].n_rows:,} rows, two attributes of {CARDINALITY} values, μ = {MU:g}, "
        f"σ = {SIGMA:g} of the domain; mean and standard deviation over {options.seeds} seeds"
    )
