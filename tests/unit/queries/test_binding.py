"""Predicates become sets of values, in SQL's three-valued logic, whatever words they come in."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.predicates import Both, Compare, Either, Missing, Not, OneOf, Predicate
from sfumato.core.query import Query
from sfumato.errors import QueryRefused
from sfumato.queries.binding import bind, canonical, wanted_values
from sfumato.queries.columns import Catalog, Column
from sfumato.queries.values import Range, Values, complement, intersection, of_ranges

WHOLE, REAL = Column("n", pa.int64()), Column("x", pa.float64())
RANKED = Column("r", pa.string(), ("low", "middle", "high"))
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


def truth(predicate: Predicate, value: Any) -> bool | None:
    """SQL's truth of a predicate for one value, None for neither."""
    if isinstance(predicate, Missing):
        return value is None
    if isinstance(predicate, Not):
        inner = truth(predicate.part, value)
        return None if inner is None else not inner
    if isinstance(predicate, Both | Either):
        parts = [truth(predicate.first, value), truth(predicate.second, value)]
        decided = isinstance(predicate, Either)
        return decided if decided in parts else None if None in parts else not decided
    if value is None:
        return None
    if isinstance(predicate, OneOf):
        return value in predicate.values
    assert isinstance(predicate, Compare)
    other = predicate.value
    outcomes: dict[str, bool] = {
        "=": value == other,
        "<>": value != other,
        "<": value < other,
        "<=": value <= other,
        ">": value > other,
        ">=": value >= other,
    }
    return outcomes[predicate.operator]


def predicates(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Predicate]:
    leaf: st.SearchStrategy[Predicate] = (
        st.builds(Compare, st.sampled_from(OPERATORS), values)
        | st.builds(OneOf, st.sets(values, max_size=4))
        | st.just(Missing())
    )
    return st.recursive(
        leaf,
        lambda part: (
            st.builds(Not, part) | st.builds(Both, part, part) | st.builds(Either, part, part)
        ),
        max_leaves=8,
    )


@given(predicates(st.integers(-3, 3)))
def test_whole_numbers(predicate: Predicate) -> None:
    found = wanted_values(predicate, WHOLE)
    for value in (*range(-5, 6), None):
        assert found.holds(value) == (truth(predicate, value) is True)
    # closed, apart, and never neighbours: equal sets are equal
    ends = [(part.low, part.high) for part in found.ranges]
    assert not any(part.low_open or part.high_open for part in found.ranges)
    for (_, high), (low, _) in pairwise(ends):
        assert high + 1 < low


@given(predicates(st.sampled_from([-1.0, 0.0, 0.5, 2.0])))
def test_fractions(predicate: Predicate) -> None:
    found = wanted_values(predicate, REAL)
    for value in (-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, None):
        assert found.holds(value) == (truth(predicate, value) is True)


@given(predicates(st.integers(-3, 3)), predicates(st.integers(-3, 3)))
def test_equal_meaning_has_one_canonical_form(one: Predicate, other: Predicate) -> None:
    catalog = Catalog.of([WHOLE])
    forms = [
        canonical(bind(Query({"n": predicate}), catalog), catalog).where["n"]
        for predicate in (one, other)
    ]
    same = all(
        (truth(one, value) is True) == (truth(other, value) is True)
        for value in (*range(-5, 6), None)
    )
    assert (forms[0] == forms[1]) == same


@pytest.mark.parametrize(("operator", "other"), [*product(OPERATORS, RANKED.order or ())])
def test_a_declared_order_is_followed(operator: Any, other: str) -> None:
    order = list(RANKED.order or ())
    found = wanted_values(Compare(operator, other), RANKED)
    for value in order:
        by_rank = Compare(operator, order.index(other))
        assert found.holds(value) == truth(by_rank, order.index(value))


