"""The checker finds what is wrong with a ledger, and nothing where nothing is."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.partition import Partition
from sfumato.errors import PromiseBroken, StoreError
from sfumato.queries.sql import parse
from sfumato.statdb.access.ledger import FILE, Ledger
from sfumato.statdb.access.ledger_checks import Check, check_log
from sfumato.statdb.access.ledger_records import Entry, Head, chained
from sfumato.statdb.access.version_checks import (
    count_flaw,
    ground_of,
    narrowed,
    shown_interval,
    version_flaw,
)
from sfumato.statdb.count.asking import conditions_of
from sfumato.statdb.responder import Responder
from tests.support.seeds import long_seed

SCHEMA = sf.Schema(quasi=["age", "sex", "since"], sensitive="grade")
QUESTIONS = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE age < 40 AND grade = 3",
    "SELECT COUNT(*) AS many FROM t WHERE age BETWEEN 30 AND 50 AND sex = 'f' AND grade IN (1, 2)",
    "SELECT COUNT(*), COUNT(age) FROM t WHERE since >= DATE '2020-06-01'",
    "SELECT sex, grade, COUNT(*) FROM t WHERE age >= 30 GROUP BY sex, grade",
    "SELECT since, COUNT(age) FROM t WHERE sex = 'm' GROUP BY since",
    "SELECT COUNT(*) FROM t WHERE age > 500",
    "SELECT SUM(grade), AVG(grade), COUNT(*) FROM t WHERE sex = 'f'",
    "SELECT age, COUNT(*) FROM t WHERE age < 25 OR age IS NULL GROUP BY age",
]
WIDE = "SELECT COUNT(*) FROM t WHERE age NOT BETWEEN 30 AND 50 AND grade <> 2"


def people(n: int = 150, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "age": pa.array(random.integers(18, 80, n), mask=random.random(n) < 0.05),
            "sex": pa.array(random.choice(["f", "m"], n), pa.string()),
            "since": [date(2020, 1 + int(month), 1) for month in random.integers(0, 12, n)],
            "grade": random.integers(1, 7, n),
        }
    )


def microdata(n: int = 150, seed: int = 1) -> sf.Microdata:
    return sf.Microdata.from_arrow(people(n, seed), SCHEMA)


REGROUPED, NEAR = {"cohort": 4}, {"size": 3}


@pytest.fixture(scope="module", params=[REGROUPED, NEAR], ids=["regrouped", "near"])
def made(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    place = tmp_path_factory.mktemp("log") / "people.statdb"
    return sf.StatDB.create(place, microdata(), m=3, **request.param).path


@pytest.fixture
def db(tmp_path: Path, made: Path) -> sf.StatDB:
    return sf.StatDB.open(shutil.copytree(made, tmp_path / made.name))


def stated(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def answer_text(result: sf.Result) -> str:
    """As the server logs it."""
    return json.dumps(
        [
            {
                "key": dict(zip(result.by, map(stated, key), strict=True)),
                "answers": {
                    name: {
                        "lo": stated(one.lo),
                        "hi": stated(one.hi),
                        "estimate": stated(one.estimate),
                        "width": stated(one.width),
                        "nullable": one.nullable,
                    }
                    for name, one in zip(result.names, answers, strict=True)
                },
            }
            for key, answers in zip(result.keys, result.answers, strict=True)
        ]
    )


def entry(db: sf.StatDB, sql: str, **changes: Any) -> Entry:
    text = answer_text(db.query(sql))
    made = Entry("r", "local", "analyst", "answer", sql, sql, text, db.generation)
    return replace(made, **changes)


def record(db: sf.StatDB, *entries: Entry) -> None:
    with Ledger.open(db.path) as ledger:
        ledger.append(entries)


def broken(check: Check) -> str:
    assert not check.ok
    return "; ".join(one.detail for one in check.statements if not one.kept)


def test_a_good_ledger(db: sf.StatDB) -> None:
    record(db, *(entry(db, question) for question in (*QUESTIONS, WIDE, QUESTIONS[1])))
    record(
        db,
        Entry("r", "-", "-", "denied", "?", None, "unauthorized", 1),
        Entry("r", "local", "analyst", "refusal", "SELECT *", None, "query_refused", 1),
    )
    check = check_log(db.path, seed=1)
    assert check.ok, list(check.lines())
    assert check.require() is check
    assert check.records == 13
    text = "\n".join(check.lines())
    assert "10 different questions" in text
    assert "cut off at the end" in text
    assert re.search(r"\([1-9]\d* versions made again, of 10 of 10 questions\)", text)
    assert not any(part in text for part in ("earlier", "could not be read"))
    assert check.to_dict()["head"] == str(check.head)
    assert check.to_dict()["not_checked"] == 0
    json.dumps(check.to_dict())
    # which ones is chance, and so is how many versions they have
    assert "of 3 of 10 questions)" in "\n".join(check_log(db.path, versions=3).lines())


@pytest.mark.filterwarnings("ignore:the schema does not declare")
def test_a_good_ledger_of_boxes(tmp_path: Path) -> None:
    path = tmp_path / "boxes.statdb"
    db = sf.StatDB.create(path, microdata(), m=3, cohort=4, framework="generalization")
    record(db, *(entry(db, question) for question in QUESTIONS))
    check = check_log(db.path)
    assert check.ok, list(check.lines())
    db.apply(deleted=microdata().take(np.arange(30)))
    db = sf.StatDB.open(path)
    assert db.counterfeits
    record(db, *(entry(db, question) for question in QUESTIONS))
    check = check_log(db.path)
    assert check.ok, list(check.lines())


def test_a_ledger_in_use(db: sf.StatDB) -> None:
    with Ledger.open(db.path) as ledger:
        ledger.append([entry(db, question) for question in QUESTIONS])
        assert check_log(db.path).ok
        ledger.append([entry(db, QUESTIONS[0])])


def test_a_database_without_a_ledger(db: sf.StatDB) -> None:
    with pytest.raises(StoreError, match="has no ledger"):
        check_log(db.path)
    Ledger.open(db.path).close()
    assert check_log(db.path).ok


@pytest.mark.parametrize(
    "question",
    [
        '{"where": {"age": {"<": 40}, "grade": [3]}}',
        '{"query": {"where": {"age": {"<": 40}, "grade": [3]}}}',
        '{"sql": "SELECT COUNT(*) FROM t WHERE grade = 3 AND age < 40"}',
        "select count(*) as x from t where not age >= 40 and grade = 3",
        '{"queries": [{"sql": "SELECT COUNT(*) FROM t"}]}',  # cannot be read: is not asked again
    ],
)
def test_the_question_as_it_was_asked(db: sf.StatDB, question: str) -> None:
    record(db, entry(db, QUESTIONS[1], question=question))
    check = check_log(db.path)
    assert check.ok, list(check.lines())


def test_a_canonical_form_that_is_another_question(db: sf.StatDB) -> None:
    record(db, entry(db, QUESTIONS[1], question="SELECT COUNT(*) FROM t"))
    assert "record 1 has another answer than the store's" in broken(check_log(db.path))


def test_questions_that_cannot_be_read_again_are_counted(db: sf.StatDB) -> None:
    record(db, entry(db, QUESTIONS[0], question="?", canonical="!"))
    check = check_log(db.path)
    assert check.ok
    assert any(note.startswith("1 questions could not be read again") for note in check.notes)


def test_a_changed_answer(db: sf.StatDB) -> None:
    told = json.loads(answer_text(db.query(QUESTIONS[4])))
    told[2]["answers"]["count"]["hi"] += 1
    record(db, entry(db, QUESTIONS[4], answer=json.dumps(told)))
    check = check_log(db.path)
    assert "record 1 has another answer than the store's" in broken(check)
    with pytest.raises(PromiseBroken, match="record 1"):
        check.require()


@pytest.mark.parametrize(
    "answer",
    [None, "", "[", "7", '"x"', "[7]", '[{"key": {}}]', '{"a": 1}', "[" * 10**5, "null"],
)
def test_an_answer_that_is_none(db: sf.StatDB, answer: str | None) -> None:
    record(db, entry(db, QUESTIONS[0], answer=answer))
    assert "record 1 has" in broken(check_log(db.path))


def test_two_answers_to_one_question(db: sf.StatDB) -> None:
    first, second = QUESTIONS[0], QUESTIONS[1]
    record(db, entry(db, first, generation=0), entry(db, first), entry(db, first))
    assert check_log(db.path).ok
    record(db, entry(db, second, generation=0, canonical=first))
    found = broken(check_log(db.path))
    assert found == "records 1 and 4 answer one question otherwise"


def test_a_ledger_of_a_later_state(db: sf.StatDB) -> None:
    record(db, entry(db, QUESTIONS[0], generation=2))
    assert "record 1 is of state 2" in broken(check_log(db.path))


def test_states_that_are_gone_are_named(db: sf.StatDB) -> None:
    record(db, *(entry(db, question) for question in QUESTIONS))
    db.apply(deleted=microdata().take(np.arange(30)))
    now = sf.StatDB.open(db.path)
    assert now.counterfeits
    record(now, *(entry(now, question) for question in QUESTIONS))
    check = check_log(db.path)
    assert check.ok, list(check.lines())
    said = "not checked against the store: 9 answers of earlier generations"
    assert sum(line.startswith(said) for line in check.lines()) == 1
    assert check.to_dict()["not_checked"] == check.not_checked == 9
    (again,) = (one for one in check.statements if "the store gives" in one.statement)
    assert "every answer of its present state (2) again (9 different" in again.statement


def test_many_problems_are_cut_short(db: sf.StatDB) -> None:
    record(db, *[entry(db, QUESTIONS[0], generation=9)] * 30)
    assert "and 25 more" in broken(check_log(db.path))


def tampered(db: sf.StatDB, *statements: str) -> None:
    connection = sqlite3.connect(db.path / FILE)
    for name in ("record_follows", "record_stays", "record_remains"):
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE record SET who = 'somebody' WHERE number = 2"], "record 2 was changed"),
        (["UPDATE record SET answer = '[]' WHERE number = 2"], "another answer than the store's"),
        (["UPDATE record SET kind = 'none' WHERE number = 2"], "record 2 is none"),
        (["UPDATE record SET generation = 'x' WHERE number = 2"], "record 2 is none"),
        (["UPDATE record SET time = x'ff' WHERE number = 2"], "record 2 is none"),
        (["UPDATE record SET digest = x'ff' WHERE number = 9"], "record 9 is none"),
        (["DELETE FROM record WHERE number = 2"], "record 2 is missing"),
        (
            [
                "UPDATE record SET number = -number WHERE number IN (2, 3)",
                "UPDATE record SET number = 5 + number WHERE number < 0",
            ],
            "record 2 was changed",
        ),
    ],
)
def test_tampering_is_found(db: sf.StatDB, statements: list[str], problem: str) -> None:
    record(db, *(entry(db, question) for question in QUESTIONS))
    tampered(db, *statements)
    assert problem in broken(check_log(db.path))


def test_what_is_cut_off_is_found_by_a_noted_head_only(db: sf.StatDB) -> None:
    record(db, *(entry(db, question) for question in QUESTIONS))
    with Ledger.open(db.path, read_only=True) as ledger:
        heads = [ledger.genesis, *(record.digest for record in ledger.records())]
    for head in heads:
        assert check_log(db.path, head=f"{head.upper()}\n", versions=0).ok
    tampered(db, "DELETE FROM record WHERE number > 7")
    assert check_log(db.path).ok
    assert check_log(db.path, head=heads[7]).ok
    assert "cut off, or all made anew" in broken(check_log(db.path, head=heads[8]))


def test_a_ledger_that_was_made_anew_is_found_by_a_noted_head_only(db: sf.StatDB) -> None:
    entries = [entry(db, question) for question in QUESTIONS]
    record(db, *entries)
    with Ledger.open(db.path, read_only=True) as ledger:
        head = ledger.head()
        forged = chained(
            [replace(entries[0], who="somebody"), *entries[1:]], Head(0, ledger.genesis)
        )
    tampered(
        db,
        *(
            f"UPDATE record SET who = '{one.entry.who}', time = '{one.time}', previous = "
            f"'{one.previous}', digest = '{one.digest}' WHERE number = {one.number}"
            for one in forged
        ),
    )
    assert check_log(db.path).ok
    assert not check_log(db.path, head=head.digest).ok


def merged(version: Partition) -> Partition:
    groups = version.groups.copy()
    groups[groups == groups.max()] = 0
    return Partition.of(groups)


def exchanged(version: Partition) -> Partition:
    """Two rows of different groups change places."""
    groups = version.groups.copy()
    order = np.argsort(groups, kind="stable")
    one, other = order[0], order[-1]
    groups[one], groups[other] = groups[other], groups[one]
    return Partition.of(groups)


def split(version: Partition) -> Partition:
    groups = version.groups.copy()
    groups[0] = version.n_groups
    return Partition.of(groups)


def short(version: Partition) -> Partition:
    return Partition.of(version.groups[:-1])


@pytest.mark.parametrize("harm", [merged, exchanged, split, short])
def test_a_version_that_breaks_the_promise(
    db: sf.StatDB, monkeypatch: pytest.MonkeyPatch, harm: Any
) -> None:
    record(db, *(entry(db, question) for question in QUESTIONS[:3]))
    version = Responder.version
    monkeypatch.setattr(Responder, "version", lambda self, where="": harm(version(self, where)))
    assert "version" in broken(check_log(db.path))


def test_a_version_that_is_not_the_one_that_answered(
    db: sf.StatDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(db, *(entry(db, question) for question in QUESTIONS[:3]))
    first = db.version("age > 70")
    if db.responder.size is not None:
        assert (first.groups == db.version().groups).all()
        return  # there is one version for all
    monkeypatch.setattr(Responder, "version", lambda *_: first)
    assert "an answer is not what its version shows" in broken(check_log(db.path))


def test_a_store_with_short_signatures(db: sf.StatDB) -> None:
    more = replace(db, responder=replace(db.responder, m=6))
    ground = ground_of(more)
    flaw = version_flaw(ground, more.version("age > 50"))
    assert "fewer than 6 values" in flaw or "more than 1/6 of a signature" in flaw


def test_an_answer_without_the_truth(db: sf.StatDB) -> None:
    query = parse(QUESTIONS[1])
    answer = db.count(query)
    ground = ground_of(db)
    assert count_flaw(ground, query, answer.lo, answer.hi) == ""
    assert count_flaw(ground, query, answer.lo, answer.hi + 1) != ""
    codes = {**ground.table.codes, "age": np.zeros_like(ground.table.codes["age"])}
    elsewhere = replace(ground, table=replace(ground.table, codes=codes))
    assert count_flaw(elsewhere, query, answer.lo, answer.hi) != ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the schema does not declare")
@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.parametrize("cohort", [1, 4, None, "default"])
def test_the_version_shows_what_is_answered(tmp_path: Path, framework: Any, cohort: Any) -> None:
    """Random questions, before and after rows changed: the two ways of counting agree."""
    path = tmp_path / "people.statdb"
    db = sf.StatDB.create(path, microdata(), m=3, cohort=cohort, framework=framework)
    db.apply(inserted=microdata(20, seed=5), deleted=microdata().take(np.arange(50)))
    random = np.random.default_rng(3)
    for database in (db, sf.StatDB.open(path)):
        ground = ground_of(database)
        for _ in range(8):
            low, first, grade = random.integers((18, 1, 1), (80, 12, 7)).tolist()
            query = parse(
                f"SELECT COUNT(*) FROM t WHERE age BETWEEN {low} AND {low + 20} AND "
                f"since >= DATE '2020-{first:02}-01' AND grade >= {grade}"
            )
            answer = database.count(query)
            assert count_flaw(ground, query, answer.lo, answer.hi) == ""
        for where in ("", "WHERE age >= 19", "WHERE grade >= 2"):
            query = parse(f"SELECT COUNT(*) FROM t {where}")
            answer = database.count(query)
            assert count_flaw(ground, query, answer.lo, answer.hi) == ""


def test_a_group_is_asked_for_by_its_key(db: sf.StatDB) -> None:
    query = parse("SELECT Sex, age, COUNT(age) FROM t WHERE SEX = 'f' GROUP BY sex, age")
    result = db.query(query)
    for key, (answer,) in zip(result.keys, result.answers, strict=True):
        asked = narrowed(query, result.by, key, query.select[0])
        assert (db.count(asked).lo, db.count(asked).hi) == (answer.lo, answer.hi)


def test_a_contradiction_shows_nothing(db: sf.StatDB) -> None:
    assert shown_interval(ground_of(db), db.version(), {"age": ()}) == (0, 0, 0)


def test_wider_intervals_of_boxes_with_counterfeits_are_no_flaw(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    n = 400
    columns: dict[str, Any] = {name: random.integers(0, 6, n) for name in "abcd"}
    columns["s"] = pa.array(random.choice(list("uvwxyz"), n), pa.string())
    rows = pa.table(columns)
    schema = sf.Schema(quasi=list("abcd"), sensitive="s")
    with pytest.warns(sf.errors.SfumatoWarning):
        db = sf.StatDB.create(
            tmp_path / "boxes.statdb",
            sf.Microdata.from_arrow(rows, schema),
            m=3,
            cohort=8,
            framework="generalization",
            seed=long_seed(1),
        )
    db.apply(deleted=sf.Microdata.from_arrow(rows.slice(0, 60), schema), seed=long_seed(1))
    db = sf.StatDB.open(db.path)
    ground = ground_of(db)
    wider = 0
    for low in range(4):
        where = {name: sf.between(low, low + 2) for name in "abcd"}
        query = sf.Query({**where, "s": sf.one_of(["u", "v"])})
        answer = db.count(query)
        assert count_flaw(ground, query, answer.lo, answer.hi) == ""
        shown = shown_interval(ground, db.version(query), conditions_of(db.responder, query))
        wider += (answer.lo, answer.hi) != shown[:2]
        assert count_flaw(ground, query, answer.lo + 1, answer.hi) != ""
    assert wider  # or nothing was tested
