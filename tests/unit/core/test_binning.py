from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.attribute import Kind
from sfumato.core.binning import binned
from sfumato.errors import SchemaError

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
    with pytest.raises(SchemaError, match="use 2 or more"):
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
