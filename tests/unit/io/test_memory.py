"""Tables that are in memory already: Arrow, pandas, polars, DuckDB, and queries over them."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.core.attribute import Kind
from sfumato.core.schema import Schema
from sfumato.engines.reading import read
from sfumato.errors import DataError, ParameterError
from sfumato.io.tables import read_table

TABLE = pa.table({"name": ["Ada", "Bo"], "age": [30, None], "sex": ["F", "M"]})
ROWS = TABLE.to_pydict()


class OnlyArray:
    """Exports one batch and no stream."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_batches()[0],
        OnlyArray(),
        pl.DataFrame(ROWS),
        pd.DataFrame({**ROWS, "age": pd.array([30, None], dtype="Int64")}),
    ],
    ids=lambda source: type(source).__module__.split(".")[0] + type(source).__name__,
)
def test_objects_that_speak_arrow(source: Any) -> None:
    assert read_table(source).to_pydict() == ROWS
    assert read_table(source, columns=["sex"]).to_pydict() == {"sex": ["F", "M"]}
    assert read_table(source, query="SELECT sex FROM t WHERE age = 30").to_pydict() == {
        "sex": ["F"]
    }


def test_streams() -> None:
    assert read_table(TABLE.to_reader(), columns=["age"]).to_pydict() == {"age": [30, None]}
    schema = Schema(identifiers=["name"], quasi=["age"], sensitive="sex")
    assert len(read(TABLE.to_reader(), schema)) == 2


def test_a_duckdb_relation() -> None:
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 1 AS a, 'x'::ENUM('x', 'y') AS b, DATE '2020-01-01' AS c")
        table = read_table(relation)
    assert table.schema.types == [pa.int32(), pa.string(), pa.date32()]


def test_pandas_columns() -> None:
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["a", None, "b"], categories=["b", "a", "unused"]),
            "number": [1.5, np.nan, 2.5],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "day": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
        },
        index=["r1", "r2", "r3"],
    )
    found = read(frame, Schema(quasi=list(frame.columns)))
    assert found.attributes["category"].values.to_pylist() == ["a", "b"]
    assert found.attributes["number"].values.to_pylist() == [1.5, 2.5]
    assert found.attributes["nullable"].values.to_pylist() == [1, 3]
    assert found.attributes["day"].kind is Kind.NUMERICAL
    assert all(attribute.has_missing for attribute in found.attributes.values())


def test_polars_columns() -> None:
    frame = pl.DataFrame(
        {"category": ["a", None, "b"], "number": [1.5, float("nan"), None]}
    ).with_columns(
        pl.col("category").cast(pl.Categorical),
        pl.col("category").cast(pl.Enum(["b", "a", "unused"])).alias("enum"),
    )
    found = read(frame, Schema(quasi=["category", "enum", "number"]))
    assert found.attributes["category"].values.to_pylist() == ["a", "b"]
    assert found.attributes["enum"].values.to_pylist() == ["a", "b"]
    assert found.attributes["number"].values.to_pylist() == [1.5]


def test_nothing_but_values_is_kept() -> None:
    kept = pa.array(["b", "b"]).dictionary_encode()
    kept = pa.DictionaryArray.from_arrays(kept.indices, ["b", "of a row that was removed"])
    field = pa.field("a", kept.type, metadata={"comment": "x"})
    table = pa.table([kept], schema=pa.schema([field], metadata={"pandas": "{}"}))
    found = read_table(table)
    assert found.schema.metadata is None
    assert found.schema.field("a").metadata is None
    assert found.schema.field("a").type == pa.string()


def test_markers_apply_to_typed_columns_too() -> None:
    table = pa.table(
        {
            "text": ["?", "x"],
            "number": [-9, 1],
            "wide": pa.array([-9.0, 1.5]),
            "dictionary": pa.array(["?", "y"]).dictionary_encode(),
        }
    )
    assert read_table(table, missing=["?", "-9"]).to_pydict() == {
        "text": [None, "x"],
        "number": [None, 1],
        "wide": [None, 1.5],
        "dictionary": [None, "y"],
    }


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Duplicate column names"),
        (pd.DataFrame({"a": [1, "x"]}), "cannot read the pandas DataFrame"),
        (pl.Series([1, 2]), "cannot read the polars Series"),
        (
            pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(int)),
            "cannot compute the polars Lazy",
        ),
        (pa.table([[1], [2]], names=["a", "a"]), "2 columns named 'a'"),
        ([1, 2], "use a path"),
        (None, "use a path"),
    ],
    ids=["duplicate", "mixed", "series", "lazy", "arrow duplicate", "list", "none"],
)
def test_objects_that_are_no_tables(source: Any, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read_table(source)
    assert "\n" not in str(caught.value)


def test_a_query_over_text_sees_the_same_types(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("zip,n\n02174,1\n10001,?\n")
    query = "SELECT zip, n + 1 AS n FROM t WHERE zip >= '02';  "
    found = read_table(path, query=query, missing="?")
    assert found.to_pydict() == {"zip": ["02174", "10001"], "n": [2, None]}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELCT 1", "syntax error"),
        ("SELECT * FROM patients", "patients does not exist"),
        ("SELECT nope FROM t", "nope"),
        ("SELECT 1/", "syntax error"),
        ("SELECT 1 -- one\n FROM", "syntax error"),
    ],
)
def test_bad_queries(query: str, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read_table(TABLE, query=query)
    assert "\n" not in str(caught.value)
    assert "LIMIT 0" not in str(caught.value)


def test_an_empty_query() -> None:
    with pytest.raises(ParameterError, match="the query is empty"):
        read_table(TABLE, query=" ; ")


def test_a_query_does_not_see_python_variables() -> None:
    secrets = pa.table({"a": [1]})
    with pytest.raises(DataError, match="secrets does not exist"):
        read_table(TABLE, query="SELECT * FROM secrets")
    assert secrets.num_rows == 1


BLANKS = {"sex": ["F", " F", "M\t"], "disease": ["flu", "flu ", "  "], "note": ["a", " a", " "]}


@pytest.mark.parametrize(
    "source",
    [
        pa.table(BLANKS),
        pa.table({name: pa.array(texts).dictionary_encode() for name, texts in BLANKS.items()}),
        pd.DataFrame(BLANKS),
        pl.DataFrame(BLANKS),
    ],
    ids=["arrow", "dictionary", "pandas", "polars"],
)
def test_blanks_around_a_value_make_no_second_value(source: Any) -> None:
    schema = Schema(quasi=["sex"], sensitive="disease", insensitive=["note"])
    found = read(source, schema)
    assert found.attributes["sex"].values.to_pylist() == ["F", "M"]
    assert found.attributes["disease"].values.to_pylist() == ["flu"]
    assert found.attributes["disease"].has_missing
    # what is not compared is left as it is
    assert found.insensitive.column("note").to_pylist() == BLANKS["note"]
    assert read_table(source).to_pydict() == BLANKS
    assert read_table(source, trim=True).column("note").to_pylist() == ["a", "a", None]


def test_a_marker_is_found_between_blanks() -> None:
    found = read(pa.table({"a": [" ?", "x"]}), Schema(quasi=["a"]), missing="?")
    assert found.attributes["a"].values.to_pylist() == ["x"]
