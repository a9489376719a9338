"""The comparison behind Figures 4 to 7: errors of COUNT queries on the kinds of release.

Anatomy is ``Anatomize(near=False)``, generalization is strict Mondrian; neighbours is not in the
paper: ``Anatomize`` as it is by default, with groups of people who are alike. All are under
l-diversity with l = 10. All answer the same workload; the error of a query is |act - est| / act,
and queries whose true answer is 0 are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sfumato as sf
from sfumato_experiments.anatomy.tables import Source, sources
from sfumato_experiments.figure import Claim, Curve, Point, Series, ratios
from sfumato_experiments.paper import Options

ANATOMY, GENERALIZATION, NEIGHBOURS = "anatomy", "generalization", "neighbours"
PAPERS = (ANATOMY, GENERALIZATION)  # those that the paper compares
METHODS = (*PAPERS, NEIGHBOURS)
L = 10
SELECTIVITY = 0.05
DIMENSIONS = (3, 4, 5, 6, 7)
FEW_DIMENSIONS = (3, 5, 7)
Y_LABEL = "average relative error (%)"
# Table 7 marks n = 300k as default; its default of d cannot be read in our copy of the paper
ROWS, QUICK_ROWS = 300_000, 100_000
USUAL_D = 5
QUERIES, QUICK_QUERIES, FULL_QUERIES = 1_000, 100, 10_000


@dataclass(frozen=True, slots=True)
class Setting:
    """One place on the x axis of one curve: the table, and the queries it is asked."""

    curve: str
    x: float
    d: int
    n: int
    qd: int
    s: float = SELECTIVITY


@dataclass(frozen=True, slots=True)
class Outcome:
    """The curves, and the queries that were left out of them."""

    series: dict[str, Curve]
    zero_truth: int
    asked: int


def rows_of(options: Options) -> int:
    """The paper's default, or enough to see the trend."""
    return QUICK_ROWS if options.quick else ROWS


def queries_of(options: Options) -> int:
    """Queries per workload."""
    usual = FULL_QUERIES if options.full else QUERIES
    return options.queries or (QUICK_QUERIES if options.quick else usual)


def compare(
    settings: Sequence[Setting], options: Options, *, most: int
) -> tuple[Outcome, tuple[str, ...]]:
    """The curves of all methods on OCC and SAL, and the notes that explain them."""
    points: dict[str, list[Point]] = {}
    zero_truth = 0
    families = sources(options.data, most)
    total = len(settings) * len(families)
    for place, source in enumerate(families):
        prepared: tuple[object, Releases] | None = None
        for done, at in enumerate(settings):
            options.progress((place * len(settings) + done) / total)
            if prepared is None or prepared[0] != (at.d, at.n):
                prepared = ((at.d, at.n), Releases.of(source, at.d, at.n))
            errors, zeros = prepared[1].errors(at, queries_of(options))
            zero_truth += zeros
            for method, error in zip(METHODS, errors, strict=True):
                name = named(source.name, at.curve, method)
                points.setdefault(name, []).append(Point(at.x, 100 * error))
    series = {name: tuple(curve) for name, curve in points.items()}
    outcome = Outcome(series, zero_truth, total * queries_of(options))
    return outcome, _notes(outcome, families, options)


def named(source: str, curve: str, method: str) -> str:
    """The name of a curve, such as "OCC-3 anatomy"."""
    return f"{source}{curve} {method}"


def panels(*curves: str, methods: Sequence[str] = METHODS) -> dict[str, dict[str, str]]:
    """One panel per table, these methods in each."""
    return {
        f"{source}{curve}": {method: named(source, curve, method) for method in methods}
        for curve in curves
        for source in ("OCC", "SAL")
    }


@dataclass(frozen=True, slots=True, eq=False)
class Releases:
    """A table and its releases, in the order of ``METHODS``, ready to be asked."""

    table: sf.Microdata
    methods: tuple[sf.AnatomizedTables, sf.GeneralizedTable, sf.AnatomizedTables]

    @classmethod
    def of(cls, source: Source, d: int, n: int) -> Releases:
        """Publish a table in all ways."""
        table = source.table(d, n)
        model = sf.LDiversity(L)
        anatomized = sf.publish(table, sf.Anatomize(near=False), model, seed=0)
        generalized = sf.publish(table, sf.Mondrian(), model, labels="taxonomy", seed=0)
        neighbours = sf.publish(table, sf.Anatomize(), model, seed=0)
        return cls(table, (anatomized, generalized, neighbours))

    def errors(self, at: Setting, queries: int) -> tuple[list[float], int]:
        """Average relative error of each method, and the number of queries left out."""
        workload = sf.anatomy_workload(
            self.table, queries=queries, dimensionality=at.qd, selectivity=at.s, seed=0
        )
        truth = self.table.counts(workload).estimate
        found = [sf.accuracy(truth, method.counts(workload).estimate) for method in self.methods]
        return [one.average for one in found], found[0].zero_truth


def _notes(outcome: Outcome, families: Sequence[Source], options: Options) -> tuple[str, ...]:
    return (
        *dict.fromkeys(source.said for source in families),
        f"all methods under l = {L}; {queries_of(options):,} queries per point; of "
        f"{outcome.asked:,} queries {outcome.zero_truth:,} had the true answer 0 and were left out",
    )


def pairs(at: Series) -> list[tuple[Curve, Curve]]:
    """Every anatomy curve with its generalization curve."""
    return [
        (curve, at[name.replace(ANATOMY, GENERALIZATION)])
        for name, curve in at.items()
        if name.endswith(ANATOMY)
    ]


def least_gain(at: Series) -> float:
    """How many times lower anatomy's error is at least."""
    return min(min(ratios(general, anatomy)) for anatomy, general in pairs(at))


def nearer() -> Claim:
    """What this project adds to the paper's comparison."""
    return Claim(
        "groups of neighbours are more accurate than the paper's groups everywhere",
        "ours; not in the paper",
        (),
        lambda at: all(
            min(ratios(curve, at[name.replace(ANATOMY, NEIGHBOURS)])) > 1
            for name, curve in at.items()
            if name.endswith(ANATOMY)
        ),
    )


def curves_of(at: Series, method: str) -> list[Curve]:
    """The curves of one method."""
    return [curve for name, curve in at.items() if name.endswith(method)]


def wins(times: float, text: str, where: str) -> Claim:
    """Anatomy is better everywhere, by this factor."""
    return Claim(text, where, (), lambda at: least_gain(at) >= times)
