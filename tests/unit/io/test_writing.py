"""Published files hold the values and nothing else."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import DataError
from sfumato.io.plain import plain_table
from sfumato.io.tables import read_table
from sfumato.io.writing import write_csv, write_parquet

GHOST = "value of a suppressed row"


def ghostly() -> pa.Table:
    """A table with metadata, and with a dictionary that lists a value which no row has."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), ["flu", "gout", GHOST])
    inner = pa.field("item", pa.string(), metadata={"comment": GHOST})
    fields = [
        pa.field("disease", codes.type, metadata={"comment": GHOST}),
        pa.field("jobs", pa.list_(inner)),
        pa.field("age", pa.int64()),
    ]
    columns = [codes, pa.array([["a", "b"], [], None], pa.list_(inner)), pa.array([1, None, 3])]
    return pa.table(columns, schema=pa.schema(fields, metadata={"pandas": GHOST}))


def test_parquet_holds_values_and_types_only(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(ghostly(), path)
    # uncompressed, so that the bytes can be searched
    pq.write_table(pq.read_table(path), tmp_path / "b.parquet", compression="none")
    assert GHOST.encode() not in (tmp_path / "b.parquet").read_bytes()
    assert GHOST.encode() not in path.read_bytes()
    file = pq.ParquetFile(path)
    assert file.metadata.metadata is None
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read().to_pydict() == ghostly().to_pydict()


def test_a_dictionary_would_have_told(tmp_path: Path) -> None:
    # the reason why columns are decoded: without it the ghost is in the file
    pq.write_table(ghostly(), tmp_path / "a.parquet", compression="none")
    assert GHOST.encode() in (tmp_path / "a.parquet").read_bytes()


def test_sets_in_csv(tmp_path: Path) -> None:
    write_csv(ghostly(), tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["disease", "jobs", "age"],
        ["flu", "{a, b}", "1"],
        ["gout", "{}", ""],
        ["flu", "", "3"],
    ]


def test_sets_of_numbers_in_csv(tmp_path: Path) -> None:
    write_csv(pa.table({"a": [[1, 2]], "b": [1.5]}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").to_pylist() == [{"a": "{1, 2}", "b": 1.5}]


def test_a_missing_value_in_a_set_is_named_in_csv(tmp_path: Path) -> None:
    sets = pa.table({"town": pa.array([["a", None], [None], None, ["b"]])}).slice(0)
    write_csv(sets, tmp_path / "sets.csv")
    lines = (tmp_path / "sets.csv").read_text().splitlines()
    assert lines == ['"town"', '"{a, missing}"', '"{missing}"', "", '"{b}"']


def nested() -> dict[str, pa.Array]:
    """Columns of three rows that hide a dictionary with a ghost somewhere inside."""
    code = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), ["flu", "gout", GHOST])
    struct = pa.StructArray.from_arrays([code, pa.array([1, 2, 3, 4])], ["d", "n"])
    return {
        "list": pa.ListArray.from_arrays(pa.array([0, 2, None, 3]), code),
        "large": pa.LargeListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int64()), code),
        "fixed": pa.FixedSizeListArray.from_arrays(pa.concat_arrays([code, code[:2]]), 2),
        "struct": struct[1:],
        "structs": pa.ListArray.from_arrays(pa.array([0, 1, 3, 4]), struct),
        "map": pa.MapArray.from_arrays(pa.array([0, 2, 2, 3]), ["a", "b", "c", "d"], code),
        "keys": pa.MapArray.from_arrays(pa.array([0, 1, None, 4]), code, [1, 2, 3, 4]),
    }


@pytest.mark.parametrize("name", nested())
def test_dictionaries_inside_other_types_are_decoded(tmp_path: Path, name: str) -> None:
    array = nested()[name]
    for kept in (array, array[1:], pa.concat_arrays([array, pa.nulls(1, array.type)])):
        table = pa.table({"x": kept})
        plain = plain_table(table)
        assert "dictionary" not in str(plain.schema.field("x").type)
        plain.validate(full=True)
        assert plain.to_pydict() == table.to_pydict()
        write_parquet(table, tmp_path / "a.parquet")
        # uncompressed, so that the bytes can be searched
        pq.write_table(pq.read_table(tmp_path / "a.parquet"), tmp_path / "b", compression="none")
        assert GHOST.encode() not in (tmp_path / "b").read_bytes()
        assert GHOST.encode() not in (tmp_path / "a.parquet").read_bytes()


@pytest.mark.parametrize("name", ["struct", "structs", "map"])
def test_csv_refuses_what_it_cannot_hold(tmp_path: Path, name: str) -> None:
    table = pa.table({"a": [1, 2, 3], name: nested()[name]})
    with pytest.raises(DataError, match=f"column '{name}' has type .*; leave it out, or publish"):
        write_csv(table, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


def test_large_tables_are_written_as_they_are(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    n = 2**18 + 5
    table = pa.table(
        {
            "narrow": generator.integers(-100, 100, n).astype(np.int8),
            "wide": generator.integers(0, 2**60, n),
            "real": pa.array(generator.random(n), mask=generator.random(n) < 0.1),
            "text": pa.array(generator.choice(["a", "b", "", "c"], n).tolist()),
            "flag": generator.random(n) < 0.5,
            "day": pa.array(generator.integers(0, 20_000, n).astype(np.int32)).cast(pa.date32()),
        }
    )
    write_parquet(table, tmp_path / "a.parquet")
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert not file.metadata.metadata
    assert file.read().equals(table)
