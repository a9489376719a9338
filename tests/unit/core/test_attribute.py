import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.moments import python_values, unit_number
from sfumato.core.spelling import folded
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import DataError, SchemaError

# A pair (type, values) for everything that has an order of its own.
DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))
SORTED_TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), st.floats(allow_infinity=False)),
    (pa.float32(), st.floats(width=32, allow_infinity=False)),
    (pa.decimal128(12, 2), st.decimals(-(10**6), 10**6, places=2)),
    (pa.decimal64(9, 2), st.decimals(-(10**6), 10**6, places=2)),
    (pa.date32(), DAYS),
    (pa.date64(), DAYS),
    (pa.time64("us"), st.times()),
    (pa.duration("s"), st.integers(-(10**9), 10**9)),
    (pa.timestamp("us", "Europe/Berlin"), st.integers(-(10**15), 10**15)),
    (pa.timestamp("ns", "UTC"), st.integers(10**18, 2 * 10**18)),
    (pa.timestamp("ms"), st.integers(-(10**12), 10**12)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text(max_size=3)),
    (pa.large_string(), st.text(max_size=3)),
]


def encoded(column: pa.Array, **declared: Any) -> tuple[Attribute, list[int]]:
    attribute, codes = encode("x", pa.chunked_array([column]), **declared)
    return attribute, codes.tolist()


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    kind, values = draw(st.sampled_from(SORTED_TYPES))
    return pa.array(draw(st.lists(st.none() | values, min_size=1, max_size=20)), kind)


def as_read(column: pa.Array) -> pa.Array:
    """The column as it should come back: no NaN, no -0.0, one spelling, in the type we keep."""
    if pa.types.is_floating(column.type):
        numbers = [None if x is None or x != x else x + 0.0 for x in column.to_pylist()]
        return pa.array(numbers, pa.float64())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return folded(column.cast(pa.string()))
    if pa.types.is_decimal(column.type):
        return column.cast(pa.decimal128(column.type.precision, column.type.scale))
    return column


@given(columns())
def test_values_come_back_from_their_codes(column: pa.Array) -> None:
    attribute, codes = encoded(column)
    assert attribute.decode(np.array(codes)).equals(as_read(column))


@given(columns())
def test_codes_are_ranks_and_the_missing_one_comes_last(column: pa.Array) -> None:
    attribute, codes = encoded(column)
    distinct = pc.unique(as_read(column).drop_null())
    in_order = distinct.take(pc.sort_indices(distinct))
    expected = pc.index_in(as_read(column), in_order).fill_null(len(in_order))
    assert attribute.values.equals(in_order)
    assert codes == expected.to_pylist()
    assert attribute.missing_code == len(in_order)
    assert attribute.has_missing == (as_read(column).null_count > 0)
    assert attribute.size == len(in_order) + attribute.has_missing


@given(columns())
def test_the_domain_spans_one_and_missing_lies_at_two(column: pa.Array) -> None:
    attribute, _ = encoded(column)
    places = attribute.coordinates
    known = places[: len(attribute.values)]
    assert len(places) == attribute.size
    assert (np.diff(known) >= 0).all()
    if len(known) > 1 and attribute.positions[0] < attribute.positions[-1]:
        assert (known[0], known[-1]) == (0.0, 1.0)
    else:
        assert not known.any()
    assert places[len(known) :].tolist() == [2.0] * attribute.has_missing


def test_the_ends_of_a_narrow_type_are_as_far_apart_as_they_can_be() -> None:
    attribute, codes = encoded(pa.array([0, -128, 127], pa.int8()))
    assert attribute.values.to_pylist() == [-128, 0, 127]
    assert codes == [1, 0, 2]


def test_coordinates_keep_proportions() -> None:
    attribute, _ = encoded(pa.array([10, 20, 50, None]))
    assert attribute.coordinates.tolist() == [0.0, 0.25, 1.0, 2.0]
    assert attribute.positions.tolist() == [10.0, 20.0, 50.0]


def test_categories_are_one_step_apart() -> None:
    attribute, _ = encoded(pa.array([10, 20, 50]), kind=Kind.CATEGORICAL)
    assert attribute.coordinates.tolist() == [0.0, 0.5, 1.0]


def test_positions_are_in_the_columns_own_unit() -> None:
    day = dt.date(1970, 1, 3)
    assert encoded(pa.array([day]))[0].positions.tolist() == [2.0]
    assert encoded(pa.array([Decimal("2.50")]))[0].positions.tolist() == [2.5]
    assert encoded(pa.array([2**60]))[0].positions.tolist() == [2.0**60]


