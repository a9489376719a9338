"""The comparison behind Figures 10 to 14: C_DM of several methods on the same tables.

A rival becomes a curve of every figure by one line in METHODS; the claims about it, open until
then, are judged from that moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sfumato as sf
from sfumato_experiments.data import discrete_skewed, discrete_uniform
from sfumato_experiments.figure import Claim, Curve, Point, Series, ratios, rises
from sfumato_experiments.paper import Options

STRICT = "strict multidimensional"
RELAXED = "relaxed multidimensional"
SINGLE = "optimal single-dimensional"
FULL = "optimal full-domain"
FLOOR = "floor: k × rows"
RIVALS = (SINGLE, FULL)

METHODS = {
    STRICT: sf.Mondrian(),
    RELAXED: sf.Mondrian(relaxed=True),
    # Rivals go here: SINGLE: ..., FULL: ... (the full-domain model also needs taxonomies, which the
    # schemas in data.py do not carry yet: binary trees on synthetic data, Incognito's for Adult).
}

Y_LABEL = "discernibility penalty C_DM"
CARDINALITY = 8
ATTRIBUTES = 5
MU = 3.5
SIGMA = 0.2
SYNTHETIC_K = (2, 5, 10, 25, 50, 100, 250, 500, 1000)
QUICK_K = (2, 5, 10, 25, 50)


@dataclass(frozen=True, slots=True)
class Setting:
    """One place on the x axis: the k that is asked for, and a table per seed."""

    x: float
    k: int
    tables: Sequence[sf.Microdata]


def compare(
    settings: Sequence[Setting], options: Options, methods: Mapping[str, sf.Mondrian] = METHODS
) -> dict[str, Curve]:
    """The curve of every method, and the floor that no method can go below."""
    curves: dict[str, list[Point]] = {name: [] for name in methods}
    for done, setting in enumerate(settings):
        options.progress(done / len(settings))
        for name, method in methods.items():
            curves[name].append(Point.of(setting.x, list(_penalties(setting, method))))
    return {**{name: tuple(curve) for name, curve in curves.items()}, FLOOR: _floor(settings)}


def _penalties(setting: Setting, method: sf.Mondrian) -> Iterator[float]:
    for seed, table in enumerate(setting.tables):
        release = sf.publish(table, method, sf.KAnonymity(setting.k), seed=seed)
        yield float(release.metrics["discernibility"])


def _floor(settings: Sequence[Setting]) -> Curve:
    return tuple(Point(at.x, at.k * at.tables[0].n_rows) for at in settings)


def rows_of(options: Options) -> int:
    """The paper's 10,000 rows, or enough to see the trend."""
    return 2_000 if options.quick else 10_000


def uniform_tables(options: Options) -> list[sf.Microdata]:
    """A uniform table for every seed."""
    return [
        discrete_uniform(rows_of(options), ATTRIBUTES, CARDINALITY, seed=seed)
        for seed in range(options.seeds)
    ]


def skewed_tables(
    options: Options, *, sigma: float = SIGMA, attributes: int = ATTRIBUTES
) -> list[sf.Microdata]:
    """A skewed table for every seed."""
    return [
        discrete_skewed(rows_of(options), attributes, CARDINALITY, mu=MU, sigma=sigma, seed=seed)
        for seed in range(options.seeds)
    ]


def over_k(tables: Sequence[sf.Microdata], ks: Sequence[int]) -> list[Setting]:
    """The same tables, asked for ever larger groups."""
    return [Setting(k, k, tables) for k in ks]


def described(options: Options) -> str:
    """The parameters the synthetic figures share, for the notes."""
    return (
        f"{rows_of(options):,} rows, {CARDINALITY} values per attribute; mean and standard "
        f"deviation over {options.seeds} seeds"
    )


# Claims that several figures share. "expected" marks what follows from the definitions and shows
# that a curve is sane; the rest is the paper's own.

BEST = Claim(
    "greedy multidimensional partitioning is better than both optimal rivals",
    "section 6.2",
    (STRICT, *RIVALS),
    lambda at: all(min(ratios(at[rival], at[STRICT])) >= 1 for rival in RIVALS),
)
GROWS = Claim(
    "the penalty of strict partitioning grows with k",
    "expected",
    (STRICT,),
    lambda at: rises(at[STRICT]),
)


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
