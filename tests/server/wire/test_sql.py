"""The SQL of tools: what they send is answered as the same question over HTTP, or refused."""

from __future__ import annotations

import datetime
import json
import urllib.request
from typing import Any

import psycopg
import pytest

from tests.server.wire.kit import Served


def over_http(served: Served, database: str, sql: str) -> list[dict[str, Any]]:
    body = json.dumps({"sql": sql, "database": database}).encode()
    request = urllib.request.Request(
        f"{served.url}/v1/query", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        found: list[dict[str, Any]] = json.load(reply)["rows"]
        return found


def plain_rows(served: Served, database: str, sql: str) -> list[tuple[Any, ...]]:
    """What HTTP says, as the rows that a tool sees."""
    return [
        (
            *one["key"].values(),
            *(each[end] for each in one["answers"].values() for end in ("lo", "hi")),
        )
        for one in over_http(served, database, sql)
    ]


BY_SEX = "SELECT sex, COUNT(*) FROM t WHERE disease = 'flu' GROUP BY sex"
YOUNG = "SELECT sex, COUNT(*) FROM t WHERE age >= 30 AND age < 50 GROUP BY sex"


# What each tool writes for one of these questions.
@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        # psql
        ("select sex, count(*) from people where disease='flu' group by 1;", BY_SEX),
        ("select p.sex s, count(1) n from public.people p where p.disease = 'flu' group by p.sex",
         BY_SEX),
        ("SELECT sex, COUNT(*) FROM people.public.people -- of\nWHERE disease = 'flu' /* why? */"
         " GROUP BY s" "ex", BY_SEX),
        # Metabase
        ("-- Metabase:: userID: 1 queryHash: 00\nSELECT \"public\".\"people\".\"sex\" "
         'AS "sex", COUNT(*) AS "count" FROM "public"."people" WHERE "public"."people"."disease" = '
         '\'flu\' GROUP BY "public"."people"."sex" ORDER BY "public"."people"."sex" ASC', BY_SEX),
        ('SELECT "source"."sex" AS "sex", COUNT(*) AS "count" FROM (SELECT "public"."people"."sex" '
         'AS "sex", "public"."people"."disease" AS "disease" FROM "public"."people" WHERE '
         '"public"."people"."disease" = \'flu\') AS "source" GROUP BY "source"."sex" '
         'ORDER BY "source"."sex" ASC LIMIT 2000', BY_SEX),
        # Superset
        ("SELECT sex AS sex, COUNT(*) AS n FROM public.people WHERE disease IN ('flu') GROUP BY "
         "sex ORDER BY sex ASC LIMIT 10000", BY_SEX),
        ('SELECT "sex" AS "sex", COUNT(*) AS "COUNT(*)" FROM (SELECT * FROM people) AS '
         "virtual_table WHERE age >= 30 AND age < 50 GROUP BY \"sex\" ORDER BY \"sex\" LIMIT 50000",
         YOUNG),
        # Grafana
        ("SELECT sex AS metric, COUNT(*) AS value FROM people WHERE 1 = 1 AND age >= 30 AND "
         "(age < 50) GROUP BY 1 ORDER BY 1", YOUNG),
        ("SELECT * FROM (SELECT sex, COUNT(*) AS n FROM people WHERE disease = 'flu' GROUP BY sex) "
         "AS inner_qry LIMIT 101", BY_SEX),
        # casts that drivers add
        ("SELECT sex, count(*) n FROM people WHERE age >= 30::INTEGER AND age < '50'::int8 GROUP "
         "BY sex ORDER BY sex FETCH FIRST 5 ROWS ONLY", YOUNG),
    ],
)  # fmt: skip
def test_the_sql_of_tools_is_the_question_in_plain_words(
    served: Served, sql: str, plain: str
) -> None:
    assert served.rows("people", sql) == plain_rows(served, "people", plain)


