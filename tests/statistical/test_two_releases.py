"""Why a second release is warned of: two that keep their promise break it together.

The figures are those of docs/guarantees.md.
"""

from __future__ import annotations

from collections import defaultdict
from importlib import resources
from typing import Any

import pytest

import sfumato as sf

Beliefs = dict[tuple[Any, ...], dict[Any, float]]


def patients() -> sf.Microdata:
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        return sf.read(bundled / "patients.csv", sf.read_schema(bundled / "patients.toml"))


def beliefs(table: sf.Microdata, l: int, seed: int) -> Beliefs:
    """What one release tells of everybody by their quasi-identifiers (Theorem 1)."""
    release = sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(l), seed=seed)
    shares: dict[int, dict[Any, float]] = defaultdict(dict)
    for record in release.st.to_pylist():
        shares[record["group_id"]][record["disease"]] = record["count"]
    found: Beliefs = defaultdict(lambda: defaultdict(float))
    for row in release.qit.to_pylist():
        group = shares[row["group_id"]]
        for value, count in group.items():
            found[tuple(row[name] for name in table.schema.quasi)][value] += count / len(group)
    return found


def right(table: sf.Microdata, believed: Beliefs) -> float:
    """The share of people whose disease the best guess names."""
    columns = {n: a.decode(table.codes[n]).to_pylist() for n, a in table.attributes.items()}
    total = 0.0
    for row in range(table.n_rows):
        chances = believed[tuple(columns[name][row] for name in table.schema.quasi)]
        best = max(chances.values())
        likeliest = [value for value, chance in chances.items() if chance >= best * (1 - 1e-9)]
        total += (columns["disease"][row] in likeliest) / len(likeliest)
    return total / table.n_rows


@pytest.mark.parametrize(("l", "together"), [(3, 0.78), (4, 0.58)])
def test_two_releases_add_up(l: int, together: float) -> None:
    table = patients()
    first, second = beliefs(table, l, seed=1), beliefs(table, l, seed=2)
    both = {
        known: {value: chance * second[known].get(value, 0.0) for value, chance in one.items()}
        for known, one in first.items()
    }
    assert right(table, first) == pytest.approx(1 / l, abs=0.01)
    assert right(table, both) == pytest.approx(together, abs=0.03)
    # the same groups once more tell nothing new
    squared = {known: {v: c * c for v, c in one.items()} for known, one in first.items()}
    assert right(table, squared) == pytest.approx(1 / l, abs=0.01)
