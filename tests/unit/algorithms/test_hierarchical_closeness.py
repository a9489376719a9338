"""Closeness through a taxonomy has no compiled rule; it is to the whole table there, too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner

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
