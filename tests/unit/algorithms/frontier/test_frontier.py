"""Groups of neighbours: what is proved of them, whatever the table and the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms.frontier import Aims
from sfumato.core.histograms import Histograms
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.bound import Bound
from sfumato.models.requirements import requirements

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="ill")
MODELS = [
    sf.LDiversity(3), sf.LDiversity(2.5), sf.DistinctLDiversity(3), sf.EntropyLDiversity(2.5),
    sf.RecursiveLDiversity(2, 2), sf.TCloseness(0.3), sf.LDiversity(2) & sf.KAnonymity(7),
]  # fmt: skip


def people(n: int = 900, seed: int = 1) -> sf.Microdata:
    """Values that go with age."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, n)
    ill = (age // 8 + random.integers(0, 5, n)) % 9
    town = random.choice(list("abc"), n)
    return sf.read(pa.table({"age": age, "town": town, "ill": ill}), SCHEMA)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("way", [sf.Anatomize(), sf.Anatomize(size=3), sf.Frontier()], ids=str)
def test_every_group_keeps_the_model(way: sf.Anatomize | sf.Frontier, model: Model) -> None:
    table = people()
    needs = requirements(model, table.schema)
    partition = way.partition(table, needs, sf.Randomness(1))
    assert Bound.of(needs, table).passing(partition).all()
    assert partition.n_groups > 3


def test_a_model_of_ones_own_is_kept_too() -> None:
    class NoNines:
        name = "no nines alone"
        needs_sensitive = True

        def passes(self, groups: Histograms) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            return (groups.largest * 3 <= groups.sizes) & (groups.sizes >= 12)

    table = people(300)
    needs = requirements(NoNines() & sf.LDiversity(3), table.schema)
    partition = sf.Anatomize(size=3).partition(table, needs, sf.Randomness(1))
    assert partition.sizes.min() >= 12


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_the_error_is_as_close_to_the_least_as_is_proved(seed: int, l: int) -> None:
    table = people(200, seed)
    needs = requirements(sf.LDiversity(l), table.schema)
    leaves = sf.Mondrian(cuts="median").partition(table, needs, sf.Randomness(1))
    groups = sf.Anatomize(size=l).partition(table, needs, sf.Randomness(1))
    assert groups.n_groups == int((leaves.sizes // l).sum())
    attribute, codes = table.attributes["ill"], table.codes["ill"]
    seen = Histograms.of_groups(attribute, codes, groups.groups, groups.n_groups)
    assert seen.counts.max() == 1  # all values of a group differ
    error, least = sf.reconstruction_error(seen), sf.least_reconstruction_error(200, l)
    assert least <= error <= least * (1 + leaves.n_groups / 200)


def test_groups_lie_inside_mondrians_leaves() -> None:
    table = people()
    needs = requirements(sf.LDiversity(3), table.schema)
    leaves = sf.Mondrian().partition(table, needs, sf.Randomness(1))
    groups = sf.Frontier().partition(table, needs, sf.Randomness(1))
    of_group: dict[int, int] = {}
    for leaf, group in zip(leaves.groups.tolist(), groups.groups.tolist(), strict=True):
        assert of_group.setdefault(group, leaf) == leaf
    assert groups.n_groups > 2 * leaves.n_groups


def test_neighbours_are_nearer_than_anybody() -> None:
    """The control is the paper's way: its groups span what the table spans."""
    table = people()
    needs = requirements(sf.LDiversity(3), table.schema)
    ages = table.codes["age"].astype(float)

    def spread(way: sf.Anatomize | sf.Frontier) -> float:
        partition = way.partition(table, needs, sf.Randomness(1))
        means = np.bincount(partition.groups, ages) / partition.sizes
        return float(np.sqrt(np.mean((ages - means[partition.groups]) ** 2)) / ages.std())

    assert spread(sf.Frontier()) < 0.2
    assert spread(sf.Anatomize(size=3)) < 0.3
    assert spread(sf.Anatomize()) < 0.3
    assert spread(sf.Anatomize(near=False)) > 0.7


@pytest.mark.parametrize(
    ("size", "found"),
    [(None, 15), (1, 3), (3, 3), (4, 6), (12, 12), (500, 501), (899, 900), (900, 900)],
)
def test_sizes_are_multiples_of_l_and_fit_the_table(size: int | None, found: int) -> None:
    table = people()
    bound = Bound.of(requirements(sf.LDiversity(3), table.schema), table)
    aims = Aims.of(bound, size, times=5, frontier=False, cuts="median")
    assert aims.size == found


@pytest.mark.parametrize("size", [0, -3, 2.5, True, "5"])
def test_a_size_that_is_none_is_refused(size: object) -> None:
    for way in (sf.Anatomize, sf.Frontier):
        with pytest.raises(ParameterError, match="size must be a whole number of rows"):
            way(size=size)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="size is for groups of neighbours"):
        sf.Anatomize(near=False, size=5)


@pytest.mark.parametrize("way", [sf.Anatomize, sf.Frontier])
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_size_above_the_rows_is_refused_with_the_largest(
    way: type[sf.Anatomize | sf.Frontier], engine: Any, tmp_path: Path
) -> None:
    source, n = tmp_path / "in.parquet", 200
    ages = pa.array(range(n))
    pq.write_table(
        pa.table({"age": ages, "town": ["a"] * n, "ill": [i % 5 for i in range(n)]}), source
    )

    def publish(size: int) -> sf.Manifest:
        return sf.publish_file(
            source, SCHEMA, way(size=size), sf.LDiversity(3), tmp_path / "out",
            engine=engine, force=True,
        )  # fmt: skip

    said = "size = 201 is more than the table's 200 rows; the largest that works is 200, "
    with pytest.raises(ParameterError, match=said):
        publish(201)
    assert publish(200).groups == 1


def test_one_constant_quasi_identifier_is_enough() -> None:
    table = sf.read(
        pa.table({"age": [30] * 60, "ill": list(range(6)) * 10}),
        sf.Schema(quasi=["age"], sensitive="ill"),
    )
    release = sf.publish(table, sf.Anatomize(size=3), sf.LDiversity(3), seed=1)
    assert release.manifest.groups == 20


def test_the_order_inside_a_cell_is_chance() -> None:
    """People who look alike meet anybody like them; without chance they would meet by row."""
    table = sf.read(
        pa.table({"age": [30] * 400, "ill": [i * 10 // 400 for i in range(400)]}),
        sf.Schema(quasi=["age"], sensitive="ill"),
    )
    needs = requirements(sf.LDiversity(2), table.schema)
    places = np.arange(400) % 40
    apart = []
    for seed in range(20):
        groups = sf.Anatomize(size=2).partition(table, needs, sf.Randomness(seed)).groups
        first, second = np.argsort(groups, kind="stable").reshape(-1, 2).T
        apart.append(np.mean(np.abs(places[first] - places[second])))
    # of two random places out of 40 the mean distance is 13.3
    assert abs(np.mean(apart) - 13.3) < 0.8
