from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attribute import Kind
from sfumato.core.binning import Quantiles, binned, bins_of, stated_bins
from sfumato.engines.rows import open_rows
from sfumato.errors import ParameterError, SchemaError
from tests.support.seeds import long_seed

NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-50, 50).map(float))


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.integers(2, 12))
def test_every_value_lies_in_its_class(values: list[float | None], bins: int) -> None:
    texts, classes = binned("x", pa.chunked_array([pa.array(values, pa.float64())]), bins)
    assert len(classes) <= bins
    for value, text in zip(values, texts.to_pylist(), strict=True):
        if value is None:
            assert text is None
        elif text.startswith("below "):
            assert value < float(text.removeprefix("below "))
        elif text.endswith(" and more"):
            assert value >= float(text.removesuffix(" and more"))
        elif text != "any":
            low, high = map(float, text.split(" to "))
            assert low <= value < high


def test_classes_are_about_equally_large_and_tell_no_exact_extreme() -> None:
    values = np.random.default_rng(0).lognormal(10, 1, 5000)
    texts, classes = binned("pay", pa.chunked_array([pa.array(values)]), 10)
    counts = [texts.to_pylist().count(name) for name in classes]
    assert len(classes) == 10
    assert max(counts) < 1.1 * min(counts)
    assert classes[0].startswith("below ")
    assert classes[-1].endswith(" and more")
    assert not any(
        f"{value:.12g}" in name for value in (values.min(), values.max()) for name in classes
    )


def test_bins_in_a_schema_make_an_ordered_category() -> None:
    table = pa.table({"age": [1, 2, 3, 4], "pay": [1.5, 2.5, 3.5, 4.5]})
    schema = sf.Schema(quasi=["age"], sensitive="pay", bins={"pay": 2})
    pay = sf.Microdata.from_arrow(table, schema).attributes["pay"]
    assert (pay.kind, pay.ordered) == (Kind.CATEGORICAL, True)
    assert pay.values.to_pylist() == ["below 3", "3 and more"]


def test_bins_of_text_are_refused() -> None:
    with pytest.raises(SchemaError, match="bins are for numbers"):
        binned("x", pa.chunked_array([["a"]]), 3)


@pytest.mark.parametrize("bins", [1, 0, 2.5, True])
def test_bins_that_mean_nothing_are_refused(bins: int) -> None:
    with pytest.raises(SchemaError, match="say how many classes"):
        sf.Schema(quasi=["a"], sensitive="x", bins={"x": bins})


def test_bins_and_an_order_are_refused() -> None:
    with pytest.raises(SchemaError, match="keep one"):
        sf.Schema(quasi=["a"], sensitive="x", bins={"x": 3}, orders={"x": ["a", "b"]})


def test_more_bins_than_rows_could_fill_are_refused() -> None:
    column = pa.chunked_array([[1, 2, 3, 4]])
    for bins in (100_001, 99_999_999_999_999, 10**30):
        with pytest.raises(SchemaError, match=f"'x' has bins = {bins}"):
            binned("x", column, bins)
    assert binned("x", column, 100)[1]  # a schema for more rows, on some of them


def test_borders_are_classes_whatever_the_rows_are() -> None:
    column = pa.chunked_array([[-5, 0, 19_999, 20_000, None, 70_000]])
    texts, classes = binned("pay", column, (0.0, 20_000.0, 50_000.0))
    assert classes == ("below 0", "0 to 20000", "20000 to 50000", "50000 and more")
    assert texts.to_pylist() == [
        "below 0", "0 to 20000", "0 to 20000", "20000 to 50000", None, "50000 and more",
    ]  # fmt: skip
    schema = sf.Schema(quasi=["pay"], bins={"pay": [0, 20_000, 50_000]})
    few = sf.Microdata.from_arrow(pa.table({"pay": [1, 2]}), schema).attributes["pay"]
    assert few.values.to_pylist() == [*classes]


def test_quantiles_have_their_share_of_the_rows_below_them() -> None:
    values = np.random.default_rng(0).lognormal(10, 1, 5000)
    texts, classes = binned("pay", pa.chunked_array([values]), Quantiles((0.1, 0.5, 0.99)))
    shares = [texts.to_pylist().count(name) / 5000 for name in classes]
    assert shares == pytest.approx([0.1, 0.4, 0.49, 0.01], abs=0.005)


@pytest.mark.parametrize("bins", [5, [0, 20_000.5], [7], {"quantiles": [0.1, 0.9]}])
def test_bins_survive_a_schema_file(tmp_path: Path, bins: object) -> None:
    schema = sf.Schema(quasi=["pay"], bins={"pay": bins})
    sf.write_schema(tmp_path / "schema.toml", schema)
    assert sf.read_schema(tmp_path / "schema.toml") == schema
    assert bins_of("pay", stated_bins(schema.declarations["pay"].bins)) == (
        schema.declarations["pay"].bins
    )


@pytest.mark.parametrize(
    "bins",
    [[], [3, 3], [2, 1], ["a"], [1, float("nan")], [True], {"quantiles": [0, 0.5]},
     {"quantiles": [0.5, 1.5]}, {"quantiles": []}, {"width": 3}, "5"],
)  # fmt: skip
def test_other_bins_are_refused(bins: object) -> None:
    with pytest.raises(SchemaError, match="say how many classes"):
        sf.Schema(quasi=["pay"], bins={"pay": bins})


def test_borders_need_no_rows_and_can_be_streamed(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).integers(0, 90_000, 500)
    pq.write_table(pa.table({"pay": rows, "age": rows % 70}), tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["pay", "age"], bins={"pay": [0, 20_000, 50_000]})
    whole = sf.read(tmp_path / "in.parquet", schema, engine="memory")
    parts = sf.read(tmp_path / "in.parquet", schema, engine="stream")
    assert whole.codes["pay"].tolist() == parts.codes["pay"].tolist()
    assert whole.attributes["pay"].values.equals(parts.attributes["pay"].values)
    streamed = sf.publish_file(
        tmp_path / "in.parquet", schema, sf.Mondrian(), sf.KAnonymity(5), tmp_path / "out",
        engine="stream", seed=long_seed(1),
    )  # fmt: skip
    inside = sf.publish(whole, sf.Mondrian(), sf.KAnonymity(5), seed=long_seed(1))
    assert streamed.groups == inside.manifest.groups
    with pytest.raises(ParameterError, match="give the borders"):
        open_rows(tmp_path / "in.parquet", sf.Schema(quasi=["pay"], bins={"pay": 3}))


def test_a_database_knows_its_borders(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).integers(0, 90_000, 500)
    schema = sf.Schema(quasi=["age"], sensitive="pay", bins={"pay": [20_000, 40_000, 60_000]})
    table = sf.Microdata.from_arrow(pa.table({"pay": rows, "age": rows % 70}), schema)
    sf.StatDB.create(tmp_path / "db", table, m=2)
    assert sf.StatDB.open(tmp_path / "db").count("age < 40").lo > 0
