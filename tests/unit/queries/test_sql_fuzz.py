"""Whatever is written: a query comes out, or a refusal that says where. Nothing else is raised."""

from collections.abc import Callable
from random import Random

import pytest

from sfumato.errors import QueryRefused
from tests.support.sql_texts import Texts, ask, asking, sources


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_any_text_is_understood_or_refused_at_a_place(seed: int) -> None:
    texts = Texts(Random(seed))
    outcomes = [_outcome(texts.text()) for _ in range(800)]
    assert 100 < outcomes.count("answered") < 400


@pytest.mark.slow
def test_releases_answer_whatever_is_understood() -> None:
    texts, answers = Texts(Random(5)), asking(sources())
    outcomes = [_outcome(texts.text(), answers) for _ in range(400)]
    assert outcomes.count("answered") > 50


def test_good_texts_are_understood() -> None:
    texts = Texts(Random(11))
    for _ in range(500):
        ask(texts.good())


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        " AND ".join(f"age={i}" for i in range(5000)),
        " AND ".join(f"age<>{i}" for i in range(4500)),
        " OR ".join(f"age={i}" for i in range(5000)),
        f"age IN ({','.join('1' for _ in range(32000))})",
        "NOT " * 16000 + "age = 1",
        "age = " + "- " * 30000 + "1",
        "(" * 60000,
        "(" * 30000 + "age = 1" + ")" * 30000,
        "a.b" * 20000,
        "'" * 65001,
        "f(" * 20 + "a" + ")" * 20 + " = 1",
        "age = 1 OR (b = 2 AND (" * 20 + "c = 3" + "))" * 20,
        " ".join(["BETWEEN 1 AND"] * 4000),
        f"SELECT {','.join(f'COUNT(*) n{i}' for i in range(3500))} FROM t",
        f"SELECT COUNT(*) FROM t GROUP BY {','.join(f'a{i}' for i in range(4000))}",
    ],
    ids=lambda text: text[:20],
)
def test_long_texts_are_understood_or_refused_too(text: str) -> None:
    assert _outcome(text) in ("answered", "refused")


def _outcome(text: str, asked: Callable[[str], object] = ask) -> str:
    try:
        asked(text)
    except QueryRefused as refusal:
        position = refusal.position
    else:
        return "answered"
    assert position is not None, text
    assert 1 <= position <= len(text) + 1, text
    return "refused"
