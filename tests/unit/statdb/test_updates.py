"""Insertions and deletions: the rows that stay keep their signatures, and answers stay true."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, SchemaError
from sfumato.statdb.engine import Engine
from sfumato.statdb.updates import Update, _seats_of, updated

SCHEMA = sf.Schema(quasi=["person", "x"], sensitive="s")
# values that may come later are declared
DECLARED = sf.Schema(quasi=["person", "x"], sensitive="s", orders={"s": list("abcdefgh")})
QUERIES = [
    "x <= 2",
    "x <= 2 AND s = 'a'",
    "x = 1 AND s IN ('b', 'c')",
    "s <> 'a'",
    "person < 30 AND x > 1",
]
M = 3


def rows(random: np.random.Generator, n: int, first: int, values: str = "abcdef") -> pa.Table:
    """Rows that the quasi-identifier ``person`` tells apart."""
    return pa.table(
        {
            "person": np.arange(first, first + n),
            "x": random.integers(0, 5, n),
            "s": pa.array(random.choice(list(values), n), pa.string()),
        }
    )


def microdata(table: pa.Table, schema: sf.Schema = SCHEMA) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, schema)


def changed(
    engine: Engine, inserted: pa.Table | None, deleted: pa.Table | None, seed: int = 1
) -> tuple[Engine, Update]:
    return updated(
        engine,
        None if inserted is None or not len(inserted) else microdata(inserted),
        None if deleted is None or not len(deleted) else microdata(deleted),
        Randomness(seed),
    )


def homes(engine: Engine) -> dict[Any, tuple[tuple[Any, ...], int]]:
    """The signature, as values, and the cohort of every person."""
    seats = _seats_of(engine.stored.buckets, engine.stored.occupied())
    table = engine.table()
    people = table.attributes["person"].decode(table.codes["person"]).to_pylist()
    domain = engine.attributes["s"].values.to_pylist()
    return {
        person: (tuple(domain[code] for code in seats.signatures[b]), int(k))
        for person, b, k in zip(people, seats.signature, seats.cohort, strict=True)
    }


def require_sound(engine: Engine, truth: pa.Table, update: Update) -> None:
    """Every group has m values or more, each at most once, and every interval has the truth."""
    exact = microdata(truth)
    assert engine.n_rows == update.rows == truth.num_rows
    table = engine.table()
    values = table.attributes["s"].decode(table.codes["s"]).to_pylist()
    people = table.attributes["person"].decode(table.codes["person"]).to_pylist()
    home = homes(engine)
    for query in QUERIES:
        answer = engine.count(query)
        assert answer.lo <= exact.count(query).estimate <= answer.hi
    lacking = 0
    for query in ("", "x <= 2"):
        version = engine.version(query)
        lacking = 0
        for group in range(version.n_groups):
            members = np.flatnonzero(version.groups == group)
            signatures = {home[people[i]] for i in members}
            assert len(signatures) == 1  # all of one bucket and cohort
            (signature, _) = signatures.pop()
            held = [values[i] for i in members]
            assert len(signature) >= M
            assert len(set(held)) == len(held)
            assert set(held) <= set(signature)
            lacking += len(signature) - len(held)
    if engine.framework == "anatomy":
        assert lacking == update.counterfeits


@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.parametrize("cohort", [1, 3, 8, None])
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=4),
)
def test_survivors_keep_their_signatures(
    framework: Any, cohort: int | None, seed: int, steps: list[tuple[int, int]]
) -> None:
    random = np.random.default_rng(seed)
    truth = rows(random, 60, 0)
    if max(Counter(truth["s"].to_pylist()).values()) > 60 // M:
        return
    engine = Engine.create(
        microdata(truth, DECLARED), m=M, cohort=cohort, framework=framework, seed=seed
    )
    born = 60
    for n_out, n_in in steps:
        order = random.permutation(truth.num_rows)
        n_out = min(n_out, truth.num_rows - 1)
        gone, stay = truth.take(order[:n_out]), truth.take(order[n_out:])
        new = rows(random, n_in, born, random.choice(["abcdef", "a", "gh"]))
        born += n_in
        before = homes(engine)
        engine, update = changed(engine, new, gone, seed)
        truth = pa.concat_tables([stay, new])
        assert (update.deleted, update.inserted) == (n_out, n_in)
        after = homes(engine)
        for person in stay["person"].to_pylist():
            assert after[person][0] == before[person][0]
        require_sound(engine, truth, update)


def test_free_places_are_taken_before_counterfeits_are_made() -> None:
    random = np.random.default_rng(2)
    truth = pa.concat_tables([rows(random, 20, 20 * i, value) for i, value in enumerate("abc")])
    engine = Engine.create(microdata(truth), m=3, cohort=8, seed=1)
    gone = truth.filter(pa.compute.equal(truth["s"], "a")).slice(0, 5)
    engine, update = changed(engine, None, gone)
    assert update.counterfeits == 5
    engine, update = changed(engine, rows(random, 5, 100, "a"), None)
    assert update.counterfeits == 0
    assert engine.stored.buckets.n_buckets == 1


def test_a_value_that_comes_alone_is_hidden_among_counterfeits() -> None:
    random = np.random.default_rng(3)
    truth = pa.concat_tables([rows(random, 20, 20 * i, value) for i, value in enumerate("abc")])
    engine = Engine.create(microdata(truth, DECLARED), m=3, cohort=8, seed=1)
    engine, update = changed(engine, rows(random, 4, 100, "d"), None)
    assert update.counterfeits == 8
    assert engine.count("s = 'd' AND person >= 100").lo == 0
    assert engine.count("s = 'a' AND person >= 100").hi == 4  # they may all have a


def test_one_of_equal_rows_is_deleted() -> None:
    table = pa.table({"person": [1, 1, 1, 2, 2, 2], "x": [0] * 6, "s": list("aabbcc")})
    engine = Engine.create(microdata(table), m=2, cohort=None, seed=1)
    twin = pa.table({"person": [1], "x": [0], "s": ["a"]})
    engine, update = changed(engine, None, twin)
    assert (update.deleted, update.rows) == (1, 5)
    engine, _ = changed(engine, None, twin)
    with pytest.raises(DataError, match="1 of 1 rows to delete are not in the database"):
        changed(engine, None, twin)


@pytest.mark.parametrize(
    "stranger", [{"person": [99]}, {"x": [77]}, {"s": ["z"]}], ids=["person", "x", "s"]
)
def test_rows_that_are_not_there_cannot_be_deleted(stranger: dict[str, Any]) -> None:
    random = np.random.default_rng(4)
    truth = rows(random, 40, 0)
    engine = Engine.create(microdata(truth), m=2, seed=1)
    one = {**{name: truth[name][:1] for name in truth.column_names}, **stranger}
    with pytest.raises(DataError, match="1 of 1 rows"):
        changed(engine, None, pa.table(one))


def test_domains_grow_but_do_not_shrink() -> None:
    random = np.random.default_rng(5)
    truth = rows(random, 60, 0)
    engine = Engine.create(microdata(truth), m=2, cohort=None, seed=1)
    far = truth.filter(pa.compute.equal(truth["x"], 4))
    engine, _ = changed(engine, None, far)
    assert engine.attributes["x"].values.to_pylist() == [0, 1, 2, 3, 4]
    new = pa.table({"person": [500, 501], "x": [-3, 9], "s": ["a", "b"]})
    engine, _ = changed(engine, new, None)
    assert engine.attributes["x"].values.to_pylist() == [-3, 0, 1, 2, 3, 4, 9]
    assert engine.count("x = 9").hi >= 1
    gaps = pa.table({"person": [600], "x": pa.array([None], pa.int64()), "s": ["a"]})
    engine, _ = changed(engine, gaps, None)
    assert engine.count("x IS NULL").hi == 1


@pytest.mark.parametrize(("value", "named"), [("q", "'q'"), (None, "a missing value")])
@pytest.mark.parametrize("schema", [SCHEMA, DECLARED], ids=["rows", "declared"])
def test_the_sensitive_domain_does_not_grow(
    value: str | None, named: str, schema: sf.Schema
) -> None:
    """Domains are public: one that grew would tell the value of whoever came."""
    truth = rows(np.random.default_rng(7), 60, 0)
    engine = Engine.create(microdata(truth, schema), m=2, seed=1)
    new = pa.table({"person": [500, 501], "x": [1, 1], "s": ["a", value]})
    with pytest.raises(SchemaError, match=f"its public domain lacks {named}: .* are declared"):
        changed(engine, new, None)
    # a value that the rows' own domain has, and no row, is none of theirs
    engine, _ = updated(engine, microdata(new).take(np.array([0])), None, Randomness(1))
    assert engine.attributes["s"].size == (8 if schema is DECLARED else 6)


def test_a_row_that_leaves_and_returns_at_once_stays() -> None:
    """Another signature beside the first would leave the values that are in both."""
    truth = rows(np.random.default_rng(8), 60, 0)
    engine = Engine.create(microdata(truth), m=2, cohort=3, seed=1)
    before = homes(engine)
    returning = truth.slice(10, 20)
    new = pa.concat_tables([rows(np.random.default_rng(9), 5, 100), returning])
    for seed in range(5):
        after, update = changed(engine, new, truth.slice(5, 25), seed)
        assert (update.deleted, update.inserted, update.rows) == (5, 5, 60)
        found = homes(after)
        assert all(found[one][0] == before[one][0] for one in returning["person"].to_pylist())
    same, update = changed(engine, returning, returning)
    assert (update.deleted, update.inserted) == (0, 0)
    assert [same.count(query) for query in QUERIES] == [engine.count(query) for query in QUERIES]


def test_equal_rows_return_one_by_one() -> None:
    table = pa.table({"person": [1, 1, 1, 2, 2, 2], "x": [0] * 6, "s": list("aabbcc")})
    engine = Engine.create(microdata(table), m=2, cohort=None, seed=1)
    twins = pa.table({"person": [1, 1], "x": [0, 0], "s": ["a", "a"]})
    _, update = changed(engine, twins.slice(0, 1), twins)
    assert (update.deleted, update.inserted, update.rows) == (1, 0, 5)
    _, update = changed(engine, pa.concat_tables([twins, twins]), twins)
    assert (update.deleted, update.inserted, update.rows) == (0, 2, 8)


def test_who_is_not_there_cannot_return() -> None:
    truth = rows(np.random.default_rng(8), 60, 0)
    engine = Engine.create(microdata(truth), m=2, seed=1)
    stranger = pa.table({"person": [900], "x": [1], "s": ["a"]})
    with pytest.raises(DataError, match="1 of 1 rows to delete are not in the database"):
        changed(engine, stranger, stranger)


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.float64(), pa.bool_()], ids=str)
def test_columns_of_another_type_are_refused(kind: pa.DataType) -> None:
    days = [date(2020, 1, day) for day in (1, 2, 3, 4)] * 4
    table = pa.table({"since": days, "s": list("abcd") * 4})
    schema = sf.Schema(quasi=["since"], sensitive="s")
    engine = Engine.create(microdata(table, schema), m=2, seed=1)
    other = microdata(pa.table({"since": pa.array([1]).cast(kind), "s": ["a"]}), schema)
    for inserted, deleted in ((other, None), (None, other)):
        with pytest.raises(SchemaError, match=r"'since' is date32.* in the database and"):
            updated(engine, inserted, deleted, Randomness(1))


def test_a_declared_domain_does_not_grow() -> None:
    ordered = sf.Schema(quasi=["x"], sensitive="s", orders={"x": ["low", "high"]})
    table = pa.table({"x": ["low", "high"] * 4, "s": list("aabbccdd")})
    engine = Engine.create(microdata(table, ordered), m=2, seed=1)
    free = sf.Schema(quasi=["x"], sensitive="s")
    new = microdata(pa.table({"x": ["middle"], "s": ["a"]}), free)
    with pytest.raises(SchemaError, match="'middle', which its declared order"):
        updated(engine, new, None, Randomness(1))


def test_other_columns_are_refused() -> None:
    random = np.random.default_rng(6)
    engine = Engine.create(microdata(rows(random, 40, 0)), m=2, seed=1)
    other = microdata(pa.table({"y": [1], "s": ["a"]}), sf.Schema(quasi=["y"], sensitive="s"))
    for inserted, deleted in ((other, None), (None, other)):
        with pytest.raises(SchemaError, match="quasi columns person, x, the rows have y"):
            updated(engine, inserted, deleted, Randomness(1))
