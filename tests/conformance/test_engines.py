"""Streaming publishes what memory publishes: the same values and types, or the same refusal.

With one seed both make the same folder; it is compared piece by piece, so that one sees what
differs.
"""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import domains, typed_rows
from sfumato.engines.choice import Engine
from sfumato.errors import SfumatoError, SfumatoWarning
from tests.support.seeds import long_seed

N, L = 48, 2
DAY, TIME = dt.date(2020, 2, 27), dt.datetime(2020, 2, 27, 23, 59, 58)
BERLIN = dt.datetime(2024, 10, 26, 23, 30, tzinfo=dt.UTC)
TEXT = pa.string()


def seen(kind: pa.DataType, *values: Any) -> pa.Array:
    """These values, over and over."""
    return pa.array([values[i % len(values)] for i in range(N)], kind)


def made(kind: pa.DataType, make: Callable[[int], Any]) -> pa.Array:
    """Six values of a type, and missing ones."""
    return pa.array([None if i % 7 == 5 else make(i % 6) for i in range(N)], kind)


def coded(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """A dictionary that lists more than the rows show."""
    places = pa.array([None if i % 7 == 5 else i % 3 for i in range(N)], kind)
    return pa.DictionaryArray.from_arrays(places, pa.array(values))


FIXED: dict[str, pa.Array] = {
    **{str(kind): made(kind, lambda i: i * 7) for kind in (pa.int8(), pa.int16(), pa.int32())},
    **{str(kind): made(kind, lambda i: i * 9) for kind in (pa.uint8(), pa.uint16(), pa.uint32())},
    "int64 at its ends": seen(pa.int64(), 2**63 - 1, -(2**63), 0, 2**53 + 1),
    "uint64 beyond int64": seen(pa.uint64(), 2**63 + 1, 2**63, 5, None),
    "float16": pa.array([np.float16(i % 6 / 4) for i in range(N)], pa.float16()),
    "float32": made(pa.float32(), lambda i: i / 4),
    "float64": made(pa.float64(), lambda i: i / 10),
    "NaN and zeros": seen(pa.float64(), 0.0, -0.0, math.nan, 1.5, None),
    "infinite": seen(pa.float64(), math.inf, 1.0, 2.0),
    "decimal32": made(pa.decimal32(7, 2), lambda i: Decimal(i * 25) / 100),
    "decimal64": made(pa.decimal64(12, 2), lambda i: Decimal(i * 25) / 100),
    "decimal128": made(pa.decimal128(12, 2), lambda i: Decimal(i * 25) / 100),
    "decimal256": made(pa.decimal256(50, 2), lambda i: Decimal(i * 25) / 100),
    "date32": made(pa.date32(), lambda i: DAY + dt.timedelta(days=i)),
    "date64": made(pa.date64(), lambda i: DAY + dt.timedelta(days=i)),
    "time32": made(pa.time32("s"), lambda i: dt.time(10, i)),
    "time64": made(pa.time64("ns"), lambda i: dt.time(10, i, 5, 250)),
    **{
        f"timestamp {unit}": made(pa.timestamp(unit), lambda i: TIME + dt.timedelta(hours=i))
        for unit in ("s", "ms", "us", "ns")
    },
    "UTC": made(pa.timestamp("us", "UTC"), lambda i: BERLIN + dt.timedelta(hours=i)),
    "the hour twice": made(
        pa.timestamp("us", "Europe/Berlin"), lambda i: BERLIN + dt.timedelta(minutes=30 * i)
    ),
    "duration": made(pa.duration("s"), lambda i: dt.timedelta(seconds=i * 100)),
    "truth": seen(pa.bool_(), True, False, None),
    "null": pa.nulls(N),
    "all null numbers": pa.nulls(N, pa.int64()),
    "all null texts": pa.nulls(N, TEXT),
    "binary": made(pa.binary(), lambda i: bytes([i])),
    "list": made(pa.list_(pa.int64()), lambda i: [i]),
    "struct": made(pa.struct([("a", pa.int64())]), lambda i: {"a": i}),
}
TEXTS: dict[str, pa.Array] = {
    "plain": seen(TEXT, "flu", "cold", "gout", None),
    "blanks around": seen(TEXT, "flu", "flu ", " flu", "cold", "gout", "\tgout"),
    "empty": seen(TEXT, "flu", "", "  ", None, "cold", "gout"),
    "accents": seen(TEXT, "caf\u00e9", "cafe\u0301", "cold", "gout"),
    "unseen": seen(TEXT, "flu", "f\u200blu", "\ufeffcold", "co\u00adld", "gout"),
    "capitals": seen(TEXT, "flu", "Flu", "FLU", "cold"),
    "a NUL": seen(TEXT, "a\0b", "a", "b", "a\0"),
    "like numbers": seen(TEXT, "20", "020", "x", "y"),
    "one number twice": seen(TEXT, "1", "1.0", "x1", "y"),
    "markers": seen(TEXT, "NA", "null", "NaN", "x", "y"),
    "to be quoted": seen(TEXT, "a, b", 'say "x"', "two\nlines", "{a}", "*"),
    "large": seen(pa.large_string(), "flu ", "cold", "flu", "gout"),
    "view": seen(pa.string_view(), "flu ", "cold", "flu", "gout"),
    "dictionary": coded(pa.int8(), ["flu", "cold", "gout ", "never"]),
    "dictionary, a value twice": coded(pa.int32(), ["flu", "flu ", "gout", "cold"]),
    "dictionary of numbers": coded(pa.int16(), [7, 9, 11, 13]),
}
CASES = {**FIXED, **TEXTS}
ROLES = ("quasi", "sensitive", "insensitive")


def write_parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path.with_suffix(".parquet"), row_group_size=11)
    return path.with_suffix(".parquet")


