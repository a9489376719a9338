"""What `write` accepts `verify` keeps, and it comes back: every type, in every file."""

from __future__ import annotations

from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from fuzzing.columns import CODABLE, TYPES, array
from sfumato.algorithms.base import Partitioner
from sfumato.errors import DataError
from sfumato.forms.files import FileFormat
from sfumato.io.plain import plain_table
from sfumato.io.types import from_texts, odd_clocks, to_texts, type_like, type_text

FIRST = -(2**63)  # nanoseconds
NESTED: dict[pa.DataType, list[Any]] = {
    pa.map_(pa.string(), pa.int64()): [[("k", 1)], [], [], None],
    pa.map_(pa.timestamp("s"), pa.duration("s")): [[(5, 1)], [], None, [(7, 2)]],
    pa.map_(pa.string(), pa.list_(pa.decimal32(5, 2)), keys_sorted=True): [
        [("k", [1])],
        [],
        [],
        [],
    ],
    pa.list_(pa.map_(pa.string(), pa.int64())): [[[("k", 1)], []], [], [], None],
    pa.struct({"a, b: <": pa.map_(pa.string(), pa.time32("s")), "c>": pa.duration("us")}): [
        {"a, b: <": [("x", 1)], "c>": 5},
        {"a, b: <": None, "c>": None},
        None,
        None,
    ],
    pa.list_(pa.struct({"x": pa.timestamp("s", "UTC"), "y": pa.large_binary()})): [
        [{"x": 5, "y": b"a"}],
        [],
        None,
        [None],
    ],
}


def rows(release: Any) -> pa.Table:
    return release.qit if isinstance(release, sf.AnatomizedTables) else release.table


def beside(column: pa.Array) -> pa.Table:
    return pa.table({"a": [1, 2, 3, 4], "d": ["x", "y"] * 2, "x": column})


@pytest.mark.parametrize("kind", NESTED, ids=str)
@pytest.mark.parametrize("algorithm", [sf.Mondrian(), sf.Anatomize()], ids=["boxes", "anatomy"])
def test_nested_columns_keep_their_types(
    tmp_path: Path, kind: pa.DataType, algorithm: Partitioner
) -> None:
    table = beside(pa.array(NESTED[kind], kind))
    schema = sf.Schema(quasi=["a"], sensitive="d", insensitive=["x"])
    release = sf.publish(sf.Microdata.from_arrow(table, schema), algorithm, sf.LDiversity(2))
    folder = release.write(tmp_path / "out")
    sf.verify(folder).require()
    here, there = (rows(one)["x"] for one in (release, sf.load(folder)))
    assert type_text(there.type) == type_text(here.type)
    assert there.to_pylist() == here.to_pylist()


def test_a_streamed_map_keeps_its_type(tmp_path: Path) -> None:
    kind = pa.map_(pa.string(), pa.int64())
    pq.write_table(beside(pa.array(NESTED[kind], kind)), tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["a"], sensitive="d", insensitive=["x"])
    out = tmp_path / "out"
    sf.publish_file(
        tmp_path / "in.parquet", schema, sf.Anatomize(), sf.LDiversity(2), out, engine="stream"
    )
    sf.verify(out).require()
    assert dict(sf.load(out).manifest.types)["x"] == "map<string, int64>"


def test_a_nested_type_that_is_not_the_stated_one_is_none() -> None:
    kind = pa.struct({"a": pa.map_(pa.string(), pa.int64())})
    assert type_like(type_text(kind), kind) == kind
    for text in ("struct<b: map<string, int64>>", "struct<a: map<string, int64>", "struct<a: int>"):
        assert type_like(text, kind) is None
    assert type_like(f"{type_text(kind)}, and more", kind) is None


@pytest.mark.parametrize("kind", CODABLE, ids=str)
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_sets_of_every_type_come_back(
    tmp_path: Path, kind: pa.DataType, format: FileFormat
) -> None:
    usable = (text for text in TYPES[kind] if text not in ("inf", "nan", "-0.0"))
    texts = [*islice(usable, 3), None]
    table = pa.table({"q": array(kind, texts * 2), "d": ["x", "y"] * len(texts)})
    schema = sf.Schema(quasi=["q"], sensitive="d", kinds={"q": "categorical"})
    people = sf.Microdata.from_arrow(table, schema)
    release = sf.publish(people, sf.Mondrian(), sf.KAnonymity(5))
    assert [one.form for one in release.manifest.columns if one.name == "q"] == ["set"]
    folder = release.write(tmp_path / "out", format=format)
    sf.verify(folder).require()
    here, there = (rows(one)["q"] for one in (release, sf.load(folder)))
    assert type_text(there.type) == type_text(here.type)
    assert list(map(str, there)) == list(map(str, here))


