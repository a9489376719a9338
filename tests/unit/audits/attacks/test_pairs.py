"""Who shares a value with whom, asked of two people at a time by their quasi-identifiers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.pairs import Pairs, around, asked_pairs, cohorts_of
from sfumato.core.arrays import Flags
from tests.support.attacks import planted
from tests.support.seeds import long_seed

M = 4
PEOPLE, OTHERS = planted(480, 0.5, seed=1), planted(1_500, 0.5, seed=2)


def test_chains_of_ones_are_cohorts_and_twos_inside_are_classes() -> None:
    lists: Flags = np.array([[True, True, False]] * 5 + [[False] * 3])
    ends = np.full((6, 6), 2)  # who cannot meet ends at two as well
    for one, other in ((0, 1), (1, 2), (3, 4)):
        ends[one, other] = ends[other, one] = 1
    found = cohorts_of(Pairs(lists, ends), np.arange(10, 16))
    assert [(one.values, one.classes) for one in found] == [
        ((0, 1), [[10, 12], [11]]),
        ((0, 1), [[13], [14]]),
    ]
    ends[0, 2] = ends[2, 0] = 0  # not asked: it stays open whether they share a value
    assert cohorts_of(Pairs(lists, ends), np.arange(10, 16))[0].classes == [[10], [11], [12]]


@pytest.mark.parametrize("cohort", [8, None], ids=str)
def test_whoever_is_said_to_share_a_value_does(cohort: int | None, tmp_path: Path) -> None:
    db = sf.StatDB.create(tmp_path / "db", PEOPLE, m=M, cohort=cohort, seed=long_seed(1))
    table = db.table()
    known = known_people(table)
    some = around(known, 120, np.random.default_rng(1))
    points = known.quasi_codes()
    for one in some:
        assert (points == points[one]).all(axis=1).sum() == 1
    (sensitive,) = table.sensitive
    pairs = asked_pairs(db.responder, known, some, sensitive)
    truth = table.codes[sensitive.name]
    assert pairs.lists[np.arange(len(some)), truth[some]].all()
    differ = truth[some][:, None] != truth[some][None, :]
    assert differ[pairs.ends == 1].all()
    classes = [one for cohort in cohorts_of(pairs, some) for one in cohort.classes]
    assert sorted(person for one in classes for person in one) == sorted(some.tolist())
    assert all(len(set(truth[one].tolist())) == 1 for one in classes)
    assert max(map(len, classes)) > (10 if cohort is None else 1)


def test_an_audit_asks_by_itself_and_its_control_finds_nothing(tmp_path: Path) -> None:
    def attacked(**options: object) -> sf.Audit:
        place = tmp_path / "-".join(options)
        db = sf.StatDB.create(place, PEOPLE, m=M, seed=long_seed(1), **options)  # type: ignore[arg-type]
        return db.audit(others=OTHERS, attacks=["equality"], seed=1)

    (one,) = attacked(cohort=None).findings
    assert one.outcome.attacker.right > one.outcome.baseline + 0.2
    assert one.verdict == "beaten"
    assert one.outcome.control is not None
    assert one.outcome.control.right < one.outcome.attacker.right - 0.3
    near = attacked(size=20)
    assert "one version" in near.not_run["equality"]


def test_people_who_are_all_alike_cannot_be_asked_about() -> None:
    alike = PEOPLE.take(np.repeat(np.arange(40), 2))
    assert not len(around(known_people(alike), 10, np.random.default_rng(1)))
