"""Chances over all ways to hand out values, against listing all the ways."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sfumato.audits.attacks import matching
from sfumato.audits.attacks.frame import Candidates, Lists
from sfumato.audits.attacks.kernel import balance
from sfumato.audits.attacks.matching import likeliest, pins, posterior
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.histograms import Histograms
from tests.support.attacks import grouped, planted
from tests.support.tables import attribute


def listed(scores: Floats, counts: Counts) -> Floats:
    """The chance of every member and value, from each way there is."""
    values = np.repeat(np.arange(len(counts)), counts)
    found = np.zeros(scores.shape)
    for way in set(permutations(values.tolist())):
        rows = np.arange(len(way))
        found[rows, way] += np.exp(scores[rows, way].sum())
    chances: Floats = found / found.sum(axis=1, keepdims=True)
    return chances


def one_group(counts: list[int]) -> Candidates:
    """As many people as values, all in one group."""
    n = sum(counts)
    people = planted(n, 0.5, seed=1)
    codes = np.repeat(np.arange(len(counts)), counts)
    histogram = Histograms.of_groups(attribute(8), codes, np.zeros(n, np.int32), 1)
    return Candidates.of_groups(people, np.zeros(n, np.int32), histogram)


@pytest.mark.parametrize("counts", [[1, 1], [1, 1, 1, 1], [3, 1, 2], [1] * 6])
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_small_groups_are_solved_exactly(counts: list[int], spread: float) -> None:
    candidates = one_group(counts)
    shape = (sum(counts), len(counts))
    scores = np.random.default_rng(len(counts)).normal(0, spread, shape)
    mass = posterior(candidates, scores.ravel()).reshape(shape)
    assert np.allclose(mass, listed(scores, np.array(counts)), atol=1e-12)


def test_scores_beyond_the_range_of_numbers_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_OF_PERSONS", 2**12)
    candidates = one_group([1, 1, 1])
    # everybody prefers the first value by far, and the second person by most
    scores = np.array([[0.0, -2000, -3000], [0.0, -5000, -4000], [0.0, -2500, -2501]])
    mass = posterior(candidates, scores.ravel()).reshape(3, 3)
    assert np.allclose(mass, [[0, 1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("counts", [[1] * 8, [4, 3, 2, 1]])
def test_large_groups_are_scaled_towards_the_truth(
    counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = one_group(counts)
    shape = (sum(counts), len(counts))
    scores = np.random.default_rng(3).normal(0, 1, shape)
    monkeypatch.setattr(matching, "_OF_PERSONS", 2**8)
    exact = posterior(candidates, scores.ravel()).reshape(shape)
    monkeypatch.setattr(matching, "_OF_PERSONS", 1)
    scaled = posterior(candidates, scores.ravel()).reshape(shape)
    assert np.allclose(scaled.sum(axis=1), 1)
    assert np.allclose(scaled.sum(axis=0), counts, atol=1e-2)
    each = np.exp(scores) * counts
    alone = each / each.sum(axis=1, keepdims=True)  # as if values were not handed out
    assert 0 < np.abs(scaled - exact).mean() < np.abs(alone - exact).mean()
    assert scaled.max(axis=1).mean() < exact.max(axis=1).mean(), "less sure than it could be"


def test_overlapping_groups_share_their_people() -> None:
    """Two people, two groups of one row: who fits only one of them leaves the other to both."""
    people = planted(2, 0.5, seed=1)
    everybody = np.arange(2, dtype=np.int32)
    values = Histograms.of_groups(attribute(8), np.array([0, 1]), np.array([0, 1], np.int32), 2)
    candidates = Candidates(
        quasi=people.quasi,
        points=people.quasi_codes(),
        members=Lists.single(everybody),
        totals=np.ones(2, np.int64),
        groups=Lists(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32)),
        values=values,
        claims=Lists.single(everybody),
        subjects=everybody,
        person_points=everybody,
    )
    found = likeliest(candidates, posterior(candidates, np.zeros(3)))
    assert found.values.tolist() == [0, 1]
    assert np.all(found.confidence > 0.95)


def test_a_known_value_is_taken_from_the_others() -> None:
    candidates = one_group([1, 1, 1])
    known = np.array([2, -1, -1])
    found = likeliest(candidates, posterior(candidates, pins(candidates, known)))
    assert found.values[0] == 2
    assert np.allclose(found.confidence, [1, 0.5, 0.5])


def test_people_who_cannot_be_told_apart_share_what_is_known_of_them() -> None:
    people = planted(4, 0.5, seed=1)
    candidates = grouped(people, np.array([0, 0, 1, 1], np.int32))
    together = Candidates(
        quasi=candidates.quasi,
        points=candidates.points,
        members=candidates.members,
        totals=candidates.totals,
        groups=candidates.groups,
        values=candidates.values,
        claims=Lists(np.array([0, 2, 4]), np.array([0, 2, 1, 3], np.int32)),
        subjects=np.array([0, 1, 0, 1], np.int32),
        person_points=candidates.person_points,
    )
    mass = posterior(candidates, np.zeros(len(candidates.cells().slots)))
    found = likeliest(together, mass)
    shares = candidates.values.counts / candidates.values.sizes.repeat(
        np.diff(candidates.values.starts)
    )
    chances = np.bincount(candidates.values.values, shares) / 2
    assert found.values.tolist() == [chances.argmax()] * 4
    assert np.allclose(found.confidence, chances.max())
    told = pins(together, np.array([0, -1, -1, -1]))
    assert not told.any(), "which of the two it is cannot be known"


def test_chances_do_not_depend_on_the_order_of_people() -> None:
    people = planted(40, 0.5, seed=2)
    groups: Codes = np.repeat(np.arange(8, dtype=np.int32), 5)
    order = np.random.default_rng(0).permutation(40)
    knowledge = Favouring()
    one = grouped(people, groups)
    other = grouped(people.take(order), groups[order])
    first = likeliest(one, posterior(one, matching.scored(one, knowledge)))
    second = likeliest(other, posterior(other, matching.scored(other, knowledge)))
    assert (first.values[order] == second.values).all()
    assert np.allclose(first.confidence[order], second.confidence)


class Favouring:
    """Holds a value for the likelier, the nearer it is to the place, by code."""

    def log_chances(self, points: Codes) -> Floats:
        distances: Floats = np.abs(points[:, 1:2] - np.arange(8)).astype(np.float64)
        return -distances


def test_nobody_is_named_without_a_group() -> None:
    people = planted(4, 0.5, seed=1)
    known = grouped(people.take(np.arange(3)), np.zeros(3, np.int32))
    candidates = Candidates.of_groups(people, np.array([0, 0, 0, -1], np.int32), known.values)
    found = likeliest(candidates, posterior(candidates, pins(candidates, None)))
    assert found.values[3] == -1
    assert found.confidence[3] == 0
    assert found.confidence[0] == found.confidence[1] == found.confidence[2] > 0


def test_a_repr_shows_sizes_only() -> None:
    shown = repr(grouped(planted(4, 0.5, seed=1), np.zeros(4, np.int32)))
    assert shown == "Candidates(4 persons, 4 claims, 1 groups)"


def test_a_value_that_hardly_anybody_gives_is_scaled_without_end() -> None:
    """Classes of thousands have scores whose chances are next to nothing, and still a ratio."""
    scores = np.array([0.0, -709.5, 0.0, -709.8])
    scale, mass, counts = np.zeros(2), np.empty(4), np.array([10**6, 10**6])
    starts, slots = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32)
    scores[[1, 3]] -= 30
    balance(scores, np.full(2, 10**6), starts, slots, counts, scale, mass, 200, 1e-9)
    assert np.isfinite(scale).all()
    assert np.isfinite(mass).all()
    assert mass.reshape(2, 2).sum(axis=1) == pytest.approx([10**6] * 2)
    assert mass[1] > mass[0]
