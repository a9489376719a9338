"""Naive Bayes against its formula, written out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.audits.attacks.naive_bayes import Axes, NaiveBayes
from tests.support.attacks import N_VALUES, planted


def test_chances_are_the_products_of_the_formula() -> None:
    people = planted(300, 0.6, seed=3)
    points, values = people.quasi_codes(), people.codes["illness"]
    learnt = NaiveBayes(weight=2.0, bins=1000).learn(people.quasi, points, values, N_VALUES)
    for person in (0, 17, 299):
        for value in range(N_VALUES):
            expected = np.mean(values == value)
            for axis, attribute in enumerate(people.quasi):
                same = points[:, axis] == points[person, axis]
                share = (same.sum() + 1) / (300 + attribute.size)
                both = np.sum(same & (values == value))
                expected *= (both + 2.0 * share) / (np.sum(values == value) + 2.0)
            found = learnt.log_chances(points[[person]])[0, value]
            assert np.isclose(found, np.log(expected))


def test_ordered_axes_are_cut_evenly_and_a_missing_value_stays_apart() -> None:
    ages = [*range(100), None, None]
    places = pa.array([f"p{i:03}" for i in range(102)])
    table = pa.table({"age": pa.array(ages), "place": places, "x": pa.array(["a", "b"] * 51)})
    people = sf.Microdata.from_arrow(table, sf.Schema(quasi=["age", "place"], sensitive="x"))
    axes = Axes.of(people.quasi, people.quasi_codes(), None, most=10)
    ages_binned = axes.bins[0]
    assert (np.diff(ages_binned) >= 0).all()
    assert np.bincount(ages_binned[:100]).tolist() == [10] * 10
    assert ages_binned[100] == 10
    assert len(np.unique(axes.bins[1])) == 102, "an axis without an order is not cut"
    assert axes.n_rows == 11 + 102


def test_values_that_nobody_has_are_all_but_impossible() -> None:
    people = planted(50, 0.6, seed=3)
    points = people.quasi_codes()
    learnt = NaiveBayes().learn(people.quasi, points, np.zeros(50, np.int32), N_VALUES)
    chances = learnt.log_chances(points)
    assert np.isfinite(chances).all()
    assert (chances.argmax(axis=1) == 0).all()
