"""The small parts: cache, words, group commit, log."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from pathlib import Path
from typing import Any, get_args

import pytest

import sfumato as sf
from sfumato.core.answer import Answer
from sfumato.core.predicates import Either, Missing, OneOf, between
from sfumato.core.query import Aggregate, Query
from sfumato.server.caching import Cache
from sfumato.server.errors import ApiError
from sfumato.server.ledger_writer import LedgerWriter
from sfumato.server.logs import Log
from sfumato.server.sentences import in_words, long_guarantee, sentence
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_records import Entry
from sfumato.statdb.access.places import Place
from sfumato.statdb.layout.making import Framework
from tests.server.conftest import wages
from tests.server.kit import copied, records, running
from tests.support.seeds import long_seed
from tests.support.waiting import PATIENCE


def entry(request_id: str) -> Entry:
    return Entry(request_id, "local", "analyst", "answer", "?", None, "[]", 1)


@pytest.mark.filterwarnings("ignore:the schema does not declare")
def test_the_guarantee_says_what_is_known_of_the_other_columns(tmp_path: Path) -> None:
    table = sf.Microdata.from_arrow(wages(60), sf.Schema(quasi=["age", "sex"], sensitive="wage"))
    said = {
        framework: long_guarantee(
            sf.StatDB.create(
                tmp_path / framework, table, m=2, framework=framework, seed=long_seed(1)
            ).responder
        )
        for framework in get_args(Framework)
    }
    assert "count as known to everybody" in said["anatomy"]
    # domains that were not declared are those of the rows
    assert "not shown row by row; which values they can have is public" in said["generalization"]


def test_a_cache_forgets_what_was_not_used_longest() -> None:
    cache = Cache[str](100)
    for key in "abcdefghij":
        cache.put(key, key, 10)
    assert cache.get("a") == "a"
    cache.put("k", "k", 10)
    assert cache.get("b") is None
    assert cache.get("a") == "a"
    assert (len(cache), cache.size) == (10, 100)
    cache.put("a", "A", 5)
    assert (cache.get("a"), cache.size) == ("A", 95)
    cache.put("large", "large", 50)
    assert cache.get("large") is None


def test_a_cache_is_used_by_many_threads() -> None:
    cache = Cache[int](1_000)

    def use(seed: int) -> None:
        for number in range(3_000):
            cache.put((seed * number) % 97, number, 50)
            cache.get(number % 97)

    threads = [threading.Thread(target=use, args=(seed,), daemon=True) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
        assert not one.is_alive()
    assert cache.size == 50 * len(cache) <= 1_000


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({}, "Between 2 and 1,000 people are in the table."),
        (
            {"age": between(30, 50), "sex": OneOf(frozenset(["F"]))},
            "Between 2 and 1,000 of the 2,000 people in the table match age from 30 to 50 and sex "
            "F.",
        ),
        (
            {"job": Either(OneOf(frozenset(["cook", "baker"])), Missing())},
            "Between 2 and 1,000 of the 2,000 people in the table match job baker or cook or "
            "unknown.",
        ),
        (
            {"age": OneOf(frozenset())},
            "Between 2 and 1,000 of the 2,000 people in the table match age of no value that "
            "occurs.",
        ),
    ],
)
def test_sentences(where: dict[str, Any], said: str) -> None:
    assert sentence(Answer(3.0, 2, 1_000), Query(where), 2_000) == said


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Query(), "all people"),
        (Query(by=("sex",)), "all people, by sex"),
        (Query({"age": between(30, 50)}), "people with age from 30 to 50"),
        (
            Query({"sex": OneOf(frozenset(["F"]))}, (Aggregate("avg", "wage"),), ("job", "age")),
            "average wage of people with sex F, by job and age",
        ),
        (
            Query({}, (Aggregate("min", "wage"), Aggregate("sum", "wage"))),
            "smallest wage and sum of wage of all people",
        ),
        (
            Query({"a\u202eb": OneOf(frozenset(["\u05d0"]))}),
            "people with a<U+202E>b \u2068\u05d0\u2069",
        ),
    ],
)
def test_a_whole_question_in_words(query: Query, said: str) -> None:
    assert in_words(query) == said


@pytest.mark.parametrize(
    ("sql", "notes"),
    [
        ("sex = 'femal'", ["sex has no value 'femal'; did you mean 'female'?"]),
        ("SEX = 'Female'", ["sex has no value 'Female'; did you mean 'female'?"]),
        ("sex <> 'x' AND age = 1000", ["sex has no value 'x'"]),
        ("NOT (sex IN ('male', 'mal') OR sex = 'female')",
         ["sex has no value 'mal'; did you mean 'male'?"]),
        ("disease = 'flu' AND sex IS NULL", None),
    ],
)  # fmt: skip
def test_values_that_nobody_has_are_told(
    folder_of_people: Path, tmp_path: Path, sql: str, notes: list[str] | None
) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        for _ in range(2):  # remembered, too
            told = kit.answer(f"SELECT COUNT(*) FROM t WHERE {sql}")
            assert told.get("notes") == notes
        # in other words with the same meaning, nothing is wrong
        assert "notes" not in kit.answer(told["canonical"]) or "of no value" in told["canonical"]


def test_an_exact_count_is_said_to_be_exact() -> None:
    assert sentence(Answer(7.0, 7, 7), Query(), 7) == "Exactly 7 people are in the table."


def test_entries_that_wait_are_committed_together(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    writer = LedgerWriter(Place.of(folder))

    async def many() -> None:
        await asyncio.gather(*(writer.append([entry(f"{i:016}")]) for i in range(200)))

    asyncio.run(many())
    assert writer.entries == 200
    assert writer.commits < 100
    writer.close()
    assert [one.entry.request_id for one in records(folder)] == [f"{i:016}" for i in range(200)]


def test_a_commit_that_fails_fails_all_of_its_answers(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LedgerWriter(Place.of(copied(folder_of_people, tmp_path)))

    def broken(*_: Any) -> Any:
        raise MemoryError

    async def some() -> list[Any]:
        return await asyncio.gather(
            *(writer.append([entry("a" * 16)]) for _ in range(5)), return_exceptions=True
        )

    monkeypatch.setattr(Ledger, "append", broken)
    found = asyncio.run(some())
    assert all(isinstance(one, ApiError) and one.code == "ledger_unavailable" for one in found)
    assert writer.failing
    writer.close()
    assert not writer.writable()


def test_a_log_without_a_stream_stops_nothing() -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.write("start", url="x")
    assert json.loads(stream.getvalue())["event"] == "start"
    stream.close()
    log.write("stop")
