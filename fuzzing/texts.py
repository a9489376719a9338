"""Texts as questions: each is answered by a table and its releases, or refused at a place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from fuzzing.judging import Finding
from sfumato.errors import QueryRefused
from tests.support.sql_texts import Texts, asking, sources


@dataclass(frozen=True, slots=True)
class Text:
    """A text that somebody might send."""

    text: str


def cases() -> st.SearchStrategy[Text]:
    """Good questions, such with a foreign part, and damaged ones."""
    return st.randoms(use_true_random=False).map(lambda random: Text(Texts(random).text()))


def check(case: Text) -> str:
    """Ask."""
    try:
        _ask()(case.text)
    except QueryRefused as refusal:
        if refusal.position is None or not 1 <= refusal.position <= len(case.text) + 1:
            raise Finding(f"position {refusal.position}: {refusal}") from refusal
        return "refused"
    return "answered"


@cache
def _ask() -> Callable[[str], object]:
    return asking(sources())
