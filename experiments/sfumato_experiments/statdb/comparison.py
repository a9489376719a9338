"""The comparison behind Figures 7 to 10: result intervals of five methods under the same queries.

QI-revealing   dyn-ana, sta-ana, ran-pert; and dyn-ana with cohorts of 8, ran-pert (normal),
               neighbours
QI-concealing  dyn-gen, sta-gen; and boxes of neighbours

All keep m = 10. ``dyn-`` regroups whole buckets, as the paper does, and begins with our signatures
of largest multiplicity. Neighbours are what a database is made of by default. ran-pert's
are 80 % confidence intervals, which may miss the truth: those of Agrawal, Srikant and Thomas, and
beside them the normal approximation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

import sfumato as sf
from sfumato.statdb.baselines import (
    random_perturbation,
    result_intervals,
    static_anatomy,
    static_generalization,
)
from sfumato.statdb.responder import Responder
from sfumato_experiments.figure import Point
from sfumato_experiments.paper import Options
from sfumato_experiments.statdb.tables import Scale, folder_of, scale_of, source

Method: TypeAlias = Responder | sf.AnatomizedTables | sf.GeneralizedTable | sf.PerturbedTable
Part: TypeAlias = Literal["a", "b", "c", "d"]
PARTS: tuple[Part, ...] = get_args(Part)
M = 10

DYN_ANA, STA_ANA, RAN_PERT = "dyn-ana", "sta-ana", "ran-pert"
DYN_GEN, STA_GEN = "dyn-gen", "sta-gen"
COHORTS, NORMAL = "dyn-ana (cohort 8)", "ran-pert (normal)"
NEAR, BOXES = "neighbours", "neighbours (boxes)"
REVEALING = (DYN_ANA, STA_ANA, RAN_PERT, NORMAL, COHORTS, NEAR)
BESIDE = (NORMAL, COHORTS, NEAR, BOXES)  # which the paper does not have
CONCEALING = (DYN_GEN, STA_GEN, BOXES)

METHODS: Mapping[str, Callable[[sf.Microdata], Method]] = {
    DYN_ANA: lambda table: Responder.create(table, m=M, cohort=None, seed=0),
    COHORTS: lambda table: Responder.create(table, m=M, first="signatures", cohort=8, seed=0),
    NEAR: lambda table: Responder.create(table, m=M, seed=0),
    BOXES: lambda table: Responder.create(table, m=M, framework="generalization", seed=0),
    STA_ANA: lambda table: static_anatomy(table, M, seed=0),
    RAN_PERT: lambda table: random_perturbation(table, M, seed=0),
    NORMAL: lambda table: random_perturbation(table, M, seed=0),
    DYN_GEN: lambda table: Responder.create(
        table, m=M, cohort=None, framework="generalization", seed=0
    ),
    STA_GEN: lambda table: static_generalization(table, M, seed=0),
}


class Setting(NamedTuple):
    """One place on the x axis: the table, and the queries it is asked."""

    x: float
    d: int
    n: int
    share: int
    dimensions: int


class Outcome(NamedTuple):
    """What a method answered, on average over the queries of a workload; ``missed`` counts."""

    truth: float
    lo: float
    hi: float
    deviation: float
    missed: int

    @property
    def length(self) -> float:
        """Average length of the intervals."""
        return self.hi - self.lo


Outcomes: TypeAlias = dict[str, list[tuple[float, Outcome]]]


def settings(part: Part, scale: Scale) -> list[Setting]:
    """The places of a part: (a) varies d, (b) ql, (c) lambda, (d) n."""
    usual = Setting(0, scale.d, scale.n, scale.share, scale.dimensions)
    if part == "a":
        return [usual._replace(x=d, d=d) for d in scale.ds]
    if part == "b":
        return [usual._replace(x=share, share=share) for share in scale.shares]
    if part == "c":
        return [usual._replace(x=lam, dimensions=lam) for lam in scale.lambdas]
    return [usual._replace(x=n, n=n) for n in scale.ns]


def compare(part: Part, methods: tuple[str, ...], options: Options) -> Outcomes:
    """The outcomes of some methods at all places of a part."""
    places = settings(part, scale_of(options))
    found: Outcomes = {method: [] for method in methods}
    total = len(places) * len(methods)
    for done, at in enumerate(places):
        for more, method in enumerate(methods):
            options.progress((done * len(methods) + more) / total)
            found[method].append((at.x, _outcome(_key(options), at._replace(x=0), method)))
    return found


def curve(outcomes: Outcomes, method: str, value: Callable[[Outcome], float]) -> tuple[Point, ...]:
    """One number of every outcome of a method."""
    return tuple(Point(x, value(outcome)) for x, outcome in outcomes[method])


X_LABELS: Mapping[Part, str] = {
    "a": "number d of quasi-identifiers",
    "b": "query length ql (%)",
    "c": "query dimensionality λ",
    "d": "number n of rows",
}


def title(subject: str, part: Part, options: Options) -> str:
    """The subject, and the parameters that this part keeps."""
    scale = scale_of(options)
    parameters = {
        "d": f"n = {scale.n:,}",
        "a": f"d = {scale.d}",
        "b": f"ql = {scale.share}%",
        "c": f"λ = {scale.dimensions}",
    }
    kept = [text for varied, text in parameters.items() if varied != part]
    return f"{subject} ({', '.join(kept)})"


def notes(outcomes: Outcomes, options: Options) -> tuple[str, ...]:
    """Where the rows come from, and how often a method missed the truth."""
    return source(options).said, _missed(outcomes, scale_of(options).queries)


def _missed(outcomes: Outcomes, queries: int) -> str:
    def told() -> Iterator[str]:
        for method, found in outcomes.items():
            missed = sum(outcome.missed for _, outcome in found)
            yield f"{method} {missed / (queries * len(found)):.2%}" if missed else f"{method} none"

    return (
        f"{queries:,} queries per point, m = {M}; truths outside the interval: {', '.join(told())}"
    )


# What is computed once: figures 8 and 10 show the runs of 7 and 9.


def _key(options: Options) -> Options:
    """The options as far as outcomes depend on them."""
    return Options(data=folder_of(options), quick=options.quick, queries=options.queries)


@lru_cache(maxsize=1_000)
def _outcome(options: Options, at: Setting, method: str) -> Outcome:
    queries, truth = _asked(options, at)
    chance: Literal["normal", "tail"] = "normal" if method == NORMAL else "tail"
    found = result_intervals(_method(options, at.d, at.n, method), queries, chance)
    return Outcome(
        truth=float(truth.mean()),
        lo=float(found.lo.mean()),
        hi=float(found.hi.mean()),
        deviation=float(found.lengths.std()),
        missed=int(((truth < found.lo) | (truth > found.hi)).sum()),
    )


@lru_cache(maxsize=1)
def _asked(
    options: Options, at: Setting
) -> tuple[tuple[sf.Query, ...], np.ndarray[Any, np.dtype[np.int64]]]:
    table = _table(options, at.d, at.n)
    queries = sf.dynamic_workload(
        table,
        queries=scale_of(options).queries,
        dimensionality=at.dimensions,
        length=at.share / 100,
        seed=0,
    )
    return queries, table.counts(queries).lo


@lru_cache(maxsize=len(REVEALING))
def _method(options: Options, d: int, n: int, method: str) -> Method:
    return METHODS[method](_table(options, d, n))


@lru_cache(maxsize=1)
def _table(options: Options, d: int, n: int) -> sf.Microdata:
    return source(options).table(d, n)
