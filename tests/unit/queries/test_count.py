from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest

from sfumato.errors import DataError
from sfumato.queries.count import CountQuery


def test_equal_queries_are_one() -> None:
    one = CountQuery({"age": [1, 2], "sex": {"F"}})
    other = CountQuery({"sex": ["F", "F"], "age": (2, 1)})
    assert one == other
    assert len({one, other}) == 1
    assert one.to_json() == other.to_json()
    assert one != CountQuery({"age": [1, 2]})


def test_later_changes_of_the_argument_do_not_reach_the_query() -> None:
    conditions = {"age": {1}}
    query = CountQuery(conditions)
    conditions["age"].add(2)
    conditions["sex"] = {3}
    assert query == CountQuery({"age": [1]})


def test_a_line_of_json_gives_the_query_back() -> None:
    query = CountQuery(
        {
            "whole": [3, -1],
            "fraction": [0.25, 1e300],
            "text": ["a", 'b"\n', "ü"],
            "holes": [None, "x"],
            "flag": [True],
            "none": [],
            "money": [Decimal("1.10")],
            "when": [date(2020, 2, 29), date(1969, 12, 31)],
            "moment": [datetime(2020, 1, 1, 12, 30, 0, 5)],
            "clock": [time(23, 59)],
            "span": [timedelta(days=-1, microseconds=7)],
        }
    )
    line = query.to_json()
    assert "\n" not in line
    back = CountQuery.from_json(line)
    assert back == query
    assert {type(value) for value in back.conditions["when"]} == {date}


@pytest.mark.parametrize(
    "line", ["", "[1]", '{"age": 3}', '{"age": [{"moon": "x"}]}', '{"age": [{"date": "x"}]}', "{"]
)
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(DataError, match="not a count query"):
        CountQuery.from_json(line)
