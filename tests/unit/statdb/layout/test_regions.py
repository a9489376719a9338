"""Cohorts inside regions: what is regrouped, is regrouped among neighbours."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.models.requirements import requirements
from sfumato.statdb.access.version_checks import Ground, count_flaw, ground_of
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.regions import plan_regions
from sfumato.statdb.responder import Responder
from tests.support.seeds import long_seed

M, COHORT, REGION = 4, 8, 256
SCHEMA = sf.Schema(quasi=["x", "y"], sensitive="s")


def rows(n: int, seed: int = 1) -> pa.Table:
    """Values that hang together with x, so that regions differ."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 60, n)
    s = (x // 4 + random.integers(0, 8, n)) % 20
    return pa.table({"x": x, "y": random.integers(0, 5, n), "s": [f"v{one:02}" for one in s]})


def people(n: int, seed: int = 1) -> sf.Microdata:
    return sf.Microdata.from_arrow(rows(n, seed), SCHEMA)


def leaves(table: sf.Microdata) -> np.ndarray[Any, Any]:
    needs = requirements(sf.LDiversity(M) & sf.KAnonymity(REGION), table.schema)
    return Mondrian(cuts="median").partition(table, needs, Randomness(0)).groups


def test_a_cohort_is_in_one_region_and_m_unique() -> None:
    table = people(3_000)
    planned = plan_regions(table, M, REGION, COHORT, Randomness(1))
    codes, regions = table.codes["s"], leaves(table)
    assert regions.max() > 3
    cohorts: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(planned.number, planned.cohort, strict=True)):
        cohorts.setdefault((int(key[0]), int(key[1])), []).append(row)
    groups = np.zeros(len(planned.signatures), np.int64)
    for (number, _), members in cohorts.items():
        signature = planned.signatures[number]
        values, times = np.unique(codes[members], return_counts=True)
        assert tuple(values.tolist()) == signature
        assert len(signature) >= M
        assert len(set(times.tolist())) == 1
        assert times[0] <= COHORT
        assert len(set(regions[members].tolist())) == 1
        groups[number] += times[0]
    assert groups.tolist() == planned.groups.tolist()


def test_of_the_whole_table_they_are_in_many() -> None:
    """The control: cohorts of signatures that are planned for the whole table."""
    table = people(3_000)
    responder = Responder.create(table, m=M, first="signatures", cohort=COHORT, seed=1)
    assert isinstance(responder.stored, Layout)
    _, cohort = responder.stored.homes()
    own = responder.table()
    regions = leaves(own)
    assert sum(len(set(regions[cohort == k].tolist())) > 1 for k in range(cohort.max() + 1)) > 50


def test_intervals_are_shorter_and_estimates_better() -> None:
    table = people(3_000)
    queries = sf.dynamic_workload(table, queries=100, seed=0)
    truth = table.counts(queries).lo
    for framework in ("anatomy", "generalization"):
        options: dict[str, Any] = {"m": M, "cohort": COHORT, "framework": framework, "seed": 1}
        near = Responder.create(table, **options).counts(queries)
        far = Responder.create(table, first="signatures", **options).counts(queries)
        assert ((near.lo <= truth) & (truth <= near.hi)).all()
        assert (near.hi - near.lo).mean() < 0.75 * (far.hi - far.lo).mean()
        assert abs(near.estimate - truth).mean() < 0.75 * abs(far.estimate - truth).mean()


def test_a_table_too_small_for_two_regions_is_one() -> None:
    """And then the very database that is made without regions."""
    small = people(2 * REGION - 1)
    one = Responder.create(small, m=M, cohort=COHORT, seed=1)
    other = Responder.create(small, m=M, first="signatures", cohort=COHORT, seed=1)
    assert one.region is None
    assert all(
        (one.stored.named()[name] == array).all() for name, array in other.stored.named().items()
    )
    assert Responder.create(people(2 * REGION), m=M, cohort=COHORT).region == REGION


def test_columns_that_cannot_be_cut_make_one_region() -> None:
    n = 1_000
    same = pa.table({"x": [1] * n, "y": pa.nulls(n, pa.int64()), "s": [i % 20 for i in range(n)]})
    table = sf.Microdata.from_arrow(same, SCHEMA)
    responder = Responder.create(table, m=M, cohort=COHORT, seed=1)
    found = responder.count("x = 1 AND s = 3")
    assert (found.lo, found.hi) == (50, 50)


