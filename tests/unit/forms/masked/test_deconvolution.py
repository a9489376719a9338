"""EM and the two ways back, held against searches of all shares on tiny inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfumato.core.arrays import Floats
from sfumato.forms.masked.deconvolution import Channel, most_likely

MOVED = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.0, 0.3, 0.7]])


def searched(counts: Floats) -> Floats:
    """The likeliest of all shares in steps of a hundredth."""
    shares = np.array(
        [(a, b, 100 - a - b) for a, b in product(range(101), repeat=2) if a + b <= 100]
    )
    likelihood = np.log(np.maximum(shares / 100 @ MOVED, 1e-300)) @ counts
    found: Floats = shares[likelihood.argmax()] / 100
    return found


@pytest.mark.parametrize("counts", [(500, 300, 200), (100, 800, 100), (20, 30, 950), (0, 10, 90)])
def test_em_finds_what_a_search_of_all_shares_finds(counts: tuple[int, int, int]) -> None:
    many = np.array(counts) * 10_000  # where steps end early, they end near
    assert np.abs(most_likely(MOVED, many) - searched(many)).max() < 0.011


def test_em_converges_to_the_truth_as_rows_grow() -> None:
    truth, chance, off = np.array([0.1, 0.6, 0.3]), np.random.default_rng(4), []
    for rows in (1_000, 1_000_000):
        counts = chance.multinomial(rows, truth @ MOVED)
        off.append(np.abs(most_likely(MOVED, counts) - truth).max())
    assert off[1] < 0.01
    assert off[1] < off[0]


def test_chances_are_those_of_bayes_and_add_up() -> None:
    counts = np.array([500, 300, 200])
    channel = Channel.of_counts(MOVED, counts)
    wanted = np.array([1.0, 0.0, 0.0])
    for shown in range(3):
        joint = channel.prior * MOVED[:, shown]
        assert channel.chances(wanted)[shown] == pytest.approx(joint[0] / joint.sum())
    assert counts @ channel.weights(wanted) == pytest.approx(1_000 * channel.prior[0])
    assert np.allclose(channel.chances(np.ones(3)), 1)
    assert np.allclose(channel.weights(np.ones(3)), 1, atol=0.05)


def test_weights_are_right_of_other_rows_too_and_chances_are_not() -> None:
    counts = (np.array([0.5, 0.3, 0.2]) @ MOVED * 1_000_000).round().astype(np.int64)
    channel, wanted = Channel.of_counts(MOVED, counts), np.array([1.0, 0.0, 0.0])
    for true, cell in enumerate(MOVED):
        assert cell @ channel.weights(wanted) == pytest.approx(wanted[true], abs=0.02)
    assert MOVED[0] @ channel.chances(wanted) < 0.8
