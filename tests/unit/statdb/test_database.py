"""StatDB: created once, opened often, the same answers each time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import (
    Infeasible,
    OutputExists,
    ParameterError,
    QueryRefused,
    SchemaError,
    SfumatoWarning,
    StoreError,
)
from tests.support.waiting import PATIENCE

SCHEMA = sf.Schema(
    identifiers=["name"],
    quasi=["age", "sex", "since", "grade"],
    sensitive="disease",
    orders={"grade": ["low", "middle", "high"]},
)
QUERIES = [
    "age < 40 AND disease = 'flu'",
    "sex = 'f' AND age BETWEEN 20 AND 60",
    "since >= DATE '2020-06-01' AND disease <> 'flu'",
    "grade >= 'middle'",
]


def people(n: int = 400, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": pa.array(random.integers(18, 90, n), mask=random.random(n) < 0.05),
            "sex": pa.array(random.choice(["f", "m"], n), pa.string()),
            "since": [date(2020, 1 + int(month), 1) for month in random.integers(0, 12, n)],
            "grade": pa.array(random.choice(["low", "middle", "high"], n), pa.string()),
            "disease": pa.array(random.choice(["flu", "cold", "cough", "ache"], n), pa.string()),
        }
    )


def microdata(n: int = 400, seed: int = 1) -> sf.Microdata:
    return sf.Microdata.from_arrow(people(n, seed), SCHEMA)


@pytest.fixture
def db(tmp_path: Path) -> sf.StatDB:
    return sf.StatDB.create(tmp_path / "people.statdb", microdata(), m=3)


def test_an_opened_database_answers_as_before(db: sf.StatDB) -> None:
    again = sf.StatDB.open(db.path)
    table = microdata()
    for query in QUERIES:
        answer = again.count(query)
        assert answer == db.count(query)
        assert answer.lo <= table.count(query).estimate <= answer.hi
    grouped = "SELECT grade, disease, COUNT(*) FROM t GROUP BY grade, disease"
    assert again.query(grouped).table == db.query(grouped).table
    assert again.counts([f"SELECT COUNT(*) FROM t WHERE {q}" for q in QUERIES]).lo.tolist() == [
        db.count(query).lo for query in QUERIES
    ]


def test_a_second_database_of_the_same_table_differs(tmp_path: Path, db: sf.StatDB) -> None:
    """Chance is the operating system's: nobody can compute the bucketization from the table."""
    other = sf.StatDB.create(tmp_path / "other.statdb", microdata(), m=3)
    assert [db.count(query) for query in QUERIES] != [other.count(query) for query in QUERIES]
    same = [
        sf.StatDB.create(tmp_path / f"{name}.statdb", microdata(), m=3, seed=7) for name in "ab"
    ]
    assert [same[0].count(q) for q in QUERIES] == [same[1].count(q) for q in QUERIES]


def test_no_identifier_is_in_the_store(db: sf.StatDB) -> None:
    names = set(people()["name"].to_pylist())
    for path in db.path.rglob("*"):
        if path.is_file():
            text = path.read_bytes().decode("latin-1")
            assert not any(f'"{name}"' in text for name in names)
    assert db.engine.schema.identifiers == ("name",)
    with pytest.raises(QueryRefused, match="identifier"):
        db.count("name = 'p1'")


def test_what_is_not_known_is_an_empty_range(db: sf.StatDB) -> None:
    assert db.count("sex = 'x'") == sf.Answer(0.0, 0, 0)
    assert db.count("age BETWEEN 50 AND 40") == sf.Answer(0.0, 0, 0)
    with pytest.raises(QueryRefused):
        db.count("size = 3")


def test_every_key_of_the_domain_is_shown(db: sf.StatDB) -> None:
    found = db.query("SELECT grade, COUNT(*) FROM t WHERE age > 200 GROUP BY grade")
    assert [key[0] for key in found.keys] == ["low", "middle", "high"]
    assert all((line[0].lo, line[0].hi) == (0, 0) for line in found.answers)


def test_apply_changes_the_store_and_not_the_open_database(db: sf.StatDB) -> None:
    before = [db.count(query) for query in QUERIES]
    first = sf.Microdata.from_arrow(people().slice(0, 30), SCHEMA)
    update = db.apply(inserted=microdata(20, seed=2), deleted=first)
    assert (update.deleted, update.inserted, update.rows) == (30, 20, 390)
    assert [db.count(query) for query in QUERIES] == before
    again = sf.StatDB.open(db.path)
    assert (again.generation, again.engine.n_rows) == (2, 390)
    now = sf.Microdata.from_arrow(pa.concat_tables([people().slice(30), people(20, 2)]), SCHEMA)
    for query in QUERIES:
        answer = again.count(query)
        assert answer.lo <= now.count(query).estimate <= answer.hi


