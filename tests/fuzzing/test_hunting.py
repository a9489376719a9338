"""The hunt itself: what is planted is found, made small, and written down."""

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from fuzzing import hunting
from fuzzing.columns import Column
from fuzzing.hunting import Tally, find, keep, kept
from fuzzing.judging import Finding
from fuzzing.kinds import KINDS
from fuzzing.plain import from_plain, to_plain
from fuzzing.questions import Condition, Question
from fuzzing.tables import Table, tables
from fuzzing.truth import judge, rows_of
from fuzzing.worker import Worker
from tests.support import planted


def test_a_planted_flaw_is_found_and_made_small() -> None:
    tally = Tally()
    found = find(tables(), planted.refuses_the_sentinel, tally, 2_000, number=1)
    assert found is not None
    table: Table = found[0]
    assert found[1] == "the sentinel"
    assert table.n_rows == 1
    assert len(table.columns) <= 4  # of up to nine
    assert tally.outcomes["fine"] > 0


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (planted.crashes, "SIGSEGV"),
        (planted.hangs, "no outcome in 1 seconds"),
        (planted.raises_something_foreign, "KeyError"),
    ],
)
def test_crashes_hangs_and_foreign_errors_are_findings(check: Any, said: str) -> None:
    with Worker(check, patience=60 if check is not planted.hangs else 0.1) as worker:
        for _ in range(1 if check is planted.hangs else 2):  # another process takes over
            with pytest.raises(Finding, match=said):
                worker.outcome("a case")


def test_a_worker_tells_what_came_of_a_case() -> None:
    with Worker(planted.lives) as worker:
        assert worker.outcome("this") == "saw this"


PEOPLE = Table(
    (
        Column("age", "quasi", "int64", ("1", "5"), (0, 0, 1, None)),
        Column("ill", "sensitive", "string", ("flu", "gout"), (0, 1, 0, 1)),
    )
)


def answer(*ends: Any) -> sf.Result:
    estimate, lo, hi = ends
    return sf.Result((), ("count",), ((),), ((sf.Answer(estimate, lo, hi),),), ())


@pytest.mark.parametrize("ends", [(2, 0, 2), (4.5, 4, 5), (3, 4, 4)])
def test_wrong_answers_are_noticed(ends: Any) -> None:
    question = Question("count", "age", (Condition("age", "IS NOT NULL", ()),))
    with pytest.raises(Finding):
        judge(question, PEOPLE, answer(*ends), rows_of(PEOPLE))


def test_right_answers_pass() -> None:
    question = Question("sum", "age", (Condition("ill", "=", (0,)),))
    assert question.sql(PEOPLE) == """SELECT SUM("age") FROM t WHERE "ill" = 'flu'"""
    judge(question, PEOPLE, answer(6.0, 6, 6), rows_of(PEOPLE))


@pytest.mark.parametrize("kind", KINDS)
def test_cases_survive_json(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunting, "CORPUS", tmp_path)
    seen: list[Any] = []

    def note(case: Any) -> str:
        seen.append(case)
        return "seen"

    find(KINDS[kind].cases(), note, Tally(), 20, number=1)
    for case in seen:
        assert from_plain(KINDS[kind].case, to_plain(case)) == case
        assert kept(keep(kind, "case", case, "for a test")) == (kind, case)
