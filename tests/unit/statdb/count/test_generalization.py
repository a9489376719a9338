"""Rows shared out among margins, against enumeration; versions with counterfeits."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.arrays import Counts
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements
from sfumato.statdb import Responder
from sfumato.statdb.baselines import UniqueMondrian, result_intervals, static_generalization
from sfumato.statdb.count.cell_kernel import yields_of
from sfumato.statdb.count.generalization import dealt
from tests.properties.test_statdb_aggregates import outside, without
from tests.support.releases import rows_of
from tests.support.statdb import buckets_of
from tests.support.tables import microdata


def cell_sets(dims: int) -> list[int]:
    """Every cell: at most one of the two margins of each dimension."""
    sides = [(0, 1 << 2 * i, 2 << 2 * i) for i in range(dims)]
    return [sum(chosen) for chosen in product(*sides)]


def drawn(generator: np.random.Generator, dims: int, values: int, rows: int) -> Counts:
    cells = np.zeros((values, 4**dims), np.int64)
    sets = cell_sets(dims)
    chances = generator.dirichlet(np.full(len(sets), generator.choice([0.2, 1.0, 5.0])))
    for line in cells:
        line[sets] = generator.multinomial(rows, chances)
    return cells


def reach_of(cells: Counts) -> list[int]:
    sets = range(cells.shape[1])
    return [int(min(line[[c for c in sets if c & s]].sum() for line in cells)) for s in sets]


def best(cells: Counts, n_margins: int) -> int:
    """The largest sum of whole numbers in which no set of margins exceeds its reach."""
    reach = np.array(reach_of(cells))
    members = np.arange(len(reach))[:, None] >> np.arange(n_margins) & 1
    tops = [range(int(reach[1 << i]) + 1) for i in range(n_margins)]
    tried = np.array(list(product(*tops)))
    return int(tried[(tried @ members.T <= reach).all(axis=1)].sum(axis=1).max())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_no_other_shares_make_more_groups(dims: int) -> None:
    generator = np.random.default_rng(dims)
    for _ in range(150):
        values = int(generator.integers(2, 6))
        cells = drawn(generator, dims, values, int(generator.integers(1, 9 if dims < 3 else 7)))
        found = yields_of(cells, 2 * dims)
        assert found.sum() == best(cells, 2 * dims)
        for line in cells:
            taken = dealt(line, found)
            assert taken.sum(axis=1).tolist() == found.tolist()
            assert (taken.sum(axis=0) <= line).all()
            margin, cell = np.nonzero(taken)
            assert (cell >> margin & 1).all()


def test_figure_6_would_lose_a_group() -> None:
    """Two rows in corners make a group of one dimension, or help to make two of the other."""
    lower_age, lower_zip, upper_zip = 0b0001, 0b0100, 0b1000
    cells = np.zeros((2, 16), np.int64)
    cells[0, [lower_age | lower_zip, upper_zip]] = 1
    cells[1, [lower_age | upper_zip, lower_zip]] = 1
    assert yields_of(cells, 4).tolist() == [0, 0, 1, 1]


def people(n: int) -> sf.Microdata:
    generator = np.random.default_rng(n)
    columns: dict[str, Any] = {name: generator.integers(0, 12, n) for name in "abcde"}
    columns["disease"] = generator.integers(0, 5, n)
    return microdata(columns, sensitive=["disease"])


@pytest.mark.parametrize("dims", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("cohort", [None, 3, 8, 64])
@pytest.mark.parametrize("gone", [0, 60])
def test_answers_are_those_of_the_version(dims: int, cohort: int | None, gone: int) -> None:
    table = people(400)
    responder = Responder.create(table, m=3, cohort=cohort, framework="generalization", seed=1)
    leaving = np.random.default_rng(9).choice(400, gone, replace=False).tolist()
    responder = without(responder, leaving)
    query = sf.Query({name: sf.between(2, 8) for name in "abcde"[:dims]})
    found, version, rows = (
        responder.count(query),
        responder.version(query),
        rows_of(responder.table()),
    )
    inside = partly = 0
    for g in range(version.n_groups):
        members = [rows[i] for i in np.flatnonzero(version.groups == g)]
        values = {row["disease"] for row in members}
        assert len(values) == len(members)
        size = signature_size(responder, int(np.argmax(version.groups == g)))
        if size == len(members) and all(2 <= row[n] <= 8 for row in members for n in query.where):
            inside += size
        elif not outside(members, dict(query.where)):
            partly += size
    if not dims:  # everybody knows how many rows there are
        assert (found.lo, found.estimate, found.hi) == (400 - gone,) * 3
        return
    shown = min(inside + partly, 400 - gone)
    assert found.lo == inside
    # Figure 6 does not let counterfeits stand in margins, so its interval may be longer
    assert found.hi == shown or (gone and dims > 3 and found.hi > shown)
    assert found.lo <= len([1 for row in rows if all(2 <= row[n] <= 8 for n in query.where)])


def test_no_interval_ends_above_the_number_of_rows() -> None:
    responder = Responder.create(people(400), m=3, cohort=8, framework="generalization", seed=1)
    responder = without(responder, list(range(0, 400, 5)))
    rows = responder.n_rows
    for where in ("", "disease >= 0", "a >= 0"):  # conditions that keep everything are none
        assert responder.count(where) == sf.Answer(float(rows), rows, rows)
    capped = [responder.count(f"a <= {top}") for top in range(11)]
    assert capped[-1].hi == rows  # the values of groups are more: there are counterfeits
    assert all(one.hi <= rows and one.estimate == (one.lo + one.hi) / 2 for one in capped)
    grouped = responder.query("SELECT disease, COUNT(*) FROM t GROUP BY disease")
    assert all(line[0].hi <= rows for line in grouped.answers)


def test_a_static_version_and_the_database_made_from_it() -> None:
    table = people(600)
    queries = sf.dynamic_workload(table, queries=40, dimensionality=2, length=0.4, seed=3)
    truth = table.counts(queries).lo
    cut = result_intervals(static_generalization(table, 3, seed=1), queries)
    still = result_intervals(static_generalization(table, 3, seed=1, unique=True), queries)
    assert ((cut.lo <= still.lo) & (still.hi <= cut.hi)).all()
    assert ((still.lo <= truth) & (truth <= still.hi)).all()
    first = UniqueMondrian(3).partition(
        table, requirements(sf.LDiversity(3), table.schema), Randomness(1)
    )
    for cohort in (1, None):
        responder = Responder.create(
            table, m=3, cohort=cohort, framework="generalization", first=first, seed=1
        )
        own = result_intervals(responder, queries)
        assert ((still.lo <= own.lo) & (own.hi <= still.hi)).all()


def signature_size(responder: Responder, row: int) -> int:
    buckets = buckets_of(responder)
    bucket = int(np.searchsorted(buckets.base, responder.stored.occupied()[row], "right")) - 1
    return len(buckets.signature(bucket))
