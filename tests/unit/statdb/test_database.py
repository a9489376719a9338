"""StatDB: created once, opened often, the same answers each time."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import (
    DataError,
    Infeasible,
    OutputExists,
    ParameterError,
    QueryRefused,
    SchemaError,
    SfumatoWarning,
    StoreError,
)
from tests.support.seeds import long_seed
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
    return sf.StatDB.create(tmp_path / "people.statdb", microdata(), m=3, cohort=8)


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
        sf.StatDB.create(tmp_path / f"{name}.statdb", microdata(), m=3, seed=long_seed(7))
        for name in "ab"
    ]
    assert [same[0].count(q) for q in QUERIES] == [same[1].count(q) for q in QUERIES]


def test_no_identifier_is_in_the_store(db: sf.StatDB) -> None:
    names = set(people()["name"].to_pylist())
    for path in db.path.rglob("*"):
        if path.is_file():
            text = path.read_bytes().decode("latin-1")
            assert not any(f'"{name}"' in text for name in names)
    assert db.responder.schema.identifiers == ("name",)
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
    update = db.apply(inserted=microdata(20, seed=5), deleted=first)
    assert (update.deleted, update.inserted, update.rows) == (30, 20, 390)
    assert update.waiting == len(sf.StatDB.open(db.path).waiting) == 0
    assert [db.count(query) for query in QUERIES] == before
    again = sf.StatDB.open(db.path)
    assert (again.generation, again.responder.n_rows) == (2, 390)
    now = sf.Microdata.from_arrow(pa.concat_tables([people().slice(30), people(20, 5)]), SCHEMA)
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


@pytest.mark.slow
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
        assert db.responder.n_rows == n - 40
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


def test_one_disease_never_counts_as_several(tmp_path: Path) -> None:
    """A group of one disease in three spellings would hide nobody."""
    for number, (other, why) in enumerate([("flu\ufe0f", "flu"), ("ｆlu", "they look alike")]):
        table = people()
        diseases = pa.array(["flu", other, "fl\u034fu", " flu"] * 100)
        table = table.set_column(table.column_names.index("disease"), "disease", diseases)
        with pytest.raises((Infeasible, DataError), match=why):
            sf.StatDB.create(tmp_path / str(number), sf.Microdata.from_arrow(table, SCHEMA), m=2)
        assert not (tmp_path / str(number)).exists()


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


def test_rows_that_wait_are_stored_and_shown_to_nobody(db: sf.StatDB) -> None:
    before = {path.name: path.read_bytes() for path in db.path.glob("state-*/*")}
    known = db.info()
    update = db.apply(inserted=only("flu", 4))
    assert (update.inserted, update.waiting, update.lacking) == (0, 4, 8)
    again = sf.StatDB.open(db.path)
    assert again.waiting["disease"].to_pylist() == ["flu"] * 4
    assert again.info() == known  # the generation, too
    assert [again.count(query) for query in QUERIES] == [db.count(query) for query in QUERIES]
    assert again.responder.attributes["age"].values == db.responder.attributes["age"].values
    now = {path.name: path.read_bytes() for path in db.path.glob("state-*/*")}
    assert before.items() <= now.items()
    assert len(now) == len(before) + 1
    again.apply(inserted=only("cold", 4))
    assert len(list(db.path.glob("state-*/waiting-*"))) == 1
    update = again.apply(inserted=only("ache", 4))
    assert (update.inserted, update.waiting, update.counterfeits) == (12, 0, 0)
    last = sf.StatDB.open(db.path)
    assert (last.generation, last.responder.n_rows, len(last.waiting)) == (2, 412, 0)
    assert not list(db.path.glob("state-*/waiting-*"))


def only(value: str, n: int) -> sf.Microdata:
    """People of one value, of an age that nobody has yet."""
    table = people(n, seed=3)
    table = table.set_column(1, "age", pa.array([100 + len(value)] * n))
    return sf.Microdata.from_arrow(table.set_column(5, "disease", pa.array([value] * n)), SCHEMA)


def test_a_change_of_other_rows_keeps_those_that_wait(db: sf.StatDB) -> None:
    db.apply(inserted=only("flu", 4))
    db.apply(deleted=sf.Microdata.from_arrow(people().slice(0, 5), SCHEMA))
    again = sf.StatDB.open(db.path)
    assert (again.responder.n_rows, len(again.waiting), again.generation) == (395, 4, 2)
    update = again.apply(deleted=only("flu", 4).take(np.arange(1)))
    assert (update.deleted, update.withdrawn, update.waiting) == (0, 1, 3)


def test_who_lets_rows_in_at_once_is_warned(db: sf.StatDB) -> None:
    db.apply(inserted=only("flu", 2))
    with pytest.warns(SfumatoWarning, match="2 rows came in at once, each hidden among 2") as told:
        update = db.apply(accept_exposure=True)
    assert told[0].filename == __file__
    assert (update.inserted, update.alone, update.counterfeits) == (2, 2, 4)
    assert sf.StatDB.open(db.path).responder.n_rows == 402
    update = db.apply(accept_exposure=True)  # nobody waits, nothing changes
    assert (update.alone, sf.StatDB.open(db.path).generation) == (0, 2)


def test_what_could_never_come_in_does_not_wait(db: sf.StatDB) -> None:
    for column, value in (("disease", "rabies"), ("grade", "huge")):
        row = people(1).set_column(people().column_names.index(column), column, pa.array([value]))
        schema = sf.Schema(quasi=["age", "sex", "since", "grade"], sensitive="disease")
        with pytest.raises(SchemaError, match=value):
            db.apply(inserted=sf.Microdata.from_arrow(row, schema))
    assert len(sf.StatDB.open(db.path).waiting) == 0


def test_a_store_of_an_earlier_version_opens_and_lets_rows_wait(db: sf.StatDB) -> None:
    header = json.loads((db.path / "statdb.json").read_text())
    assert header.pop("waiting") is None
    assert header["version"] == 1
    del header["checksum"]
    seal = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()
    (db.path / "statdb.json").write_text(json.dumps({**header, "checksum": seal}))
    old = sf.StatDB.open(db.path)
    assert len(old.waiting) == 0
    old.apply(inserted=only("flu", 1))
    assert len(sf.StatDB.open(db.path).waiting) == 1
    # an earlier program would forget the rows that wait; it refuses the store
    assert json.loads((db.path / "statdb.json").read_text())["version"] == 2


def test_damage_to_rows_that_wait_is_found(db: sf.StatDB) -> None:
    db.apply(inserted=only("flu", 1))
    (path,) = db.path.glob("state-*/waiting-*")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StoreError, match=r"damaged: waiting-.* was changed"):
        sf.StatDB.open(db.path)


def _apply_for_ever(path: str, started: Any) -> None:
    warnings.simplefilter("ignore", SfumatoWarning)
    seed = 10
    while True:
        sf.StatDB.open(path).apply(inserted=microdata(5, seed), accept_exposure=True)
        started.set()
        seed += 1


def _hold_back_for_ever(path: str, started: Any) -> None:
    while True:
        sf.StatDB.open(path).apply(inserted=only("flu", 5))
        started.set()


def _killed(work: Any, db: sf.StatDB, pause: float) -> sf.StatDB:
    """What a process leaves that is killed some time after its first change."""
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    writer = context.Process(target=work, args=(str(db.path), started), daemon=True)
    writer.start()
    assert started.wait(PATIENCE)
    time.sleep(pause)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join(PATIENCE)
    assert writer.exitcode == -signal.SIGKILL
    return sf.StatDB.open(db.path)


@pytest.mark.slow
def test_a_killed_apply_leaves_one_state_or_the_other(db: sf.StatDB) -> None:
    for pause in (0.0, 0.01, 0.05):
        found = _killed(_apply_for_ever, db, pause)
        assert found.responder.n_rows == 400 + 5 * (found.generation - 1)
    assert found.generation > 3


@pytest.mark.slow
def test_an_apply_that_is_killed_while_it_holds_rows_back_loses_none(db: sf.StatDB) -> None:
    waited = 0
    for pause in (0.0, 0.01, 0.05):
        found = _killed(_hold_back_for_ever, db, pause)
        assert (found.generation, found.responder.n_rows) == (1, 400)
        assert len(found.waiting) % 5 == 0
        assert len(found.waiting) > waited
        waited = len(found.waiting)
    found.apply(inserted=only("flu", 5))
    assert len(list(db.path.glob("state-*/waiting-*"))) == 1
