"""Many sensitive values: closeness through taxonomies, l-diversity of a million different ones."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import Line, seconds
from sfumato.algorithms.base import Partitioner
from sfumato.core.randomness import Randomness
from sfumato.models.base import Model
from sfumato.models.requirements import requirements

ROWS = 1_000_000
CLOSE_ROWS = 8_000
CLOSE = {100: 0.5, 1_000: 1.0, 5_000: 3.0}  # seconds of CPU by sensitive values
LIMIT = 20.0  # seconds of CPU to publish, write and verify
MODELS: tuple[Model, ...] = (
    sf.LDiversity(5),
    sf.DistinctLDiversity(5),
    sf.EntropyLDiversity(5),
    sf.RecursiveLDiversity(2, 5),
)


def run(folder: Path | None) -> Iterator[Line]:  # noqa: ARG001
    """Processor time where sensitive values are many."""
    for values, limit in CLOSE.items():
        yield from _closeness(values, limit)
    table = _different(ROWS)
    for way in (sf.Mondrian(), sf.Anatomize()):
        for model in MODELS:
            yield _published(table, way, model)


def _closeness(values: int, limit: float) -> Iterator[Line]:
    data = _with_tree(values)
    model = sf.TCloseness(0.3) & sf.KAnonymity(5)
    needs = requirements(model, data.schema)
    ways: tuple[Partitioner, ...] = (sf.Mondrian(), sf.TopDown(), sf.BranchMondrian())
    for way in ways:
        run = partial(way.partition, data, needs, Randomness(0))
        run()  # the compiler's time is not measured
        name = f"{way.name} CPU, closeness through a taxonomy of {values:,} values"
        yield Line(name, seconds(run, time.process_time), limit, "s", f"{CLOSE_ROWS:,} rows")


def _published(table: sf.Microdata, way: Partitioner, model: Model) -> Line:
    def whole() -> None:
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out"
            sf.publish(table, way, model).write(out)
            sf.verify(out).require()

    taken = seconds(whole, time.process_time)
    name = f"{way.name} CPU, {model}, a million different values"
    return Line(name, taken, LIMIT, "s", f"{ROWS:,} rows published, written and verified")


def _with_tree(values: int) -> sf.Microdata:
    """Ten branches of five twigs, all of one size."""
    words = [f"s{value:04d}" for value in range(values)]
    twig = values // 50
    tree = {
        "any": {
            f"branch {i}": {
                f"twig {i}.{j}": words[(5 * i + j) * twig : (5 * i + j + 1) * twig]
                for j in range(5)
            }
            for i in range(10)
        }
    }
    generator = np.random.default_rng(0)
    columns = {
        **_quasi(generator, CLOSE_ROWS),
        "value": np.array(words)[generator.integers(0, values, CLOSE_ROWS)],
    }
    schema = sf.Schema(
        quasi=["age", "zip", "sex"],
        sensitive="value",
        taxonomies={"value": sf.Taxonomy.from_nested(tree)},
    )
    return sf.Microdata.from_arrow(pa.table(columns), schema)


def _different(rows: int) -> sf.Microdata:
    generator = np.random.default_rng(0)
    values = [f"x{number:07d}" for number in generator.permutation(rows)]
    table = pa.table({**_quasi(generator, rows), "value": values})
    schema = sf.Schema(quasi=["age", "zip", "sex"], sensitive="value")
    return sf.Microdata.from_arrow(table, schema)


def _quasi(generator: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    return {
        "age": generator.integers(18, 90, rows),
        "zip": generator.integers(0, 1000, rows),
        "sex": np.array(["f", "m"])[generator.integers(0, 2, rows)],
    }
