"""Attackers find what is planted, and nothing where nothing is."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sfumato as sf
from sfumato.audits.attacks.boosting import Boosting
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import Guesses, Knowledge
from sfumato.audits.attacks.naive_bayes import NaiveBayes
from sfumato.audits.attacks.outside import Outside, studied, without_release
from sfumato.audits.attacks.results import (
    Accuracy,
    Attack,
    Outcome,
    Trial,
    shuffled,
    true_values,
)
from sfumato.core.arrays import Ints
from sfumato.errors import ParameterError
from tests.support.attacks import SCHEMA, anatomized, planted

PEOPLE, OTHERS = planted(6_000, 0.5, seed=1), planted(6_000, 0.5, seed=2)


def learnt() -> Knowledge:
    candidates = anatomized(PEOPLE)
    known = studied(candidates, OTHERS, "illness")
    return NaiveBayes().learn(candidates.quasi, *known, candidates.n_values)


def outcome(attack: Attack) -> Outcome:
    candidates = anatomized(PEOPLE)
    alone = without_release(candidates, learnt())
    baseline = Accuracy.of(alone, true_values(candidates, PEOPLE)).right
    return Trial.of(PEOPLE, anatomized).outcome(attack, baseline=baseline, bound=1 / 4)


def test_the_outside_learner_finds_more_with_the_release_than_without() -> None:
    found = outcome(Outside(learnt()))
    assert found.attacker.right > found.baseline + 0.1
    assert found.attacker.surest > found.attacker.right + 0.05
    assert found.valid
    assert found.control is not None
    assert abs(found.control.right - 1 / 4) < 4 * found.control.noise
    assert found.gain == found.attacker.right / found.baseline > 1.1


def test_definetti_learns_from_the_release_alone() -> None:
    found = outcome(DeFinetti())
    assert found.attacker.right > 0.6
    assert found.valid
    assert found.control is not None
    assert abs(found.control.right - 1 / 4) < 4 * found.control.noise


def test_without_any_knowledge_the_promise_holds() -> None:
    found = outcome(Outside())
    assert abs(found.attacker.right - 1 / 4) < 4 * found.attacker.noise
    assert found.attacker.claimed == 0


def test_an_attacker_who_sees_the_truth_is_found_out() -> None:
    class Cheat:
        """Reads the values where only counts should be."""

        def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
            assert known is None
            seen = shuffled(PEOPLE, 0).codes["illness"].astype(np.int32)
            return Guesses(seen, np.ones(len(candidates.subjects)))

    found = outcome(Cheat())
    assert not found.valid


@pytest.mark.parametrize("attack", [DeFinetti(), Outside(learnt())])
def test_guesses_are_repeatable_and_do_not_depend_on_the_order_of_rows(attack: Attack) -> None:
    candidates = anatomized(PEOPLE)
    first, again = attack.guess(candidates), attack.guess(candidates)
    assert (first.values == again.values).all()
    assert (first.confidence == again.confidence).all()
    order = np.random.default_rng(5).permutation(PEOPLE.n_rows)
    groups = candidates.groups.items[order]
    other = attack.guess(Candidates.of_groups(PEOPLE.take(order), groups, candidates.values))
    assert np.mean(first.values[order] == other.values) > 0.999
    assert np.allclose(first.confidence[order], other.confidence, atol=1e-6)


@pytest.mark.parametrize("attack", [DeFinetti(), Outside(learnt()), Outside()])
def test_known_people_help_with_the_others(attack: Attack) -> None:
    trial = Trial.of(PEOPLE, anatomized)
    known = np.arange(PEOPLE.n_rows) % 3 == 0
    told = attack.guess(trial.shown.candidates, np.where(known, trial.shown.truth, -1))
    assert (told.values == trial.shown.truth)[known].all()
    before = trial.outcome(attack, baseline=1 / 8, bound=1 / 4)
    after = trial.outcome(attack, baseline=1 / 8, bound=1 / 4, known=known)
    assert before.control is not None
    assert after.control is not None
    assert after.attacker.n == after.control.n == 4_000
    assert after.attacker.right > before.attacker.right + 0.03
    assert after.control.right > before.control.right + 0.03
    assert before.chance == 1 / 4
    assert after.valid
    assert abs(after.control.right - after.chance) < 4 * after.control.noise


def test_other_people_are_known_by_values_and_not_by_codes() -> None:
    """What only they have is left out."""
    few = sf.Microdata.from_arrow(_rows(PEOPLE).slice(0, 200), SCHEMA)
    some = _rows(PEOPLE).filter(pc.not_equal(_rows(PEOPLE)["place"], "p0")).slice(0, 200)
    narrow = sf.Microdata.from_arrow(some, SCHEMA)
    candidates = anatomized(narrow)
    known = studied(candidates, few, "illness")
    ages = set(some["age"].to_pylist())
    kept = [row for row in _rows(few).to_pylist() if row["place"] != "p0" and row["age"] in ages]
    assert 0 < len(kept) < 200
    for place, one in enumerate(candidates.quasi):
        assert one.decode(known.points[:, place]).to_pylist() == [row[one.name] for row in kept]
    values = narrow.attributes["illness"].decode(known.values).to_pylist()
    assert values == [row["illness"] for row in kept]


def test_accuracy_counts_what_it_says() -> None:
    guesses = Guesses(np.array([1, 1, 2, -1] * 10, np.int32), np.array([0.9, 0.2, 0.6, 0.0] * 10))
    found = Accuracy.of(guesses, np.array([1, 2, 2, 2] * 10))
    assert (found.n, found.right, found.surest, found.claimed) == (40, 0.5, 1.0, 0.5)
    assert np.isclose(found.noise, np.sqrt(0.5 * 0.5 / 40))
    fours = Accuracy.of(
        guesses, np.array([1, 1, 2, 0] * 10), subjects=np.repeat(np.arange(10, dtype=np.int32), 4)
    )
    assert np.isclose(fours.noise, 0), "three of every four are right"
    some = Accuracy.of(
        guesses, np.array([1, 2, 2, 2] * 10), np.array([False, True, True, True] * 10)
    )
    assert (some.n, round(some.right, 6)) == (30, round(1 / 3, 6))


def test_boosting_sees_combinations() -> None:
    pytest.importorskip("sklearn")
    random = np.random.default_rng(0)
    points = random.integers(0, 2, (4_000, 3)).astype(np.int32)
    values = points[:, 1] ^ points[:, 2]
    found = Boosting(rounds=10).learn(PEOPLE.quasi, points, values, 4).log_chances(points)
    assert found.shape == (4_000, 4)
    assert (found.argmax(axis=1) == values).all()
    plain = NaiveBayes().learn(PEOPLE.quasi, points, values, 4).log_chances(points)
    assert np.mean(plain.argmax(axis=1) == values) < 0.9


def test_boosting_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ParameterError, match="scikit-learn"):
        Boosting().learn(PEOPLE.quasi, PEOPLE.quasi_codes(), PEOPLE.codes["illness"], 8)


def _rows(people: sf.Microdata) -> pa.Table:
    return pa.table({n: a.decode(people.codes[n]) for n, a in people.attributes.items()})
