"""SQL text: what is understood, what is refused and where, and DuckDB's opinion."""

import logging
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.predicates import Compare, Missing, OneOf, Predicate, between, one_of
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.errors import QueryRefused
from sfumato.queries.binding import bind
from sfumato.queries.sql import MAX_LENGTH, MAX_NESTING, parse, parse_condition
from tests.support.sql_texts import CATALOG, TYPES, Texts
from tests.support.waiting import PATIENCE

# ---- understood

PREDICATES: list[tuple[str, Predicate]] = [
    ("age = 30", Compare("=", 30)),
    ("age <> 30", Compare("<>", 30)),
    ("age != 30", Compare("<>", 30)),
    ("age<30", Compare("<", 30)),
    ("(age) >= (-30)", Compare(">=", -30)),
    ("age <= +30", Compare("<=", 30)),
    ("30 < age", Compare(">", 30)),
    ("30 >= age", Compare("<=", 30)),
    ("30 = age", Compare("=", 30)),
    ("t.age = 30", Compare("=", 30)),
    ('T."age" = 30', Compare("=", 30)),
    ("age BETWEEN 30 AND 50", between(30, 50)),
    ("age NOT BETWEEN 30 AND 50", ~between(30, 50)),
    ("NOT age BETWEEN 30 AND 50", ~between(30, 50)),
    ("age IN (30, 40)", one_of([30, 40])),
    ("age NOT IN (30)", ~one_of([30])),
    ("age IS NULL", Missing()),
    ("age IS NOT NULL", ~Missing()),
    ("NOT age = 3", ~Compare("=", 3)),
    ("NOT NOT age = 3", Compare("=", 3)),
    ("NOT (NOT (age = 3))", Compare("=", 3)),
    ("age < 3 AND age > 1", Compare("<", 3) & Compare(">", 1)),
    ("age < 3 OR age > 5", Compare("<", 3) | Compare(">", 5)),
    ("age < 1 OR age > 5 AND age < 9", Compare("<", 1) | (Compare(">", 5) & Compare("<", 9))),
    ("(age < 1 OR age > 5) AND age < 9", (Compare("<", 1) | Compare(">", 5)) & Compare("<", 9)),
    ("NOT (age < 1 AND age > 5)", ~Compare("<", 1) | ~Compare(">", 5)),
    ("NOT (age < 1 OR age > 5)", ~Compare("<", 1) & ~Compare(">", 5)),
    ("age IS NULL OR age = 3", Missing() | Compare("=", 3)),
]
LITERALS: list[tuple[str, Any]] = [
    ("30", 30),
    ("- 30", -30),
    ("30.0", Decimal("30.0")),
    ("30.", Decimal(30)),
    ("-2.5", Decimal("-2.5")),
    ("1e3", Decimal("1e3")),
    ("1.5E-3", Decimal("0.0015")),
    ("'flu'", "flu"),
    ("'it''s'", "it's"),
    ("'-- # /* ? \" ;'", '-- # /* ? " ;'),
    ("''", ""),
    ("'30'", "30"),
    ("TRUE", True),
    ("false", False),
    ("DATE '2020-12-31'", date(2020, 12, 31)),
    ("TIMESTAMP '2020-12-31 23:59:59'", datetime(2020, 12, 31, 23, 59, 59)),
    ("TIME '23:59'", time(23, 59)),
]
QUERIES = [
    ("SELECT COUNT(*) FROM t", Query()),
    ("select count(*)\nfrom anything ;", Query()),
    (
        "SELECT COUNT(*) FROM people AS p WHERE p.age = 1 AND people.sex = 'F' AND t.born IS NULL",
        Query({"age": Compare("=", 1), "sex": Compare("=", "F"), "born": Missing()}),
    ),
    (
        "SELECT sex, COUNT(*), AVG(age) FROM t WHERE age <= 30 GROUP BY sex",
        Query({"age": Compare("<=", 30)}, [COUNT, Aggregate("avg", "age")], by=["sex"]),
    ),
    (
        'SELECT SUM(age) AS s, MIN(age) lo, MAX(t.age) "h i", COUNT(age) FROM t',
        Query(
            None,
            [
                Aggregate("sum", "age", "s"),
                Aggregate("min", "age", "lo"),
                Aggregate("max", "age", "h i"),
                Aggregate("count", "age", "count_age"),
            ],
        ),
    ),
    ("SELECT COUNT(*) FROM t GROUP BY sex, t.age", Query(by=["sex", "age"])),
    ("SELECT COUNT(*), age FROM t GROUP BY sex, age", Query(by=["sex", "age"])),
    (
        'SELECT COUNT(*) FROM t WHERE date = 3 AND "limit" = 3 AND offset = 3 AND text = 3',
        Query({name: Compare("=", 3) for name in ("date", "limit", "offset", "text")}),
    ),
]


