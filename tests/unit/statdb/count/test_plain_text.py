"""Plain conditions mean what the grammar says they mean."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import QueryRefused
from sfumato.queries.sql import parse_condition
from sfumato.statdb.count.plain_text import read_plain

PIECES = st.sampled_from(
    [
        "age", "t", "order", "date", "x_1", "AND", "and", "OR", "NOT", "BETWEEN", "between", "=",
        "<=", "<>", ">", "1", "-3", "07", "1.5", "'flu'", "'it''s'", "'a b'", "(", ")", "--", ";",
        "\n", "NULL", "IS", "IN", "age BETWEEN 3 AND 5", "disease = 'flu'", "1e3",
    ]
)  # fmt: skip
CONDITIONS = st.sampled_from(
    ["age BETWEEN 1 AND 9", "Age>=3", "disease = 'flu'", "x<>-2", "y =  'A b'", " z < 0 "]
)


@pytest.mark.slow
@given(st.one_of(st.lists(PIECES, max_size=8), st.lists(CONDITIONS, max_size=4)), st.booleans())
@settings(max_examples=300)
def test_the_same_as_the_grammar(pieces: list[str], joined: bool) -> None:
    text = (" AND " if joined else " ").join(pieces)
    plain = read_plain(text)
    if plain is None:
        return
    try:
        assert plain == parse_condition(text)
    except QueryRefused:
        pytest.fail(f"{text!r} is read although the grammar refuses it")


@pytest.mark.parametrize(
    "text", ["age BETWEEN 30 AND 50 AND disease = 'flu'", "a <= 3", " a=1 and b>-2 "]
)
def test_plain_conditions_are_read(text: str) -> None:
    assert read_plain(text) == parse_condition(text)


@pytest.mark.parametrize(
    "text", ["", "a = 1 AND", "a = 1 OR b = 2", "a = 1 AND a = 2", "not = 1", "a = 1.5", "a = 1AND b = 2", "a < 'x'"]  # noqa: E501
)  # fmt: skip
def test_others_are_left_to_the_grammar(text: str) -> None:
    assert read_plain(text) is None