@pytest.mark.parametrize(
    "condition",
    [
        "since >= DATE '2020-03-01' AND since < DATE '2020-06-01'",
        "since >= CAST('2020-03-01' AS date) AND since < CAST('2020-06-01' AS date)",
        "since >= '2020-03-01'::date AND since < TO_DATE('2020-06-01', 'YYYY-MM-DD')",
        "(\"since\" BETWEEN '2020-03-01' AND '2020-05-31')",
    ],
)
def test_days_in_all_spellings(served: Served, condition: str) -> None:
    plain = "since >= DATE '2020-03-01' AND since <= DATE '2020-05-31'"
    assert served.rows("people", f"SELECT COUNT(*) FROM people WHERE {condition}") == plain_rows(
        served, "people", f"SELECT COUNT(*) FROM t WHERE {plain}"
    )


@pytest.mark.parametrize(
    "condition",
    [
        "since BETWEEN '2020-03-01T10:20:30Z' AND '2020-05-31T23:59:59.999Z'",  # Grafana
        "\"people\".\"since\" >= '2020-03-01 00:00:00' AND since < '2020-06-01T00:00:00+02:00'",
    ],
)
def test_of_a_time_beside_a_day_the_day_counts(served: Served, condition: str) -> None:
    plain = "SELECT COUNT(*) FROM t WHERE since BETWEEN DATE '2020-03-01' AND DATE '2020-05-31'"
    asked = f"SELECT COUNT(*) FROM people WHERE {condition}"
    assert served.rows("people", asked) == plain_rows(served, "people", plain)


@pytest.mark.parametrize(
    "day",
    [
        "DATE_TRUNC('day', since)",
        'DATE_TRUNC(\'DAY\', "public"."people"."since")',
        'CAST("people"."since" AS date)',
        '"since"::date',
    ],
)
def test_a_day_of_a_day_is_the_day(served: Served, day: str) -> None:
    plain = "SELECT since, COUNT(*) FROM t WHERE since > DATE '2020-06-01' GROUP BY since"
    asked = (
        f"SELECT {day} AS d, COUNT(*) FROM people WHERE {day} > '2020-06-01' GROUP BY {day} "
        f"ORDER BY {day}"
    )
    expected = [(datetime.date.fromisoformat(one[0]), *one[1:])
                for one in plain_rows(served, "people", plain)]  # fmt: skip
    assert served.rows("people", asked) == expected


@pytest.mark.parametrize(
    "month", ["DATE_TRUNC('month', since)", "CAST(age AS date)", "age::date", "CAST(since AS text)"]
)
def test_nothing_else_is_made_of_a_column(served: Served, month: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        served.rows("people", f"SELECT {month} AS m, COUNT(*) FROM people GROUP BY {month}")
    assert raised.value.sqlstate == "0A000"


def test_a_zone_that_is_stated_is_not_left_out(served: Served) -> None:
    with pytest.raises(psycopg.Error) as raised:
        served.rows(
            "people",
            "SELECT COUNT(*) FROM people WHERE since > TIMESTAMPTZ '2020-03-01T00:00:00+02:00'",
        )
    assert raised.value.sqlstate == "42804"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM people LIMIT 0",
         ["age", "sex", "job", "since", "home town", "disease"]),
        ('SELECT "people".* FROM "public"."people" WHERE 1 = 0 LIMIT 10',
         ["age", "sex", "job", "since", "home town", "disease"]),
        ('SELECT TRUE AS "_" FROM "public"."people" WHERE 1 <> 1 LIMIT 0', ["_"]),
        ("SELECT p.age, p.sex s FROM people p WHERE FALSE", ["age", "s"]),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex LIMIT 0", ["sex", "n_lo", "n_hi"]),
    ],
)  # fmt: skip
def test_columns_without_rows(served: Served, sql: str, expected: list[str]) -> None:
    with served.connected("people") as connection:
        for prepare in (False, True):
            cursor = connection.execute(sql.encode(), prepare=prepare)
            assert [one.name for one in cursor.description or ()] == expected
            assert cursor.fetchall() == []


def names(served: Served, database: str, sql: str, **options: str) -> list[str]:
    with served.connected(database, **options) as connection:
        return [one.name for one in connection.execute(sql.encode()).description or ()]