def test_boxes_warn_of_domains_that_only_the_rows_know(tmp_path: Path) -> None:
    with pytest.warns(SfumatoWarning, match="domain of 'age', 'sex', 'since': it is that") as told:
        sf.StatDB.create(tmp_path / "new", microdata(), m=3, framework="generalization")
    assert told[0].filename == __file__
    schema = sf.Schema(
        quasi=["age", "grade"],
        sensitive="disease",
        orders={"grade": ["low", "middle", "high"]},
        bins={"age": 4},
    )
    table = sf.Microdata.from_arrow(people(), schema)
    sf.StatDB.create(tmp_path / "declared", table, m=3, framework="generalization")


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(21, 1)], ids=str)
def test_columns_with_bins_take_numbers(tmp_path: Path, kind: pa.DataType) -> None:
    """In the classes that were made at first, however the new rows are spread."""
    random = np.random.default_rng(1)
    n = 300
    rows = pa.table(
        {
            "age": pa.array(random.integers(18, 90, n), mask=random.random(n) < 0.1).cast(kind),
            "pay": random.choice(1000, n) / 7,
        }
    )
    binned = sf.Schema(quasi=["age"], sensitive="pay", bins={"age": 7, "pay": 6})
    plain = sf.Schema(quasi=["age"], sensitive="pay")
    db = sf.StatDB.create(tmp_path / "new", sf.Microdata.from_arrow(rows, binned), m=3)
    few = rows.slice(0, 40)
    asked = "SELECT age, COUNT(*) FROM t GROUP BY age"
    whole = db.query(asked).table
    for _ in range(2):  # the store still knows after a change
        db.apply(deleted=sf.Microdata.from_arrow(few, plain))
        db = sf.StatDB.open(db.path)
        assert db.engine.n_rows == n - 40
        db.apply(inserted=sf.Microdata.from_arrow(few, plain))
        db = sf.StatDB.open(db.path)
        assert db.query(asked).table == whole
    again = sf.Microdata.from_arrow(rows.slice(0, 5), binned)
    for inserted, deleted in ((again, None), (None, again)):
        with pytest.raises(SchemaError, match="has bins in the database, and none of them is"):
            db.apply(inserted, deleted)
    classes = db.table().take(np.arange(10))
    assert db.apply(deleted=classes).rows == n - 10


def test_the_version_behind_an_answer_is_there_for_the_owner(db: sf.StatDB) -> None:
    version, table = db.version(QUERIES[0]), db.table()
    codes = table.codes["disease"]
    for group in range(version.n_groups):
        values = codes[version.groups == group]
        assert len(set(values)) == len(values) >= 3


def test_what_cannot_be_created(tmp_path: Path, db: sf.StatDB) -> None:
    with pytest.raises(OutputExists):
        sf.StatDB.create(db.path, microdata())
    with pytest.raises(Infeasible, match="largest feasible m is"):
        sf.StatDB.create(tmp_path / "new", microdata(), m=10)
    with pytest.raises(ParameterError, match="m counts"):
        sf.StatDB.create(tmp_path / "new", microdata(), m=1)
    with pytest.raises(ParameterError, match="cohort"):
        sf.StatDB.create(tmp_path / "new", microdata(), m=2, cohort=0)
    alike = people().set_column(5, "disease", pa.array(["flu"] * 400))
    with pytest.raises(Infeasible):
        sf.StatDB.create(tmp_path / "new", sf.Microdata.from_arrow(alike, SCHEMA), m=2)
    assert not (tmp_path / "new").exists()


def test_a_store_of_something_else_is_damage(db: sf.StatDB) -> None:
    from sfumato.statdb.store import Contents, changing, replace_state

    with changing(db.path):
        replace_state(db.path, Contents({"m": 3}, {}, {}))
    with pytest.raises(StoreError, match="damaged"):
        sf.StatDB.open(db.path)


def _apply_for_ever(path: str, started: Any) -> None:
    seed = 10
    while True:
        sf.StatDB.open(path).apply(inserted=microdata(5, seed))
        started.set()
        seed += 1


def test_a_killed_apply_leaves_one_state_or_the_other(db: sf.StatDB) -> None:
    context = multiprocessing.get_context("spawn")
    for pause in (0.0, 0.01, 0.05):
        started = context.Event()
        writer = context.Process(target=_apply_for_ever, args=(str(db.path), started), daemon=True)
        writer.start()
        assert started.wait(PATIENCE)
        time.sleep(pause)
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(PATIENCE)
        found = sf.StatDB.open(db.path)
        assert found.engine.n_rows == 400 + 5 * (found.generation - 1)
    assert found.generation > 3
