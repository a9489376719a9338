"""Behind noise and masks: attackers find what is there, and their controls find nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.audit.findings import Finding
from sfumato.audits.masking.guessing import NEIGHBOURS, guessed, values_of
from tests.support.attacks import planted

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")

PEOPLE, OTHERS = planted(1_200, 0.5, seed=1), planted(1_200, 0.5, seed=2)
NOTHING = planted(1_200, 0.0, seed=3)


def attacked(release: Any, people: sf.Microdata, attack: str, **more: Any) -> Finding:
    (one,) = sf.audit(release, people, attacks=[attack], seed=3, **more).findings
    return one


@pytest.mark.parametrize("others", [None, OTHERS], ids=["half", "others"])
def test_who_has_studied_others_reads_through_noise_better_than_frequencies_do(
    others: sf.Microdata | None,
) -> None:
    release = sf.perturb(PEOPLE, m=2, seed=1)
    told = attacked(release, PEOPLE, "learner", others=others)
    plain = attacked(release, PEOPLE, "linkage")
    assert told.outcome.attacker.right > plain.outcome.attacker.right + 0.05
    assert told.outcome.attacker.right > told.outcome.baseline
    assert told.outcome.valid
    assert told.outcome.control is not None
    assert told.outcome.control.right < 0.25


def test_where_nothing_can_be_studied_noise_keeps_its_promise() -> None:
    one = attacked(sf.perturb(NOTHING, m=4, seed=1), NOTHING, "learner")
    assert one.verdict == "held"
    assert one.outcome.attacker.right < 0.25 + 4 * one.outcome.attacker.noise


@pytest.mark.parametrize("way", [sf.Microaggregate(5), sf.Noise(0.3), sf.Swap(0.05)], ids=repr)
def test_nearest_rows_name_values_and_those_of_others_do_not(way: Any) -> None:
    one = attacked(sf.mask(PEOPLE, way, seed=1), PEOPLE, "nearest rows")
    assert one.verdict == "not promised"
    assert one.outcome.valid
    assert one.outcome.control is not None
    assert one.outcome.attacker.right > one.outcome.control.right + 0.25
    blind = attacked(sf.mask(NOTHING, way, seed=1), NOTHING, "nearest rows")
    own_row = 0.45 if not isinstance(way, sf.Microaggregate) else 0.35
    assert blind.outcome.attacker.right < one.outcome.attacker.right
    assert blind.outcome.attacker.right < own_row + 0.2


def test_the_commonest_value_is_counted_by_a_loop() -> None:
    release = sf.mask(PEOPLE, sf.Noise(0.3), seed=1)
    values = values_of(release, PEOPLE, "illness")
    some = np.arange(40)
    every = guessed(release, known_people(PEOPLE), values.shown, some)
    assert len(every) == len(NEIGHBOURS)
    ages = np.array(PEOPLE.attributes["age"].positions[PEOPLE.codes["age"]])
    lines = release.table.to_pylist()
    texts = {n: PEOPLE.attributes[n].decode(PEOPLE.codes[n]).to_pylist() for n in ("place", "job")}
    for person in some.tolist():
        apart = [
            ((ages[person] - line["age"]) / ages.std()) ** 2
            + sum(texts[name][person] != line[name] for name in texts)
            for line in lines
        ]
        ten = np.argsort(apart, kind="stable")[:10]
        counts = np.bincount(values.shown[ten])
        place = NEIGHBOURS.index(10)
        assert counts[every[place].values[person]] == counts.max()
        assert every[place].confidence[person] == pytest.approx(counts.max() / 10)


def test_promised_groups_of_masks_are_held_against_who_looks_for_a_row(tmp_path: Path) -> None:
    release = sf.mask(PEOPLE, sf.Microaggregate(5), seed=1)
    here = attacked(release, PEOPLE, "linkage")
    there = attacked(release.write(tmp_path / "out", experiment=True), PEOPLE, "linkage")
    assert here.outcome.bound == there.outcome.bound == 0.2
    assert here.verdict == there.verdict == "held"
    assert here.outcome.attacker.right <= there.outcome.attacker.right <= 0.2
    assert release.origin is not None
    exact = pa.table(
        {
            name: PEOPLE.attributes[name].decode(codes[release.origin])
            for name, codes in PEOPLE.codes.items()
        }
    ).select(release.table.column_names)
    control = attacked(replace(release, table=exact), PEOPLE, "linkage")
    assert control.verdict == "beaten"


def test_whose_a_row_is_stands_in_no_file(tmp_path: Path) -> None:
    release = sf.mask(PEOPLE, sf.Noise(0.3), seed=1)
    assert attacked(release, PEOPLE, "linkage").verdict == "not promised"
    written = release.write(tmp_path / "out", experiment=True)
    found = sf.audit(written, PEOPLE, attacks=["linkage"], seed=1)
    assert "stands in no file" in found.not_run["linkage"]
    drawn = sf.audit(sf.mask(PEOPLE, sf.Synthesize(), seed=1), PEOPLE, seed=1)
    assert [one.name for one in drawn.findings] == ["nearest rows"]
