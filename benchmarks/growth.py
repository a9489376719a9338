"""Growth: what doubling rows, columns, cardinality or sensitive values costs, for everything.

Each line fits the exponent of processor time (and of peak memory) over a series of doublings and
states what one doubling costs; 2.5 is the limit, so that the next cliff is seen when it is built.
A series ends when a run takes longer than a second or so; runs too short to tell anything, in which
constants prevail, are left out. Methods that search take a time limit: it may be overshot by a
fifth.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import Line, seconds
from sfumato.models.requirements import requirements

DOUBLING, OVERSHOT = 2.5, 1.2
SLOW, FAST = 1.0, 0.05  # seconds: where a series ends, and what is too short to count
LARGE = 64 << 20  # bytes: less memory says nothing
MOST_CELLS = 16_000_000
DOUBLINGS = 11
FITTED = 4  # the largest points: what counts is where it leads
SECONDS = 2.0  # the limit that searches get

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a table is; half of its quasi-identifiers are numbers, half are texts."""

    rows: int = 4_000
    columns: int = 4
    cardinality: int = 16
    values: int = 20

    def table(self) -> sf.Microdata:
        random = np.random.default_rng(self.rows + self.columns)
        columns: dict[str, Any] = {}
        for place in range(self.columns):
            codes = random.integers(0, self.cardinality, self.rows)
            texts = pa.array(codes).cast(pa.string())
            columns[f"q{place}"] = (
                codes if place % 2 == 0 else pa.compute.binary_join_element_wise("v", texts, "")
            )
        columns["s"] = pa.compute.binary_join_element_wise(
            "s", pa.array(np.arange(self.rows) % self.values).cast(pa.string()), ""
        )
        quasi = [f"q{place}" for place in range(self.columns)]
        return sf.Microdata.from_arrow(pa.table(columns), sf.Schema(quasi=quasi, sensitive="s"))


class Grower(NamedTuple):
    """Something to measure: prepared for a shape, it is run; and the axes along which it grows."""

    prepare: Callable[[sf.Microdata, Path], Work]
    axes: Sequence[str]
    start: Shape = Shape()


def run(_folder: Path | None) -> Iterator[Line]:
    """Every algorithm, model and verb along every axis, then the time limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, grower in growers().items():
            for axis in grower.axes:
                yield from _series(name, grower, axis)
        yield from _time_limits()


def growers() -> dict[str, Grower]:
    """All that grows."""
    return {**_algorithms(), **_models(), **_verbs(), **_databases()}


def _series(name: str, grower: Grower, axis: str) -> Iterator[Line]:
    shape, points = grower.start, []
    for _ in range(DOUBLINGS):
        with tempfile.TemporaryDirectory() as folder:
            work = grower.prepare(shape.table(), Path(folder))
            points.append((getattr(shape, axis), *_measured(work)))
        if points[-1][1] > SLOW or shape.rows * shape.columns >= MOST_CELLS:
            break
        shape = replace(shape, **{axis: getattr(shape, axis) * 2})
        if shape.values > shape.rows:
            break
    size = f"{points[0][0]:,} to {points[-1][0]:,} {axis}"
    times = [(point, took) for point, took, _ in points if took > FAST]
    yield _line(f"{name}, {axis}", times, f"{size}, {points[-1][1]:.2f} s")
    memory = [(point, float(peak)) for point, _, peak in points if peak > LARGE]
    if len(memory) > 1:
        yield _line(f"{name}, {axis}: memory", memory, f"{size}, {points[-1][2] >> 20} MB")


def _line(name: str, points: Sequence[tuple[int, float]], detail: str) -> Line:
    if len(points) < 2:
        return Line(name, 1.0, DOUBLING, detail=f"{detail}; too fast to tell")
    sizes, figures = np.log(np.array(points[-FITTED:])).T
    exponent = float(np.polyfit(sizes, figures, 1)[0])
    return Line(name, 2**exponent, DOUBLING, detail=f"{detail}; exponent {exponent:.2f}")


def _measured(work: Work) -> tuple[float, int]:
    """The shorter of two runs, and the memory that the first one took besides."""
    peak = _peak_of(work)
    return min(seconds(work, time.process_time) for _ in range(2)), peak


def _peak_of(work: Work) -> int:
    """The largest resident size while working, less that of before (Linux tells it)."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before = _resident("VmRSS")
    work()
    return max(0, _resident("VmHWM") - before)