@pytest.mark.parametrize(("text", "predicate"), PREDICATES)
def test_conditions_on_one_attribute(text: str, predicate: Predicate) -> None:
    assert parse_condition(text) == Query({"age": predicate})
    assert parse(f"SELECT COUNT(*) FROM t WHERE {text}") == Query({"age": predicate})


@pytest.mark.parametrize(("text", "value"), LITERALS)
def test_literals(text: str, value: object) -> None:
    (predicate,) = parse_condition(f"x = {text}").where.values()
    assert isinstance(predicate, Compare)
    assert predicate.value == value
    assert type(predicate.value) is type(value)


@pytest.mark.parametrize(("text", "query"), QUERIES)
def test_queries(text: str, query: Query) -> None:
    assert parse(text) == query


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_no_condition_asks_for_all_rows(text: str) -> None:
    assert parse_condition(text) == Query()


def test_not_is_pushed_inwards_over_several_attributes() -> None:
    query = parse_condition("NOT (age > 3 OR NOT (sex = 'F' AND NOT born IS NULL))")
    assert query == Query({"age": ~Compare(">", 3), "sex": Compare("=", "F"), "born": ~Missing()})


def test_spellings_that_differ_are_left_to_the_binder() -> None:
    query = parse_condition("age > 3 AND AGE < 9")
    assert list(query.where) == ["age", "AGE"]
    assert list(bind(query, CATALOG).where) == ["age"]


def test_places() -> None:
    text = "SELECT MAX(age) FROM t WHERE t.age IN (7, 8) AND born > TRUE GROUP BY sex, age"
    query = parse(text)
    listed, compared = query.where["age"], query.where["born"]
    assert isinstance(listed, OneOf)
    assert isinstance(compared, Compare)
    assert query.select[0].at == text.index("age") + 1
    assert listed.at == text.index("7") + 1
    assert compared.at == text.index("TRUE") + 1
    assert query.places == {
        "age": text.index("t.age") + 1,
        "born": text.index("born") + 1,
        "sex": text.index("sex") + 1,
    }


# ---- refused, at the place marked by ›