def test_the_widest_range_of_floats_does_not_overflow() -> None:
    attribute, _ = encoded(pa.array([-1.7e308, 0.0, 1.7e308]))
    assert attribute.coordinates.tolist() == [0.0, 0.5, 1.0]


def test_nan_is_missing_and_the_zeros_are_one_value() -> None:
    attribute, codes = encoded(pa.array([0.0, float("nan"), -0.0, None]))
    assert codes == [0, 1, 0, 1]
    assert attribute.decode(np.array(codes)).to_pylist() == [0.0, None, 0.0, None]
    assert str(attribute.values[0].as_py()) == "0.0"


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (pa.array(["b", "a", "b"]).dictionary_encode(), [1, 0, 1]),
        (pa.array([2, None, 1]).dictionary_encode(), [1, 2, 0]),
        (pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["a", None])), [0, 1, 0]),
        (pa.array(["b", "a"], pa.string_view()), [1, 0]),
        (pa.nulls(2), [0, 0]),
    ],
    ids=["words", "numbers", "null in the dictionary", "string view", "only nulls"],
)
def test_other_layouts_of_a_column(column: pa.Array, codes: list[int]) -> None:
    attribute, found = encoded(column)
    assert found == codes
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    assert attribute.decode(np.array(found)).to_pylist() == plain.to_pylist()


def test_chunks_share_one_domain() -> None:
    attribute, codes = encode("x", pa.chunked_array([["b"], ["a", None], []]))
    assert codes.tolist() == [1, 0, 2]
    assert attribute.decode(codes).to_pylist() == ["b", "a", None]


@pytest.mark.parametrize(
    ("size", "integer"), [(127, np.int8), (128, np.int16), (32767, np.int16), (32768, np.int32)]
)
def test_codes_are_as_narrow_as_the_domain_allows(size: int, integer: type) -> None:
    values = pa.array([None, *range(size - 1)], pa.int64())
    attribute, codes = encode("x", pa.chunked_array([values]))
    assert codes.dtype == integer
    assert attribute.decode(codes).equals(values)


@pytest.mark.parametrize(
    ("column", "kind", "ordered"),
    [
        (pa.array([1]), Kind.NUMERICAL, True),
        (pa.array([Decimal(1)]), Kind.NUMERICAL, True),
        (pa.array([dt.date(2020, 1, 1)]), Kind.NUMERICAL, True),
        (pa.array([True]), Kind.CATEGORICAL, False),
        (pa.array(["a"]), Kind.CATEGORICAL, False),
    ],
)
def test_natural_kinds(column: pa.Array, kind: Kind, ordered: bool) -> None:
    attribute, _ = encoded(column)
    assert (attribute.kind, attribute.ordered) == (kind, ordered)


def test_numbers_declared_categorical_have_no_order() -> None:
    assert not encoded(pa.array([1, 2]), kind=Kind.CATEGORICAL)[0].ordered


def test_a_declared_order_rules_and_may_name_more_than_occurs() -> None:
    attribute, codes = encoded(pa.array(["high", None, "low"]), order=("low", "middle", "high"))
    assert attribute.ordered
    assert codes == [2, 3, 0]
    assert attribute.values.to_pylist() == ["low", "middle", "high"]
    assert attribute.coordinates.tolist() == [0.0, 0.5, 1.0, 2.0]


def test_a_declared_order_is_read_in_the_columns_type() -> None:
    text = encoded(pa.array([1, 3]), kind=Kind.CATEGORICAL, order=("3", "1"))
    assert text[0].values.to_pylist() == [3, 1]
    zeros = encoded(pa.array([0.0]), kind=Kind.CATEGORICAL, order=(1.0, -0.0))
    assert zeros[1] == [1]


SIZES = Taxonomy.from_nested({"any": {"big": ["whale", "cow"], "small": ["ant"]}})


def test_a_taxonomy_orders_by_its_leaves() -> None:
    attribute, codes = encoded(pa.array(["ant", "whale", None]), taxonomy=SIZES)
    assert attribute.ordered
    assert attribute.taxonomy is SIZES
    assert codes == [2, 0, 3]


