"""Databases of people who do not exist, and real servers on loopback that answer about them."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from tests.support.seeds import long_seed
from tests.support.waiting import PATIENCE

Serve: TypeAlias = Callable[..., str]

JOBS = ["baker", "clerk", "cook", "driver", "farmer", "judge", "mason", "nurse", "pilot", "smith"]
DISEASES = ["asthma", "cold", "cough", "diabetes", "flu", "gout"]


def people(n: int = 600) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {
            "age": pa.array(random.integers(18, 91, n), mask=random.random(n) < 0.05),
            "sex": pa.array(random.choice(["female", "male"], n), pa.string()),
            "job": pa.array(random.choice(JOBS, n), pa.string()),
            "since": [date(2020, 1 + int(month), 1) for month in random.integers(0, 12, n)],
            "home town": pa.array(random.choice(["north, upper", 'the "hill"', "sea"], n)),
            "disease": pa.array(random.choice(DISEASES, n), pa.string()),
        }
    )


def wages(n: int = 400) -> pa.Table:
    random = np.random.default_rng(2)
    return pa.table(
        {
            "age": random.integers(18, 66, n),
            "sex": pa.array(random.choice(["female", "male"], n), pa.string()),
            "wage": random.integers(1, 21, n) * 500,
        }
    )


@pytest.fixture(scope="session")
def folder_of_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("databases") / "people.statdb"
    quasi = ["age", "sex", "job", "since", "home town"]
    schema = sf.Schema(quasi=quasi, sensitive="disease")
    sf.StatDB.create(path, sf.Microdata.from_arrow(people(), schema), m=3, seed=long_seed(1))
    return path


@pytest.fixture(scope="session")
def folder_of_wages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("databases") / "wages.statdb"
    schema = sf.Schema(quasi=["age", "sex"], sensitive="wage", kinds={"wage": "numerical"})
    sf.StatDB.create(path, sf.Microdata.from_arrow(wages(), schema), m=4, seed=long_seed(1))
    return path


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """``serve(*folders, **options)`` starts a server on a free port and gives its address."""
    running: list[tuple[Any, threading.Thread]] = []

    def start(*folders: Path, **options: Any) -> str:
        from sfumato.server.logs import Log
        from sfumato.server.serving import address_of, create_app, create_server, listen

        app = create_app(folders, log=Log(io.StringIO()), **options)
        sock = listen("127.0.0.1", 0)
        server = create_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        running.append((server, thread))
        return address_of(sock)

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()
