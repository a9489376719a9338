"""The comparison behind Figures 10 to 14: C_DM of several methods on the same tables.

The rivals are optimal algorithms for two coarser models. The search for the best single-dimensional
grid stops after NODES steps, not after some time, so that the curves do not depend on the machine;
it then has the best grid found, and the notes say how many are proven to be the best of all. So a
rival that lies lower is lower for certain; one that lies higher may lie so for want of searching.
On the synthetic tables a full-domain generalization is a grid, too: where its curve is the lower
one, the search has certainly stopped short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import sfumato as sf
from sfumato.algorithms.intervals import SingleDimensional
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements
from sfumato_experiments.data import discrete_skewed, discrete_uniform
from sfumato_experiments.figure import Claim, Curve, Point, Series, ratios, rises
from sfumato_experiments.mondrian.trees import with_binary_trees
from sfumato_experiments.paper import Options

Method: TypeAlias = sf.Mondrian | SingleDimensional | FullDomain

STRICT = "strict multidimensional"
RELAXED = "relaxed multidimensional"
SINGLE = "single-dimensional (best found)"
FULL = "optimal full-domain"
FLOOR = "floor: k × rows"
RIVALS = (SINGLE, FULL)

NODES, QUICK_NODES = 300, 5
METHODS: dict[str, Method] = {
    STRICT: sf.Mondrian(),
    RELAXED: sf.Mondrian(relaxed=True),
    SINGLE: SingleDimensional(time_limit=None, node_limit=NODES),
    FULL: FullDomain(cost="discernibility"),
}

Y_LABEL = "discernibility penalty C_DM"
CARDINALITY = 8
ATTRIBUTES = 5
MU = 3.5
SIGMA = 0.2
SYNTHETIC_K = (2, 5, 10, 25, 50, 100, 250, 500, 1000)
QUICK_K = (2, 5, 10, 25, 50)


class Sample(NamedTuple):
    """The same rows twice: under orders, and under the trees of the full-domain model."""

    ordered: sf.Microdata
    treed: sf.Microdata


@dataclass(frozen=True, slots=True)
class Setting:
    """One place on the x axis: the k that is asked for, and a sample per seed."""

    x: float
    k: int
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True)
class Compared:
    """A curve per method and the floor, and how many grids are proven to be optimal."""

    series: dict[str, Curve]
    proven: int
    grids: int
    widest_gap: float

    @property
    def note(self) -> str:
        """What the search for grids can say of itself."""
        said = f"{SINGLE}: {self.proven} of {self.grids} grids proven optimal"
        if self.proven == self.grids:
            return said
        return (
            f"{said}; of the other penalties a better grid could save {self.widest_gap:.0%} at most"
        )


def compare(
    settings: Sequence[Setting], options: Options, methods: Mapping[str, Method] = METHODS
) -> Compared:
    """The curve of every method, and the floor that no method can go below."""
    curves: dict[str, list[Point]] = {name: [] for name in methods}
    gaps: list[float] = []
    for done, setting in enumerate(settings):
        options.progress(done / len(settings))
        for name, method in methods.items():
            found = [_divided(name, method, setting.k, options, *at) for at in _seeded(setting)]
            penalties = [float(sf.discernibility(partition)) for partition in found]
            curves[name].append(Point.of(setting.x, penalties))
            if name == SINGLE:
                gaps += map(_gap, found)
    series = {**{name: tuple(curve) for name, curve in curves.items()}, FLOOR: _floor(settings)}
    return Compared(series, gaps.count(0.0), len(gaps), max(gaps, default=0.0))


def _seeded(setting: Setting) -> Iterator[tuple[int, Sample]]:
    return enumerate(setting.samples)


def _divided(
    name: str, method: Method, k: int, options: Options, seed: int, sample: Sample
) -> sf.Partition:
    """The groups as the method makes them: published, those with equal boxes would be one."""
    table = sample.treed if name == FULL else sample.ordered
    if isinstance(method, SingleDimensional) and options.quick:
        method = replace(method, node_limit=QUICK_NODES)
    return method.partition(table, requirements(sf.KAnonymity(k), table.schema), Randomness(seed))


def _gap(partition: sf.Partition) -> float:
    """The share of its penalty that a better grid could save at most."""
    return 1 - float(partition.notes["lower_bound"]) / sf.discernibility(partition)


def _floor(settings: Sequence[Setting]) -> Curve:
    return tuple(Point(at.x, at.k * at.samples[0].ordered.n_rows) for at in settings)


def rows_of(options: Options) -> int:
    """The paper's 10,000 rows, or enough to see the trend."""
    return 2_000 if options.quick else 10_000


def uniform_samples(options: Options) -> list[Sample]:
    """A uniform table for every seed."""
    return [
        _sampled(discrete_uniform(rows_of(options), ATTRIBUTES, CARDINALITY, seed=seed))
        for seed in range(options.seeds)
    ]


def skewed_samples(
    options: Options, *, sigma: float = SIGMA, attributes: int = ATTRIBUTES
) -> list[Sample]:
    """A skewed table for every seed."""
    shape = (rows_of(options), attributes, CARDINALITY)
    return [
        _sampled(discrete_skewed(*shape, mu=MU, sigma=sigma, seed=seed))
        for seed in range(options.seeds)
    ]


def _sampled(table: sf.Microdata) -> Sample:
    return Sample(table, with_binary_trees(table))


def over_k(samples: Sequence[Sample], ks: Sequence[int]) -> list[Setting]:
    """The same tables, asked for ever larger groups."""
    return [Setting(k, k, samples) for k in ks]


def described(options: Options) -> str:
    """The parameters the synthetic figures share, for the notes."""
    return (
        f"{rows_of(options):,} rows, {CARDINALITY} values per attribute; mean and standard "
        f"deviation over {options.seeds} seeds"
    )


# Claims that several figures share. "expected" marks what follows from the definitions and shows
# that a curve is sane, "weaker" what our curves show of a claim that they do not show in full; the
# rest is the paper's own.

BEST = Claim(
    "greedy multidimensional partitioning is better than both optimal rivals",
    "section 6.2",
    (STRICT, *RIVALS),
    lambda at: all(min(ratios(at[rival], at[STRICT])) >= 1 for rival in RIVALS),
)
BEST_WHEN_SMALL = Claim(
    "it is better than both as long as k is at most a hundredth of the rows",
    "weaker",
    (STRICT, *RIVALS, FLOOR),
    lambda at: all(min(ratios(at[rival], _small(at))) >= 1 for rival in RIVALS),
)
GROWS = Claim(
    "the penalty of strict partitioning grows with k",
    "expected",
    (STRICT,),
    lambda at: rises(at[STRICT]),
)


def _small(at: Series) -> Curve:
    """The strict curve where k, which is floor / rows, is small."""
    rows = at[FLOOR][0].y / at[FLOOR][0].x
    return tuple(point for point in at[STRICT] if point.x <= rows / 100)


def _above_floor(at: Series) -> bool:
    return all(min(ratios(curve, at[FLOOR])) >= 1 for curve in at.values())


THEORY = (
    Claim("no method goes below k × rows", "section 4.1", (FLOOR,), _above_floor),
    Claim(
        "relaxed partitioning costs at most twice the floor",
        "section 4.1",
        (RELAXED, FLOOR),
        lambda at: max(ratios(at[RELAXED], at[FLOOR])) <= 2,
    ),
)