def test_what_cannot_be_had() -> None:
    with pytest.raises(ParameterError, match="a cohort has a number of groups"):
        Responder.create(people(600), m=M, first="regions", cohort=None)
    with pytest.raises(ParameterError, match="leave it out"):
        Responder.create(people(600), m=M, first="regions", size=20)
    with pytest.raises(ParameterError, match="a whole number from 1"):
        Responder.create(people(600), m=M, cohort=0)
    with pytest.raises(Infeasible, match="out of reach"):
        Responder.create(people(3_000), m=19, cohort=COHORT)


def flaws(db: sf.StatDB) -> set[str]:
    ground, queries = ground_of(db), sf.dynamic_workload(db.table(), queries=25, seed=3)
    return {count_flaw(ground, q, int(a.lo), int(a.hi)) for q in queries for a in [db.count(q)]}


@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.filterwarnings("ignore:the schema does not declare")
def test_its_life(tmp_path: Path, framework: Any) -> None:
    """Regions that empty out, and newcomers, who join nobody's cohort and keep to a region."""
    options: dict[str, Any] = {"m": M, "cohort": COHORT, "framework": framework}
    sf.StatDB.create(tmp_path / "db", people(2_000), seed=long_seed(1), **options)
    db = sf.StatDB.open(tmp_path / "db")
    assert (db.info()["cohort"], db.info()["region"]) == (COHORT, REGION)
    assert flaws(db) == {""}
    before = lists(db)
    gone = db.table().take(np.flatnonzero(db.table().codes["x"] < 25))
    assert db.apply(deleted=gone).counterfeits > 0
    db = sf.StatDB.open(db.path)
    assert flaws(db) == {""}
    assert lists(db) <= before
    came = people(700, seed=2)
    update = db.apply(inserted=came)
    assert (update.inserted, update.waiting) == (700, 0)
    db = sf.StatDB.open(db.path)
    assert flaws(db) == {""}
    assert db.responder.region == REGION
    db.compact()
    again = sf.StatDB.open(db.path)
    assert flaws(again) == {""}
    assert again.count("x <= 30 AND s = 'v03'") == db.count("x <= 30 AND s = 'v03'")


def lists(db: sf.StatDB) -> set[tuple[Any, ...]]:
    """Rows with their signatures."""
    ground = ground_of(db)
    assert isinstance(ground, Ground)
    names = ("x", "y", "s")
    cells = zip(*(ground.table.codes[name].tolist() for name in names), strict=True)
    return {
        (*cell, ground.buckets.signature(int(b)))
        for cell, b in zip(cells, ground.bucket, strict=True)
    }


def even(n: int, seed: int) -> sf.Microdata:
    """All values are equally frequent, so that there is one list, and 1,200 rows leave room."""
    x = np.random.default_rng(seed).integers(0, 60, n)
    table = pa.table({"x": x, "y": [1] * n, "s": [f"v{i % M}" for i in range(n)]})
    return sf.Microdata.from_arrow(table, SCHEMA)


def test_newcomers_have_cohorts_of_their_own(tmp_path: Path) -> None:
    db = sf.StatDB.create(tmp_path / "db", even(1_200, 1), m=M, cohort=COHORT)
    assert cohorts_of_newcomers(db, even(80, 2)) == 0


def test_without_regions_they_join_those_with_room(tmp_path: Path) -> None:
    """The control."""
    db = sf.StatDB.create(tmp_path / "db", even(1_200, 1), m=M, first="signatures")
    assert cohorts_of_newcomers(db, even(80, 2)) == 1


def cohorts_of_newcomers(db: sf.StatDB, came: sf.Microdata) -> int:
    """How many cohorts had rows before and have more now."""

    def sizes(one: sf.StatDB) -> dict[tuple[Any, ...], int]:
        stored = one.responder.stored
        assert isinstance(stored, Layout)
        bucket, cohort = stored.homes()
        first = np.append(0, np.cumsum(stored.buckets.cohorts))
        found: dict[tuple[Any, ...], int] = {}
        for b, k in zip(bucket.tolist(), cohort.tolist(), strict=True):
            key = (stored.buckets.signature(b), k - int(first[b]))
            found[key] = found.get(key, 0) + 1
        return found

    before = sizes(db)
    update = db.apply(inserted=came)
    assert update.inserted == came.n_rows
    after = sizes(sf.StatDB.open(db.path))
    return sum(after[key] > n for key, n in before.items())
