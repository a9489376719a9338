"""Swapping by ranks: how far, what stays, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.masking._swapping import partners
from sfumato.algorithms.masking.swap import widths
from sfumato.core.arrays import Counts, Floats
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning
from sfumato.forms.masked.swapped import mixed
from tests.support.tables import microdata


def swapped(n: int, width: int, seed: int = 1) -> Counts:
    words = np.random.default_rng(seed).integers(0, 2**63, n).astype(np.uint64)
    return partners(np.array([0, n]), np.array([width]), words)


def plain(n: int, width: int, words: list[int]) -> list[int]:
    """Moore's steps, looking at all rows ahead; one of two rows that are alone stays."""
    to, free = list(range(n)), set(range(n))
    for at in range(n):
        if at not in free:
            continue
        free.remove(at)
        ahead = [one for one in range(at + 1, min(n, at + width + 1)) if one in free]
        if ahead:
            other = ahead[words[at] % len(ahead)]
            free.remove(other)
            to[at], to[other] = other, at
    return to


@pytest.mark.parametrize(("n", "width"), [(2, 1), (7, 2), (100, 10), (101, 100), (5_000, 250)])
def test_pairs_exchange_within_reach(n: int, width: int) -> None:
    to = swapped(n, width)
    assert np.array_equal(to[to], np.arange(n))
    assert np.abs(to - np.arange(n)).max() <= width
    assert (to != np.arange(n)).mean() > 0.9 or n < 10


def test_each_row_in_reach_is_as_likely_as_in_the_plain_steps() -> None:
    chance = np.random.default_rng(2)
    ours, theirs = np.zeros((6, 6)), np.zeros((6, 6))
    for _ in range(20_000):
        words = chance.integers(0, 2**40, 6).astype(np.uint64)
        ours[np.arange(6), partners(np.array([0, 6]), np.array([3]), words)] += 1
        theirs[np.arange(6), plain(6, 3, chance.integers(0, 2**40, 6).tolist())] += 1
    assert np.abs(ours - theirs).max() < 5 * np.sqrt(20_000 / 2)
    assert np.abs(ours - theirs.T[::-1]).max() > 5 * np.sqrt(20_000 / 2)  # and not of any others


def test_distances_are_those_that_counts_are_corrected_by() -> None:
    n, width = 200_000, 1_000
    to = swapped(n, width)
    middle = slice(2 * width, n - 2 * width)
    apart = np.abs(to - np.arange(n))[middle] / width
    found = np.histogram(apart, np.linspace(0, 1, 11))[0] / len(apart)
    told = np.diff(2 ** np.linspace(0, 1, 11) - 1)
    assert np.abs(found - told).max() < 0.004
    assert np.abs(found - 0.1).max() > 0.02  # not all distances are as frequent


def test_mixed_cells_are_what_swapping_does_to_them() -> None:
    n, cells = 60_000, 20
    chances = mixed(np.full(cells, 1 / cells), 0.2)
    assert np.allclose(chances.sum(axis=0), 1, atol=1e-6)
    true, shown = np.arange(n) * cells // n, swapped(n, n // 5) * cells // n
    found = np.zeros((cells, cells))
    np.add.at(found, (true, shown), cells / n)
    assert np.abs(found - chances)[:13].max() < 0.03
    assert np.abs(found - chances).max() < 0.09  # at the end few are left to swap with


def people(rows: int = 1_000) -> sf.Microdata:
    chance = np.random.default_rng(7)
    age = chance.integers(20, 80, rows)
    income = pa.array(300.0 * age + chance.normal(0, 4_000, rows), mask=chance.random(rows) < 0.05)
    columns = {"age": age, "income": income, "town": chance.choice(list("ABC"), rows)}
    return microdata(columns | {"dose": age / 9 + chance.normal(0, 3, rows)}, sensitive=["dose"])


TABLE = people()


