"""Classes of people with one value, found by upper ends of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.equality import (
    Cohort,
    Upper,
    candidates_of_cohorts,
    closed,
    upper_ends,
)
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.naive_bayes import NaiveBayes
from sfumato.audits.attacks.outside import Outside, studied
from sfumato.audits.attacks.results import Accuracy
from tests.support.attacks import N_VALUES, planted
from tests.support.tables import attribute

M = 4


def as_sets(cohorts: Sequence[Cohort]) -> set[tuple[tuple[int, ...], frozenset[frozenset[int]]]]:
    return {(one.values, frozenset(map(frozenset, one.classes))) for one in cohorts}


def drawn(n_cohorts: int, size: int, seed: int) -> list[Cohort]:
    """Cohorts of so many groups with one of two lists, of people in random order."""
    random = np.random.default_rng(seed)
    people = iter(random.permutation(n_cohorts * size * M).tolist())
    return [
        Cohort(
            tuple(range(i % 2, i % 2 + M)), [[next(people) for _ in range(size)] for _ in range(M)]
        )
        for i in range(n_cohorts)
    ]


def answering(cohorts: Sequence[Cohort]) -> Upper:
    """The upper ends of a database with these cohorts: of people with one list."""
    place = {
        person: (c, k)
        for c, cohort in enumerate(cohorts)
        for k, people in enumerate(cohort.classes)
        for person in people
    }

    def upper(persons: Sequence[int], value: int) -> int:
        found: dict[int, list[int]] = {}
        for person in persons:
            c, k = place[person]
            if value in cohorts[c].values:
                found.setdefault(c, [0] * M)[k] += 1
        return sum(map(max, found.values()))

    return upper


@pytest.mark.parametrize(("n_cohorts", "size"), [(1, 1), (1, 30), (12, 1), (7, 5), (30, 2)])
def test_cohorts_and_classes_are_found(n_cohorts: int, size: int) -> None:
    for seed in range(5):
        truth = drawn(n_cohorts, size, seed)
        found = closed(answering(truth), n_cohorts * size * M, M + 1)
        assert as_sets(found) == as_sets(truth)


def test_who_never_meets_anybody_else_stays_alone() -> None:
    alone = [Cohort((0, 1, 2, 3), [[0, 1]]), Cohort((0, 1, 2, 3), [[2], [3]])]
    found = closed(answering(alone), 4, 4)
    assert as_sets(found) == as_sets(
        [Cohort(alone[0].values, [[0]]), Cohort(alone[0].values, [[1]]), alone[1]]
    )


def test_who_is_not_in_the_database_is_not_named() -> None:
    people = planted(6, 0.5, seed=1)
    cohorts = [Cohort((0, 1), [[0, 2], [1, 4]])]
    ends = answering(cohorts)

    def upper(persons: Sequence[int], value: int) -> int:
        return ends([one for one in persons if one not in (3, 5)], value)

    found = closed(upper, 6, 2)
    assert as_sets(found) == as_sets(cohorts)
    candidates = candidates_of_cohorts(found, people, attribute(2))
    guesses = Outside().guess(candidates)
    assert guesses.values[[3, 5]].tolist() == [-1, -1]
    assert (guesses.confidence == [0.5, 0.5, 0.5, 0, 0.5, 0]).all()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[sf.Microdata, list[Cohort], int]:
    """A database of planted people, asked until it is known who shares a value with whom."""
    people = planted(480, 0.3, seed=6)
    columns = {n: a.decode(people.codes[n]) for n, a in people.attributes.items()}
    schema = sf.Schema(quasi=["person", *people.schema.quasi], sensitive="illness")
    table = sf.read(pa.table({"person": pa.array(range(480)), **columns}), schema)
    path = Path(tmp_path_factory.mktemp("equality")) / "statdb"
    db = sf.StatDB.create(path, table, m=M, cohort=8, seed=1, experiment=True)
    ends, questions = upper_ends(db, known_people(table), "person", table.attributes["illness"]), []

    def upper(persons: Sequence[int], value: int) -> int:
        questions.append(value)
        return ends(persons, value)

    return people, closed(upper, 480, N_VALUES), len(questions)


def test_a_database_tells_who_shares_a_value(
    asked: tuple[sf.Microdata, list[Cohort], int],
) -> None:
    people, cohorts, questions = asked
    truth = people.codes["illness"]
    classes = [(one.values, people) for one in cohorts for people in one.classes]
    assert sum(len(people) for _, people in classes) == 480
    for values, members in classes:
        assert {truth[one] for one in members} <= set(values)
        assert len({truth[one] for one in members}) == 1
    assert max(len(members) for _, members in classes) == 8
    assert questions < 480 * (N_VALUES + 12)


def test_classes_are_labelled(asked: tuple[sf.Microdata, list[Cohort], int]) -> None:
    people, cohorts, _ = asked
    candidates = candidates_of_cohorts(cohorts, people, people.attributes["illness"])
    truth = people.codes["illness"]
    others = studied(candidates, planted(4_000, 0.3, seed=7), "illness")
    knowledge = NaiveBayes().learn(candidates.quasi, *others, N_VALUES)
    learner = Accuracy.of(Outside(knowledge).guess(candidates), truth)
    nothing = Accuracy.of(Outside().guess(candidates), truth)
    assert learner.right > 0.9
    assert abs(nothing.right - 1 / M) < 0.15, "whole classes are right or wrong"
    known = np.where(np.arange(480) % 20 == 0, truth, -1)
    told = Accuracy.of(Outside().guess(candidates, known), truth, known < 0)
    assert told.right > nothing.right + 0.1
    assert told.surest == 1
    both = Accuracy.of(DeFinetti().guess(candidates, known), truth, known < 0)
    assert both.right > told.right
