"""Anatomize out of memory: the loops against plain Python, the passes, and what is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms.anatomize.stream import DividedFile, divide_file
from sfumato.algorithms.anatomize.stream_kernel import next_groups, spread
from sfumato.core.arrays import Codes, Counts
from sfumato.core.randomness import Randomness
from sfumato.engines import csv_rows as stream_csv
from sfumato.engines import memory
from sfumato.engines.rows import needs_streaming, open_rows
from sfumato.errors import DataError, Infeasible, ParameterError, SchemaError
from sfumato.io.tables import read_table
from sfumato.models.base import Model

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="disease")
TINY = 4096


def groups_in_chunks(
    sizes: Counts, l: int, room: int, residue: tuple[int, ...] = (), wait: tuple[int, ...] = ()
) -> tuple[list[tuple[int, ...]], Counts, Counts]:
    """All groups, made ``room`` at a time; what is left of the bins; which groups were joined."""
    left = sizes.copy()
    order = np.argsort(-left, kind="stable")
    last = np.full(len(left), -1, np.int64)
    state = np.array([7], np.uint64)
    joined = np.full(len(residue), -1, np.int64)
    waiting = np.array(wait, np.int64)
    made: list[tuple[int, ...]] = []
    while True:
        values: Codes = np.empty(room * l, np.int32)
        late = np.array(residue, np.int64)
        n = next_groups(left, order, last, state, late, waiting, joined, len(made), l, values)
        if not n:
            return made, left, joined
        made += [tuple(part.tolist()) for part in values[: n * l].reshape(n, l)]


@st.composite
def eligible(draw: st.DrawFn) -> tuple[Counts, int]:
    l = draw(st.integers(2, 5))
    sizes = np.array(draw(st.lists(st.integers(0, 30), min_size=l, max_size=12)), np.int64)
    total = max(1, int(sizes.sum()))
    sizes = np.minimum(sizes, total // l)
    while sizes.max() * l > sizes.sum():
        sizes = np.minimum(sizes, sizes.sum() // l)
    return sizes, l


@given(eligible())
def test_every_group_takes_from_the_largest_bins(case: tuple[Counts, int]) -> None:
    sizes, l = case
    groups, left, _ = groups_in_chunks(sizes, l, room=1000)
    bins = sizes.copy()
    for group in groups:
        assert len(set(group)) == l
        others = np.delete(bins, list(group))
        assert bins[list(group)].min() >= others.max(initial=0)
        bins[list(group)] -= 1
    assert np.array_equal(bins, left)
    assert left.max() <= 1
    assert np.count_nonzero(left) < l
    assert len(groups) == sizes.sum() // l


@given(eligible(), st.integers(1, 4))
def test_chunks_make_no_difference(case: tuple[Counts, int], room: int) -> None:
    sizes, l = case
    assert groups_in_chunks(sizes, l, room)[0] == groups_in_chunks(sizes, l, room=1000)[0]


def test_ties_are_broken_at_random() -> None:
    groups, _, _ = groups_in_chunks(np.full(10, 2000, np.int64), 2, room=500)
    pairs = Counter(tuple(sorted(group)) for group in groups)
    assert len(pairs) == 45


@pytest.mark.parametrize("room", [1, 3, 1000])
def test_residue_joins_the_chosen_group_among_those_that_lack_it(room: int) -> None:
    sizes = np.array([5, 7, 6, 4, 7], np.int64)
    groups, _, _ = groups_in_chunks(sizes, 3, room)
    lacking = [number for number, group in enumerate(groups) if 3 not in group]
    for wait, number in enumerate(lacking):
        joined = groups_in_chunks(sizes, 3, room, residue=(3,), wait=(wait,))[2]
        assert joined.tolist() == [number]


def test_rows_get_places_with_equal_chances() -> None:
    # four rows of one value, two places in either half: six outcomes, all equally likely
    randomness = Randomness(1)
    outcomes: Counter[tuple[int, ...]] = Counter()
    for _ in range(6000):
        trees = np.array([[0, 4, 2, 2]], np.int64)
        found = spread(np.zeros(4, np.int32), randomness.words(4), trees)
        outcomes[tuple(found.tolist())] += 1
        assert not trees.any()
    assert set(outcomes) == set(itertools.permutations((0, 0, 1, 1)))
    deviation = sum((count - 1000) ** 2 / 1000 for count in outcomes.values())
    assert deviation < 25.7  # chi-squared, 5 degrees of freedom, 0.01%


def test_every_place_is_used_once() -> None:
    capacity = np.array([[3, 0, 2, 1], [0, 0, 0, 5]], np.int64)
    trees = np.zeros((2, 8), np.int64)
    trees[:, 4:] = capacity
    for node in (3, 2, 1):
        trees[:, node] = trees[:, 2 * node] + trees[:, 2 * node + 1]
    codes = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0], np.int32)
    blocks = spread(codes, Randomness(3).words(len(codes)), trees)
    for value in (0, 1):
        assert np.array_equal(np.bincount(blocks[codes == value], minlength=4), capacity[value])


def test_blocks_hold_every_row_once_in_whole_groups(tmp_path: Path) -> None:
    table = patients(5003)
    divided = divide(table, tmp_path, sf.LDiversity(4))
    assert divided.n_groups == 5003 // 4
    blocks = list(divided.blocks)
    assert len(blocks) > 20  # so that the passes are real ones
    diseases = divided.sensitive.values
    rows: Counter[tuple[object, ...]] = Counter()
    for block in blocks:
        for group in range(block.groups.n_groups):
            codes = block.codes[block.groups.groups == group]
            assert len(codes) >= 4
            assert len(set(codes)) == len(codes)
        names = diseases.take(pa.array(block.codes)).to_pylist()
        rows.update(
            zip(block.rows["age"].to_pylist(), block.rows["town"].to_pylist(), names, strict=True)
        )
    assert rows == Counter(zip(*(table[name].to_pylist() for name in SCHEMA.roles), strict=True))


def test_what_is_spilled_is_on_disk_and_nameless(tmp_path: Path) -> None:
    divided = divide(patients(2000), tmp_path, sf.LDiversity(4))
    next(iter(divided.blocks))
    # a killed run leaves nothing: what is open has no name
    assert not list(tmp_path.glob("*.arrow"))
    opened = {path: path.readlink() for path in Path("/proc/self/fd").iterdir() if path.exists()}
    spilled = {name.name: path for path, name in opened.items() if name.parent == tmp_path}
    assert sorted(spilled) == ["groups.arrow (deleted)", "rows.arrow (deleted)"]
    assert b"person" not in spilled["rows.arrow (deleted)"].read_bytes()


def test_residue_is_spread_over_groups(tmp_path: Path) -> None:
    # 31 = 3 * 10 + 1 rows: one row joins one of the groups that lack its value
    table = pa.table(
        {
            "age": np.arange(31),
            "town": np.arange(31),
            "disease": [*"a" * 8, *"b" * 8, *"c" * 8, *"d" * 7],
        }
    )
    sizes = Counter(
        int(size)
        for _ in range(30)
        for block in divide(table, tmp_path, sf.LDiversity(3)).blocks
        for size in block.groups.sizes
    )
    assert sizes == {3: 270, 4: 30}


def test_infeasible_names_value_and_largest_l(tmp_path: Path) -> None:
    table = pa.table({"age": range(10), "town": range(10), "disease": [*"aaaaa", *"bcdef"]})
    with pytest.raises(Infeasible, match=r"'a' is the value of 5 of 10 .* largest feasible l is 2"):
        divide(table, tmp_path, sf.LDiversity(3))
    with pytest.raises(Infeasible) as caught:
        divide(table, tmp_path, sf.LDiversity(100))
    assert (caught.value.value, caught.value.largest) == ("a", 2)


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (sf.KAnonymity(3), "model"),
        (sf.EntropyLDiversity(3), "model"),
        (sf.LDiversity(3) & sf.KAnonymity(5), "model"),
    ],
)
def test_other_models_are_refused(tmp_path: Path, model: Model, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        divide(patients(100), tmp_path, model)
    assert caught.value.parameter == parameter


def test_groups_of_uneven_size_are_refused(tmp_path: Path) -> None:
    table = pa.table({"age": range(10), "town": range(10), "disease": [*"aaaa", *"bbb", *"cde"]})
    with pytest.raises(ParameterError, match="use the in-memory engine, or a smaller whole number"):
        divide(table, tmp_path, sf.LDiversity(2.5))


def test_several_sensitive_columns_are_refused(tmp_path: Path) -> None:
    schema = sf.Schema(quasi=["age"], sensitive=["town", "disease"])
    with pytest.raises(ParameterError, match="town, disease; use the in-memory engine"):
        divide(patients(100), tmp_path, sf.LDiversity(2), schema)


def test_a_continuous_sensitive_column_is_refused(tmp_path: Path) -> None:
    table = pa.table({"age": range(100), "town": range(100), "disease": np.linspace(0, 1, 100)})
    with pytest.raises(SchemaError, match="continuous"):
        divide(table, tmp_path, sf.LDiversity(2))


def test_bins_are_refused(tmp_path: Path) -> None:
    schema = sf.Schema(quasi=["town"], sensitive="age", bins={"age": 5})
    with pytest.raises(ParameterError, match="store the classes in the file"):
        divide(patients(100), tmp_path, sf.LDiversity(2), schema)


def test_memory_must_suffice_for_the_blocks(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="allow more with memory_limit"):
        divide(patients(100_000), tmp_path, sf.LDiversity(2), memory_limit=16)
    with pytest.raises(ParameterError, match="number of bytes"):
        divide(patients(100), tmp_path, sf.LDiversity(2), memory_limit=0)


def test_a_file_that_changes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = divide(patients(1000), tmp_path, sf.LDiversity(2))
    pq.write_table(patients(1001), tmp_path / "in.parquet")
    with pytest.raises(DataError, match="changed while it was read"):
        list(divided.blocks)
    divided = divide(patients(1000), tmp_path, sf.LDiversity(2))
    pq.write_table(patients(999), tmp_path / "in.parquet")
    with pytest.raises(DataError, match="changed while it was read"):
        list(divided.blocks)


@pytest.mark.parametrize("name", ["in.xlsx", "no-such.parquet", "part-*.parquet"])
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.xlsx").write_text("?")
    with pytest.raises(DataError, match=r"unknown extension|does not exist|no file matches"):
        open_rows(tmp_path / name, SCHEMA)


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows"):
        divide(patients(10).slice(0, 0), tmp_path, sf.LDiversity(2))


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'cough'"):
        divide(patients(10), tmp_path, sf.LDiversity(2), sf.Schema(quasi=["cough"], sensitive="x"))


TEXTS = {
    "whole": ["1", "2", "NA", "40"],
    "broken": ["1", "2", "3", "4.5"],
    "late": ["1", "2", "3", "x"],
    "padded": ["01", "2", "3", "4"],
    "long": ["1", "2", "3", "123456789012345678901234567890"],
    "day": ["2020-01-01", "2020-01-02", "", "2021-12-31"],
    "moment": ["2020-01-01", "2020-01-02", "", "2021-12-31 12:00:00"],
    "fine": ["2020-01-01 00:00:00.5", "", "", "2021-12-31 12:00:00.123456789"],
    "truth": ["true", "False", "TRUE", ""],
    "nothing": ["", "", "", ""],
    "marker": ["NA", "NULL", "NA", "NA"],
    "dozens": ["1.10", "2.20", "", "-3.30"],
    "zero": ["0.0", "-0.0", "1.0", "2.0"],
    "mixed": ["1.10", "2.2", "3", "4e5"],
    "twice": ["1.1", "2.2", "3", "1.10"],
    "digits": ["0.1", "0.10000000000000000001", "0.2", "0.3"],
    "text": [" a", "b ", "NA", "?"],
}


@pytest.mark.slow
@pytest.mark.parametrize("missing", [(), ("?", "x")])
def test_csv_types_are_those_of_reading_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    path = tmp_path / "in.csv"
    pyarrow.csv.write_csv(pa.table({name: texts * 50 for name, texts in TEXTS.items()}), path)
    monkeypatch.setattr(stream_csv, "_BLOCK_BYTES", 400)
    schema = sf.Schema(quasi=["whole"], insensitive=[name for name in TEXTS if name != "whole"])
    rows = open_rows(path, schema, missing)
    parts = list(rows.scan(list(TEXTS)))
    assert len(parts) > 5
    expected = read_table(path, columns=list(TEXTS), missing=missing)
    assert pa.concat_tables(parts).combine_chunks().equals(expected.combine_chunks())


def test_numbers_written_in_too_many_ways_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_csv, "_MOST_TEXTS", 100)
    for name, texts in (("one", "{}.25"), ("other", "{}.50")):
        with (tmp_path / f"{name}.csv").open("w") as file:
            file.write("age,town,disease\n")
            file.writelines(f"1,{texts.format(i)},flu\n" for i in range(200))
    (tmp_path / "python.csv").write_text(
        "age,town,disease\n"
        + "".join(f"1,{10.0**i / 3},flu\n1,{i}.0,flu\n" for i in range(-99, 99))
    )
    for name in ("one", "python"):
        assert open_rows(tmp_path / f"{name}.csv", SCHEMA).types["town"] == pa.float64()
    assert open_rows(tmp_path / "other.csv", SCHEMA).types["town"] == pa.float64()
    with (tmp_path / "other.csv").open("a") as file:
        file.write("1,7.5,flu\n")
    with pytest.raises(DataError, match="written in different ways"):
        open_rows(tmp_path / "other.csv", SCHEMA)


def test_values_are_cleaned_as_in_memory(tmp_path: Path) -> None:
    table = pa.table(
        {
            "weight": pa.array([1.5, float("nan"), -0.0, None], pa.float32()),
            "town": pa.array(["a", "b", None, "a"]).dictionary_encode(),
            "disease": pa.array(["x", "y", "x", None], pa.large_string()),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["weight", "town"], sensitive="disease")
    (part,) = open_rows(tmp_path / "in.parquet", schema).scan(["weight", "town", "disease"])
    assert part.to_pydict() == {
        "weight": [1.5, None, 0.0, None],
        "town": ["a", "b", None, "a"],
        "disease": ["x", "y", "x", None],
    }
    assert part.schema.types == [pa.float64(), pa.string(), pa.string()]


def test_strangers_to_a_declared_order_are_refused(tmp_path: Path) -> None:
    schema = sf.Schema(quasi=["town"], sensitive="disease", orders={"town": ["town-0", "town-1"]})
    with pytest.raises(SchemaError, match="declared order or taxonomy lacks"):
        list(divide(patients(100), tmp_path, sf.LDiversity(2), schema).blocks)


def test_files_of_a_pattern_are_one_table(tmp_path: Path) -> None:
    for i in range(3):
        pq.write_table(patients(100).slice(30 * i, 30), tmp_path / f"part-{i}.parquet")
    rows = open_rows(str(tmp_path / "part-*.parquet"), SCHEMA)
    assert pa.concat_tables(rows.scan(["age"])).equals(patients(100).select(["age"]).slice(0, 90))


def test_files_of_a_pattern_must_agree(tmp_path: Path) -> None:
    table = patients(100)
    pq.write_table(table, tmp_path / "part-0.parquet")
    pq.write_table(
        table.set_column(1, "age", table["age"].cast("str")), tmp_path / "part-1.parquet"
    )
    with pytest.raises(DataError, match=r"'age' has type int64 in .* and string in"):
        open_rows(str(tmp_path / "part-*.parquet"), SCHEMA)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_streaming_is_chosen_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"in.{suffix}"
    writer = {"parquet": pq.write_table, "csv": pyarrow.csv.write_csv}[suffix]
    writer(patients(10_000), path)
    assert not needs_streaming(path, SCHEMA)
    monkeypatch.setattr(memory, "available_memory", lambda: 500_000)
    assert needs_streaming(path, SCHEMA)
    assert needs_streaming(str(tmp_path / f"i*.{suffix}"), SCHEMA)


def test_only_files_are_streamed(tmp_path: Path) -> None:
    assert not needs_streaming(patients(10), SCHEMA)
    assert not needs_streaming("postgresql://host/base", SCHEMA)
    assert not needs_streaming(tmp_path / "absent.parquet", SCHEMA)


def test_available_memory_is_the_least_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.available_memory() > 0

    def offers() -> Iterator[int]:
        yield from (7, 3, 5)

    monkeypatch.setattr(memory, "_offers", offers)
    assert memory.available_memory() == 3


def patients(n: int) -> pa.Table:
    generator = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"person-{i:05}" for i in range(n)],
            "age": generator.integers(18, 90, n),
            "town": [f"town-{i}" for i in generator.integers(0, 30, n)],
            "disease": [f"disease-{i:02}" for i in generator.integers(0, 12, n)],
        }
    )


def divide(
    table: pa.Table,
    folder: Path,
    model: Model,
    schema: sf.Schema = SCHEMA,
    memory_limit: int = TINY * 16,
) -> DividedFile:
    pq.write_table(table, folder / "in.parquet")
    return divide_file(
        folder / "in.parquet", schema, model, folder, Randomness(), memory_limit=memory_limit
    )


def test_spellings_are_one_value_for_the_stream_too(tmp_path: Path) -> None:
    """Parquet texts come as they are: "flu" and "flu " must not make a table eligible."""
    ills = ["flu", "flu ", "fl\u200bu", "\tflu", "flu", "cold"] * 50
    rows = pa.table({"age": list(range(300)), "disease": ills})
    pq.write_table(rows, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["age"], sensitive="disease")
    for engine in ("memory", "stream"):
        with pytest.raises(Infeasible, match="'flu' is the value of 250 of 300"):
            sf.publish_file(
                tmp_path / "in.parquet", schema, sf.Anatomize(), sf.LDiversity(2),
                tmp_path / "out", engine=engine,
            )  # fmt: skip