STATEMENTS = [
    ("›", "empty"),
    ("›;", "empty"),
    ("›DROP TABLE t", "begins with SELECT"),
    ("›UPDATE t SET a = 1", "begins with SELECT"),
    ("›EXPLAIN SELECT COUNT(*) FROM t", "begins with SELECT"),
    ("(›SELECT COUNT(*) FROM t)", "SELECT inside"),
    ("FROM t ›SELECT COUNT(*)", "SELECT"),
    ("INSERT ›INTO t VALUES (1)", "INTO"),
    ("›WITH x AS (SELECT 1) SELECT COUNT(*) FROM x", "WITH"),
    ("SELECT COUNT(*) FROM t›; SELECT COUNT(*) FROM t", "one statement"),
    ("SELECT COUNT(*) FROM t›;;", "one statement"),
    ("SELECT COUNT(*) FROM t ›UNION SELECT COUNT(*) FROM t", "UNION"),
    ("SELECT COUNT(*) FROM t ›INTERSECT SELECT COUNT(*) FROM t", "INTERSECT"),
    # the select list
    ("SELECT ›* FROM t", "* cannot stand here"),
    ("SELECT t.›* FROM t", "* cannot stand here"),
    ("SELECT COUNT(t.›*) FROM t", "* cannot stand here"),
    ("SELECT SUM(›*) FROM t", "* cannot stand here"),
    ("SELECT ›COUNT() FROM t", "COUNT of what"),
    ("SELECT COUNT(age, ›sex) FROM t", "several columns"),
    ("SELECT MIN(age, ›sex) FROM t", "several columns"),
    ("SELECT COUNT(›1) FROM t", "name of a column"),
    ("SELECT ›DISTINCT COUNT(*) FROM t", "DISTINCT"),
    ("SELECT COUNT(›DISTINCT age) FROM t", "DISTINCT"),
    ("SELECT COUNT(›ALL age) FROM t", "ALL is not supported"),
    ("SELECT ›ALL COUNT(*) FROM t", "ALL is not supported"),
    ("SELECT ›TOP 5 COUNT(*) FROM t", "TOP"),
    ("SELECT COUNT(*) ›INTO x FROM t", "INTO"),
    ("SELECT COUNT(*) ›IGNORE NULLS FROM t", "'IGNORE'"),
    ("SELECT COUNT(age ›IGNORE NULLS) FROM t", "'IGNORE'"),
    ("SELECT COUNT(*) ›EXCLUDE FROM t", "EXCLUDE"),
    ("SELECT COUNT(* ›EXCLUDE (age)) FROM t", "EXCLUDE"),
    ("SELECT COUNT(*) ›OVER () FROM t", "window functions"),
    ("SELECT COUNT(*) ›FILTER (WHERE age > 3) FROM t", "into WHERE"),
    ("SELECT ›MEDIAN(age) FROM t", "SELECT takes COUNT, SUM, AVG, MIN and MAX"),
    ("SELECT ›foo(age) FROM t", "function FOO"),
    ("SELECT AVG(›ABS(age)) FROM t", "function ABS"),
    ("SELECT ›COUNT(*) + 1 FROM t", "arithmetic"),
    ("SELECT ›1 FROM t", "a value cannot stand here"),
    ("SELECT COUNT(*)›, FROM t", "behind this comma"),
    ("SELECT COUNT(*),›, SUM(age) FROM t", "before this comma"),
    ('SELECT COUNT(*) AS ›"" FROM t', "name is empty"),
    ("SELECT COUNT(*) ›AS (a, b) FROM t", "'AS'"),
    ("SELECT ›age FROM t GROUP BY age", "nothing is computed"),
    ("SELECT ›age, COUNT(*) FROM t", "'age' is not grouped"),
    ("SELECT sex, ›age, COUNT(*) FROM t GROUP BY sex", "'age' is not grouped"),
    ("SELECT sex AS ›s, COUNT(*) FROM t GROUP BY sex", "keeps its name"),
    ("SELECT sex, ›sex, COUNT(*) FROM t GROUP BY sex", "SELECT names 'sex' twice"),
    ("SELECT COUNT(*), ›COUNT(*) FROM t", "two columns 'count'"),
    ("SELECT COUNT(*) AS n, ›SUM(age) AS n FROM t", "two columns 'n'"),
    ("SELECT sex, ›COUNT(*) AS sex FROM t GROUP BY sex", "two columns 'sex'"),
    # FROM
    ("SELECT ›COUNT(*)", "no FROM"),
    ("SELECT COUNT(*) ›FROM", "'FROM' is not understood"),
    ("SELECT COUNT(*) FROM t, ›u", "joins are not supported"),
    ("SELECT COUNT(*) FROM t ›JOIN u ON t.a = u.a", "joins are not supported"),
    ("SELECT COUNT(*) FROM t ›NATURAL JOIN u", "joins are not supported"),
    ("SELECT COUNT(*) FROM t ›CROSS JOIN u", "joins are not supported"),
    ("SELECT COUNT(*) FROM t LEFT ›JOIN u USING (a)", "joins are not supported"),
    ("SELECT COUNT(*) FROM t, ›LATERAL (x)", "LATERAL"),
    ("SELECT COUNT(*) FROM (›SELECT COUNT(*) FROM t)", "SELECT inside"),
    ("SELECT COUNT(*) FROM (›t)", "subquery"),
    ("SELECT COUNT(*) FROM ›s.t", "a schema"),
    ("SELECT COUNT(*) FROM ›f(3)", "function F"),
    ("SELECT COUNT(*) FROM t AS u (›a, b)", "names of columns"),
    ("SELECT COUNT(*) FROM ›ONLY t", "ONLY"),
    ("SELECT COUNT(*) FROM t ›FINAL", "FINAL"),
    ("SELECT COUNT(*) FROM t ›*", "COUNT(*)"),
    ("SELECT COUNT(*) FROM t ›AS", "'AS'"),
    ("SELECT COUNT(*) FROM t AS WHERE ›age = 1", "'age'"),
    ("SELECT COUNT(*) FROM ›NULL t", "'NULL'"),
    ("SELECT COUNT(*) ›NULL FROM t", "'NULL'"),
    ("SELECT COUNT(*) FROM t ›SAMPLE", "SAMPLE"),
    ("SELECT COUNT(*) FROM t ›TABLESAMPLE (10)", "samples"),
    ("SELECT COUNT(*) FROM t AS OF ›TIMESTAMP '2020-01-01'", "'TIMESTAMP'"),
    ("SELECT COUNT(*) FROM t ›PIVOT (x)", "PIVOT"),
    ("SELECT COUNT(*) FROM t PREWHERE ›age = 1", "'age' is not understood"),
    ("SELECT COUNT(*) FROM t WHERE ›u.age = 1", "no table 'u'"),
    # behind WHERE
    ("SELECT COUNT(*) FROM t GROUP BY ›ALL", "ALL is not supported"),
    ("SELECT COUNT(*) FROM t GROUP BY ›1", "name of a column"),
    ("SELECT COUNT(*) FROM t GROUP BY ›ROLLUP (sex)", "plain columns"),
    ("SELECT COUNT(*) FROM t GROUP BY ›CUBE (sex)", "plain columns"),
    ("SELECT COUNT(*) FROM t GROUP BY ›GROUPING SETS ((sex))", "plain columns"),
    ("SELECT COUNT(*) FROM t GROUP BY sex ›WITH ROLLUP", "WITH"),
    ("SELECT COUNT(*) FROM t GROUP BY ›YEAR(born)", "function YEAR"),
    ("SELECT COUNT(*) FROM t GROUP BY (›sex, age)", "a list"),
    ("SELECT COUNT(*) FROM t GROUP BY sex, ›sex", "'sex' twice"),
    ("SELECT COUNT(*) FROM t GROUP BY sex ›WHERE age = 1", "WHERE stands too late"),
    ("SELECT COUNT(*) FROM t WHERE age = 1 ›WHERE age = 2", "'WHERE'"),
    ("SELECT COUNT(*) FROM t ›HAVING COUNT(*) > 3", "HAVING"),
    ("SELECT COUNT(*) FROM t ›ORDER BY age", "ORDER BY"),
    ("SELECT COUNT(*) FROM t ›ORDER\n BY age", "ORDER BY"),
    ("SELECT COUNT(*) FROM t ›LIMIT 3", "LIMIT"),
    ("SELECT COUNT(*) FROM t ›OFFSET 3", "OFFSET"),
    ("SELECT COUNT(*) FROM t ›FETCH FIRST 3 ROWS ONLY", "FETCH"),
    ("SELECT COUNT(*) FROM t ›FOR UPDATE", "FOR is not supported"),
    ("SELECT COUNT(*) FROM t ›QUALIFY age = 1", "window functions"),
    ("SELECT COUNT(*) FROM t ›WINDOW w AS ()", "window functions"),
    ("SELECT ›/*+ hint */ COUNT(*) FROM t", "comments"),
    ("SELECT COUNT(*) FROM t ›-- WHERE age = 1", "comments"),
]  # fmt: skip
CONDITIONS = [
    # OR over attributes
    ("age > 3 OR ›sex = 'F'", "OR joins conditions on 'age' and 'sex'; only conditions on one"),
    ("NOT (age > 3 AND ›sex = 'F')", "joins conditions on 'age' and 'sex'"),
    ("age = 1 OR (›sex = 'F' AND age = 3)", "joins conditions on 'age' and 'sex'"),
    ("born IS NULL AND (age = 1 OR age = 2 OR ›sex = 'F')", "'age' and 'sex'"),
    ("age = 1 OR ›Age = 2", "write them alike"),
    # no comparison of a column with a value
    ("›smoker", "write smoker = TRUE"),
    ("NOT ›smoker", "write smoker = TRUE"),
    ("age = 3 AND ›smoker", "write smoker = TRUE"),
    ("›TRUE", "a condition compares a column with a value"),
    ("›1 = 1", "two values"),
    ("age = ›weight", "columns 'age' and 'weight' are compared"),
    ('sex = ›"F"', "single quotes"),
    ("age = ›NULL", "use IS NULL"),
    ("age <> ›NULL", "use IS NULL"),
    ("age IN (1, ›NULL)", "use IS NULL"),
    ("age IN (1, ›TRUE)", "one kind"),
    ("age IN (1, ›'x')", "one kind"),
    ("›age IN ()", "IN needs a list"),
    ("›age IN sex", "IN needs a list"),
    ("age IN (›sex)", "a column cannot stand here"),
    ("age IN (›SELECT 1)", "SELECT inside"),
    ("age IN ›UNNEST(x)", "UNNEST"),
    ("(›age, sex) IN ((1, 2))", "a list"),
    ("age IN (1›,)", "behind this comma"),
    ("age IN (›,1)", "before this comma"),
    ("age BETWEEN ›SYMMETRIC 1 AND 2", "'SYMMETRIC'"),
    ("›3 BETWEEN age AND 9", "name of a column"),
    ("›age IS TRUE", "smoker = TRUE"),
    ("age IS ›UNKNOWN", "use IS NULL"),
    ("age ›ISNULL", "'ISNULL'"),
    ("age ›NOT IS NULL", "'NOT'"),
    ("age ›* 2 = 3", "COUNT(*)"),
    ("age IS ›DISTINCT FROM 3", "DISTINCT"),
    ("age ›<=> 3", "'<=>'"),
    ("›age = 1 = 2", "a comparison cannot stand here"),
    ("(›age = 1) IS NULL", "a comparison cannot stand here"),
    ("age = 1 ›XOR age = 2", "XOR"),
    ("›t.u.age = 1", "a schema"),
    # functions, arithmetic, casts, patterns
    ("›ABS(age) = 3", "function ABS"),
    ("›COUNT(*) > 3", "an aggregate cannot stand here"),
    ("age = ›DATE('2020-01-01')", "function DATE"),
    ("age = ›CURRENT_DATE", "'CURRENT_DATE'"),
    ("›age + 1 = 2", "arithmetic"),
    ("age = ›1 + 2", "arithmetic"),
    ("age = - - ›2", "arithmetic"),
    ("age ›/ 2 = 3", "arithmetic"),
    ("age ›% 2 = 0", "arithmetic"),
    ("sex = 'a' ›|| 'b'", "joined"),
    ("sex = 'a' ›'b'", "not understood"),
    ("age›::text = 'a'", "casts"),
    ("›CAST(age AS TEXT) = 'a'", "casts"),
    ("age = ›TRY_CAST('1' AS INT)", "casts"),
    ("age = ›INT '3'", "'INT'"),
    ("age = ›TIME(3) '10:00'", "'TIME'"),
    ("age > ›INTERVAL '1 day'", "intervals"),
    ("›CASE WHEN age = 1 THEN TRUE END", "CASE"),
    ("sex ›LIKE 'a%'", "patterns"),
    ("sex NOT ›ILIKE 'a%' ESCAPE '!'", "patterns"),
    ("sex ›~ 'a'", "patterns"),
    ("sex ›COLLATE x = 'a'", "COLLATE"),
    ("age = ›ANY (1)", "IN (1, 2)"),
    ("age = ›ALL (1)", "ALL"),
    ("›EXISTS (SELECT 1)", "subqueries"),
    ("age ›-> 'x' = 3", "-> is not supported"),
    ("age›[0] = 1", "sign '['"),
    ("age ›AT TIME ZONE 'x' = 3", "'AT'"),
    # values
    ("age = ›?", "parameters"),
    ("age = ›:x", "parameters"),
    ("age = ›$1", "parameters"),
    ("age = ›@x", "parameters"),
    ("sex = ›$$x$$", "parameters"),
    ("sex = X›'ff'", "put a space"),
    ("sex = E›'\\n'", "put a space"),
    ("sex = N›'x'", "put a space"),
    ("born = ›{d '2020-01-01'}", "sign '{'"),
    ("born = DATE ›'2020-02-30'", "DATE '2020-12-31'"),
    ("born = TIMESTAMP ›'x'", "TIMESTAMP '2020-12-31 23:59:59'"),
    ("born = ›DATETIME '2020-01-01'", "'DATETIME'"),
    ("age = ›.5", "0.5"),
    ("age = 0›x1f", "'x1f'"),
    ("age = 1›_000", "'_000'"),
    ("age = 3 ›years", "'years'"),
    ("age = ›1e99999999999999999999", "not a number"),
    (f"age = ›{'9' * 5000}", "not a number"),
    # the text itself
    ("sex = ›'x", "never closed"),
    ("sex = ›'it''s", "never closed"),
    ('›"x = 1', "never closed"),
    ("›`x` = 1", "quoted like"),
    ("age = 1 ›-- x", "comments"),
    ("age ›/* x */ = 1", "comments"),
    ("age = 1 ›# x", "comments"),
    ("age = 5›--3", "comments"),
    ("sex = '--' ›--", "comments"),
    ("›{# x #} age = 1", "sign '{'"),
    ("age = 1›\0", "control character"),
    ("sex = '›\0'", "control character"),
    ("sex = '›\ud800'", "control character"),
    ("age›\u00a0= 1", "sign"),
    ("›!age = 1", "NOT"),
    ("age = 1›) OR (age = 2", "closes nothing"),
    ("›(age = 1", "never closed"),
    ("age = 1 ›AND", "'AND'"),
    ("age = 1 ›age = 2", "'age'"),
    ("›;", "cannot stand in a condition"),
    ("age = 1›;", "cannot stand in a condition"),
    ("age = 1›; DROP TABLE t", "one statement"),
    ("1=1 ›GROUP BY age", "GROUP BY cannot stand in a condition"),
    ("1=1 ›LIMIT 3", "LIMIT"),
    ("›SELECT COUNT(*) FROM t", "SELECT cannot stand in a condition"),
    ("›WHERE age = 1", "WHERE cannot stand in a condition"),
    (f"{'(' * MAX_NESTING}›(age = 1{')' * (MAX_NESTING + 1)}", "nested"),
    (f"{' ' * MAX_LENGTH}›x", "characters"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "part"), STATEMENTS)
