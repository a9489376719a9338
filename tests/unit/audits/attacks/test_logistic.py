"""Logistic regression meets the counts it is given, and is not misled by what is said twice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.kernel import expect
from sfumato.audits.attacks.logistic import Regression
from sfumato.audits.attacks.naive_bayes import Axes, Learnt, counted
from sfumato.audits.attacks.results import Scene
from tests.support.attacks import SCHEMA, anatomized, planted

PEOPLE = planted(2_000, 0.5, seed=1)
POINTS, VALUES = PEOPLE.quasi_codes(), PEOPLE.codes["illness"]


def regression(steps: int) -> tuple[Regression, np.ndarray]:
    axes = Axes.of(PEOPLE.quasi, POINTS, None, 8)
    sums = counted(axes, POINTS, VALUES, PEOPLE.attributes["illness"].size)
    return Regression(axes, axes.rows(POINTS), np.ones(len(POINTS)), 5.0, steps), sums


def test_what_is_expected_is_the_sum_of_everybodys_chances() -> None:
    """Against NumPy, person by person."""
    random = np.random.default_rng(0)
    tables, rows = random.normal(size=(7, 3)), random.integers(0, 7, (20, 2)).astype(np.int32)
    times, found = random.random(20), np.zeros((7, 3))
    expect(tables, rows, times, found)
    expected = np.zeros((7, 3))
    for own, often in zip(rows, times, strict=True):
        chances = np.exp(tables[own].sum(axis=0))
        for row in own:
            expected[row] += often * chances / chances.sum()
    assert np.allclose(found, expected)


def likelihood(learnt: Learnt) -> float:
    scores = learnt.log_chances(POINTS)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return float(scores[np.arange(len(VALUES)), VALUES].sum())


def test_steps_make_what_was_counted_likelier_until_it_is_expected() -> None:
    few, many = regression(1), regression(600)
    first, last = (one.learnt(sums) for one, sums in (few, many))
    assert likelihood(last) > likelihood(first)
    expected, (one, sums) = np.zeros_like(many[1]), many
    expect(last.tables, one.rows, one.times, expected)
    assert np.abs(expected - sums).max() < 0.5


def doubled(people: sf.Microdata, times: int) -> sf.Microdata:
    """One column says the same as many."""
    columns = {name: one.decode(people.codes[name]) for name, one in people.attributes.items()}
    again = {f"place{number}": columns["place"] for number in range(times)}
    quasi = [*SCHEMA.quasi, *again]
    schema = sf.Schema(quasi=quasi, sensitive="illness", kinds={"illness": "categorical"})
    return sf.read(pa.table({**columns, **again}), schema)


def test_it_learns_from_a_release_what_goes_with_what_and_nothing_from_a_shuffled_one() -> None:
    people = doubled(PEOPLE, 2)
    shown = anatomized(people)
    scene = Scene.of(shown, people)
    found = scene.attacked(DeFinetti.by_regression()).right
    assert found > 0.4  # of 1/4 promised
    assert found > scene.attacked(DeFinetti()).right - 0.03
    mixed = planted(2_000, 0.0, seed=3)
    nothing = Scene.of(anatomized(mixed), mixed).attacked(DeFinetti.by_regression())
    assert nothing.right < 0.25 + 4 * nothing.noise


def test_what_the_first_guess_has_blurred_is_sharpened() -> None:
    people = doubled(planted(6_000, 0.35, seed=1), 1)
    scene = Scene.of(anatomized(people), people)
    sharp, blurred = map(scene.attacked, (DeFinetti.by_regression(), DeFinetti(regression=2)))
    assert sharp.surest > blurred.surest
    assert sharp.right > blurred.right
    assert sharp.claimed > 2 * blurred.claimed
