"""How alike people of a group are, read from the files of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.forms import likeness
from sfumato.forms.files import FileFormat
from sfumato.forms.likeness import differences


def people(n: int = 4000) -> sf.Microdata:
    random = np.random.default_rng(1)
    age = random.integers(20, 80, n)
    columns = {
        "age": age,
        "town": pa.array(random.choice(["a", "b"], n), mask=random.random(n) < 0.3),
        "land": ["x"] * n,
        "ill": (age // 8 + random.integers(0, 5, n)) % 9,
    }
    schema = sf.Schema(quasi=["age", "town", "land"], sensitive="ill")
    return sf.read(pa.table(columns), schema)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_it_speaks_for_neighbours_and_of_a_constant_nothing(
    format: FileFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for near in (True, False):
        release = sf.publish(people(), sf.Anatomize(near=near), sf.LDiversity(3), seed=1)
        folder = tmp_path / str(near)
        release.write(folder, format=format, experiment=True)
        found.append(differences(folder, release.manifest))
    neighbours, anybody = found
    assert list(neighbours) == list(anybody) == ["age", "town"]
    assert neighbours["age"] < 0.3
    assert anybody["age"] > 0.8
    # groups are in a random order: the first ones tell about as much
    monkeypatch.setattr(likeness, "_ROWS", 1000)
    monkeypatch.setattr("sfumato.forms.files.PIECE", 500)
    some = differences(tmp_path / "True", sf.load(tmp_path / "True").manifest)
    assert some["age"] == pytest.approx(neighbours["age"], rel=0.5)


def test_boxes_have_other_figures(tmp_path: Path) -> None:
    release = sf.publish(people(), sf.Mondrian(), sf.KAnonymity(5))
    assert differences(release.write(tmp_path / "out"), release.manifest) == {}