def test_statements_refused(marked: str, part: str) -> None:
    text, position = marked.replace("›", ""), marked.index("›") + 1
    with pytest.raises(QueryRefused) as refusal:
        parse(text)
    assert part in str(refusal.value)
    assert refusal.value.position == position


@pytest.mark.parametrize(("marked", "part"), CONDITIONS, ids=lambda text: text[:40])
def test_conditions_refused(marked: str, part: str) -> None:
    text, position = marked.replace("›", ""), marked.index("›") + 1
    with pytest.raises(QueryRefused) as refusal:
        parse_condition(text)
    assert part in str(refusal.value)
    assert refusal.value.position == position


def test_deeply_nested_not_is_refused() -> None:
    with pytest.raises(QueryRefused, match="nested"):
        parse_condition("NOT " * 10_000 + "age = 1")


# ---- long texts


@pytest.mark.slow
@pytest.mark.parametrize("word", ["AND", "OR"])
def test_long_chains(word: str) -> None:
    query = parse_condition(f" {word} ".join(f"age<>{i}" for i in range(4500)))
    wanted = bind(query, CATALOG).where["age"]
    assert wanted.holds(3) == (word == "OR")
    assert wanted.holds(9999)
    assert hash(query) == hash(query)  # recursive, and still possible


def test_long_lists() -> None:
    query = parse_condition(f"age IN ({', '.join(str(i) for i in range(9000))})")
    assert query == Query({"age": range(9000)})