def _resident(key: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{key}:"))


_QUASI = ("rows", "columns", "cardinality")


def _algorithms() -> dict[str, Grower]:
    algorithms = [sf.Mondrian(), sf.Mondrian(relaxed=True), sf.BranchMondrian(), sf.TopDown()]

    def publishing(algorithm: Any) -> Callable[[sf.Microdata, Path], Work]:
        return lambda table, _: lambda: sf.publish(table, algorithm, sf.KAnonymity(10))

    return {str(one): Grower(publishing(one), _QUASI) for one in algorithms}


def _models() -> dict[str, Grower]:
    models = [
        sf.KAnonymity(10), sf.LDiversity(4), sf.DistinctLDiversity(4), sf.EntropyLDiversity(4),
        sf.RecursiveLDiversity(3.0, 3), sf.TCloseness(0.4), sf.TCloseness(0.4, "ordered"),
    ]  # fmt: skip

    def publishing(model: Any) -> Callable[[sf.Microdata, Path], Work]:
        return lambda table, _: lambda: sf.publish(table, sf.Mondrian(), model)

    axes, large = ("rows", "values"), Shape(rows=16_000)
    found = {f"Mondrian under {one}": Grower(publishing(one), axes, large) for one in models}
    found["Anatomize"] = Grower(
        lambda table, _: partial(sf.publish, table, sf.Anatomize(), sf.LDiversity(4)), axes, large
    )
    return found


def _verbs() -> dict[str, Grower]:
    every = (*_QUASI, "values")
    found: dict[str, Grower] = {}
    for name, make in _RELEASES.items():
        found |= {
            f"write {name}": Grower(_on_release(make, _write), every),
            f"verify {name}": Grower(_on_release(make, _verify), every),
            f"load and ask {name}": Grower(_on_release(make, _load), every),
            f"evaluate {name}": Grower(_on_release(make, _evaluate), every),
        }
    found["inspect"] = Grower(lambda table, _: lambda: sf.assess(table), every)
    return found


_RELEASES: dict[str, Callable[[sf.Microdata], Any]] = {
    "boxes": lambda table: sf.publish(table, sf.Mondrian(), sf.KAnonymity(10)),
    "anatomized": lambda table: sf.publish(table, sf.Anatomize(), sf.LDiversity(4)),
}


def _on_release(
    make: Callable[[sf.Microdata], Any], use: Callable[[Any, sf.Microdata, Path], Work]
) -> Callable[[sf.Microdata, Path], Work]:
    return lambda table, folder: use(make(table), table, folder)


def _write(release: Any, _table: sf.Microdata, folder: Path) -> Work:
    return lambda: release.write(folder / "out", force=True)


def _verify(release: Any, _table: sf.Microdata, folder: Path) -> Work:
    release.write(folder / "out")
    return lambda: sf.verify(folder / "out").require()


def _load(release: Any, _table: sf.Microdata, folder: Path) -> Work:
    release.write(folder / "out", format="csv")
    return lambda: sf.load(folder / "out").query("SELECT q0, COUNT(*) FROM t GROUP BY q0")


def _evaluate(release: Any, table: sf.Microdata, _folder: Path) -> Work:
    return lambda: sf.evaluate(release, table)


def _databases() -> dict[str, Grower]:
    def create(table: sf.Microdata, folder: Path) -> Work:
        names = iter(range(1_000))
        return lambda: sf.StatDB.create(folder / str(next(names)), table, m=4)

    def ask(table: sf.Microdata, folder: Path) -> Work:
        database = sf.StatDB.create(folder / "db", table, m=4)
        return lambda: [database.count(f"q0 > {i} AND s = 's1'") for i in range(20)]

    def apply(table: sf.Microdata, folder: Path) -> Work:
        sf.StatDB.create(folder / "db", table, m=4)
        few = table.take(np.arange(10))
        return lambda: sf.StatDB.open(folder / "db").apply(few, None)

    large = Shape(rows=16_000)
    every = ("rows", "columns", "cardinality", "values")
    return {
        "StatDB create": Grower(create, every, large),
        "StatDB ask": Grower(ask, every, large),
        "StatDB apply 10 rows": Grower(apply, ("rows",), large),
    }


def _time_limits() -> Iterator[Line]:
    """A search that is cut short ends in time, whatever the table is like.

    What is published afterwards, sets of thousands of values, is not the search's.
    """
    for shape in (Shape(10_000, 2, 5_000), Shape(100_000, 5, 1_000), Shape(5_000, 60, 8)):
        table = shape.table()
        for search in _searches():
            needs = requirements(sf.KAnonymity(10), table.schema)
            took = seconds(partial(search.partition, table, needs, sf.Randomness(None)))
            name = f"{type(search).__name__}, {shape.rows:,} rows x {shape.columns}"
            detail = f"{took:.2f} s, cardinality {shape.cardinality:,}"
            yield Line(f"{name}: time limit", took / SECONDS, OVERSHOT, detail=detail)


def _searches() -> list[Any]:
    limited = [sf.SingleDimensional, sf.FullDomain, sf.Subtree, sf.Sibling, sf.LocalRecoding]
    return [search(time_limit=SECONDS) for search in limited]
