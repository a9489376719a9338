"""Closeness through a taxonomy: to the whole table everywhere, the same by rule and by model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.core.randomness import Randomness
from sfumato.models.bound import Bound, compile_rules
from tests.support.models import InPython, needs_of
from tests.support.tables import groups_of

RIGHT = [f"r{i}" for i in range(9)]
ILLS = sf.Taxonomy.from_nested({"any": {"n": ["a", "b"], "s": ["c", "d", "e"]}})
AGES = sf.Taxonomy.from_nested({"all": {"young": [*range(5)], "old": [*range(5, 10)]}})


def table(seed: int, n: int = 150) -> sf.Microdata:
    chance = np.random.default_rng(seed)
    rows = {
        "age": chance.integers(0, 10, n),
        "zip": chance.integers(0, 6, n),
        "ill": chance.choice(list("abcde"), n, p=[0.4, 0.2, 0.2, 0.1, 0.1]),
    }
    schema = sf.Schema(quasi=["age", "zip"], sensitive="ill", taxonomies={"ill": ILLS, "age": AGES})
    return sf.Microdata.from_arrow(pa.table(rows), schema)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "method",
    [
        sf.Mondrian(),
        sf.TopDown(),
        sf.BranchMondrian(),
        sf.LocalRecoding(),
        sf.FullDomain(suppress=0.2),
    ],
    ids=lambda method: method.name,
)
def test_groups_are_close_to_the_table(method: Partitioner, seed: int) -> None:
    # publish looks at every group once more, and raises where one is not
    made = sf.publish(table(seed), method, sf.TCloseness(0.25) & sf.KAnonymity(3))
    assert made.manifest.groups >= 1


def gappy(n: int = 400) -> sf.Microdata:
    """Many values below branches of unlike depth, some of them of nobody, and missing ones."""
    chance = np.random.default_rng(3)
    tree: dict[str, Any] = {
        "any": {
            "wide": [f"w{i:02d}" for i in range(40)],
            "deep": {
                "left": {"low": ["x", "y"], "high": ["z"]},
                "right": [f"r{i}" for i in range(9)],
            },
            "alone": ["q"],
        }
    }
    values = np.array([*(f"w{i:02d}" for i in range(30)), "x", "z", "r3", "r4", "q", None])
    rows = {
        "age": chance.integers(0, 10, n),
        "zip": chance.integers(0, 6, n),
        "other": chance.choice(list("abc"), n),
        "ill": pa.array(chance.choice(values, n).tolist()),
    }
    schema = sf.Schema(
        quasi=["age", "zip"],
        sensitive=["ill", "other"],
        taxonomies={"ill": sf.Taxonomy.from_nested(tree)},
    )
    return sf.Microdata.from_arrow(pa.table(rows), schema)


@pytest.mark.parametrize("t", [0.1, 0.2, 0.35])
@pytest.mark.parametrize(
    "method",
    [sf.Mondrian(), sf.Mondrian(choose="round-robin", cuts="median"), sf.BranchMondrian()],
    ids=["mondrian", "in turn", "branches"],
)
def test_the_rule_makes_the_cuts_that_the_model_makes(method: Partitioner, t: float) -> None:
    people = gappy()
    # the second attribute's histogram stands behind, and its rule has no runs
    model = sf.TCloseness(t, on="ill") & sf.DistinctLDiversity(2, on="other")
    needs, plain = needs_of(model, people), needs_of(InPython(sf.TCloseness(t, on="ill")), people)
    assert compile_rules(Bound.of(needs, people)) is not None
    compiled = method.partition(people, needs, Randomness(0))
    asked = method.partition(people, (*plain, needs[1]), Randomness(0))
    assert groups_of(compiled.groups) == groups_of(asked.groups)
    assert t < 0.3 or compiled.n_groups > 1