# ---- sqlglot stays in its place


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for marked, _ in [*STATEMENTS, *CONDITIONS, ("JSON_EXTRACT(age, '2020') = 3", "")]:
            for read in (parse, parse_condition):
                with suppress(QueryRefused):
                    read(marked.replace("›", ""))
    assert caplog.records == []


def test_importing_sfumato_does_not_import_sqlglot() -> None:
    code = "import sys, sfumato, sfumato.queries.binding; sys.exit('sqlglot' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


# ---- DuckDB's opinion


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_duckdb_counts_the_same_rows(seed: int) -> None:
    random = Random(seed)
    t = pa.table({name: pa.array(_cells(name, random), kind) for name, kind in TYPES.items()})
    rows, texts = t.to_pylist(), Texts(random)
    with duckdb.connect() as database:
        database.register("t", t)
        for _ in range(150):
            text = f"SELECT COUNT(*) FROM t WHERE {texts.where()}"
            (count,) = database.execute(text).fetchall()[0]
            assert _count(text, rows) == count, text


def test_duckdb_agrees_where_both_understand_a_damaged_condition() -> None:
    random = Random(5)
    t = pa.table({name: pa.array(_cells(name, random), kind) for name, kind in TYPES.items()})
    rows, texts, agreed = t.to_pylist(), Texts(random), 0
    with duckdb.connect() as database:
        database.register("t", t)
        for _ in range(1000):
            damage = random.choice([texts.rearranged, texts.dirtied])
            text = f"SELECT COUNT(*) FROM t WHERE {damage(texts.where())}"
            with suppress(QueryRefused, duckdb.Error):
                ours = _count(text, rows)
                (theirs,) = database.execute(text).fetchall()[0]
                assert ours == theirs, text
                agreed += 1
    assert agreed > 20