def test_aggregates_are_intervals(served: Served) -> None:
    sql = "SELECT COUNT(*), AVG(wage) AS mean, MAX(wage) FROM wages"
    assert names(served, "wages", sql) == [
        "count_lo", "count_hi", "mean_lo", "mean_hi", "max_wage_lo", "max_wage_hi"
    ]  # fmt: skip
    assert names(served, "people", "SELECT sex AS s, COUNT(*) n FROM people GROUP BY 1") == [
        "s", "n_lo", "n_hi"
    ]  # fmt: skip


def test_one_number_on_request(served: Served) -> None:
    sql = "SELECT sex, AVG(wage) AS mean FROM wages GROUP BY sex"
    with served.connected("wages") as connection:
        apart = connection.execute(sql.encode()).fetchall()
        connection.execute("SET sfumato.answers = 'midpoint'")
        cursor = connection.execute(sql.encode())
        assert [one.name for one in cursor.description or ()] == ["sex", "mean"]
        assert cursor.fetchall() == [(sex, lo / 2 + hi / 2) for sex, lo, hi in apart]
        connection.execute("RESET sfumato.answers")
        assert connection.execute(sql.encode()).fetchall() == apart
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SET sfumato.answers = 'estimate'")
    both = names(served, "wages", sql, options="'-c sfumato.answers=both'")
    assert both == ["sex", "mean", "mean_lo", "mean_hi"]


def test_rows_are_sorted_and_cut_after_they_were_answered(served: Served) -> None:
    every = served.rows("people", "SELECT job, COUNT(*) FROM people GROUP BY job")
    by_hi = sorted(every, key=lambda one: -one[2])
    found = served.rows(
        "people",
        "SELECT job, COUNT(*) n FROM people GROUP BY job ORDER BY n_hi DESC LIMIT 3 OFFSET 1",
    )
    assert [one[2] for one in found] == [one[2] for one in by_hi[1:4]]
    middle = sorted(every, key=lambda one: one[1] + one[2])
    found = served.rows(
        "people", "SELECT COUNT(*), job FROM people GROUP BY job ORDER BY COUNT(*), job"
    )
    assert [one[0] + one[1] for one in found] == [one[1] + one[2] for one in middle]
    assert len(served.rows("people", "SELECT job, COUNT(*) FROM people GROUP BY 1 LIMIT 0")) == 0


def test_missing_keys_stand_where_postgresql_has_them(served: Served) -> None:
    sql = "SELECT age, COUNT(*) FROM people WHERE age IS NULL OR age < 20 GROUP BY age ORDER BY age"
    assert [one[0] for one in served.rows("people", sql)] == [18, 19, None]
    assert [one[0] for one in served.rows("people", f"{sql} DESC")] == [None, 19, 18]
    assert [one[0] for one in served.rows("people", f"{sql} NULLS FIRST")] == [None, 18, 19]


def test_values_that_occur(served: Served) -> None:
    assert served.rows("people", "SELECT DISTINCT sex FROM people ORDER BY sex DESC") == [
        ("male",),
        ("female",),
    ]
    # nobody is 200 years old, whatever it is that they have
    assert served.rows("people", "SELECT DISTINCT disease FROM people WHERE age = 200") == []