@pytest.mark.parametrize(
    ("kind", "stated", "fitted"),
    [
        (pa.int16(), 3.0, 3),
        (pa.int64(), Decimal("3.0"), 3),
        (pa.int64(), np.int8(3), 3),
        (pa.float64(), Decimal("0.1"), 0.1),
        (pa.decimal128(10, 2), 0.1, Decimal("0.1")),
        (pa.date32(), "2024-02-29", date(2024, 2, 29)),
        (pa.timestamp("us"), date(2024, 1, 1), 19_723 * 86_400 * 10**6),
        (pa.timestamp("s"), "2024-01-01 12:30:00", 19_723 * 86_400 + 45_000),
        (pa.timestamp("s"), "2024-01-01 12:30:00.5", Fraction(2 * 1_704_112_200 + 1, 2)),
        (pa.timestamp("s", "Europe/Berlin"), "2024-10-27 02:30+02:00", 1_729_989_000),
        (pa.timestamp("s", "Europe/Berlin"), "2024-10-27 02:30+01:00", 1_729_992_600),
        (pa.timestamp("ns"), "1970-01-01 00:00:00.000000001", 1),
        (pa.timestamp("ns"), np.datetime64(7, "ns"), 7),
        (pa.time32("s"), "00:01:00", 60),
        (pa.duration("ms"), timedelta(seconds=2), 2_000),
        (pa.bool_(), True, True),
        (pa.string(), "x", "x"),
    ],
)
def test_values_take_the_columns_type(kind: pa.DataType, stated: Any, fitted: Any) -> None:
    found = Column("c", kind).fitted(stated)
    assert found == fitted
    assert type(found) is type(fitted)


@pytest.mark.parametrize(
    ("kind", "stated", "said"),
    [
        (pa.int64(), "old", "whole numbers, not the text 'old'"),
        (pa.int64(), True, "whole numbers"),
        (pa.float64(), float("nan"), "numbers"),
        (pa.int64(), Decimal("1e999999999"), "whole numbers"),
        (pa.date32(), "2024-02-30", "dates such as"),
        (pa.timestamp("us", "UTC"), "2024-01-01", "with a time zone"),
        (pa.bool_(), 1, "true and false"),
        (pa.string(), 3, "text"),
        (pa.string(), "x" * 100, None),
    ],
)
def test_other_types_are_refused(kind: pa.DataType, stated: Any, said: str | None) -> None:
    column = Column("c", kind)
    if said is None:
        assert column.fitted(stated) == stated
        return
    with pytest.raises(QueryRefused, match=said) as refused:
        column.fitted(stated, at=4)
    assert refused.value.position == 4


def test_names_are_found_whatever_their_case_unless_two_differ_by_it() -> None:
    catalog = Catalog.of(
        [Column("Age", pa.int64()), Column("b", pa.int64()), Column("B", pa.int64())]
    )
    assert catalog.find("AGE").name == "Age"
    assert catalog.find("b").name == "b"
    with pytest.raises(QueryRefused, match="did you mean 'Age'"):
        catalog.find("agee")
    with pytest.raises(QueryRefused, match="there are Age, b, B"):
        catalog.find("zipcode")


def test_aggregates_need_values_to_compute_with() -> None:
    catalog = Catalog.of([Column("s", pa.string()), Column("d", pa.date32())])
    for function, name in (("sum", "d"), ("avg", "s"), ("min", "s")):
        query = Query(select=[sf.Aggregate(function, name)])
        with pytest.raises(QueryRefused, match=f"{function.upper()} needs numbers"):
            bind(query, catalog)
    bind(Query(select=[sf.Aggregate("min", "d")]), catalog)


def test_days_end_where_the_calendar_does() -> None:
    column = Column("d", pa.date32())
    assert wanted_values(Compare("<", date.min), column).empty
    assert wanted_values(Compare(">", date.max), column).empty
    everything = wanted_values(Compare(">=", date.min) | Compare("<", date.max), column)
    assert everything == Values(ranges=(Range(),))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans(), st.booleans())))
def test_sets_of_ranges(drawn: list[tuple[int, int, bool, bool]]) -> None:
    ranges = [Range(*one) for one in drawn]
    found = of_ranges(ranges, False)
    outside = complement(found.all_ranges())
    for value in [half / 2 for half in range(-2, 16)]:
        inside = any(part.holds(value) for part in ranges)
        assert found.holds(value) == inside
        assert any(part.holds(value) for part in outside) != inside
    assert intersection([found, found]) == found
    assert intersection([found, of_ranges(outside, True)]).empty
