"""Distance linkage and interval disclosure, held against loops, with controls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.masking.unseen import halves
from sfumato.errors import DataError, ParameterError
from tests.support.tables import microdata


def table(rows: int = 60) -> sf.Microdata:
    chance = np.random.default_rng(9)
    return microdata({"age": chance.integers(20, 90, rows), "sex": chance.choice(["F", "M"], rows)})


def by_hand(release: sf.MaskedTable, true: sf.Microdata) -> float:
    assert release.origin is not None
    ages = true.attributes["age"].positions[true.codes["age"]]
    unit, right = ages.std(), 0.0
    sexes = true.attributes["sex"].decode(true.codes["sex"]).to_pylist()
    for place, row in enumerate(release.origin):
        apart = [
            ((ages[row] - line["age"]) / unit) ** 2 + (sexes[row] != line["sex"])
            for line in release.table.to_pylist()
        ]
        near = np.flatnonzero(np.array(apart) <= min(apart) + 1e-9)
        right += (place in near) / len(near)
    return right / len(release.origin)


def test_linkage_is_what_a_loop_finds() -> None:
    people = table()
    release = sf.mask(people, sf.Microaggregate(3))
    assert sf.masking_risk(release, people).linked == pytest.approx(by_hand(release, people))


def test_rows_that_are_alike_hide_each_other_and_exact_ones_do_not() -> None:
    people = table(300)
    release = sf.mask(people, sf.Microaggregate(6))
    found = sf.masking_risk(release, people)
    assert found.linked <= 1 / 6
    assert found.near["age"] > found.near_blindly["age"]
    assert release.origin is not None
    exact = pa.table(
        {
            one.name: one.decode(people.codes[one.name][release.origin])
            for one in people.attributes.values()
        }
    )
    control = sf.masking_risk(replace(release, table=exact), people)
    assert control.linked > 2 * found.linked
    assert control.near["age"] == 1.0


def test_intervals_by_hand() -> None:
    people = microdata({"age": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]})
    release = sf.mask(people, sf.Microaggregate(5))  # shows 30 and 80
    near = sf.masking_risk(release, people, width=0.11).near["age"]
    assert near == pytest.approx(0.6)  # 20, 30, 40 and 70, 80, 90


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    people = table()
    release = sf.mask(people, sf.Microaggregate(3))
    with pytest.raises(ParameterError, match="width must lie"):
        sf.masking_risk(release, people, width=1.5)
    with pytest.raises(DataError, match="give the table"):
        sf.masking_risk(release, table(50))
    back = sf.load(release.write(tmp_path / "out"))
    with pytest.raises(ParameterError, match="stands in no file"):
        sf.masking_risk(back, people)  # type: ignore[arg-type]


def test_synthetic_rows_are_measured_by_people_whom_the_model_has_seen() -> None:
    people = table(600)
    found = sf.masking_risk(sf.mask(people, sf.Synthesize()), people)
    assert found.drawn
    assert abs(found.linked - found.linked_blindly) < 0.1


def test_a_model_that_knows_its_people_by_heart_is_found_out() -> None:
    class Parrot(sf.Synthesize):
        """Shows the rows themselves."""

        def masked(self, table: sf.Microdata, randomness: Any) -> Any:
            found = super().masked(table, randomness)
            shown = {one.name: one.decode(table.codes[one.name]) for one in table.quasi}
            return replace(found, columns=shown)

    chance = np.random.default_rng(9)
    people = microdata({"x": chance.normal(size=600), "y": chance.normal(size=600)})
    seen, unseen = halves(people, Parrot(), 0.05)
    assert seen.linked > 0.99
    assert unseen.linked < 0.8
    honest = halves(people, sf.Synthesize(), 0.05)
    assert abs(honest[0].linked - honest[1].linked) < 0.12
