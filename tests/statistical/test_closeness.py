"""t-closeness under attack: unused values of a declared order or tree must not make groups close.

The attacker finds a person's group and says the value that all of its rows have. Where distances
were divided by what is declared, groups of one value passed, and most people were certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.io.writing import write_parquet
from sfumato.models.closeness import TCloseness

N, T = 2_000, 0.2
ILLS = [f"ill {i}" for i in range(6)]
UNUSED = [f"unused {i}" for i in range(100)]
FLAT = {"any": ILLS}
CHAIN: dict[str, Any] = {"step 12": UNUSED[:2]}
for step in range(11, 0, -1):
    CHAIN = {f"step {step}": CHAIN}
DEEP = {"all": {"any": ILLS, **CHAIN}}


def table(**described: Any) -> sf.Microdata:
    """People whose illness goes with their age."""
    chance = np.random.default_rng(3)
    age = chance.integers(0, 60, N)
    ill = np.where(chance.random(N) < 0.9, age // 10, chance.integers(0, 6, N))
    rows = pa.table({"age": age, "zip": chance.integers(0, 50, N), "ill": np.array(ILLS)[ill]})
    return sf.Microdata.from_arrow(
        rows, sf.Schema(quasi=["age", "zip"], sensitive="ill", **described)
    )


def certain(release: sf.GeneralizedTable) -> float:
    """The share of people whose value the attacker knows for sure."""
    ills = release.rows["ill"].to_numpy(zero_copy_only=False)
    order = np.argsort(release.group_of_row, kind="stable")
    groups = np.split(ills[order], np.cumsum(np.bincount(release.group_of_row))[:-1])
    return float(sum(len(group) for group in groups if len(set(group)) == 1) / len(ills))


@dataclass(frozen=True)
class OverTheDeclared:
    """The control: what was promised before, with every declared value a step on the way."""

    t: float = T

    def passes(self, groups: Histograms) -> Flags:
        used, declared = np.count_nonzero(groups.whole), len(groups.whole)
        return TCloseness(0.5, "ordered").distances(groups) * (used - 1) / (declared - 1) <= self.t


DECLARED: dict[str, dict[str, Any]] = {
    "an order": {"orders": {"ill": ILLS + UNUSED}},
    "a tree": {"taxonomies": {"ill": sf.Taxonomy.from_nested(DEEP)}},
}
NEEDED: dict[str, dict[str, Any]] = {
    "an order": {"orders": {"ill": ILLS}},
    "a tree": {"taxonomies": {"ill": sf.Taxonomy.from_nested(FLAT)}},
}


@pytest.mark.parametrize("what", DECLARED)
def test_unused_values_bring_nobody_closer(what: str) -> None:
    padded = sf.publish(table(**DECLARED[what]), sf.Mondrian(), sf.TCloseness(T))
    plain = sf.publish(table(**NEEDED[what]), sf.Mondrian(), sf.TCloseness(T))
    assert certain(padded) == certain(plain) < 0.01
    assert padded.manifest.groups == plain.manifest.groups


def test_the_control_gives_most_people_away() -> None:
    before = sf.publish(table(**DECLARED["an order"]), sf.Mondrian(), OverTheDeclared())
    assert certain(before) > 0.5


@pytest.mark.parametrize("what", DECLARED)
def test_verify_takes_the_values_from_the_tables(what: str, tmp_path: Any) -> None:
    made = sf.publish(table(**DECLARED[what]), sf.Mondrian(), sf.TCloseness(T))
    kept = made.write(tmp_path / "out")
    said = [check.statement for check in sf.verify(kept).require().checks]
    assert any("distance over 6 values" in one for one in said)
    # the same boxes, but every group with one value only
    alike = pa.array(np.array(ILLS)[made.group_of_row % 6])
    broken = made.table.set_column(made.table.column_names.index("ill"), "ill", alike)
    write_parquet(broken, kept / "generalized.parquet")
    failed = [check.statement for check in sf.verify(kept).checks if not check.kept]
    assert any("t-closeness" in one for one in failed)
