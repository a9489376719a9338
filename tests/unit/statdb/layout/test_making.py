"""Which layout options ask for, and which cannot be had together."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, StoreError
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.making import Making
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods
from sfumato.statdb.responder import Responder
from sfumato.statdb.store.header import seal

SCHEMA = sf.Schema(quasi=["age", "city"], sensitive="disease")
CONDITION = "age BETWEEN 30 AND 50 AND disease IN ('d1', 'd4')"


def people(n: int = 300) -> sf.Microdata:
    random = np.random.default_rng(1)
    columns = {
        "age": random.integers(18, 80, n),
        "city": random.choice(["Bonn", "Kiel", "Ulm"], n),
        "disease": [f"d{i}" for i in random.integers(0, 9, n)],
    }
    return sf.Microdata.from_arrow(pa.table(columns), SCHEMA)


def made(**options: Any) -> tuple[object, int | None, int | None]:
    options = {"framework": "anatomy", "first": None, "size": None, "cohort": "default"} | options
    found = Making.of(4, **options)
    return found.first, found.size, found.cohort


def test_neighbours_are_the_default() -> None:
    assert made() == made(framework="generalization") == ("neighbours", 20, None)
    assert made(size=5) == ("neighbours", 8, None)
    assert made(first="neighbours", size=100) == ("neighbours", 100, None)


def test_who_names_a_cohort_wants_regrouping() -> None:
    assert made(cohort=3) == made(first="regions", cohort=3) == ("regions", None, 3)
    assert made(first="regions") == ("regions", None, 8)
    assert made(cohort=None) == ("signatures", None, None)
    assert made(first="signatures", cohort=3) == ("signatures", None, 3)
    assert made(cohort=8, framework="generalization") == ("regions", None, 8)
    assert made(first="signatures", framework="generalization") == ("signatures", None, 8)
    assert made(first="anatomize") == ("anatomize", None, 8)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"first": "neighbours", "cohort": 8}, "never regrouped"),
        ({"first": "signatures", "size": 20}, "leave it out"),
        ({"cohort": 8, "size": 20}, "leave it out"),
        ({"size": 0}, "1 or more"),
        ({"size": 2.5}, "1 or more"),
        ({"first": "Neighbours"}, "must be 'neighbours', 'regions', 'signatures' or 'anatomize'"),
        ({"framework": "boxes"}, "must be 'anatomy' or 'generalization'"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        made(**options)


def test_a_database_of_neighbours_on_disk(tmp_path: Path) -> None:
    db = sf.StatDB.create(tmp_path / "near", people(), m=4, size=10)
    assert isinstance(db.responder.stored, Neighbourhoods)
    assert db.info()["size"] == 12
    assert "cohort" not in db.info()
    again = sf.StatDB.open(db.path)
    assert again.count(CONDITION) == db.count(CONDITION)
    assert people().count(CONDITION).lo in again.count(CONDITION)
    update = again.apply(deleted=people().take(np.arange(40)))
    assert (update.rows, update.counterfeits) == (260, 40)
    changed = sf.StatDB.open(db.path)
    changed.compact()
    compact = sf.StatDB.open(db.path)
    assert compact.count(CONDITION) == changed.count(CONDITION)
    assert compact.counterfeits == 40


def test_the_layout_has_a_format_of_its_own(tmp_path: Path) -> None:
    near = sf.StatDB.create(tmp_path / "near", people(), m=4)
    old = sf.StatDB.create(tmp_path / "old", people(), m=4, cohort=8)
    headers = [json.loads((one.path / "statdb.json").read_text()) for one in (near, old)]
    assert [header["version"] for header in headers] == [4, 1]
    assert isinstance(sf.StatDB.open(old.path).responder.stored, Layout)
    later = {**headers[0], "version": 5}
    del later["checksum"]
    (near.path / "statdb.json").write_text(json.dumps({**later, "checksum": seal(later)}))
    with pytest.raises(StoreError, match="reads 1 to 4"):
        sf.StatDB.open(near.path)


@pytest.mark.parametrize("n", [8, 9, 30])
def test_small_tables_and_constant_columns(n: int) -> None:
    """A table too small for two groups is one; nothing needs quasi-identifiers that differ."""
    columns = {"age": [1] * n, "city": ["Ulm"] * n, "disease": [f"d{i % 4}" for i in range(n)]}
    table = sf.Microdata.from_arrow(pa.table(columns), SCHEMA)
    responder = Responder.create(table, m=2, size=n)
    assert responder.stored.kinds == ("groups", 1)
    found = responder.count("age = 1 AND disease = 'd1'")
    assert found.exact
    assert found.lo == table.count("disease = 'd1'").lo


def test_sizes_are_shown_and_nothing_else() -> None:
    responder = Responder.create(people(), m=4, seed=1)
    _, n = responder.stored.kinds
    assert repr(responder) == (
        f"Responder(300 rows, m=4, size=20, framework='anatomy', {n} groups)"
    )
    assert repr(responder.stored) == f"Neighbourhoods({n} groups, 3 attributes)"


@pytest.mark.parametrize(
    ("size", "why"), [(3, "less than m = 4"), (301, "more than the table's 300")]
)
def test_sizes_that_cannot_be_had_are_refused(size: int, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        Responder.create(people(), m=4, size=size)
