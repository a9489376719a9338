"""Prior, posterior and gain, against all ways to hand out the values of tiny groups."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from tests.support.tables import microdata

AGES = [20, 21, 22, 23, 60, 61, 62, 63]
ILL = ["flu", "cold", "gout", "pox", "flu", "cold", "gout", "pox"]
TABLE = microdata({"age": AGES, "ill": ILL}, sensitive=["ill"])
RELEASE = sf.publish(TABLE, sf.Mondrian(), sf.KAnonymity(4))
VALUES = sorted(set(ILL))


def chances(declared: dict[str, float], age: int, below: int) -> dict[str, float]:
    plain = dict.fromkeys(VALUES, 0.25)
    if age >= below:
        return plain
    left = (1 - sum(declared.values())) / (len(VALUES) - len(declared))
    return {one: declared.get(one, left) for one in VALUES}


def by_hand(declared: dict[str, float], below: int) -> tuple[list[float], list[float]]:
    """Each group of four has each value once: all 24 ways, each as likely as its people make it."""
    before, after = [], []
    for group in (range(4), range(4, 8)):
        prior = [chances(declared, AGES[i], below) for i in group]
        ways = [(way, prod(prior[j][way[j]] for j in range(4))) for way in permutations(VALUES)]
        total = sum(weight for _, weight in ways)
        for j, i in enumerate(group):
            before.append(prior[j][ILL[i]])
            after.append(sum(weight for way, weight in ways if way[j] == ILL[i]) / total)
    return before, after


@pytest.mark.parametrize("declared", [{}, {"flu": 0.7}, {"flu": 0.05, "pox": 0.6}])
@pytest.mark.parametrize("below", [21, 23, 62])
def test_a_posterior_counts_every_way_as_it_is_likely(declared: Any, below: int) -> None:
    prior: Any = {f"age < {below}": declared} if declared else "marginals"
    found = sf.gains(RELEASE, TABLE, prior=prior)
    before, after = by_hand(declared, below)
    more = np.array(after) - before
    assert found.before == pytest.approx(np.mean(before))
    assert found.after == pytest.approx(np.mean(after), abs=2e-3)
    assert found.mean == pytest.approx(more.mean(), abs=2e-3)
    assert found.largest == pytest.approx(more.max(), abs=5e-3)


def test_a_release_adds_nothing_to_marginals_where_groups_are_like_the_table() -> None:
    found = sf.gains(RELEASE, TABLE)
    assert (found.before, found.gaining) == (0.25, 0)
    assert found.after == pytest.approx(0.25)
    skewed = microdata({"age": AGES, "ill": ["flu"] * 4 + ["cold"] * 4}, sensitive=["ill"])
    told = sf.gains(sf.publish(skewed, sf.Mondrian(), sf.KAnonymity(4)), skewed)
    assert told.largest == pytest.approx(0.5)
    assert told.gaining == 8
    assert told.to_dict()["quantiles"]["0.5"] == pytest.approx(0.5)
    assert "largest gain is 0.500" in str(told)


def test_a_learner_knows_more_beforehand_and_a_shuffled_table_teaches_nothing() -> None:
    chance = np.random.default_rng(2)
    age = chance.integers(20, 80, 1_200)
    ill = np.where(
        chance.random(1_200) < 0.6, np.array(VALUES)[age // 20 - 1], chance.choice(VALUES, 1_200)
    )
    table = microdata({"age": age, "ill": ill}, sensitive=["ill"])
    release = sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(3), seed=1)
    learner, plain = sf.gains(release, table, prior="learner"), sf.gains(release, table)
    assert learner.people == 600
    assert learner.before > plain.before + 0.15
    mixed = microdata({"age": age, "ill": chance.permutation(ill)}, sensitive=["ill"])
    again = sf.publish(mixed, sf.Anatomize(near=False), sf.LDiversity(3), seed=1)
    assert sf.gains(again, mixed, prior="learner").before < plain.before + 0.05


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ("guess", "'marginals', 'learner'"),
        ({"ill = 'flu'": {"flu": 1.0}}, "by their quasi-identifiers"),
        ({"age < 30": {"plague": 0.5}}, "nobody has the value"),
        ({"age < 30": {"flu": 1.5}}, "no chance"),
        ({"age < 30": {"flu": 0.8, "cold": 0.8}}, "add up to 1.6"),
    ],
)
def test_what_is_no_prior_is_refused(prior: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        sf.gains(RELEASE, TABLE, prior=prior)


def test_releases_without_groups_are_refused() -> None:
    masked = sf.mask(TABLE, sf.Microaggregate(2), seed=1)
    with pytest.raises(ParameterError, match="releases with groups"):
        sf.gains(masked, TABLE)
