"""Figures 14 and 15: errors of range-count queries against |PD| / |MT|, k and the range size |R|.

Only Refinement is compared with the algorithm alone: releases made by Direct do not answer such
queries. The error of a query is |actual - estimate| / actual.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import sfumato as sf
from sfumato.algorithms.base import Partitioner, Progress
from sfumato.algorithms.join.methods import JoinPartition
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import Requirement
from sfumato_experiments.figure import Claim, Curve, Figure, Point, Series, falls, ratios
from sfumato_experiments.kja import claims as c
from sfumato_experiments.kja import layout, runs
from sfumato_experiments.kja.queries import READINGS, Reading, workload
from sfumato_experiments.kja.runs import MONDRIAN, PARTS, Bench, Family, Part, Setting
from sfumato_experiments.kja.tables import scale_of
from sfumato_experiments.paper import Options, Run

# section 5: the factor at the default setting, the least factor over all k
_FACTORS: Mapping[str, tuple[float, float]] = {"Mondrian": (2.71, 1.88), "TopDown": (1.74, 1.66)}
_X_LABELS = {**runs.X_LABELS, "c": "query range |R| (% of the domain space)"}


_KNOWN: dict[Hashable, dict[str, float]] = {}
_LAST: dict[Hashable, tuple[sf.GeneralizedTable, sf.JoinRelease]] = {}


class Asked(NamedTuple):
    """A place on the x axis: the release, and the size of the queries in percent."""

    at: Setting
    share: int


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Refinement with the groups that an earlier run has found."""

    name: ClassVar[str] = "refinement"
    algorithm: Partitioner
    found: JoinPartition
    trim: bool = True

    def partition(
        self,
        joined: sf.Joined,  # noqa: ARG002
        k: int,  # noqa: ARG002
        needs: tuple[Requirement, ...],  # noqa: ARG002
        randomness: Randomness,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> JoinPartition:
        """The groups."""
        return self.found


def figure(number: str, part: Part, algorithm: str) -> Run:
    """The experiment behind one part of a figure."""

    def run(options: Options) -> Figure:
        bench = Bench.of("census", options)
        family = layout.families(algorithm)[0]
        # the paper compares TopDown's errors with Mondrian's
        shown = (family,) if family == MONDRIAN else (family, MONDRIAN)
        series = _curves(bench, shown, _places(part, options))
        return Figure(
            number=f"{number}{part}",
            title=_title(algorithm, part, options),
            x_label=_X_LABELS[part],
            y_label="average relative error",
            series=series,
            panels={
                f"|R| {reading}": {
                    name: _named(name, reading) for one in shown for name in _methods(one)
                }
                for reading in READINGS
            },
            claims=tuple(_claims(part, family)),
            notes=(
                bench.said,
                layout.draws(options),
                f"{_queries(options)} queries per draw, all with a true answer above 0",
                *_gains(family, series),
            ),
            x_scale="log",
            y_scale="log",
        )

    return run


def _queries(options: Options) -> int:
    return options.queries or scale_of(options).queries


def _places(part: Part, options: Options) -> list[Asked]:
    scale = scale_of(options)
    if part != "c":
        return [Asked(at, scale.share) for at in runs.settings(part, "census", options)]
    usual = runs.settings("a", "census", options)[-1]
    return [Asked(usual._replace(x=share), share) for share in scale.shares]


def _title(algorithm: str, part: Part, options: Options) -> str:
    scale = scale_of(options)
    subject = f"Range-count errors of {algorithm}"
    if part != "c":
        return layout.title(subject, part, "census", options)
    return f"{subject} (k = {scale.k}, |PD|/|MT| = {scale.ratios[-1]})"


def _named(method: str, reading: Reading) -> str:
    return f"{method} {reading}"


def _curves(bench: Bench, shown: Sequence[Family], places: Sequence[Asked]) -> dict[str, Curve]:
    """Every family's two methods under both readings."""
    found: dict[tuple[str, float], list[float]] = {}
    for seed, at, family in runs.each(shown, [asked.at for asked in places], bench.options):
        share = next(asked.share for asked in places if asked.at == at)
        for name, value in _errors(bench, family, at, share, seed).items():
            found.setdefault((name, at.x), []).append(value)
    return {
        _named(name, reading): tuple(
            Point.of(at.x, found[_named(name, reading), at.x]) for at, _ in places
        )
        for family in shown
        for reading in READINGS
        for name in _methods(family)
    }


def _methods(family: Family) -> tuple[str, str]:
    return family.name, family.refined


def _errors(bench: Bench, family: Family, at: Setting, share: int, seed: int) -> dict[str, float]:
    """The average errors of one draw."""
    number, microdata = _queries(bench.options), scale_of(bench.options).microdata
    key = (*bench.key(family, at, seed), share, number)
    if key not in _KNOWN:
        table, _ = bench.draw(at, seed)
        releases = _published(bench, family, at, seed)
        found = {}
        for reading in READINGS:
            source = bench.population(seed)
            asked = workload(source, microdata, at.d, reading, share / 100, number, seed)
            truth = table.counts(asked).estimate
            for name, release in zip(_methods(family), releases, strict=True):
                errors = sf.accuracy(truth, release.counts(asked).estimate)
                found[_named(name, reading)] = errors.average
        _KNOWN[key] = found
    return _KNOWN[key]


def _published(
    bench: Bench, family: Family, at: Setting, seed: int
) -> tuple[sf.GeneralizedTable, sf.JoinRelease]:
    """MT published alone, and by Refinement; the last ones are kept for further shares."""
    key = bench.key(family, at, seed)
    if key in _LAST:
        return _LAST[key]
    table, external = bench.draw(at, seed)
    alone = sf.publish(table, family.algorithm, sf.KAnonymity(at.k), seed=seed)
    groups = bench.run(family, at, seed).refined
    assert groups is not None
    known = Known(family.algorithm, groups)
    refined = sf.publish_join(table, external, known, sf.KJoinAnonymity(at.k), seed=seed)
    _LAST.clear()
    _LAST[key] = (alone, refined)
    return alone, refined


def _gains(family: Family, series: Series) -> list[str]:
    told = []
    for reading in READINGS:
        found = ratios(
            series[_named(family.name, reading)], series[_named(family.refined, reading)]
        )
        steps = ", ".join(f"{ratio:.3g}" for ratio in found)
        told.append(f"times lower with {family.refined}, {reading}: {steps}")
    return told


def _claims(part: Part, family: Family) -> list[Claim]:
    default, least = _FACTORS[family.name]
    found = []
    for reading in READINGS:
        alone, refined = _named(family.name, reading), _named(family.refined, reading)
        if part == "a":
            found += [
                _better(alone, refined, default, f"at the largest ratio, {reading}", last=True),
                c.about([refined], f"the error of {refined} falls as PD grows", falls),
                *([_beats(family, MONDRIAN, reading)] if family != MONDRIAN else []),
            ]
        elif part == "b":
            found += [
                _better(alone, refined, 1, f"whatever k, {reading}"),
                _better(alone, refined, least, f"whatever k, {reading}"),
                c.about([alone, refined], f"errors grow with k, {reading}", c.grows),
            ]
        else:
            found += [
                _better(alone, refined, 1, f"whatever |R|, {reading}"),
                *([_better(alone, refined, 2, f"whatever |R|, {reading}")] if least > 1.8 else []),
                c.about([alone, refined], f"errors fall as |R| grows, {reading}", falls),
            ]
    return found


def _better(alone: str, refined: str, times: float, where: str, *, last: bool = False) -> Claim:
    def check(at: Series) -> bool:
        found = ratios(at[alone], at[refined])
        return (found[-1] if last else min(found)) >= times

    factor = "" if times == 1 else f"at least {times:g} times "
    return Claim(f"Refinement is {factor}more accurate {where}", c.WHERE, (alone, refined), check)


def _beats(family: Family, other: Family, reading: Reading) -> Claim:
    pairs = [
        (_named(mine, reading), _named(theirs, reading))
        for mine, theirs in zip(_methods(family), _methods(other), strict=True)
    ]

    def check(at: Series) -> bool:
        return all(at[mine][-1].y < at[theirs][-1].y for mine, theirs in pairs)

    needs = tuple(name for pair in pairs for name in pair)
    text = f"both methods are more accurate than {other.name}'s at the largest ratio, {reading}"
    return Claim(text, c.WHERE, needs, check)


FIGURES: dict[str, Run] = {
    f"{number}{part}": figure(number, part, algorithm)
    for number, algorithm in (("14", "Mondrian"), ("15", "TopDown"))
    for part in PARTS
}
