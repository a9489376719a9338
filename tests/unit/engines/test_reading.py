"""sf.read part by part: the table that it is in memory, or a refusal with the memory it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import domains, reading
from sfumato.engines.choice import Engine
from sfumato.errors import DataError, OutOfMemory, ParameterError, SfumatoError
from tests.conformance.test_engines import CASES, ROLES, UNWRITABLE, WRITERS, case
from tests.support.seeds import long_seed

N = 500
SCHEMA = sf.Schema(
    identifiers=["name"], quasi=["age", "town"], sensitive="ill", insensitive=["note"]
)


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "PART_ROWS", 61)


def people() -> pa.Table:
    chance = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"n{i}" for i in range(N)],
            "age": pa.array(chance.integers(0, 200, N), mask=chance.random(N) < 0.1),
            "town": chance.choice(["A", "B", " A"], N),
            "ill": chance.choice(["flu", "cold", "gout"], N),
            "note": [f"note {i}" for i in range(N)],
        }
    )


def held(source: Path, schema: sf.Schema, **how: Any) -> Any:
    """All that a table holds, or why there is none."""
    try:
        table = sf.read(source, schema, **how)
    except SfumatoError as error:
        return f"{type(error).__name__}: {error}"
    domains_of = {name: (repr(one), one.values) for name, one in table.attributes.items()}
    codes = {name: (one.dtype, one.tolist()) for name, one in table.codes.items()}
    return table.n_rows, domains_of, codes, repr(table.insensitive.to_pylist()), table.ids


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("written", WRITERS)
def test_every_type_is_read_alike(written: str, role: str, tmp_path: Path) -> None:
    different, kept = [], 0
    for number, name in enumerate(CASES):
        if name not in UNWRITABLE.get(written, ()):
            table, schema = case(name, role)
            source = WRITERS[written](table, tmp_path / f"in-{number}")
            memory = held(source, schema, engine="memory")
            kept += not isinstance(memory, str)
            if memory != held(source, schema, engine="stream"):
                different.append((name, memory, held(source, schema, engine="stream")))
    assert not different, different
    assert kept > 20


def test_codes_that_do_not_fit_are_refused_with_their_bytes(tmp_path: Path) -> None:
    source = WRITERS["parquet"](people().drop_columns("note"), tmp_path / "in")
    schema = sf.Schema(quasi=["age", "town"], sensitive="ill")
    taken = N * (2 + 1 + 1)  # 200 ages, a missing one among them, take two bytes each
    with pytest.raises(OutOfMemory, match=f"500 rows, which take {taken:,} bytes as codes"):
        sf.read(source, schema, engine="stream", memory_limit=taken - 1)
    assert sf.read(source, schema, engine="stream", memory_limit=taken).n_rows == N


def test_insensitive_columns_are_no_codes_and_count_as_they_are(tmp_path: Path) -> None:
    source = WRITERS["parquet"](people(), tmp_path / "in")
    with pytest.raises(OutOfMemory, match="500 rows, which take"):
        sf.read(source, SCHEMA, engine="stream", memory_limit=N * 4 + 100)


def test_a_file_that_seems_too_large_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = WRITERS["csv"](people(), tmp_path / "in")
    monkeypatch.setattr(reading, "needs_streaming", lambda *_: True)
    with pytest.raises(OutOfMemory):
        sf.read(source, SCHEMA, memory_limit=10)
    assert sf.read(source, SCHEMA, engine="memory").n_rows == N
    # what cannot be read in parts is read whole
    assert sf.read(source, SCHEMA, id="name", memory_limit=10).ids is not None
    assert sf.read(people(), SCHEMA, memory_limit=10).n_rows == N
    assert sf.read(source, SCHEMA, query="SELECT * FROM t", memory_limit=10).n_rows == N
    with pytest.raises(ParameterError, match="without a query"):
        sf.read(source, SCHEMA, query="SELECT * FROM t", engine="stream")


def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = WRITERS["parquet"](people(), tmp_path / "in")
    other = people().set_column(2, "town", pa.array(["C"] * N))
    for after in (people().slice(0, 400), pa.concat_tables([people()] * 2), other):
        WRITERS["parquet"](people(), tmp_path / "in")

        def changing(*given: Any, after: pa.Table = after) -> Any:
            counted = domains.count_values(*given)
            pq.write_table(after, source)
            return counted

        monkeypatch.setattr(reading, "count_values", changing)
        with pytest.raises(DataError, match="changed while it was read"):
            sf.read(source, SCHEMA, engine="stream")


def test_a_database_is_the_same(tmp_path: Path) -> None:
    source = WRITERS["parquet"](people().drop_columns("note"), tmp_path / "in")
    schema = sf.Schema(quasi=["age", "town"], sensitive="ill")
    stored = []
    engines: tuple[Engine, ...] = ("memory", "stream")
    for engine in engines:
        table = sf.read(source, schema, engine=engine)
        db = sf.StatDB.create(tmp_path / engine, table, m=2, seed=long_seed(1))
        stored.append({name: one.tolist() for name, one in db.responder.stored.named().items()})
    assert stored[0] == stored[1]
