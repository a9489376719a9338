"""Random texts through HTTP: each is answered or refused at a place, and none hangs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.server.questions import Asked, understood
from tests.server.kit import GENEROUS, running
from tests.support.seeds import long_seed
from tests.support.sql_texts import Texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with the columns that the texts are about."""
    random, n = np.random.default_rng(0), 120
    table = pa.table(
        {
            "age": pa.array(random.integers(0, 12, n), pa.int64()),
            "sex": pa.array(random.choice(["F", "M", "it's", "x y"], n)),
            "born": pa.array(random.integers(18_260, 18_275, n).astype(np.int32), pa.date32()),
            "smoker": pa.array(np.arange(n) % 2 == 0),
            "weight": pa.array(random.integers(0, 40, n) / 4, mask=random.random(n) < 0.1),
        }
    )
    schema = sf.Schema(quasi=["age", "sex", "born", "weight"], sensitive="smoker")
    path = tmp_path_factory.mktemp("fuzz") / "fuzz.statdb"
    sf.StatDB.create(path, sf.Microdata.from_arrow(table, schema), m=2, seed=long_seed(0))
    return path


def test_random_texts_are_answered_or_refused_at_a_place(folder: Path) -> None:
    texts, statuses = Texts(Random(7)), Counter[int]()
    # a text that takes longer gets 504, which is neither
    with running(folder, limits=replace(GENEROUS, seconds=5.0)) as kit:
        for number in range(600):
            text = texts.text() if number % 4 else f"SELECT COUNT(*) FROM t WHERE {texts.where()}"
            if number % 3:
                reply = kit.http.post("/v1/query", content=json.dumps({"sql": text}))
            elif text.isprintable():
                reply = kit.http.get("/v1/query", params={"sql": text})
            else:
                continue
            statuses[reply.status_code] += 1
            assert reply.status_code in (200, 422), (text, reply.text)
            if reply.status_code == 422:
                position = reply.json()["error"]["position"]
                assert 1 <= position <= len(text) + 1
        assert len(kit.records()) == statuses.total()
    assert statuses[200] > 50
    assert statuses[422] > 50


def test_the_canonical_text_is_canonical(folder: Path) -> None:
    """Read again it means the same, word for word."""
    texts, responder = Texts(Random(3)), sf.StatDB.open(folder).responder
    seen = 0
    for _ in range(500):
        text = texts.query()
        try:
            first = understood(responder, Asked(text, is_sql=True), 10_000)
        except sf.errors.QueryRefused:
            continue
        again = understood(responder, Asked(first.sql, is_sql=True), 10_000)
        assert (again.key, again.sql) == (first.key, first.sql), text
        assert again.sql.isprintable()
        seen += 1
    assert seen > 200