@pytest.mark.parametrize(
    ("leaves", "kind"),
    [(([1, 2], [3, 4]), Kind.NUMERICAL), (([1, 3], [2, 4]), Kind.CATEGORICAL)],
    ids=["rising", "mixed"],
)
def test_numbers_stay_numerical_while_their_taxonomy_rises(
    leaves: tuple[list[int], list[int]], kind: Kind
) -> None:
    taxonomy = Taxonomy.from_nested({"any": dict(zip(("one", "other"), leaves, strict=True))})
    attribute, _ = encoded(pa.array([1, 2, 3, 4]), taxonomy=taxonomy)
    assert attribute.kind is kind
    assert (np.diff(attribute.coordinates) > 0).all()


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        (("a", "a", "b"), "twice"),
        (("a", None, "b"), "missing"),
        (("a", 1), "other values"),
        (("a",), "'b'"),
        ((), "lacks"),
        (({"x": 1},), "other values"),
    ],
)
def test_orders_that_do_not_fit_name_the_column(order: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint) as caught:
        encoded(pa.array(["b", "a" if "a" in order else "b"]), order=order)
    assert caught.value.column == "x"


@pytest.mark.parametrize("order", [(1, 2), (True,), ("yesterday",)])
def test_an_order_of_another_type_than_dates(order: tuple[Any, ...]) -> None:
    with pytest.raises(SchemaError, match="other values") as caught:
        encoded(pa.array([dt.date(2020, 1, 1)]), kind=Kind.CATEGORICAL, order=order)
    assert caught.value.column == "x"


def test_a_value_outside_the_taxonomy_is_named() -> None:
    with pytest.raises(SchemaError, match="'mouse'") as caught:
        encoded(pa.array(["ant", "mouse"]), taxonomy=SIZES)
    assert caught.value.column == "x"


@pytest.mark.parametrize("column", [pa.array(["1"]), pa.array([True])])
def test_what_has_no_distances_cannot_be_numerical(column: pa.Array) -> None:
    with pytest.raises(SchemaError, match="cannot be numerical") as caught:
        encoded(column, kind=Kind.NUMERICAL)
    assert caught.value.column == "x"


def test_a_numerical_column_must_follow_its_numbers() -> None:
    with pytest.raises(SchemaError, match="does not follow the numbers") as caught:
        encoded(pa.array([1, 2]), kind=Kind.NUMERICAL, order=(2, 1))
    assert caught.value.column == "x"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"raw"]),
        pa.array([[1, 2]]),
        pa.array([{"a": 1}]),
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        pa.array([1.0, float("inf")]),
        pa.array([float("-inf")], pa.float32()),
    ],
    ids=["bytes", "list", "struct", "interval", "infinite", "minus infinite"],
)
def test_columns_that_cannot_be_used_are_named(column: pa.Array) -> None:
    with pytest.raises(DataError, match="'x'") as caught:
        encoded(column)
    assert caught.value.source == "x"


def test_an_order_reaches_as_far_as_its_type() -> None:
    numbers = [2**64 - 1, 1, 2**63, 5]
    order = numbers[::-1]
    for kind in (pa.uint64(), pa.decimal128(20, 0)):
        column = pa.chunked_array([pa.array(numbers, kind)])
        attribute, codes = encode("x", column, kind=Kind.CATEGORICAL, order=order)
        assert attribute.values.to_pylist() == order
        assert codes.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.date32()])
@pytest.mark.parametrize("stranger", [10**23, -(10**23), "\ud800"], ids=["high", "low", "half"])
def test_an_order_with_values_of_no_type_names_them(kind: pa.DataType, stranger: object) -> None:
    column = pa.chunked_array([pa.nulls(2, kind)])
    with pytest.raises(SchemaError, match=re.escape(repr(stranger))):
        encode("x", column, order=[stranger])


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.duration("ns")])
def test_nanoseconds_that_stand_for_no_time_are_refused(kind: pa.DataType) -> None:
    def column(number: int) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array([number, 1]).cast(kind)])

    with pytest.raises(DataError, match="no time"):
        encode("x", column(-(2**63)))
    assert encode("x", column(-(2**63) + 1))[0].size == 2


@pytest.mark.parametrize(("zone", "number"), [("+05:30", 2**63 - 1), ("-05:00", -(2**63) + 1)])
def test_the_ends_of_nanoseconds_are_shown_in_every_zone(zone: str, number: int) -> None:
    kind = pa.timestamp("ns", zone)
    (shown,) = python_values(pa.array([number]).cast(kind))
    assert unit_number(shown, kind) == number
