"""People whose values can partly be seen in what is known of them, and groups to hide them in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.audits.attacks.frame import Candidates
from sfumato.core.arrays import Codes
from sfumato.core.histograms import Histograms
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements

N_VALUES = 8
SCHEMA = sf.Schema(
    quasi=["age", "place", "job"], sensitive="illness", kinds={"illness": "categorical"}
)


def planted(n: int, strength: float, seed: int) -> sf.Microdata:
    """``place`` and ``job`` show the illness with some probability; ``age`` says little."""
    random = np.random.default_rng(seed)
    illness = random.integers(0, N_VALUES, n)

    def showing(names: str) -> pa.Array:
        seen = np.where(random.random(n) < strength, illness, random.integers(0, N_VALUES, n))
        return pa.array([f"{names}{code}" for code in seen])

    columns = {
        "age": pa.array(20 + 4 * (illness % 2) + random.integers(0, 60, n)),
        "place": showing("p"),
        "job": showing("j"),
        "illness": pa.array([f"i{code}" for code in illness]),
    }
    return sf.Microdata.from_arrow(pa.table(columns), SCHEMA)


def anatomized(people: sf.Microdata, seed: int = 0, l: int = 4) -> Candidates:
    """Everybody in a group of l or a few more different values, as an anatomized release shows."""
    needs = requirements(sf.LDiversity(l), people.schema)
    return grouped(
        people, sf.Anatomize(near=False).partition(people, needs, Randomness(seed)).groups
    )


def grouped(people: sf.Microdata, groups: Codes) -> Candidates:
    """Everybody in known groups."""
    name = people.schema.sensitive[0]
    values = Histograms.of_groups(
        people.attributes[name], people.codes[name], groups, int(groups.max()) + 1
    )
    return Candidates.of_groups(people, groups, values)