@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("kind", ["numerical", "categorical"])
def test_the_first_nanosecond_comes_back_from_csv(
    tmp_path: Path, role: str, zone: str | None, kind: str
) -> None:
    numbers = pa.array([FIRST + 1, FIRST + 10**9, -1, 2**63 - 1])
    table = beside(numbers.cast(pa.timestamp("ns", zone)))
    roles: dict[str, Any] = {"quasi": ["a"], "sensitive": ["d"], "insensitive": []}
    roles[role] = ["x"]
    kinds = {} if role == "insensitive" else {"x": kind}
    people = sf.Microdata.from_arrow(table, sf.Schema(**roles, kinds=kinds))
    release = sf.publish(people, sf.Mondrian(), sf.KAnonymity(4))
    folder = release.write(tmp_path / "out", format="csv")
    sf.verify(folder).require()
    assert rows(sf.load(folder)).equals(rows(release))


ODD = {
    "an offset with seconds": ("Europe/Rome", [-6 * 10**18, -1]),
    "a clock before the first": ("-05:00", [FIRST + 1, -1]),
    "a clock behind the last": ("Europe/Rome", [2**63 - 1, -1]),
}


@pytest.mark.parametrize("name", ODD)
def test_a_clock_that_cannot_be_written_is_refused_or_in_utc(tmp_path: Path, name: str) -> None:
    zone, numbers = ODD[name]
    column = pa.array(numbers * 2).cast(pa.timestamp("ns", zone))
    alone = sf.Schema(quasi=["a"], sensitive="d", insensitive=["x"])
    release = sf.publish(
        sf.Microdata.from_arrow(beside(column), alone), sf.Mondrian(), sf.KAnonymity(4)
    )
    with pytest.raises(DataError, match=r"'x'.*UTC"):
        release.write(tmp_path / "refused", format="csv")
    assert not (tmp_path / "refused").exists()
    sf.verify(release.write(tmp_path / "plain")).require()
    schema = sf.Schema(quasi=["x"], sensitive="d", kinds={"x": "categorical"})
    people = sf.Microdata.from_arrow(beside(column), schema)
    for labels in ("sets", "text"):
        made = sf.publish(people, sf.Mondrian(), sf.KAnonymity(4), labels=labels)
        folder = made.write(tmp_path / labels, format="csv")
        sf.verify(folder).require()
        assert rows(sf.load(folder)).equals(rows(made))
    assert from_texts(to_texts(column), column.type).equals(column)


def test_clocks_that_can_be_written_are_those_of_their_zone() -> None:
    times = pa.array([0, None, 1_600_000_000]).cast(pa.timestamp("s", "Asia/Kolkata"))
    assert odd_clocks(times) is None
    assert to_texts(times).to_pylist() == times.cast(pa.string()).to_pylist()


def test_what_lies_before_the_first_nanosecond_is_no_time() -> None:
    first = pa.array(["1677-09-21 00:12:43.145224192", None, "2000-01-01 00:00:00"])
    found = from_texts(first, pa.timestamp("ns")).cast(pa.int64()).to_pylist()
    assert found == [FIRST, None, 946_684_800 * 10**9]
    for text in ("1677-09-21 00:12:43.145224191", "1677-09-21 00:12:43", "1677-09-21 00:12:42.9"):
        with pytest.raises(pa.ArrowInvalid):
            from_texts(pa.array([text]), pa.timestamp("ns"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pa.decimal128(20, -3), pa.decimal128(38, -3), pa.decimal256(60, -3)]
)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_decimals_of_negative_scale_are_whole_numbers(
    tmp_path: Path, kind: pa.DataType, role: str, format: FileFormat
) -> None:
    numbers = [Decimal(text) for text in ("1000", "-2000", "3000", "5000")]
    roles: dict[str, Any] = {"quasi": ["a"], "sensitive": ["d"], "insensitive": []}
    roles[role] = ["x"]
    people = sf.Microdata.from_arrow(beside(pa.array(numbers, kind)), sf.Schema(**roles))
    release = sf.publish(people, sf.Mondrian(), sf.KAnonymity(4))
    folder = release.write(tmp_path / "out", format=format)
    sf.verify(folder).require()
    assert rows(sf.load(folder)).equals(plain_table(rows(release)))
    assert sf.evaluate(release, people, queries=5).verification.ok
    shown = release.query("SELECT MIN(x), MAX(x) FROM t").answers[0] if role != "quasi" else None
    assert shown is None or [one.lo for one in shown] == [Decimal(-2000), Decimal(5000)]


def test_decimals_of_more_than_76_digits_are_refused() -> None:
    parts = pa.array([Decimal(10) ** 75] * 4, pa.decimal256(76, 0)).buffers()
    table = beside(pa.Array.from_buffers(pa.decimal256(76, -3), 4, parts))
    with pytest.raises(DataError, match="76 digits"):
        sf.Microdata.from_arrow(table, sf.Schema(quasi=["x"], sensitive="d"))
    with pytest.raises(DataError, match="76 digits"):
        sf.read(table, sf.Schema(quasi=["a"], sensitive="d", insensitive=["x"]))
