"""One seed for two releases: what stands at the same place in both must not be the same person's.

The attacker lays two published tables side by side and takes row i of one for row i of the other.
Short seeds are the control: there it is, and the attack opens the table.
"""

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.seeds import Seed
from tests.support.seeds import long_seed
from tests.support.tables import microdata

ROWS, L = 600, 3


def table(first: int = 0) -> sf.Microdata:
    """Person i is as old as their row says, so that the truth is known from what is shown."""
    random = np.random.default_rng(9)
    ages = np.arange(first, first + ROWS)
    rows = {"age": ages, "disease": random.choice(list("abcdef"), ROWS), "visit": ages}
    return microdata(rows, quasi=["age"], sensitive=["disease"], insensitive=["visit"])


def aligned(one: Any, other: Any) -> float:
    """The share of rows that are about the same person as the other table's at their place."""
    return float(np.mean(one.to_numpy() == other.to_numpy()))


@pytest.mark.parametrize("seed", [7, long_seed(7)])
def test_boxes_and_exact_values_with_one_seed(seed: Seed) -> None:
    """Boxes have an order of their own, also with a short seed."""
    boxes = sf.publish(table(), sf.Mondrian(), sf.LDiversity(L), seed=seed)
    apart = sf.publish(table(), sf.Mondrian(), sf.LDiversity(L), form="anatomized", seed=seed)
    # whoever is at a place: the age of one table beside the disease of the other
    assert aligned(boxes.table["visit"], apart.qit["age"]) < 0.05


@pytest.mark.parametrize(("seed", "opened"), [(7, True), (long_seed(7), False)])
def test_two_forms_with_one_seed(seed: Seed, opened: bool) -> None:
    apart = sf.publish(table(), sf.Mondrian(), sf.LDiversity(L), form="anatomized", seed=seed)
    mixed = sf.publish(table(), sf.Mondrian(), sf.LDiversity(L), form="permuted", seed=seed)
    share = aligned(apart.qit["age"], mixed.table["age"])
    assert share == 1 if opened else share < 0.05


@pytest.mark.parametrize(("seed", "opened"), [(7, True), (long_seed(7), False)])
def test_two_perturbations_with_one_seed(seed: Seed, opened: bool) -> None:
    little = sf.perturb(table(), p=0.3, seed=seed).table
    much = sf.perturb(table(), p=0.6, seed=seed).table
    share = aligned(little["visit"], much["visit"])
    assert share == 1 if opened else share < 0.05


def test_another_table_is_shuffled_otherwise() -> None:
    def visits(first: int) -> Any:
        made = sf.publish(table(first), sf.Mondrian(), sf.LDiversity(L), seed=long_seed(7))
        return made.table["visit"]

    assert aligned(visits(0), visits(0)) == 1
    shifted = visits(1000).to_numpy() - 1000  # equal codes, other values
    assert float(np.mean(visits(0).to_numpy() == shifted)) < 0.05
