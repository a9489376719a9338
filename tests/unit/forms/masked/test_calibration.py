"""Likely intervals of masked releases, on a table that chance alone cannot explain."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.algorithms.masking import Mask
from sfumato.asking.ask import answerer
from sfumato.errors import SchemaError, SfumatoWarning
from sfumato.forms.masked.aggregated import cells, scatter
from sfumato.forms.masked.distortion import distortion_of, intervals_stated, stretch_of
from sfumato.forms.masked.doubt import Doubt
from tests.support.tables import microdata

ROWS = 3_000


def heaped() -> sf.Microdata:
    """Half of the people work exactly 40 hours, and most earn nothing or a lot."""
    chance = np.random.default_rng(11)
    age = chance.integers(18, 80, ROWS)
    hours = np.where(chance.random(ROWS) < 0.5, 40, chance.integers(1, 80, ROWS))
    wages = np.where(age > 40, np.round(np.exp(chance.normal(10, 1, ROWS))), 0).astype(np.int64)
    return microdata({"age": age, "hours": hours, "wages": wages})


TABLE = heaped()
MASKS: dict[str, Mask] = {
    "microaggregate": sf.Microaggregate(5),
    "noise": sf.Noise(0.3),
    "swap": sf.Swap(0.1),
    "synthesize": sf.Synthesize(),
}


def asked() -> list[str]:
    """Two ranges, each from one person's value to another's."""
    chance = np.random.default_rng(8)
    lines = {one.name: np.sort(one.positions[TABLE.codes[one.name]]) for one in TABLE.quasi}
    found = []
    for _ in range(100):
        parts = []
        for name in chance.permutation(list(lines))[:2]:
            low, high = np.sort(chance.choice(lines[str(name)], 2))
            parts.append(f"{name} BETWEEN {low:.0f} AND {high:.0f}")
        found.append(" AND ".join(parts))
    return found


ASKED = asked()


def made(mask: Mask) -> sf.MaskedTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return sf.mask(TABLE, mask, seed=1)


def missed(release: sf.MaskedTable) -> float:
    told = [(TABLE.count(one).estimate, release.count(one).likely) for one in ASKED]
    return float(np.mean([likely is not None and true not in likely for true, likely in told]))


def unstretched(release: sf.MaskedTable) -> sf.MaskedTable:
    promise = (*release.manifest.promise[:-1], intervals_stated([1.0]))
    return replace(release, manifest=replace(release.manifest, promise=promise))


@pytest.mark.parametrize("name", MASKS)
def test_stretched_intervals_hold_the_truth_where_chance_alone_does_not(name: str) -> None:
    release = made(MASKS[name])
    assert missed(release) <= 0.3  # of 100, where 20 are to be expected
    if name in ("microaggregate", "noise"):
        assert missed(unstretched(release)) > 0.4


def test_intervals_are_not_stretched_where_chance_explains_the_errors() -> None:
    assert max(stretch_of(made(MASKS["swap"]).manifest)) < 2
    assert all(one >= 1 for one in stretch_of(made(MASKS["swap"]).manifest))


def test_a_stretch_is_stated_once_and_well_formed() -> None:
    release = made(MASKS["noise"])
    for broken in ([], [0.5], [1.234], [2], [1.0] * 4):
        promise = (*release.manifest.promise[:-1], intervals_stated(broken))
        with pytest.raises(SchemaError, match="how far counts are off"):
            stretch_of(replace(release.manifest, promise=promise))


def test_scatter_adds_up_to_what_is_stated_and_knows_who_has_none() -> None:
    release = made(MASKS["microaggregate"])
    (column,) = [one for one in release.manifest.columns if one.name == "hours"]
    found, stated = scatter(release, column), release.distortions["hours"]
    total = float((found.chance * found.deviation**2).mean())
    assert total == pytest.approx(stated.variance, rel=0.01)
    shown = release.table["hours"].to_numpy()
    origin = release.origin
    assert origin is not None
    hours = TABLE.attributes["hours"].positions[TABLE.codes["hours"]][origin]
    off = np.abs(hours - shown) > 1e-9
    told = found.chance * found.deviation
    assert told[off].mean() > 5 * told[~off].mean()
    # the chance to be off is right on the whole: k - 1 of k rows, or all, of groups that differ
    assert found.chance.mean() == pytest.approx(off.mean(), abs=0.15)


def test_what_is_not_masked_or_only_missing_has_no_doubt() -> None:
    release = made(MASKS["noise"])
    likely = release.count("hours IS NULL").likely
    assert likely is not None
    assert (likely.lo, likely.hi) == (0.0, 0.0)


def test_cells_hold_a_few_neighbours_each() -> None:
    points = np.random.default_rng(2).normal(size=(997, 2))
    cell = cells(points)
    sizes = np.bincount(cell)
    assert sizes.max() <= 6
    assert sizes.min() >= 3
    inside = np.mean([np.ptp(points[cell == one], axis=0) for one in range(len(sizes))])
    shuffled = np.random.default_rng(3).permutation(cell)
    assert inside < 0.2 * np.mean([np.ptp(points[shuffled == one], axis=0) for one in range(50)])


def test_an_interval_that_is_just_far_enough_holds_the_truth() -> None:
    found = Doubt(low=40.0, under=2.0, high=60.0, over=4.0)
    assert [found.away(true) for true in (40, 50, 60)] == [0, 0, 0]
    for true in (31.0, 75.0):
        low, high = found.interval(found.away(true), 1_000)
        assert true in (low, high)
        low, high = found.interval(found.away(true) * 0.99, 1_000)
        assert not low <= true <= high
    assert found.interval(100, 70) == (0.0, 70.0)


def test_releases_that_state_nothing_are_answered_by_chance_alone() -> None:
    release = made(MASKS["noise"])
    bare = replace(
        release, manifest=replace(release.manifest, promise=release.manifest.promise[:-1])
    )
    assert answerer(bare).stretch == (1.0,)  # type: ignore[attr-defined]
    assert distortion_of(bare.manifest.promise[0]).on == "age"