def _cells(name: str, random: Random) -> Sequence[Any]:
    numbers = [random.randint(-3, 12) for _ in range(60)]
    cells: dict[str, Sequence[Any]] = {
        "age": numbers,
        "sex": [random.choice(["F", "M", "", "it's", "x y", "é"]) for _ in numbers],
        "born": [date(2020, 1, max(1, number)) for number in numbers],
        "smoker": [number % 2 == 0 for number in numbers],
        "weight": [number + random.choice([0, 0.25, 0.5]) for number in numbers],
    }
    return [None if random.random() < 0.2 else cell for cell in cells[name]]


def _count(text: str, rows: Sequence[dict[str, Any]]) -> int:
    where = bind(parse(text), CATALOG).where
    return sum(all(values.holds(row[name]) for name, values in where.items()) for row in rows)


@pytest.mark.parametrize("name", ["spread", "median"])  # without and with a class of sqlglot's own
def test_a_function_of_the_table_is_understood(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGGREGATES, name, AGGREGATES["sum"])
    assert parse(f"SELECT {name}(age) AS n FROM t").select == (Aggregate(name, "age", "n"),)
    for text in (f"{name}()", f"{name}(age, sex)", f"{name}(*)", f"{name}(age + 1)"):
        with pytest.raises(QueryRefused):
            parse(f"SELECT {text} FROM t")