def write_arrow(table: pa.Table, path: Path) -> Path:
    with pa.ipc.new_file(path.with_suffix(".arrow"), table.schema) as writer:
        writer.write_table(table, 11)
    return path.with_suffix(".arrow")


def write_stream(table: pa.Table, path: Path) -> Path:
    with pa.ipc.new_stream(path.with_suffix(".ipc"), table.schema) as writer:
        writer.write_table(table, 11)
    return path.with_suffix(".ipc")


def write_csv(table: pa.Table, path: Path) -> Path:
    columns = [
        column.cast(TEXT) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    pa.csv.write_csv(pa.table(columns, table.column_names), path.with_suffix(".csv"))
    return path.with_suffix(".csv")


WRITERS = {
    "parquet": write_parquet, "arrow": write_arrow, "stream": write_stream, "csv": write_csv,
}  # fmt: skip
# What Arrow itself cannot write into a text file.
UNWRITABLE = {"csv": ("list", "struct", "view")}


@dataclass(frozen=True)
class Published:
    """What stands in a folder; or a refusal."""

    refusal: str = ""
    warned: tuple[str, ...] = ()
    manifest: str = ""
    fields: tuple[str, ...] = ()
    rows: tuple[tuple[str, int], ...] = ()
    values: tuple[tuple[str, int], ...] = ()


def published(source: Path, schema: sf.Schema, engine: Engine, out: Path, **more: Any) -> Published:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", SfumatoWarning)
        try:
            sf.publish_file(
                source, schema, sf.Anatomize(), sf.LDiversity(L), out, engine=engine,
                seed=long_seed(15), **more,
            )  # fmt: skip
        except SfumatoError as error:
            return Published(refusal=f"{type(error).__name__}: {error}")
    told = tuple(sorted(str(one.message) for one in heard))
    sf.verify(out).require()
    release = sf.load(out)
    assert isinstance(release, sf.AnatomizedTables)
    stored = tuple(str(pq.read_schema(out / f"{stem}.parquet")) for stem in release.stems)
    return Published(
        "",
        told,
        release.manifest.to_json(),
        stored,
        counted(release.qit.drop_columns("group_id").to_pylist()),
        tuple(sorted(totals(release.st).items())),
    )


def both(source: Path, roles: sf.Schema, out: Path, **more: Any) -> tuple[Published, Published]:
    """What either engine publishes of a file."""
    return (
        published(source, roles, "memory", out.with_suffix(".memory"), **more),
        published(source, roles, "stream", out.with_suffix(".stream"), **more),
    )


def counted(rows: list[dict[str, Any]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(repr(row) for row in rows).items()))


def totals(st: pa.Table) -> Counter[str]:
    found: Counter[str] = Counter()
    for value, times in zip(st.column(1).to_pylist(), st.column(2).to_pylist(), strict=True):
        found[repr(value)] += times
    return found


def case(name: str, role: str) -> tuple[pa.Table, sf.Schema]:
    columns = {
        "person": pa.array([f"p{i}" for i in range(N)]),
        "age": pa.array([i % 9 for i in range(N)]),
        "Age": pa.array([f"{i % 4} years" for i in range(N)]),
        "it": CASES[name],
    }
    if role != "sensitive":
        columns["ill"] = seen(TEXT, "flu", "cold", "gout")
    return pa.table(columns), schema(role)


def schema(role: str, **more: Any) -> sf.Schema:
    return sf.Schema(
        identifiers=["person"],
        quasi=["age", "Age", *(["it"] if role == "quasi" else [])],
        sensitive=["it" if role == "sensitive" else "ill"],
        insensitive=["it"] if role == "insensitive" else [],
        **more,
    )


@pytest.fixture(autouse=True)
def _several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few rows, so that the passes are real ones."""
    monkeypatch.setattr(domains, "PART_ROWS", 7)
    monkeypatch.setattr(typed_rows, "_BATCH_ROWS", 7)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("written", WRITERS)
def test_engines_publish_the_same(written: str, role: str, tmp_path: Path) -> None:
    different = []
    for number, name in enumerate(CASES):
        if name in UNWRITABLE.get(written, ()):
            continue
        table, roles = case(name, role)
        source = WRITERS[written](table, tmp_path / f"in-{number}")
        memory, stream = both(source, roles, tmp_path / str(number))
        if memory != stream:
            different.append((name, memory, stream))
    assert not different, different


def test_some_of_them_are_published(tmp_path: Path) -> None:
    """Two refusals are alike as well, so they must not be all that is compared."""
    kept = Counter[str]()
    for name in CASES:
        table, roles = case(name, "quasi")
        source = write_arrow(table, tmp_path / f"in-{name}".replace(" ", "-"))
        refusal = published(source, roles, "stream", tmp_path / f"out-{name}").refusal
        kept[refusal.partition(":")[0]] += 1
    assert kept == {"": len(CASES) - 4, "DataError": 4}  # infinite, binary, list, struct


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("written", WRITERS)
def test_markers_of_missing_values(written: str, role: str, tmp_path: Path) -> None:
    """With blanks around, as texts and as numbers."""
    columns = [
        seen(TEXT, "? ", "flu", "?", "cold", "gout"),
        seen(pa.int64(), -9, 1, 2, 3),
        seen(pa.float64(), -9.0, 1.5, 2.5),
        seen(TEXT, "-9", "-9.0", "1.5", "x"),
    ]
    for number, it in enumerate(columns):
        table, roles = case("plain", role)
        table = table.set_column(table.column_names.index("it"), "it", it)
        source = WRITERS[written](table, tmp_path / f"in-{number}")
        memory, stream = both(source, roles, tmp_path / str(number), missing=["?", "-9"])
        assert memory == stream


@pytest.mark.parametrize("written", WRITERS)
def test_declared_orders(written: str, tmp_path: Path) -> None:
    for number, order in enumerate((["gout", "flu", "cold"], ["gout", "flu"])):
        for role in ("quasi", "sensitive"):
            table, _ = case("blanks around", role)
            roles = schema(role, orders={"it": order})
            source = WRITERS[written](table, tmp_path / f"in-{number}-{role}")
            memory, stream = both(source, roles, tmp_path / f"{number}-{role}")
            assert memory == stream
            assert bool(memory.refusal) == (len(order) == 2)


@pytest.mark.parametrize("written", WRITERS)
def test_one_disease_in_two_spellings_is_one(written: str, tmp_path: Path) -> None:
    """Counted as two, a table that is nearly all flu would look diverse."""
    table, roles = case("plain", "sensitive")
    it = seen(TEXT, "flu", "flu ", "flu\u200b", " flu", "flu\ufe0f", "fl\u034fu", "\x01flu", "cold")
    table = table.set_column(table.column_names.index("it"), "it", it)
    memory, stream = both(WRITERS[written](table, tmp_path / "in"), roles, tmp_path / "out")
    assert memory == stream
    assert memory.refusal.startswith("Infeasible")


@pytest.mark.parametrize("written", WRITERS)
def test_a_disease_that_looks_like_another_is_refused(written: str, tmp_path: Path) -> None:
    table, roles = case("plain", "sensitive")
    it = seen(TEXT, "hay fever", "flu", "hay\u00a0fever", "cold")
    table = table.set_column(table.column_names.index("it"), "it", it)
    memory, stream = both(WRITERS[written](table, tmp_path / "in"), roles, tmp_path / "out")
    assert memory == stream
    assert "they look alike" in memory.refusal


def test_files_of_a_pattern_are_one_table(tmp_path: Path) -> None:
    for name, write in WRITERS.items():
        table, roles = case("blanks around", "quasi")
        whole = write(table, tmp_path / f"whole-{name}")
        for part in range(2):
            write(table.slice(part * 20, 20 + 8 * part), tmp_path / f"part-{name}-{part}")
        pattern = tmp_path / f"part-{name}-*{whole.suffix}"
        parts = published(pattern, roles, "stream", tmp_path / f"parts-{name}")
        assert parts == published(whole, roles, "memory", tmp_path / f"all-{name}")
        assert not parts.refusal


def test_a_damaged_arrow_file_is_refused(tmp_path: Path) -> None:
    """Its texts may point outside of the file, which ends the process of whoever believes it."""
    table, roles = case("plain", "quasi")
    source = write_arrow(table, tmp_path / "in")
    whole = source.read_bytes()
    ages = [f"{i % 4} years" for i in range(11)]
    ends = np.cumsum([0, *map(len, ages)]).astype(np.int32).tobytes()
    at = whole.index(ends) + len(ends) - 4
    source.write_bytes(whole[:at] + b"\xff\xff\xff\x7f" + whole[at + 4 :])
    found = published(source, roles, "stream", tmp_path / "out")
    assert found.refusal.startswith("DataError: cannot read")
    assert not (tmp_path / "out").exists()
