from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato_experiments import adult as domains
from sfumato_experiments.data import adult, discrete_skewed, discrete_uniform

ROWS = 10_000


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_DATA", raising=False)


def skewed(sigma: float, seed: int = 0) -> sf.Microdata:
    return discrete_skewed(ROWS, 2, 8, mu=3.5, sigma=sigma, seed=seed)


def shares(table: sf.Microdata) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.bincount(table.quasi_codes().ravel(), minlength=8) / (2 * ROWS)


@pytest.mark.parametrize("table", [discrete_uniform(50, 3, 8, seed=0), skewed(0.05), skewed(9.0)])
def test_values_stay_in_the_domain_and_the_domain_is_whole(table: sf.Microdata) -> None:
    assert all(attribute.values.to_pylist() == list(range(8)) for attribute in table.quasi)
    codes = table.quasi_codes()
    assert codes.min() >= 0
    assert codes.max() <= 7


def test_uniform_values_are_equally_frequent() -> None:
    # 20,000 draws: the standard deviation of a share of 1/8 is 0.0023
    assert np.abs(shares(discrete_uniform(ROWS, 2, 8, seed=1)) - 1 / 8).max() < 0.012


def test_skew_grows_as_sigma_shrinks() -> None:
    concentration = [float(np.square(shares(skewed(s))).sum()) for s in (0.05, 0.1, 0.2, 0.4, 2.0)]
    assert concentration == sorted(concentration, reverse=True)
    assert concentration[0] > 3 * concentration[-1]


def test_a_large_sigma_is_almost_uniform() -> None:
    # clamped values would pile up at the ends instead
    assert np.abs(shares(skewed(5.0)) - 1 / 8).max() < 0.012


def test_sigma_is_a_share_of_the_domain() -> None:
    codes = discrete_skewed(ROWS, 2, 50, mu=25, sigma=0.1, seed=3).quasi_codes()
    assert codes.mean() == pytest.approx(25, abs=0.2)
    # rounding adds 1/12 to the variance
    assert codes.std() == pytest.approx(np.sqrt(5.0**2 + 1 / 12), rel=0.03)


def test_the_attributes_are_independent() -> None:
    first, second = skewed(0.2).quasi_codes().T - 3.5
    assert abs(np.mean(first * second)) < 0.05 * first.std() * second.std()


def test_the_seed_decides() -> None:
    once, again, other = (skewed(0.2, seed).quasi_codes() for seed in (4, 4, 5))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


def test_without_a_folder_adult_is_a_stand_in_that_says_so() -> None:
    table, said = adult(None)
    assert said.startswith("STAND-IN")
    assert table.n_rows == 30_162
    assert table.schema.quasi == domains.ATTRIBUTES
    assert all(attribute.ordered for attribute in table.quasi)
    ages = table.attributes["age"].values.to_numpy()
    assert ages.min() == 17
    assert ages.max() <= 90


def test_the_stand_in_has_adults_shares() -> None:
    counts = pa.compute.value_counts(domains.stand_in(seed=1)["sex"]).to_pylist()
    shares_of = {row["values"]: row["counts"] / domains.ROWS for row in counts}
    assert shares_of["Female"] == pytest.approx(9782 / 30162, abs=0.015)


def test_adult_takes_complete_training_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = domains.stand_in(seed=2, rows=6)
    rows = rows.append_column("split", pa.array(["train"] * 4 + ["test"] * 2))
    rows = rows.append_column("income", pa.array(["<=50K", None, ">50K", ">50K", ">50K", ">50K"]))
    pq.write_table(rows, tmp_path / "adult.parquet")
    table, said = adult(tmp_path)
    assert table.n_rows == 3
    assert said.startswith("Adult")
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert adult(None)[0].n_rows == 3


def test_a_named_folder_without_the_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"adult\.parquet"):
        adult(tmp_path)
