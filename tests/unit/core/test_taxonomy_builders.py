"""Taxonomies over numbers, codes and dates."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attribute import Kind, encode
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.taxonomy_builders import (
    date_taxonomy,
    interval_taxonomy,
    prefix_taxonomy,
    suggest_taxonomy,
)
from sfumato.errors import ParameterError


def path(taxonomy: Taxonomy, value: Any) -> list[str]:
    """A value and the labels above it."""
    node = int(taxonomy.leaf_nodes[taxonomy.leaves.index(value)])
    labels = []
    while node >= 0:
        labels.append(taxonomy.labels[node])
        node = int(taxonomy.parents[node])
    return labels


def require_sound(taxonomy: Taxonomy, values: list[Any]) -> None:
    """All values are leaves, every node covers a run of leaves, and its children share the run."""
    assert set(values) <= set(taxonomy.leaves)
    for node, parent in enumerate(taxonomy.parents.tolist()[1:], start=1):
        assert taxonomy.first_leaf[parent] <= taxonomy.first_leaf[node]
        assert taxonomy.first_leaf[node] <= taxonomy.last_leaf[node]
        assert taxonomy.last_leaf[node] <= taxonomy.last_leaf[parent]
    for level in range(taxonomy.height + 1):
        assert (np.diff(taxonomy.first_leaf[taxonomy.at_level(level)]) >= 0).all()


def test_intervals_start_at_multiples_and_end_with_the_range() -> None:
    ages = interval_taxonomy(17, 46)
    assert path(ages, 17) == ["17", "17-19", "*"]
    assert path(ages, 33) == ["33", "30-34", "30-39", "20-39", "*"]
    assert path(ages, 46) == ["46", "45-46", "40-46", "*"]
    assert ages.height == 4


def test_intervals_that_are_no_wider_than_what_is_below() -> None:
    assert interval_taxonomy(0, 20, (5, 10)).to_nested() == {
        "*": {
            "0-9": {"0-4": [0, 1, 2, 3, 4], "5-9": [5, 6, 7, 8, 9]},
            "10-19": {"10-14": [10, 11, 12, 13, 14], "15-19": [15, 16, 17, 18, 19]},
            "20": [],
        }
    }
    assert interval_taxonomy(3, 3).to_nested() == {"*": [3]}
    assert interval_taxonomy(0, 4).to_nested() == {"*": [0, 1, 2, 3, 4]}
    assert path(interval_taxonomy(-7, 9, (5,)), -7) == ["-7", "-7 to -6", "*"]


@given(
    st.integers(-40, 40),
    st.integers(0, 90),
    st.lists(st.integers(2, 4), max_size=3).map(lambda factors: np.cumprod(factors).tolist()),
)
def test_any_intervals_cover_the_range(low: int, span: int, widths: list[int]) -> None:
    values = list(range(low, low + span + 1))
    found = interval_taxonomy(low, low + span, [int(width) for width in widths])
    assert list(found.leaves) == values
    require_sound(found, values)


def test_codes_lose_a_letter_at_a_time() -> None:
    zips = prefix_taxonomy(["53711", "53703", "02139", "53711"])
    assert zips.leaves == ("02139", "53703", "53711")
    assert path(zips, "53711") == ["53711", "5371*", "537**", "53***", "5****", "*"]
    assert path(prefix_taxonomy([53711, 53703], mask="x"), 53711)[1:3] == ["5371x", "537xx"]
    assert prefix_taxonomy("ba").to_nested() == {"*": ["a", "b"]}


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.text("0123AB", min_size=n, max_size=n), min_size=1)
    )
)
def test_any_codes_are_covered(codes: list[str]) -> None:
    found = prefix_taxonomy(codes)
    require_sound(found, codes)
    assert not found.is_ragged
    assert found.height == len(codes[0])


def test_days_are_in_months_years_and_decades() -> None:
    days = date_taxonomy(dt.date(2019, 12, 30), dt.date(2024, 2, 29))
    assert path(days, dt.date(2024, 2, 29)) == ["2024-02-29", "2024-02", "2024", "2020s", "*"]
    assert path(days, dt.date(2019, 12, 31)) == ["2019-12-31", "2019-12", "2019", "2010s", "*"]
    column = pa.chunked_array([[dt.date(2020, 1, 1), dt.date(2024, 1, 1)]])
    assert encode("born", column, taxonomy=days)[0].kind is Kind.NUMERICAL


@given(st.dates(), st.integers(0, 800))
def test_any_days_are_covered(first: dt.date, span: int) -> None:
    last = dt.date.fromordinal(min(first.toordinal() + span, dt.date.max.toordinal()))
    found = date_taxonomy(first, last)
    assert (found.leaves[0], found.leaves[-1]) == (first, last)
    assert len(found.leaves) == last.toordinal() - first.toordinal() + 1
    require_sound(found, [first, last])


def test_a_suggestion_is_balanced_and_round() -> None:
    found = suggest_taxonomy(range(1000, 101_000, 100))
    classes = found.at_level(1)
    sizes = np.unique(classes, return_counts=True)[1]
    assert len(sizes) == 16
    assert sizes.max() < 2 * sizes.min()
    assert path(found, 30_000)[1:4] == ["25000-31999", "25000-39999", "25000-49999"]


def test_a_suggestion_follows_the_rows() -> None:
    low = path(suggest_taxonomy([0.5] * 10 + [*range(100)]), 0.5)
    assert low[-1] == "*"
    skewed = suggest_taxonomy([n**3 for n in range(200)])
    sizes = np.unique(skewed.at_level(1), return_counts=True)[1]
    assert sizes.max() < 3 * sizes.min()


def test_whole_numbers_that_do_not_occur_are_leaves_too() -> None:
    assert suggest_taxonomy([3, 9, 5]).leaves == (3, 4, 5, 6, 7, 8, 9)
    assert suggest_taxonomy([3, 9_000, 5]).leaves == (3, 5, 9_000)
    assert suggest_taxonomy([3]).to_nested() == {"*": [3]}


def test_a_suggestion_for_an_attribute() -> None:
    attribute, _ = encode("x", pa.chunked_array([[3.5, None, float("nan"), 0.0]]))
    assert suggest_taxonomy(attribute).leaves == (0.0, 3.5)
    assert suggest_taxonomy([-0.0, 0.0, 1.5]).leaves == (0.0, 1.5)
    cents = pa.chunked_array([[Decimal("0.25"), Decimal("10.00")]])
    assert suggest_taxonomy(cents).leaves == (Decimal("0.25"), Decimal("10.00"))


NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e9, 1e9, allow_subnormal=False)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1) | st.lists(NUMBERS, min_size=1))
def test_any_numbers_are_covered(values: list[float]) -> None:
    column = pa.array(values, pa.float64()) if any(type(x) is float for x in values) else values
    found = suggest_taxonomy(column)
    require_sound(found, values)
    assert list(found.leaves) == sorted(found.leaves)
    assert found.height <= 5


@pytest.mark.parametrize(
    ("build", "said", "parameter"),
    [
        (lambda: interval_taxonomy(5, 4), "high = 4 is less than low = 5", "high"),
        (lambda: interval_taxonomy(0.5, 4), "low = 0.5; use a whole", "low"),  # type: ignore[arg-type]
        (lambda: interval_taxonomy(0, 9, (5, 12)), "width 12 is not a multiple of 5", "widths"),
        (lambda: interval_taxonomy(0, 9, (5, 5)), "width 5 is not a multiple of 5", "widths"),
        (lambda: interval_taxonomy(0, 9, (1, 5)), "holds 1; use 2", "widths"),
        (lambda: prefix_taxonomy(["53711", "5371"]), "'5371' has 4 characters, '53711'", "values"),
        (lambda: prefix_taxonomy([]), "at least one value", "values"),
        (lambda: prefix_taxonomy(["a*"]), "'a\\*' contains the mask", "mask"),
        (lambda: prefix_taxonomy(["ab"], mask="##"), "use one character", "mask"),
        (lambda: date_taxonomy(dt.date(2020, 1, 2), dt.date(2020, 1, 1)), "is before", "last"),
        (
            lambda: date_taxonomy(dt.datetime(2020, 1, 2), dt.date(2020, 1, 1)),
            "first = datetime.* use a datetime.date",
            "first",
        ),
        (lambda: suggest_taxonomy(["a"]), "not for string values", "values"),
        (lambda: suggest_taxonomy([1, "a"]), "differ in type", "values"),
        (lambda: suggest_taxonomy(pa.array([None], pa.int64())), "no number", "values"),
    ],
)
def test_mistakes_are_named(build: Any, said: str, parameter: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        build()
    assert caught.value.parameter == parameter
