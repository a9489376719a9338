"""Engines: what is streamed, in any parts and memory, is byte for byte what memory publishes."""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pyarrow as pa
import pyarrow.ipc
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.judging import Finding
from fuzzing.releases import ALGORITHMS, LABELS, MODELS
from fuzzing.tables import Table, tables
from sfumato.algorithms.base import Planner
from sfumato.engines import domains
from sfumato.errors import OutOfMemory, ParameterError, PromiseBroken, SfumatoError
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.models.requirements import requirements

PLANNERS = sorted(name for name, one in ALGORITHMS.items() if isinstance(one, Planner))


@dataclass(frozen=True, slots=True)
class Streamed:
    """A table, how it is published, and how little is in memory at once."""

    table: Table
    algorithm: str
    model: str
    labels: str
    format: FileFormat
    means: bool
    memory: int
    part_rows: int


@st.composite
def cases(draw: st.DrawFn) -> Streamed:
    """Any table, and any method that plans."""
    table = draw(tables() | tables(even=True))
    models = [n for n, m in MODELS.items() if table.of_role("sensitive") or not m.needs_sensitive]
    return Streamed(
        table,
        draw(st.sampled_from(PLANNERS)),
        draw(st.sampled_from(sorted(models))),
        draw(st.sampled_from(LABELS)),
        draw(st.sampled_from(["parquet", "csv"])),
        draw(st.booleans()),
        draw(st.integers(2_000, 30_000)),
        draw(st.integers(1, 30)),
    )


def check(case: Streamed) -> str:
    """The outcome in a word; raises a Finding."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as place:
        warnings.simplefilter("ignore")
        source, table = Path(place) / "in.arrow", case.table.arrow()
        with pa.ipc.new_file(str(source), table.schema) as writer:
            writer.write_table(table)
        needs = requirements(MODELS[case.model], case.table.schema())
        try:
            ALGORITHMS[case.algorithm].require_planned(needs)
        except ParameterError:
            return "not planned"
        seed = sf.new_seed()
        memory = _made(case, source, Path(place) / "memory", seed, "memory", None)
        with mock.patch.object(domains, "PART_ROWS", case.part_rows):
            stream = _made(case, source, Path(place) / "stream", seed, "stream", case.memory)
        if isinstance(stream, str) and stream.startswith(OutOfMemory.__name__):
            return "too little memory"
        if isinstance(memory, str) and isinstance(stream, str):
            # of several things that are wrong either may name another first
            return "refused"
        if isinstance(stream, dict) and "regions" in _algorithm(stream):
            return "published in regions"  # a method that says it did otherwise than in memory
        if memory != stream:
            raise Finding(f"in memory {_told(memory)}, streamed {_told(stream)}")
        return "published"


def _made(
    case: Streamed, source: Path, out: Path, seed: int, engine: Any, limit: int | None
) -> dict[str, bytes] | str:
    try:
        sf.publish_file(
            source, case.table.schema(), ALGORITHMS[case.algorithm], MODELS[case.model], out,
            engine=engine, labels=cast(Labels, case.labels), means=case.means,
            format=case.format, seed=seed, memory_limit=limit,
        )  # fmt: skip
    except PromiseBroken as error:
        raise Finding(f"the promise is broken: {error}") from error
    except SfumatoError as error:
        if out.exists():
            raise Finding(f"a refused run left a folder: {error}") from error
        return f"{type(error).__name__}: {error}"
    if not sf.verify(out).ok:
        raise Finding(f"our own release is not verified ({engine})")
    return {file.name: file.read_bytes() for file in out.iterdir()}


def _algorithm(files: dict[str, bytes]) -> dict[str, Any]:
    stated: dict[str, Any] = json.loads(files["release.json"])["algorithm"]
    return stated


def _told(made: dict[str, bytes] | str) -> str:
    if isinstance(made, str):
        return made
    return f"{made['release.json'][:2_000]!r}"