def test_values_are_bound_in_text_and_binary(served: Served) -> None:
    day = datetime.date(2020, 3, 1)
    with served.connected("people") as connection:
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            sql = "SELECT since, COUNT(*) FROM people WHERE since = %s AND age > %s GROUP BY since"
            found = cursor.execute(sql, (day, 30), prepare=True).fetchall()
            plain = f"since = DATE '{day}' AND age > 30"
            sql = f"SELECT COUNT(*) FROM t WHERE {plain}"
            assert found == [(day, *plain_rows(served, "people", sql)[0])]
        # nothing that is bound becomes SQL
        sneaky = "flu' OR sex = 'male"
        sql = "SELECT COUNT(*) FROM people WHERE disease = %s"
        assert connection.execute(sql, (sneaky,)).fetchall() == [(0, 0)]


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SELECT * FROM people", "0A000"),
        ("SELECT age FROM people", "42803"),
        ("SELECT * FROM people LIMIT 1", "0A000"),
        ("SELECT * FROM people WHERE 1 = 0 OR age > 3", "0A000"),
        ("SELECT nothing FROM people LIMIT 0", "42703"),
        ("SELECT * FROM others LIMIT 0", "42P01"),
        ("WITH q AS (SELECT * FROM people) SELECT COUNT(*) FROM q", "0A000"),
        ("SELECT COUNT(*) FROM patients", "42P01"),
        ("SELECT COUNT(*) FROM other.people", "42P01"),
        ("SELECT COUNT(*) FROM people p WHERE q.age = 3", "42P01"),
        ("SELECT COUNT(*) FROM people WHERE agee = 3", "42703"),
        ("SELECT agee, COUNT(*) FROM people GROUP BY agee", "42703"),
        ("SELECT COUNT(*) FROM people WHERE sex = 3", "42804"),
        ("SELECT COUNT(*) FROM people WHERE", "42601"),
        ("SELECT COUNT(*) FROM people WHERE age = ", "42601"),
        ("SELECT COUNT(* FROM people", "42601"),
        ("SELEC COUNT(*) FROM people", "42601"),
        ("SELECT COUNT(*) FROM people GROUP BY 2", "42P10"),
        ("SELECT COUNT(*) FROM people, people q", "0A000"),
        ("SELECT COUNT(*) FROM people JOIN people q ON TRUE", "0A000"),
        ("SELECT COUNT(DISTINCT age) FROM people", "0A000"),
        ("SELECT COUNT(*) FILTER (WHERE age > 3) FROM people", "0A000"),
        ("SELECT COUNT(*) + 1 FROM people", "0A000"),
        ("SELECT COUNT(*) FROM people HAVING COUNT(*) > 3", "0A000"),
        ("SELECT COUNT(*) FROM people WHERE age > (SELECT 3)", "0A000"),
        ("SELECT COUNT(*) FROM people WHERE age::text = '3'", "0A000"),
        ("SELECT COUNT(*) FROM people UNION SELECT 1", "0A000"),
        ("SELECT COUNT(*) FROM people WHERE job LIKE 'a%'", "0A000"),
        ("SELECT SUM(age) FROM people", "0A000"),
        ("INSERT INTO people VALUES (1)", "25006"),
        ("DROP TABLE people", "25006"),
        ("COPY people TO STDOUT", "0A000"),
        ("EXPLAIN SELECT COUNT(*) FROM people", "0A000"),
        ("SELECT COUNT(*) FROM people, pg_catalog.pg_class", "0A000"),
        ("SELECT (SELECT COUNT(*) FROM people) FROM pg_class", "0A000"),
    ],
)
def test_everything_else_is_refused_with_its_state(served: Served, sql: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        served.rows("people", sql)
    assert raised.value.sqlstate == state, raised.value


def test_refusals_point_at_their_place(served: Served) -> None:
    sql = 'SELECT COUNT(*) FROM people p WHERE p.sex = \'male\' AND "p"."agee"::text = 3'
    for wrong, at in ((sql, "::"), (sql.replace("::text", ""), '"agee"')):
        with pytest.raises(psycopg.Error) as raised:
            served.rows("people", wrong)
        assert raised.value.diag.statement_position == str(wrong.index(at) + 1)
    assert "did you mean" in str(raised.value)


def test_transactions_are_followed(served: Served) -> None:
    with psycopg.connect(served.address("people")) as connection:
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("SELECT * FROM people")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_a_value_that_nobody_has_is_noted(served: Served) -> None:
    with served.connected("people") as connection:
        told: list[str] = []
        connection.add_notice_handler(lambda one: told.append(one.message_primary or ""))
        for _ in range(2):
            connection.execute(b"SELECT COUNT(*) FROM people WHERE sex = 'femal'")
        assert told == ["sex has no value 'femal'; did you mean 'female'?"] * 2


def test_what_is_discarded_is_what_was_said(served: Served) -> None:
    with served.connected("people") as connection:
        connection.execute("SET sfumato.answers = 'both'")
        assert connection.execute("DISCARD PLANS").statusmessage == "DISCARD PLANS"
        assert connection.execute("SHOW sfumato.answers").fetchall() == [("both",)]
        assert connection.execute("DISCARD ALL").statusmessage == "DISCARD ALL"
        assert connection.execute("SHOW sfumato.answers").fetchall() == [("interval",)]