def made(mask: sf.Swap, seed: int | None = 4) -> sf.MaskedTable:
    """What is said of columns that stay exact is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*published as they are, so people.*")
        return sf.mask(TABLE, mask, seed=seed)


def ranks_apart(release: sf.MaskedTable, table: sf.Microdata, name: str) -> Counts:
    """How many ranks the true value lies outside of those of the shown one."""
    assert release.origin is not None
    true: Floats = table.attributes[name].positions[table.codes[name]]
    shown, own, line = release.table[name].to_numpy(), true[release.origin], np.sort(true)
    first, last = np.searchsorted(line, shown), np.searchsorted(line, shown, "right")
    low, high = np.searchsorted(line, own), np.searchsorted(line, own, "right")
    found: Counts = np.maximum(low - last, first - high)
    return found


@pytest.mark.parametrize("reach", [0.01, 0.1, 1.0])
def test_values_come_from_within_reach_and_all_stay(reach: float) -> None:
    release = made(sf.Swap(reach, columns=("age",)))
    age = TABLE.attributes["age"].positions[TABLE.codes["age"]]
    assert np.array_equal(np.sort(release.table["age"].to_numpy()), np.sort(age))
    assert ranks_apart(release, TABLE, "age").max() <= reach * 1_000
    control = made(sf.Swap(1.0, columns=("age",)))
    assert ranks_apart(control, TABLE, "age").max() > 500


def test_groups_keep_their_values_and_all_counts_by_them() -> None:
    release = made(sf.Swap(1.0, inside=("town",)))
    for town in "ABC":
        asked = f"town = '{town}' AND age < 40"
        assert release.count(asked).estimate == pytest.approx(TABLE.count(asked).estimate)
    free = made(sf.Swap(1.0, columns=("age",)))
    shown = free.table.to_pylist()
    assert sum(1 for row in shown if row["town"] == "A" and row["age"] < 40) != (
        TABLE.count("town = 'A' AND age < 40").estimate
    )


def test_covariances_that_were_lost_are_restored_with_exact_columns_too() -> None:
    release = made(sf.Swap(0.4))
    frame = {n: TABLE.attributes[n].decode(TABLE.codes[n]).to_numpy(False) for n in
             ("age", "income", "dose")}  # fmt: skip
    for one, other in (("age", "income"), ("age", "dose"), ("income", "dose")):
        a, b = (frame[name].astype(float) for name in (one, other))
        known = ~np.isnan(a) & ~np.isnan(b)
        truth: Any = np.corrcoef(a[known], b[known])[0, 1]
        shown = sf.MaskedTable(release.table, made(sf.Swap(0.4)).manifest)
        assert shown.correlation(one, other) == pytest.approx(truth, abs=0.01)
        x, y = (release.table[name].to_numpy() for name in (one, other))
        both = ~np.isnan(x) & ~np.isnan(y)
        assert np.corrcoef(x[both], y[both])[0, 1] < truth - 0.05
    assert release.variance("age") == pytest.approx(frame["age"].var())


def test_missing_values_are_swapped_and_stay_as_many() -> None:
    release = made(sf.Swap(0.5, columns=("income",)), 1)
    missing = TABLE.codes["income"] == TABLE.attributes["income"].missing_code
    assert release.table["income"].null_count == missing.sum()
    assert release.origin is not None
    assert not np.array_equal(release.table["income"].is_null(), missing[release.origin])


def test_chance_is_secret_unless_a_seed_decides() -> None:
    one, same, other = (sf.mask(TABLE, sf.Swap(), seed=seed).table for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    assert not sf.mask(TABLE, sf.Swap()).table.equals(sf.mask(TABLE, sf.Swap()).table)


def test_constants_and_large_values() -> None:
    table = microdata({"same": [5] * 50, "big": [10.0**150 * i for i in range(50)]})
    release = sf.mask(table, sf.Swap(), seed=1)
    assert release.count("same = 5").estimate == pytest.approx(50)
    assert release.count("big < 0").estimate == pytest.approx(0)


def test_bad_use_is_told() -> None:
    with pytest.raises(DataError, match="two rows or more"):
        sf.mask(TABLE.take(np.array([3])), sf.Swap())
    with pytest.raises(ParameterError, match=r"at least 0\.001"):
        sf.mask(TABLE, sf.Swap(1e-5))
    for reach in (0.0, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="share of all ranks"):
            sf.Swap(reach)
    with pytest.raises(SchemaError, match="inside groups that are equal on it"):
        sf.mask(TABLE, sf.Swap(inside=("age",), columns=("age",)))
    with pytest.raises(SchemaError, match="no column 'height' to swap inside"):
        sf.mask(TABLE, sf.Swap(inside=("height",)))
    with pytest.warns(SfumatoWarning, match="alone on income"):
        made(sf.Swap(inside=("income",)))
    assert widths(np.array([3, 50]), 0.1).tolist() == [1, 5]
