"""Workload files: lines of JSON there and back, damage named, SQL read."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
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
    at_most,
    between,
    one_of,
)
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.errors import DataError, ParameterError, QueryRefused
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog, Column
from sfumato.queries.json import from_line, to_line
from sfumato.queries.workload_files import read_workload, write_workload

NAMES = st.text(min_size=1, max_size=5)
VALUES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
)
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    st.one_of(
        st.builds(OneOf, st.lists(VALUES, max_size=3)),
        st.builds(one_of, st.lists(st.none() | VALUES, max_size=3)),
        st.builds(Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), VALUES),
        st.builds(between, VALUES, VALUES),
        st.builds(Missing),
    ),
    lambda part: st.one_of(
        st.builds(Not, part), st.builds(Both, part, part), st.builds(Either, part, part)
    ),
    max_leaves=6,
)
AGGREGATES = st.builds(
    Aggregate, st.sampled_from(["count", "sum", "avg", "min", "max"]), NAMES, st.just("") | NAMES
) | st.just(COUNT)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    select = draw(st.lists(AGGREGATES, min_size=1, max_size=3, unique_by=lambda one: one.name))
    taken = {aggregate.name for aggregate in select}
    by = draw(st.lists(NAMES.filter(lambda name: name not in taken), max_size=2, unique=True))
    return Query(draw(st.dictionaries(NAMES, PREDICATES, max_size=3)), select, by)


@pytest.mark.slow
@given(queries())
def test_a_line_gives_the_query_back(query: Query) -> None:
    line = to_line(query)
    assert "\n" not in line
    assert from_line(line) == query
    assert to_line(from_line(line)) == line


@settings(max_examples=20)
@given(st.lists(queries(), max_size=4))
def test_a_file_gives_the_queries_back(tmp_path_factory: Any, workload: list[Query]) -> None:
    path = write_workload(workload, tmp_path_factory.mktemp("w") / "w.jsonl")
    assert read_workload(path) == tuple(workload)


def test_the_lines_as_documented() -> None:
    asked = Query(
        {
            "sex": ["f", None],
            "age": between(30, 50),
            "born": at_least(date(2020, 2, 29)),
            "job": ~one_of(["cook"]) & ~one_of(["clerk"]) & Compare("<>", "judge"),
            "zip": at_most(3) | Missing(),
        },
        [COUNT, Aggregate("avg", "age"), Aggregate("max", "age", "oldest")],
        by=["city"],
    )
    assert to_line(asked) == (
        '{"where": {"age": {"between": [30, 50]}, "born": {">=": {"date": "2020-02-29"}}, '
        '"job": {"both": [{"not": ["cook"]}, {"not": ["clerk"]}, {"<>": "judge"}]}, '
        '"sex": ["f", null], "zip": {"either": [{"<=": 3}, {"missing": true}]}}, '
        '"select": [{"function": "count"}, {"function": "avg", "of": "age"}, '
        '{"function": "max", "of": "age", "as": "oldest"}], "by": ["city"]}'
    )
    assert to_line(Query()) == '{"where": {}}'


def test_equal_queries_have_equal_lines() -> None:
    one = Query({"age": [1, 2.0, Decimal("0.5")], "sex": ["F"]})
    other = Query({"sex": ["F", "F"], "age": [np.int16(2), 0.5, Decimal("1.0")]})
    assert one == other
    assert to_line(one) == to_line(other)
    assert to_line(Query({"a": [Decimal("1.10")]})) == to_line(Query({"a": [Decimal("1.1")]}))


def test_types_survive() -> None:
    values = [date(2020, 2, 29), datetime(2020, 1, 1, 12, 30, 0, 5), time(23, 59), True]
    values += [timedelta(days=-1, microseconds=7), Decimal("1e500"), 2**70]
    for value in values:
        back = from_line(to_line(Query({"x": [value]})))
        (found,) = back.where["x"].values  # type: ignore[attr-defined]
        assert (found, type(found)) == (value, type(value))


def test_a_long_chain_is_one_list() -> None:
    chain: Predicate = OneOf([0])
    for number in range(1, 5000):
        chain = chain | Compare("=", number)
    line = to_line(Query({"x": chain}))
    assert line.count("either") == 1
    assert to_line(from_line(line)) == line


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "3",
        "[]",
        '{"age": [1]}',
        '{"where": {"age": 3}}',
        '{"where": {"age": "text"}}',
        '{"where": {"age": {}}}',
        '{"where": {"age": {"<=": 1, ">=": 0}}}',
        '{"where": {"age": {"like": "x"}}}',
        '{"where": {"age": {"<=": null}}}',
        '{"where": {"age": {"missing": false}}}',
        '{"where": {"age": {"between": [1]}}}',
        '{"where": {"age": {"either": [[1]]}}}',
        '{"where": {"age": [{"moon": "x"}]}}',
        '{"where": {"age": [{"date": "x"}]}}',
        '{"where": {"age": [{"decimal": "x"}]}}',
        '{"where": {"age": [[1]]}}',
        '{"where": {"age": ' + '{"not": ' * 100_000 + "[1]" + "}" * 100_002,
        '{"select": []}',
        '{"select": [{"function": "median", "of": "age"}]}',
        '{"select": [{"function": "count", "off": "age"}]}',
        '{"select": [{"function": "count", "of": 3}]}',
        '{"by": "age"}',
        '{"by": [3]}',
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text(f'{{"where": {{"a": [1]}}}}\n\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"w\.jsonl, line 3: not a query") as raised:
        read_workload(path)
    assert raised.value.source == str(path)


def test_empty_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text('\n{"where": {"a": [1]}}\n\n', encoding="utf-8")
    assert read_workload(path) == (Query({"a": [1]}),)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no workload file"):
        read_workload(tmp_path / "other")
    path = tmp_path / "w.jsonl"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(DataError, match="UTF-8"):
        read_workload(path)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    def broken() -> Any:
        yield Query({"a": [2]})
        raise RuntimeError("no more queries")

    path = write_workload([Query({"a": [1]})], tmp_path / "w.jsonl")
    with pytest.raises(RuntimeError):
        write_workload(broken(), path)
    assert read_workload(path) == (Query({"a": [1]}),)
    write_workload([Query({"a": [3]})], path)
    assert read_workload(path) == (Query({"a": [3]}),)
    assert [file.name for file in tmp_path.iterdir()] == ["w.jsonl"]


def test_sql_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"mine\.jsonl"):
        write_workload([], tmp_path / "mine.SQL")


PEOPLE = Query({"age": at_most(30)})
CATALOG = Catalog.of([Column("job", pa.string())])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE age <= 30\n\n"
        "  -- both on lines of their own; not a separator\n"
        "SELECT COUNT(*) FROM t WHERE job = 'a;b -- c'\n",
        "SELECT COUNT(*)\nFROM t\n-- remark;\nWHERE age <= 30;\n;\n"
        "SELECT COUNT(*) FROM t WHERE job = 'a;b -- c'",
        "SELECT COUNT(*) FROM t WHERE age <= 30; SELECT COUNT(*) FROM t WHERE job = 'a;b -- c';",
    ],
)
def test_sql_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.sql"
    path.write_text(text, encoding="utf-8")
    first, second = read_workload(path)
    assert first == PEOPLE
    assert set(bind(second, CATALOG).where["job"].points) == {"a;b -- c"}


def test_an_empty_sql_file_holds_no_query(tmp_path: Path) -> None:
    path = tmp_path / "w.sql"
    path.write_text("\n-- nothing; really\n", encoding="utf-8")
    assert read_workload(path) == ()


def test_refused_sql_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.sql"
    path.write_text(
        "SELECT COUNT(*) FROM t;\n\n\nDROP TABLE t;\nSELECT COUNT(*) FROM t;", encoding="utf-8"
    )
    with pytest.raises(QueryRefused, match=r"w\.sql, line 4: "):
        read_workload(path)
