"""Queries as text: readable, and of the same meaning when they are read again."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.predicates import (
    Both,
    Compare,
    Either,
    Missing,
    Not,
    OneOf,
    Predicate,
    at_least,
    between,
    one_of,
)
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.queries.binding import bind, canonical
from sfumato.queries.columns import Catalog, Column
from sfumato.queries.sql import parse
from sfumato.queries.sql.writing import sql_of

ORDER = ("low", "middle", "high")
COLUMNS = {
    "age": Column("age", pa.int64()),
    "pay": Column("pay", pa.float64()),
    "price": Column("price", pa.decimal128(9, 2)),
    "group": Column("group", pa.string()),
    'odd "name"; --': Column('odd "name"; --', pa.string()),
    "born": Column("born", pa.date32()),
    "seen": Column("seen", pa.timestamp("us")),
    "hour": Column("hour", pa.time64("us")),
    "smoker": Column("smoker", pa.bool_()),
    "grade": Column("grade", pa.string(), order=ORDER),
}
CATALOG = Catalog.of(COLUMNS.values())
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6
) | st.sampled_from(["it's", "''", '"', "a;b", "--", "\\", "\\'", "/*", "%"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "age": st.integers(-(10**20), 10**20),
    "pay": st.floats(allow_nan=False, allow_infinity=False),
    "price": st.decimals(-1000, 1000, places=2),
    "group": TEXTS,
    'odd "name"; --': TEXTS,
    "born": st.dates(),
    "seen": st.datetimes(),
    "hour": st.times(),
    "smoker": st.booleans(),
    "grade": st.sampled_from(ORDER),
}


def predicates(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Predicate]:
    operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    leaves = (
        st.builds(Compare, operators, values)
        | st.builds(OneOf, st.lists(values, max_size=4))
        | st.just(Missing())
        | st.builds(between, values, values)
    )
    return st.recursive(
        leaves,
        lambda parts: (
            st.builds(Not, parts) | st.builds(Both, parts, parts) | st.builds(Either, parts, parts)
        ),
        max_leaves=6,
    )


@st.composite
def queries(draw: st.DrawFn) -> Query:
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), unique=True, max_size=3))
    where = {name: draw(predicates(VALUES[name])) for name in names}
    aggregates = [COUNT, Aggregate("avg", "pay"), Aggregate("max", "age", "oldest one")]
    select = draw(st.lists(st.sampled_from(aggregates), unique=True, min_size=1))
    by = draw(st.lists(st.sampled_from(["group", "smoker"]), unique=True))
    return Query(where, select, by)


@pytest.mark.slow
@given(queries())
def test_the_text_means_the_same(query: Query) -> None:
    known, read = bind(query, CATALOG), bind(parse(sql_of(query)), CATALOG)
    assert canonical(read, CATALOG) == canonical(known, CATALOG)
    assert read.select == known.select
    assert read.by == known.by


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({"age": between(30, 50)}, "age BETWEEN 30 AND 50"),
        ({"age": ~between(30, 50)}, "age NOT BETWEEN 30 AND 50"),
        ({"age": [31, 30], "sex": ["F"]}, "age IN (30, 31) AND sex = 'F'"),
        ({"ill": ["flu", None]}, "(ill = 'flu' OR ill IS NULL)"),
        ({"age": ~one_of([1, 2])}, "age NOT IN (1, 2)"),
        ({"age": ~(at_least(3) | Missing())}, "NOT age >= 3 AND age IS NOT NULL"),
        ({"age": Not(Compare("=", 3)) & at_least(1)}, "age <> 3 AND age >= 1"),
        ({"name": ["O'Hara"]}, "name = 'O''Hara'"),
        ({"group": ["a"]}, "\"group\" = 'a'"),
        ({"2nd": ["a"]}, "\"2nd\" = 'a'"),
        ({"ok": [True]}, "ok = TRUE"),
        ({"pay": [np.float64(2.5), Decimal("3.10")]}, "pay IN (2.5, 3.10)"),
        ({"born": [date(2020, 2, 29)]}, "born = DATE '2020-02-29'"),
        ({"at": [datetime(2020, 1, 1, 8)]}, "at = TIMESTAMP '2020-01-01 08:00:00'"),
        ({"at": [time(8)]}, "at = TIME '08:00:00'"),
        ({"wait": [timedelta(days=1)]}, "wait = INTERVAL '1 day, 0:00:00'"),
        ({"a": OneOf([])}, "a IS NULL AND a IS NOT NULL"),
        ({"mixed": OneOf([1, "a"])}, "mixed IN ('a', 1)"),
    ],
)
def test_conditions_read_well(where: dict[str, Any], text: str) -> None:
    assert sql_of(Query(where)) == f"SELECT COUNT(*) FROM t WHERE {text}"


def test_a_whole_query() -> None:
    query = Query({}, [COUNT, Aggregate("sum", "pay", "paid")], ["sex"])
    assert sql_of(query) == "SELECT sex, COUNT(*), SUM(pay) AS paid FROM t GROUP BY sex"


def test_a_long_chain_needs_no_deep_stack() -> None:
    chain: Predicate = Compare("=", 0)
    for number in range(1, 5000):
        chain = chain | Compare("=", number)
    assert sql_of(Query({"age": chain})).endswith(" OR age = 4999)")
