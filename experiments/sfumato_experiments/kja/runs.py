"""The runs behind all figures: an algorithm alone, under Direct, and under Refinement.

A run is a setting, a draw and a family of methods. One run gives the information loss and the time
of all three methods, and several figures ask for the same runs, so results are kept for as long as
the process lives; so are the groups that Refinement found, which Figures 14 and 15 ask again.

The losses are the paper's modified ones (section 3.3), summed over the rows of MT only. NCP is half
the perimeter of a row's box, each side relative to its domain: 0 to d. DM is the number of rows of
MT in the same box. The algorithm alone runs on MT in the joined domains. Times are
CPU seconds of partitioning, without the join, which all KJA methods share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.join.methods import JoinPartition
from sfumato.algorithms.topdown import TopDown
from sfumato.core.boxes import Ranges
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements
from sfumato_experiments.figure import Curve, Point
from sfumato_experiments.kja.tables import (
    UNIFORM_RATIO,
    Population,
    Scale,
    Source,
    census,
    scale_of,
    uniform,
)
from sfumato_experiments.paper import Options

DataName: TypeAlias = Literal["census", "uniform"]
Part: TypeAlias = Literal["a", "b", "c"]
PARTS: tuple[Part, ...] = ("a", "b", "c")
X_LABELS: Mapping[Part, str] = {
    "a": "|PD| / |MT|",
    "b": "k",
    "c": "number d of quasi-identifiers",
}


@dataclass(frozen=True, slots=True)
class Family:
    """An algorithm and its two KJA counterparts."""

    name: str
    algorithm: Partitioner

    @property
    def methods(self) -> tuple[str, str, str]:
        """The names of the three: alone, Direct, Refinement."""
        return self.name, self.direct, self.refined

    @property
    def direct(self) -> str:
        """Its Direct version."""
        return f"{self.name}DIR"

    @property
    def refined(self) -> str:
        """Its Refinement version."""
        return f"{self.name}REF"


# The paper's Mondrian takes the dimensions in turn and cuts at the median only; ours, by default,
# takes the widest range first.
MONDRIAN = Family("Mondrian", sf.Mondrian(choose="round-robin", cuts="median"))
WIDEST = Family("widest Mondrian", sf.Mondrian())
TOPDOWN = Family("TopDown", TopDown())


class Setting(NamedTuple):
    """A place on an x axis."""

    x: float
    ratio: int
    k: int
    d: int


class Loss(NamedTuple):
    """What one method lost on one draw, and how long it took."""

    ncp: float
    dm: float
    seconds: float


class Run(NamedTuple):
    """The three methods of a family; the groups of the last one are kept where they are asked."""

    losses: tuple[Loss, Loss, Loss]
    refined: JoinPartition | None


_DONE: dict[Hashable, Run] = {}
_WARM: set[Family] = set()


def settings(part: Part, data: DataName, options: Options) -> list[Setting]:
    """The places of one part: ratios, ks or dimensions, the other two at their defaults."""
    scale = scale_of(options)
    ratios = _ratios(data, scale)
    if part == "a":
        return [Setting(ratio, ratio, scale.k, scale.d) for ratio in ratios]
    if part == "b":
        return [Setting(k, ratios[-1], k, scale.d) for k in scale.ks]
    return [Setting(d, ratios[-1], scale.k, d) for d in scale.ds]


def _ratios(data: DataName, scale: Scale) -> tuple[int, ...]:
    if data == "census" or scale.microdata < 10_000:
        return scale.ratios
    return (*scale.ratios[:-1], UNIFORM_RATIO)


def last_ratio(data: DataName, options: Options) -> int:
    """The default ratio: the largest."""
    return _ratios(data, scale_of(options))[-1]


def population(data: DataName, options: Options) -> Population:
    """Where draws come from."""
    scale = scale_of(options)
    most = scale.microdata * last_ratio(data, options)
    return census(options.data, most) if data == "census" else uniform(most)


@dataclass(slots=True)
class Bench:
    """Runs settings of one population; remembers the last join, which neighbours share."""

    data: DataName
    options: Options
    population: Population
    _drawn: tuple[object, tuple[sf.Microdata, pa.Table]] | None = None
    _joined: tuple[object, sf.Joined] | None = None

    @classmethod
    def of(cls, data: DataName, options: Options) -> Bench:
        """Everything that a figure needs to run."""
        return cls(data, options, population(data, options))

    @property
    def said(self) -> str:
        """Where the rows come from."""
        return self.population(0).said

    def key(self, family: Family, at: Setting, seed: int) -> tuple[Hashable, ...]:
        """What tells a run from all others."""
        return self.said, self.options.data, scale_of(self.options), family, *at[1:], seed

    def run(self, family: Family, at: Setting, seed: int) -> Run:
        """The run of a setting and a draw: an earlier one, or a new one."""
        key = self.key(family, at, seed)
        if key not in _DONE:
            joined, source = self.joined(at, seed), self.population(seed)
            if family not in _WARM:  # compiles
                _run(family, joined, at, seed, source)
                _WARM.add(family)
            run = _run(family, joined, at, seed, source)
            asked = self.data == "census" and at.d == scale_of(self.options).d
            _DONE[key] = run if asked else run._replace(refined=None)
        return _DONE[key]

    def draw(self, at: Setting, seed: int) -> tuple[sf.Microdata, pa.Table]:
        """MT and PD of a draw."""
        key = (at.ratio, at.d, seed)
        if self._drawn is None or self._drawn[0] != key:
            microdata = scale_of(self.options).microdata
            drawn = self.population(seed).draw(microdata, at.ratio, at.d, seed)
            self._drawn = (key, drawn)
        return self._drawn[1]

    def joined(self, at: Setting, seed: int) -> sf.Joined:
        """The two joined."""
        key = (at.ratio, at.d, seed)
        if self._joined is None or self._joined[0] != key:
            self._joined = (key, sf.join(*self.draw(at, seed)))
        return self._joined[1]


def each(
    families: Sequence[Family], places: Sequence[Setting], options: Options
) -> Iterator[tuple[int, Setting, Family]]:
    """Every draw of every setting, those with the same join one after another."""
    total = options.seeds * len(places) * len(families)
    done = 0
    for seed in range(options.seeds):
        for at in places:
            for family in families:
                options.progress(done / total)
                yield seed, at, family
                done += 1


def curves(
    bench: Bench,
    families: Sequence[Family],
    places: Sequence[Setting],
    value: Callable[[Loss], float],
) -> dict[str, Curve]:
    """A curve per method: mean and standard deviation over the draws."""
    found: dict[tuple[str, float], list[float]] = {}
    for seed, at, family in each(families, places, bench.options):
        run = bench.run(family, at, seed)
        for name, loss in zip(family.methods, run.losses, strict=True):
            found.setdefault((name, at.x), []).append(value(loss))
    return {
        name: tuple(Point.of(at.x, found[name, at.x]) for at in places)
        for family in families
        for name in family.methods
    }


def _run(family: Family, joined: sf.Joined, at: Setting, seed: int, source: Source) -> Run:
    widths = source.widths(at.d)
    start = time.process_time()
    alone = family.algorithm.partition(
        joined.microdata,
        requirements(sf.KAnonymity(at.k), joined.microdata.schema),
        Randomness(seed),
    )
    seconds = time.process_time() - start
    first = Loss(
        _ncp(joined.microdata, alone, alone.sizes, widths), sf.discernibility(alone), seconds
    )
    direct, _ = _join_loss(sf.Direct(family.algorithm), joined, at.k, seed, widths)
    refined, found = _join_loss(sf.Refinement(family.algorithm), joined, at.k, seed, widths)
    return Run((first, direct, refined), found)


def _join_loss(
    method: sf.Direct | sf.Refinement,
    joined: sf.Joined,
    k: int,
    seed: int,
    widths: Mapping[str, float],
) -> tuple[Loss, JoinPartition]:
    start = time.process_time()
    found = method.partition(joined, k, (), Randomness(seed))
    seconds = time.process_time() - start
    rows, partition = found.partition.kept()
    ncp = _ncp(joined.everyone.take(rows), partition, found.inside, widths)
    return Loss(ncp, float(np.square(found.inside).sum()), seconds), found


def _ncp(
    table: sf.Microdata,
    partition: sf.Partition,
    sizes: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    widths: Mapping[str, float],
) -> float:
    """``sf.ncp`` times rows times d, but relative to the population's domains."""
    sides = (
        Ranges.around(attribute, table.codes[attribute.name], partition)
        for attribute in table.quasi
    )
    return sum(float(side.extents() @ sizes) / widths[side.attribute.name] for side in sides)
