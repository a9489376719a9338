"""Mondrian for a target: where it cuts, that twin and kernel agree, what it states and refuses."""

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.algorithms.base import describe
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.mondrian.guided import MOST_VALUES
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from tests.support.models import InPython, needs_of
from tests.support.tables import groups_of, microdata

LABELS = ("x", "y", "z")


def table(seed: int, rows: int = 240, values: int = 3, strength: float = 0.8) -> sf.Microdata:
    """The target goes with ``city`` and with ``age``, and not with ``noise``."""
    generator = np.random.default_rng(seed)
    age, city = generator.integers(20, 60, rows), generator.integers(0, 6, rows)
    likely = ((age > 41).astype(int) + (city % 2)) % values
    target = np.where(
        generator.random(rows) < strength, likely, generator.integers(0, values, rows)
    )
    columns = {
        "noise": generator.integers(0, 1000, rows).tolist(),
        "age": age.tolist(),
        "city": [f"c{one}" for one in city],
        "s": [LABELS[one] for one in target],
        "other": generator.integers(0, 4, rows).tolist(),
    }
    return microdata(columns, sensitive=["s", "other"])


def divided(data: sf.Microdata, model: Any, **options: Any) -> set[frozenset[int]]:
    algorithm = Mondrian(target="s", **options)
    return groups_of(algorithm.partition(data, needs_of(model, data), Randomness(0)).groups)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("model", [sf.KAnonymity(4), sf.DistinctLDiversity(2, on="s")])
def test_kernel_and_twin_cut_alike(model: Any, relaxed: bool, seed: int) -> None:
    data = table(seed, values=2 + seed % 2)
    plain = divided(data, InPython(model), relaxed=relaxed)
    assert divided(data, model, relaxed=relaxed) == plain


@pytest.mark.parametrize("plain", [False, True])
def test_the_first_cut_is_the_best_of_all(plain: bool) -> None:
    """Two groups are all that 60% of the rows each allow."""
    data = table(9, rows=120)
    model: Any = sf.KAnonymity(45)
    found = divided(data, InPython(model) if plain else model)
    assert len(found) == 2
    assert entropy(data, found) == pytest.approx(min(entropy(data, one) for one in halves(data)))


def halves(data: sf.Microdata) -> list[set[frozenset[int]]]:
    """Every allowable cut: along lines, and of cities by any share of any value."""
    rows = np.arange(data.n_rows)
    found = []
    for name in data.schema.quasi:
        codes = data.codes[name]
        keys = [codes.astype(float)]
        if not data.attributes[name].ordered:
            keys = [
                -np.array([(data.codes["s"][codes == code] == v).mean() for code in codes])
                + codes * 1e-9
                for v in [np.bincount(data.codes["s"]).argmax()]
            ]
        for key in keys:
            for cut in np.unique(key)[:-1]:
                left = key <= cut
                if 45 <= left.sum() <= data.n_rows - 45:
                    found.append({frozenset(rows[left].tolist()), frozenset(rows[~left].tolist())})
    return found


def entropy(data: sf.Microdata, groups: set[frozenset[int]]) -> float:
    total = 0.0
    for group in groups:
        counts = np.bincount(data.codes["s"][list(group)])
        shares = counts[counts > 0] / counts.sum()
        total -= counts.sum() * float((shares * np.log(shares)).sum())
    return total


def test_what_tells_nothing_is_cut_as_usual() -> None:
    data = table(3, strength=0.0)
    usual = Mondrian().partition(data, needs_of(sf.KAnonymity(60), data), Randomness(0))
    assert divided(data, sf.KAnonymity(60)) == groups_of(usual.groups)


def test_trees_learn_more_from_it() -> None:
    data, others = table(1, 3000), table(2, 3000)
    guided, usual = (
        sf.train(sf.publish(data, algorithm, sf.KAnonymity(300)), target="s").accuracy(others)
        for algorithm in (sf.Mondrian(target="s"), sf.Mondrian())
    )
    assert guided > usual + 0.1


def test_a_release_states_that_there_was_a_target_and_not_which() -> None:
    release = sf.publish(table(1), sf.Mondrian(target="s"), sf.KAnonymity(5))
    assert release.manifest.algorithm == describe(Mondrian()) | {"target": 1}


def test_a_release_for_a_target_is_verified(tmp_path: Any) -> None:
    release = sf.publish(table(1), sf.Mondrian(target="s"), sf.KAnonymity(5))
    sf.verify(release.write(tmp_path / "out")).require()


def test_bad_targets_are_refused(tmp_path: Any) -> None:
    data = table(1)
    with pytest.raises(ParameterError, match="no sensitive column 'age' as a target"):
        sf.publish(data, sf.Mondrian(target="age"), sf.KAnonymity(5))
    with pytest.raises(ParameterError, match="for a workload or for a target"):
        Mondrian(target="s", workload=sf.range_workload(data, queries=2, seed=1))
    n = MOST_VALUES + 1
    many = microdata({"q": [*range(n)], "s": [*range(n)]}, sensitive=["s"])
    with pytest.raises(ParameterError, match="declare bins"):
        sf.publish(many, sf.Mondrian(target="s"), sf.KAnonymity(5))
    with pytest.raises(ParameterError, match="use the in-memory engine"):
        Mondrian(target="s").require_planned(needs_of(sf.KAnonymity(2), data))
