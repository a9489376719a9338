"""Additive noise: its covariances, what it leaves alone, and what it refuses."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.arrays import Floats
from sfumato.errors import DataError, ParameterError, SchemaError
from tests.support.tables import microdata

ROWS = 4_000


def people() -> sf.Microdata:
    chance = np.random.default_rng(1)
    age = chance.integers(20, 80, ROWS)
    income = 300.0 * age + chance.normal(0, 4_000, ROWS)
    return microdata({"age": age, "income": income, "sex": chance.choice(["F", "M"], ROWS)})


def added(release: sf.MaskedTable, table: sf.Microdata, *names: str) -> Floats:
    assert release.origin is not None
    true = [table.attributes[n].positions[table.codes[n]][release.origin] for n in names]
    return np.array([release.table[n].to_numpy() for n in names]) - np.array(true)


TABLE = people()
BOTH = ("age", "income")


def correlation(columns: Any) -> float:
    found: Floats = np.asarray(np.corrcoef(columns))
    return float(found[0, 1])


def masked(*given: Any, **named: Any) -> sf.MaskedTable:
    with pytest.warns(sf.errors.SfumatoWarning, match="sex: published as they are"):
        return sf.mask(TABLE, sf.Noise(*given, **named), seed=2)


def test_independent_noise_has_the_widths_of_the_values() -> None:
    noise = added(masked(0.5), TABLE, *BOTH)
    true = TABLE.attributes["age"].positions[TABLE.codes["age"]]
    assert noise[0].std() == pytest.approx(0.5 * true.std(), rel=0.05)
    assert abs(correlation(noise)) < 0.06
    # normal: 68 and 95 of 100 lie within one and two deviations
    assert np.mean(np.abs(noise[0]) < noise[0].std()) == pytest.approx(0.683, abs=0.03)
    assert np.mean(np.abs(noise[0]) < 2 * noise[0].std()) == pytest.approx(0.954, abs=0.015)


def test_correlated_noise_keeps_correlations_and_independent_noise_does_not() -> None:
    columns = [TABLE.attributes[n].positions[TABLE.codes[n]] for n in BOTH]
    truth = correlation(columns)
    shown = {
        tied: correlation([masked(1.0, tied).table[n].to_numpy() for n in BOTH])
        for tied in (True, False)
    }
    assert shown[True] == pytest.approx(truth, abs=0.03)
    assert shown[False] < truth - 0.2
    for tied in (True, False):
        assert masked(1.0, tied).correlation(*BOTH) == pytest.approx(truth, abs=0.07)


def test_what_is_stated_is_what_was_added() -> None:
    release = masked(0.5, True)
    stated = release.distortions["age"].spread
    covariance = np.cov(added(release, TABLE, *BOTH))
    assert stated["age"] == pytest.approx(covariance[0, 0], rel=0.1)
    assert stated["income"] == pytest.approx(covariance[0, 1], rel=0.1)


def test_chance_is_secret_unless_a_seed_decides() -> None:
    few = TABLE.of_quasi(BOTH)
    one, same, other = (sf.mask(few, sf.Noise(), seed=seed).table for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    assert not sf.mask(few, sf.Noise()).table.equals(sf.mask(few, sf.Noise()).table)


def test_last_digits_do_not_tell_which_sums_can_have_made_a_number() -> None:
    few = microdata({"x": np.random.default_rng(3).normal(0, 1, 200)})
    shown = sf.mask(few, sf.Noise(0.5)).table["x"].to_numpy()
    assert np.allclose(shown, np.round(shown, 3), rtol=0, atol=1e-12)


def test_dates_are_dates_and_missing_values_stay_missing() -> None:
    days: list[dt.date | None] = [dt.date(1950 + i % 50, 3, 1 + i % 28) for i in range(200)]
    days[7] = None
    table = microdata({"born": pa.array(days), "x": pa.array([None, *range(199)], pa.int64())})
    release = sf.mask(table, sf.Noise(0.2))
    assert release.table["born"].type == pa.date32()
    assert release.table["born"].null_count == release.table["x"].null_count == 1
    assert release.count("born IS NULL").likely == sf.Likely(0.8, 1.0, 1.0)
    with pytest.raises(ParameterError, match="leaves most dates"):
        sf.mask(table, sf.Noise(1e-6, columns=("born",)))


def test_constants_and_large_values() -> None:
    table = microdata({"same": [5] * 50, "big": [10.0**150 * i for i in range(50)]})
    release = sf.mask(table, sf.Noise())
    assert release.table["same"].to_pylist() == [5.0] * 50
    assert release.variance("same") == 0
    assert release.count("same = 5").estimate == 50
    assert release.count("same <= 4").estimate == 0
    assert np.isfinite(release.table["big"].to_numpy()).all()
    with pytest.raises(DataError, match="too large to be squared"):
        sf.mask(microdata({"big": [1e200, -1e200, 3.0]}), sf.Noise())
    with pytest.raises(DataError, match="infinite"):
        sf.mask(microdata({"big": [1.0, float("inf"), 3.0]}), sf.Noise())


@pytest.mark.parametrize(
    ("values", "amount", "said"),
    [
        ([i * 1e-200 for i in range(50)], 0.5, "too small to be squared"),
        ([i * 5e-324 for i in range(50)], 100.0, "too small to be squared"),
        ([2**62 + i for i in range(50)], 0.5, "finer than doubles that large can show"),
        ([1e15 + i for i in range(50)], 1e-9, "finer than doubles that large can show"),
    ],
)
@pytest.mark.parametrize("correlated", [False, True])
def test_noise_that_would_leave_values_as_they_are_is_refused(
    values: list[float], amount: float, said: str, correlated: bool
) -> None:
    """Squares that are 0 once made noise of width 0, and every value was published."""
    table = microdata({"x": values, "y": list(range(50))})
    with pytest.raises(DataError, match=said):
        sf.mask(table, sf.Noise(amount, correlated))
    with pytest.raises(DataError, match=said):
        sf.mask(table.of_quasi(["x"]), sf.Noise(amount, correlated))


def test_noise_stays_within_the_calendar() -> None:
    days = [dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 20
    for kind in (pa.date32(), pa.date64()):
        with pytest.raises(ParameterError, match="beyond the years 1 and 9999"):
            sf.mask(microdata({"born": pa.array(days, kind)}), sf.Noise(0.3))


@pytest.mark.parametrize("amount", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_amounts_that_are_none(amount: float) -> None:
    with pytest.raises(ParameterError, match="must lie above 0"):
        sf.Noise(amount)


def test_noise_on_what_takes_none() -> None:
    for columns, said in ((("sex",), "swap such values"), (("height",), "no column 'height'")):
        with pytest.raises(SchemaError, match=said):
            sf.mask(TABLE, sf.Noise(columns=columns))
    with pytest.raises(ParameterError, match="named twice"):
        sf.mask(TABLE, sf.Noise(columns=("age", "age")))
    with pytest.raises(SchemaError, match="no column to add noise to"):
        sf.mask(TABLE.of_quasi(["sex"]), sf.Noise())
