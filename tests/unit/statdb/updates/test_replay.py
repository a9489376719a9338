"""What an attacker makes of a change is found out before it is written, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.arrays import Codes, Counts
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, SfumatoWarning
from sfumato.statdb import updates
from sfumato.statdb.layout.signatures import Signature
from sfumato.statdb.updates import neighbours
from sfumato.statdb.updates.replay import Arrivals, guessed, is_exposing, require_hidden
from tests.support.seeds import long_seed

M, VALUES = 5, 20
SCHEMA = sf.Schema(quasi=["age"], sensitive="s", orders={"s": list(range(VALUES))})
KINDS: list[dict[str, Any]] = [{}, {"cohort": 8}]


def rows(ages: Any, values: Any) -> sf.Microdata:
    return sf.Microdata.from_arrow(pa.table({"age": ages, "s": values}), SCHEMA)


def skewed(n: int, seed: int) -> Counts:
    """Values from nearly 1/m downwards."""
    shares = np.minimum(1 / np.arange(1, VALUES + 1), 0.18)
    shares = np.minimum(shares / shares.sum(), 0.18)
    return np.random.default_rng(seed).choice(VALUES, n, p=shares / shares.sum())


def made(place: Path, **kind: Any) -> sf.StatDB:
    table = rows(np.arange(600), skewed(600, 1))
    return sf.StatDB.create(place / "db", table, m=M, seed=long_seed(1), **kind)


@pytest.mark.parametrize("kind", KINDS, ids=["neighbours", "cohorts"])
def test_newcomers_who_hide_among_each_other_are_guessed_at_1_in_m(
    kind: dict[str, Any], tmp_path: Path
) -> None:
    done = made(tmp_path, **kind).apply(rows(np.arange(1000, 1400), skewed(400, 2)))
    assert done.inserted == 400
    assert done.guessed <= 1 / M + 0.02
    assert not done.exposing


@pytest.mark.parametrize("kind", KINDS, ids=["neighbours", "cohorts"])
def test_so_are_those_who_come_alone_if_they_are_like_the_others(
    kind: dict[str, Any], tmp_path: Path
) -> None:
    db = made(tmp_path, **kind)
    with pytest.warns(SfumatoWarning, match="came in at once"):
        done = db.apply(rows(np.arange(1000, 1400), skewed(400, 2)), accept_exposure=True)
    assert 0.1 < done.guessed < 0.3
    assert not done.exposing


def test_newcomers_unlike_the_others_are_found_and_told_of(tmp_path: Path) -> None:
    """All of them have the rarest value; the owner has accepted that."""
    db = made(tmp_path, cohort=8)
    with pytest.warns(SfumatoWarning, match="guessed right by nothing but the frequencies"):
        done = db.apply(rows(np.arange(1000, 1050), np.full(50, VALUES - 1)), accept_exposure=True)
    assert done.exposing
    assert done.guessed > 0.6


def _most_frequent(
    frequencies: Counts, values: Codes, m: int, _randomness: Randomness
) -> list[Signature]:
    """A rule for counterfeits that looks harmless: values that many have anyhow."""
    order = np.argsort(-frequencies, kind="stable")
    return [
        tuple(sorted([value, *order[order != value][: m - 1].tolist()]))
        for value in values.tolist()
    ]


@pytest.mark.parametrize(
    ("kind", "module"), [({}, neighbours), ({"cohort": 8}, updates)], ids=["neighbours", "cohorts"]
)
def test_a_planted_rule_for_counterfeits_is_found(
    kind: dict[str, Any], module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "drawn_lists", _most_frequent)
    db = made(tmp_path, **kind)
    with pytest.warns(SfumatoWarning, match="guessed right by nothing but the frequencies"):
        done = db.apply(rows(np.arange(1000, 1400), skewed(400, 2)), accept_exposure=True)
    assert done.exposing


def test_lists_that_tell_are_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(_f: Counts, values: Codes, _m: int, _r: Randomness) -> list[Signature]:
        return [(value, *[(value + 1) % VALUES] * (M - 1)) for value in values.tolist()]

    monkeypatch.setattr(neighbours, "drawn_lists", short)
    db = made(tmp_path)
    with pytest.raises(DataError, match="as it was"):
        db.apply(rows([1000, 1001], [3, 4]), accept_exposure=True)
    assert sf.StatDB.open(db.path).generation == db.generation
    assert sf.StatDB.open(db.path).responder.n_rows == 600


@pytest.mark.parametrize("kind", KINDS, ids=["neighbours", "cohorts"])
def test_who_goes_and_comes_in_one_change_is_refused(kind: dict[str, Any], tmp_path: Path) -> None:
    db = made(tmp_path, **kind)
    table = db.table()
    ages = table.attributes["age"].decode(table.codes["age"]).to_pylist()
    values = table.codes["s"]
    old = rows(ages[:3], values[:3])
    corrected = rows(ages[:3], (values[:3] + 1) % VALUES)
    with pytest.raises(DataError, match="3 rows to insert have the quasi-identifiers"):
        db.apply(corrected, old)
    assert sf.StatDB.open(db.path).responder.n_rows == 600
    done = db.apply(corrected, old, accept_returns=True)
    assert (done.returned, done.deleted, done.waiting) == (3, 3, 3)


def test_whoever_is_not_alone_with_his_quasi_identifiers_returns_unnoticed(tmp_path: Path) -> None:
    table = rows(np.arange(600) // 2, skewed(600, 1))
    db = sf.StatDB.create(tmp_path / "db", table, m=M, seed=long_seed(1))
    one = rows([0], [int(table.codes["s"][0])])
    other = rows([0], [(int(table.codes["s"][0]) + 1) % VALUES])
    assert db.apply(other, one).returned == 0


def test_the_rules_of_the_replay() -> None:
    lists = [np.array([0, 1, 2]), np.array([1, 2, 3])]
    came = Arrivals(lists, np.array([0, 1]), np.array([0, 1]))
    require_hidden(came, 3)
    with pytest.raises(DataError, match="chance above 1/4"):
        require_hidden(came, 4)
    with pytest.raises(DataError, match="not be on its list"):
        require_hidden(came._replace(values=np.array([3, 1])), 3)
    assert guessed(came, np.array([9, 5, 2, 1])) == 1.0  # the most frequent is always right
    assert guessed(came, np.array([1, 5, 9, 2])) == 0.5
    assert guessed(Arrivals.nobody(), np.array([1])) == 0.0
    assert not is_exposing(1.0, 2, 10)
    assert is_exposing(0.3, 400, 10)
