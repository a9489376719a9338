"""Compile what databases need before anybody waits for it, as when an image is built.

Small databases of every kind are made of invented patients, asked, changed and asked again; the
machine code stays where NUMBA_CACHE_DIR says (core/compiled.py). It is for the kind of processor
that it was made on.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.microdata import Microdata
from sfumato.core.query import Aggregate, Query
from sfumato.core.schema import Schema
from sfumato.engines.reading import read
from sfumato.errors import SfumatoWarning
from sfumato.io.owner_state import VARIABLE
from sfumato.statdb.database import StatDB

_WAYS: tuple[dict[str, Any], ...] = ({}, {"cohort": 2}, {"first": "signatures"})
_FRAMEWORKS = ("anatomy", "generalization")
_AGGREGATES = tuple(Aggregate(one, "age") for one in ("sum", "avg", "min", "max"))


def compile_all() -> int:
    """Do it; tells how many kinds of databases there are."""
    made = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), _remembering_nothing():
        warnings.simplefilter("ignore", SfumatoWarning)  # nobody is exposed: nobody exists
        for table, way, framework in product(_tables(), _WAYS, _FRAMEWORKS):
            made += 1
            _use(Path(folder) / f"{made}.statdb", table, way, framework)
    return made


@contextmanager
def _remembering_nothing() -> Iterator[None]:
    """The patients are invented, and their databases gone in a moment."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = ""
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def _tables() -> Iterator[Microdata]:
    home = resources.files("sfumato") / "data"
    with resources.as_file(home) as folder:
        for quasi, sensitive in ((["age", "sex", "job"], "disease"), (["sex", "job"], "age")):
            yield read(folder / "patients.csv", Schema(quasi=quasi, sensitive=sensitive))


def _use(path: Path, table: Microdata, way: dict[str, Any], framework: Any) -> None:
    database = StatDB.create(path, table, m=2, framework=framework, **way)
    _ask(database)
    database.apply(deleted=table.take(np.arange(5)))
    StatDB.open(path).apply(inserted=table.take(np.arange(5, 10)), accept_exposure=True)
    _ask(StatDB.open(path))


def _ask(database: StatDB) -> None:
    database.query("SELECT sex, COUNT(*) FROM t WHERE sex = 'M' GROUP BY sex")
    database.query(Query())
    if database.responder.sensitive == "age":
        database.query(Query(select=_AGGREGATES))
