"""Synthetic rows: what the model keeps, what it never draws, and what it refuses."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.masking.synthesize.cells import Cells, averages, cells_of
from sfumato.algorithms.masking.synthesize.tree import branches, information
from sfumato.core.arrays import Floats, Ints
from sfumato.core.stretches import stretches
from sfumato.errors import DataError, ParameterError, SchemaError
from tests.support.tables import microdata

ROWS = 2_000


def people() -> sf.Microdata:
    chance = np.random.default_rng(3)
    age = chance.integers(20, 80, ROWS)
    job = np.where(age + chance.normal(0, 10, ROWS) > 60, "none", "clerk")
    income = np.where(job == "none", 900, 2_000) * np.exp(chance.normal(0, 0.4, ROWS))
    columns = {
        "age": age,
        "job": job,
        "town": [f"T{i}" for i in chance.geometric(0.3, ROWS)],
        "income": pa.array(np.round(income, 2), mask=chance.random(ROWS) < 0.1),
    }
    return microdata(columns, sensitive=["income"])


TABLE = people()
RELEASE = sf.mask(TABLE, sf.Synthesize(), seed=6)


def plain(rows: Ints, count: int) -> Cells:
    return Cells(rows, count, 0.0, lambda cells, _: pa.array(cells))


def entropy(*columns: Ints) -> float:
    shares = np.array([*Counter(zip(*columns, strict=True)).values()]) / len(columns[0])
    return float(-(shares * np.log(shares)).sum())


def test_information_is_that_of_entropies_less_what_chance_adds() -> None:
    chance = np.random.default_rng(1)
    one, other = chance.integers(0, 3, 400), chance.integers(0, 4, 400)
    told = entropy(one) + entropy(other) - entropy(one, other) - 2 * 3 / 800
    assert information([(one, 3), (other, 4)])[0, 1] == pytest.approx(told)


def test_the_tree_is_the_best_of_all() -> None:
    chance = np.random.default_rng(2)
    first = chance.integers(0, 4, 3_000)

    def like(column: Ints, share: float) -> Ints:
        return np.where(chance.random(3_000) < share, column, chance.integers(0, 4, 3_000))

    columns = [first, like(first, 0.8)]
    columns += [like(columns[1], 0.7), like(columns[1], 0.5)]
    columns.append(like(columns[2], 0.9))
    told = information([(one, 4) for one in columns])
    found = {
        frozenset((one.column, one.parent))
        for one in branches([plain(one, 4) for one in columns], 5)
        if one.parent is not None
    }
    edges = [frozenset(pair) for pair in combinations(range(5), 2)]

    def connected(chosen: tuple[frozenset[int], ...]) -> bool:
        reached = {0}
        for _ in range(5):
            reached |= {one for edge in chosen if edge & reached for one in edge}
        return len(reached) == 5

    best = max(
        (chosen for chosen in combinations(edges, 4) if connected(chosen)),
        key=lambda chosen: sum(told[tuple(edge)] for edge in chosen),
    )
    assert found == set(best)


def test_columns_that_tell_nothing_are_drawn_by_themselves() -> None:
    chance = np.random.default_rng(2)
    columns = [plain(chance.integers(0, 2, 4_000), 2) for _ in range(2)]
    columns.append(plain(1 - columns[0].rows, 2))
    parents = {one.column: one.parent for one in branches(columns, 5)}
    assert (
        parents == {0: None, 2: 0, 1: None}
        or information([(one.rows, 2) for one in columns])[1].max() > 0
    )


def test_no_pair_of_cells_that_few_share_is_drawn() -> None:
    chance = np.random.default_rng(4)
    rows = [chance.integers(0, 6, 500)]
    rows.append((rows[0] + (chance.random(500) < 0.03)) % 6)
    branch = branches([plain(one, 6) for one in rows], 5)[1]
    drawn = branch.draw(rows[0].repeat(20), chance.random(10_000))
    true = Counter(zip(rows[0].tolist(), rows[1].tolist(), strict=True))
    shown = Counter(zip(rows[0].repeat(20).tolist(), drawn.tolist(), strict=True))
    assert min(true.values()) < 5
    assert set(shown) == {pair for pair, times in true.items() if times >= 5}
    for pair, times in shown.items():
        assert times / 10_000 == pytest.approx(true[pair] / 500, abs=0.02)


@pytest.mark.parametrize("least", [2, 5, 20])
def test_cells_and_averages_are_of_so_many_rows(least: int) -> None:
    for name, attribute in TABLE.attributes.items():
        cells = cells_of(attribute, TABLE.codes[name], least, 16)
        assert np.bincount(cells.rows).min() >= least
        assert cells.count == cells.rows.max() + 1
    line: Floats = np.arange(17.0)
    assert averages(line, 5).tolist() == [2.0, 7.0, 13.0]
    assert averages(line[:3], 5).tolist() == [1.0]


def test_stretches_follow_codes_and_frequent_ones_are_alone() -> None:
    found = stretches(np.array([1, 1, 50, 1, 1, 1, 30, 15]), 4)
    assert np.diff(found).min() >= 0
    assert np.count_nonzero(found == found[2]) == 1
    assert np.count_nonzero(found == found[6]) == 1


def test_values_of_few_are_never_shown() -> None:
    towns = Counter(TABLE.attributes["town"].decode(TABLE.codes["town"]).to_pylist())
    assert min(towns.values()) < 5
    shown_towns = set(RELEASE.table["town"].to_pylist())
    assert {t for t, n in towns.items() if n >= 20} <= shown_towns
    assert shown_towns <= {t for t, n in towns.items() if n >= 5}
    income = TABLE.attributes["income"].positions
    shown = RELEASE.table["income"].drop_null().to_numpy()
    assert np.sort(income)[:5].mean() <= shown.min() + 1e-9
    assert shown.max() <= np.sort(income)[-5:].mean() + 1e-9
    assert not set(np.round(shown, 6)) & set(income)


def test_neighbours_go_together_and_strangers_in_a_control_do_not() -> None:
    def share(table: pa.Table) -> float:
        old = [r for r in table.select(["age", "job"]).to_pylist() if r["age"] > 65]
        return float(np.mean([row["job"] == "none" for row in old]))

    true = TABLE.count("age > 65 AND job = 'none'").estimate / TABLE.count("age > 65").estimate
    assert share(RELEASE.table) == pytest.approx(true, abs=0.06)
    jobs = RELEASE.table["job"].take(np.random.default_rng(1).permutation(ROWS))
    assert share(RELEASE.table.set_column(1, "job", jobs)) < true - 0.2


def test_what_is_missing_stays_as_frequent() -> None:
    missing = RELEASE.table["income"].null_count
    assert missing == pytest.approx(TABLE.count("income IS NULL").estimate, abs=60)
    assert all(float(age).is_integer() for age in RELEASE.table["age"].to_pylist())


def test_moments_are_near() -> None:
    age = TABLE.attributes["age"].positions[TABLE.codes["age"]]
    assert RELEASE.mean("age") == pytest.approx(age.mean(), abs=2)
    assert RELEASE.variance("age") == pytest.approx(age.var(), rel=0.1)


def test_chance_is_secret_unless_a_seed_decides() -> None:
    assert sf.mask(TABLE, sf.Synthesize(), seed=6).table.equals(RELEASE.table)
    assert not sf.mask(TABLE, sf.Synthesize(), seed=7).table.equals(RELEASE.table)
    few = TABLE.take(np.arange(300))
    assert not sf.mask(few, sf.Synthesize()).table.equals(sf.mask(few, sf.Synthesize()).table)


def test_constants_and_large_values() -> None:
    table = microdata({"same": [5] * 50, "big": [10.0**300 * i for i in range(50)]})
    shown = sf.mask(table, sf.Synthesize()).table
    assert shown["same"].to_pylist() == [5.0] * 50
    assert np.isfinite(shown["big"].to_numpy()).all()


@pytest.mark.parametrize("largest", [9e307, 1e308, np.finfo(float).max])
@pytest.mark.parametrize("smallest", [-1, 1])
def test_what_cannot_be_averaged_is_refused(largest: float, smallest: int) -> None:
    """Half-way from one average to the next was no number, and verify refuses that."""
    table = microdata({"q": [smallest * largest, largest] * 30, "s": ["a", "b", "c"] * 20})
    with pytest.raises(DataError, match="'q' are too large"):
        sf.mask(table, sf.Synthesize())


def test_bad_use_is_told() -> None:
    with pytest.raises(DataError, match="takes 10 rows or more, and the table has 9"):
        sf.mask(TABLE.take(np.arange(9)), sf.Synthesize())
    for least, bins in ((1, 0), (5, 1), (5, 1_000)):
        with pytest.raises(ParameterError, match="must be a whole number"):
            sf.Synthesize(least, bins)
    chance = np.random.default_rng(1)
    names = [f"N{i}" for i in range(100)]
    alone = microdata({"age": chance.integers(0, 5, 100), "name": names, "code": names[::-1]})
    with pytest.raises(SchemaError, match="drop name, code from the schema, or merge"):
        sf.mask(alone, sf.Synthesize())
    same = chance.integers(0, 3, 60)
    columns = {f"c{i}": same for i in range(40)}
    columns |= {f"odd{i}": chance.integers(0, 3, 60) for i in range(2)}
    with pytest.raises(SchemaError, match=r"there are 42; drop .*: (odd0, odd1|odd1, odd0)$"):
        sf.mask(microdata(columns), sf.Synthesize())
