"""Parts, spills and tallies against what is in memory; bad sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attribute import encode
from sfumato.engines import domains
from sfumato.engines.coded import codes_of
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.engines.tally import Tally
from sfumato.errors import DataError, SchemaError

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="ill")
PARTS = [[5, 1, 4], [], [2, 2], [9]]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[StreamEngine]:
    def scan() -> Iterator[pa.Table]:
        for part in PARTS:
            yield pa.table({"x": pa.array(part, pa.int64())})

    with Scratch(tmp_path) as scratch:
        yield StreamEngine(scan, scratch, lambda: None)


def total(part: pa.Table, times: int) -> int:
    return times * int(part.column("x").to_numpy().sum())


def doubled(part: pa.Table, times: int) -> pa.Table:
    return pa.table({"x": pa.array([times * x for x in part.column("x").to_pylist()], pa.int64())})


def parity(part: pa.Table, _: int) -> Any:
    return part.column("x").to_numpy() % 2


def labelled(rows: pa.Table, number: int, times: int) -> pa.Table:
    return pa.table({"x": rows.column("x"), "of": pa.array([number * times] * rows.num_rows)})


def test_parts_are_reduced(engine: StreamEngine) -> None:
    assert engine.reduce(total, int.__add__, 3) == 3 * 23


def test_what_is_kept_can_be_read_again(engine: StreamEngine) -> None:
    kept = engine.keep(doubled, 10)
    for _ in range(2):
        shown = [part.column("x").to_pylist() for part in kept.parts()]
        assert shown == [[10 * x for x in part] for part in PARTS]


def test_rows_meet_by_their_number_and_keep_their_order(engine: StreamEngine) -> None:
    exchanged = engine.exchange(parity, 3, labelled, 7)
    found = [(part.column("x").to_pylist(), set(part.column("of").to_pylist()))
             for part in exchanged.parts()]  # fmt: skip
    assert found == [([4, 2, 2], {0}), ([5, 1, 9], {7}), ([], set())]


def test_nothing_spilled_has_a_name_where_the_system_can_do_without(
    engine: StreamEngine, tmp_path: Path
) -> None:
    engine.keep(doubled, 1)
    engine.exchange(parity, 2, labelled, 1)
    if Path("/proc/self/fd").is_dir():
        assert list(tmp_path.iterdir()) == []


NUMBERS = st.lists(st.none() | st.integers(-130, 130) | st.integers(-(2**63), 2**63 - 1))


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_tallies_of_parts_add_up(parts: list[list[int | None]]) -> None:
    whole = Tally(pa.int64())
    for part in parts:
        one = Tally(pa.int64())
        one.add(pa.chunked_array([pa.array(part, pa.int64())]))
        whole.merge(one)
    values, counts = whole.result()
    found = dict(zip(values.to_pylist(), counts.tolist(), strict=True))
    assert found == Counter(number for part in parts for number in part)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int64(), pa.uint64()])
def test_codes_are_those_of_the_whole_column(kind: pa.DataType) -> None:
    ends = np.iinfo(kind.to_pandas_dtype())
    values = [ends.max, ends.min, 0, 3, ends.max, None]
    for part in (values, values[:-1], [0, 3], [3]):
        column = pa.chunked_array([pa.array(part, kind)])
        attribute, codes = encode("x", column)
        assert codes_of(attribute, column).tolist() == codes.tolist()


@pytest.mark.parametrize("stranger", [[4], [300], [None], [-1]])
def test_values_that_are_not_in_the_domain_have_no_code(stranger: list[Any]) -> None:
    attribute, _ = encode("x", pa.chunked_array([pa.array([1, 5, 9], pa.int64())]))
    assert codes_of(attribute, pa.array([5, *stranger], pa.int64())).tolist() == [1, -1]


def people(rows: int = 90) -> pa.Table:
    towns, ills = ([f"{name}{i % n}" for i in range(rows)] for name, n in (("t", 4), ("d", 5)))
    return pa.table({"age": [i % 30 for i in range(rows)], "town": towns, "ill": ills})


def publish(source: Path | str, out: Path) -> None:
    sf.publish_file(
        source, SCHEMA, sf.Mondrian(), sf.KAnonymity(3), out, engine="stream", memory_limit=40_000
    )


def test_files_of_a_pattern_with_other_types_are_named(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in-1.parquet")
    texts = people().set_column(0, "age", people().column("age").cast(pa.string()))
    pq.write_table(texts, tmp_path / "in-2.parquet")
    with pytest.raises(DataError, match=r"'age' has type int64 in .*in-1\.parquet and string"):
        publish(tmp_path / "in-*.parquet", tmp_path / "out")
    pq.write_table(people().drop_columns(["town"]), tmp_path / "in-2.parquet")
    with pytest.raises(SchemaError, match="no column 'town'"):
        publish(tmp_path / "in-*.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("change", ["other values", "fewer rows", "other counts", "rewritten"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(people(), source)
    counted = domains.Counted.encoded

    def changing(self: domains.Counted, engine: Any) -> Any:
        ages = people().column("age")
        tables = {
            "other values": people().set_column(0, "age", pa.array([99] * 90)),
            "fewer rows": people(60),
            "other counts": people().set_column(0, "age", pa.array([ages[0].as_py()] * 90)),
        }
        found = counted(self, engine) if change == "rewritten" else None
        pq.write_table(tables.get(change, people()), source)
        return found or counted(self, engine)

    monkeypatch.setattr(domains.Counted, "encoded", changing)
    with pytest.raises(DataError, match="changed while it was read"):
        publish(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_disk_that_fills_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Scratch, parts: Any, n: int) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Scratch, "spill", full)
    pq.write_table(people(), tmp_path / "in.parquet")
    with pytest.raises(sf.errors.SfumatoError, match="space"):
        publish(tmp_path / "in.parquet", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_stages_are_told_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    heard: dict[str, list[float]] = {}

    def tell(stage: str, share: float) -> None:
        heard.setdefault(stage, []).append(share)

    def publishing(out: Path, progress: Any) -> None:
        sf.publish_file(tmp_path / "in.parquet", SCHEMA, sf.Mondrian(), sf.KAnonymity(3), out,
                        engine="stream", memory_limit=40_000, progress=progress)  # fmt: skip

    publishing(tmp_path / "whole", tell)
    assert list(heard) == [
        "counting values", "encoding", "partitioning", "spilling", "dividing", "writing"
    ]  # fmt: skip
    assert all(0 <= share <= 1 for shares in heard.values() for share in shares)

    for stage in heard:

        def interrupt(now: str, share: float, at: str = stage) -> None:
            if now == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            publishing(tmp_path / "out", interrupt)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "whole"]
