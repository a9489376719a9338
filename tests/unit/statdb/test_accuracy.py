"""Errors of estimates: measured when a database is made, kept through its life, and not public."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.statdb.accuracy import QUESTIONS, ErrorBand, bands_of, measured_errors
from sfumato.statdb.responder import Responder
from tests.support.seeds import long_seed

SCHEMA = sf.Schema(quasi=["x", "y"], sensitive="s")


def people(x: list[int], s: list[int]) -> sf.Microdata:
    return sf.Microdata.from_arrow(pa.table({"x": x, "y": [1] * len(x), "s": s}), SCHEMA)


def correlated(n: int = 3_000) -> sf.Microdata:
    random = np.random.default_rng(2)
    x = random.integers(0, 60, n)
    return people(x.tolist(), ((x // 4 + random.integers(0, 5, n)) % 20).tolist())


def test_who_all_look_alike_are_estimated_exactly() -> None:
    table = people([1] * 60, [i % 6 for i in range(60)])
    bands = measured_errors(Responder.create(table, m=3, seed=1), table, Randomness(1))
    assert sum(band.questions for band in bands) == QUESTIONS
    assert all((band.half, band.most) == (0, 0) for band in bands)


def test_errors_are_those_of_estimates() -> None:
    """One group of two halves: whatever is asked of one, half of the values are expected."""
    table = people([0] * 8 + [1] * 8, [0, 1, 2, 3] * 2 + [4, 5, 6, 7] * 2)
    responder = Responder.create(table, m=8, size=16, seed=1)
    assert responder.stored.kinds == ("groups", 1)
    (band,) = measured_errors(responder, table, Randomness(1))
    # of x = 0 and s = 0 there are two rows, and one is expected; with s from 3 to 4 it is right
    assert (band.share, band.most) == (1.0, 0.5)
    assert band.half in (0.0, 0.5)
    assert band.questions < QUESTIONS  # those that find nobody have no relative error


def test_neighbours_are_less_wrong_and_few_rows_are_more() -> None:
    table = correlated()
    near = measured_errors(Responder.create(table, m=5, seed=1), table, Randomness(1))
    mixed = measured_errors(
        Responder.create(table, m=5, first="signatures", seed=1), table, Randomness(1)
    )
    assert [band[:2] for band in near] == [band[:2] for band in mixed]  # the same questions
    assert near[1].half < mixed[1].half
    assert near[-1].half < near[0].half


@pytest.mark.parametrize("cohort", ["default", 4])
def test_errors_are_kept_for_the_owner(tmp_path: Path, cohort: Any) -> None:
    table, options = correlated(400), {"m": 4, "cohort": cohort, "seed": long_seed(3)}
    db = sf.StatDB.create(tmp_path / "one", table, **options)
    again = sf.StatDB.create(tmp_path / "two", table, **options)
    assert db.errors == again.errors != ()
    assert "errors" not in db.info()
    db.apply(deleted=table.take(np.arange(20)))
    changed = sf.StatDB.open(db.path)
    assert changed.errors == db.errors
    changed.compact()
    assert sf.StatDB.open(db.path).errors == db.errors


def test_the_band_of_an_estimate() -> None:
    few, some, many = (ErrorBand(share, 9, share, share) for share in (0.001, 0.1, 1.0))
    bands = (few, some, many)
    assert bands_of(bands, [], 1_000) == []
    assert bands_of(bands, [0.5, 1.0], 1_000) == [few]
    assert bands_of(bands, [1.5, 900, 99], 1_000) == [some, many]
    assert bands_of((few,), [500], 1_000) == []  # no question found so many
