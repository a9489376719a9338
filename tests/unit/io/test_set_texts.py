"""Sets as texts: every list has one writing, and comes back from it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.io.set_texts import set_texts, sets_of

KIND = pa.list_(pa.string())
ITEMS = st.one_of(st.none(), st.text(alphabet='ab,"{} \n', max_size=6), st.just("missing"))


@given(st.lists(st.one_of(st.none(), st.lists(ITEMS, max_size=4)), max_size=6))
@example([["nurse, night", "cook"], ['"', '""', '", "'], ["missing", None], [""], [], None])
def test_lists_come_back_as_they_were(lists: list[list[str | None] | None]) -> None:
    texts = set_texts(pa.array(lists, KIND))
    assert sets_of("job", texts).to_pylist() == lists
    written = texts.to_pylist()
    different = {None if one is None else tuple(one) for one in lists}
    assert len(set(written)) == len(different)


def test_plain_values_are_written_as_before_and_the_others_in_quotes() -> None:
    lists = pa.array([["a", "b c"], ["nurse, night", None, "missing"], ['5" pipe']], KIND)
    assert set_texts(lists).to_pylist() == [
        "{a, b c}",
        '{"nurse, night", missing, "missing"}',
        '{"5"" pipe"}',
    ]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("{a, b}", ["a", "b"]),
        ("{a, missing}", ["a", None]),
        ('{5" pipe, b}', ['5" pipe', "b"]),
        ('{"so called" nurse, b}', ['"so called" nurse', "b"]),
        ('{"open, b}', ['"open', "b"]),
        ("{{a}}", ["{a}"]),
    ],
)
def test_texts_of_old_files_are_read_as_they_always_were(text: str, items: list[str]) -> None:
    assert sets_of("job", pa.array([text])).to_pylist() == [items]


def test_a_cell_that_is_no_set_is_told_without_its_content() -> None:
    with pytest.raises(DataError, match="column 'job' is said to hold sets") as raised:
        sets_of("job", pa.array(["{a}", "Ada"]))
    assert "Ada" not in str(raised.value)
