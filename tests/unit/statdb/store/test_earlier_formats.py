"""Databases that earlier programs have made, as they left them, open and answer as they did then.

``told.json`` has what those programs said of them: "anatomy" and "boxes" are of format 3,
regrouped, with patches and a row that waits; "neighbours" is one of the first of format 4, which
kept boxes.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods

DATABASES = Path(__file__).parents[3] / "fixtures" / "databases"
TOLD: dict[str, Any] = json.loads((DATABASES / "told.json").read_text())


def unpacked(name: str, folder: Path) -> Path:
    with tarfile.open(DATABASES / f"{name}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    (folder / name).chmod(0o700)
    return folder / name


@pytest.mark.parametrize("name", TOLD)
def test_it_answers_as_before(name: str, tmp_path: Path) -> None:
    told, path = TOLD[name], unpacked(name, tmp_path)
    stated = json.loads((path / "statdb.json").read_text())
    assert stated["version"] == told["version"] == (4 if name == "neighbours" else 3)
    db = sf.StatDB.open(path)
    assert isinstance(db.responder.stored, Neighbourhoods if name == "neighbours" else Layout)
    assert db.info() == told["info"]
    assert (db.counterfeits, db.waiting.num_rows) == (told["counterfeits"], told["waiting"])
    for where, estimate, lo, hi in told["counts"]:
        found = db.count(where)
        assert (found.lo, found.hi) == (lo, hi)
        assert found.estimate == pytest.approx(estimate)
        assert db.table().count(where).lo in found
    result = db.query(told["sql"])
    for key, answers, (old_key, old) in zip(result.keys, result.answers, told["sums"], strict=True):
        assert list(key) == old_key
        assert [[one.lo, one.hi] for one in answers] == [ends for _, *ends in old]


@pytest.mark.parametrize("name", TOLD)
def test_it_can_be_changed(name: str, tmp_path: Path) -> None:
    db = sf.StatDB.open(unpacked(name, tmp_path))
    gone = db.table().take(np.arange(5))
    update = db.apply(deleted=gone)
    assert (update.deleted + update.withdrawn, update.waiting + update.withdrawn) == (5, 1)
    changed = sf.StatDB.open(db.path)
    changed.compact()
    again = sf.StatDB.open(db.path)
    for where, *_ in TOLD[name]["counts"]:
        assert again.count(where) == changed.count(where)
        assert again.table().count(where).lo in again.count(where)
