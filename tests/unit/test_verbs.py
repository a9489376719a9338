"""publish_file: from a source to a release folder, by the engine that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import OutputExists, ParameterError
from sfumato.verbs import files

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="disease")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    generator = np.random.default_rng(6)
    n = 2003
    table = pa.table(
        {
            "age": generator.integers(0, 90, n),
            "town": generator.choice(["a", "b", "c"], n),
            "disease": generator.choice([f"d{i}" for i in range(9)], n),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


@pytest.mark.parametrize("engine", ["auto", "memory", "stream"])
def test_every_engine_writes_a_release_that_verifies(
    source: Path, tmp_path: Path, engine: Any
) -> None:
    manifest = sf.publish_file(
        source, SCHEMA, sf.Anatomize(near=False), sf.LDiversity(4), tmp_path / "out", engine=engine
    )
    assert manifest.rows == 2003
    assert sf.verify(tmp_path / "out").require().groups == manifest.groups == 2003 // 4
    loaded = sf.load(tmp_path / "out")
    assert isinstance(loaded, sf.AnatomizedTables)
    assert loaded.manifest == manifest


def test_boxes_go_the_same_way(source: Path, tmp_path: Path) -> None:
    manifest = sf.publish_file(
        source, SCHEMA, sf.Mondrian(), sf.KAnonymity(5), tmp_path / "out", labels="text", means=True
    )
    assert manifest.kind == "generalized"
    assert sf.verify(tmp_path / "out").ok


def test_auto_streams_what_does_not_fit(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def too_large(source: object, schema: sf.Schema) -> bool:
        asked.append(source)
        return True

    def unread(*arguments: object, **options: object) -> None:
        raise AssertionError("read into memory")

    monkeypatch.setattr(files, "needs_streaming", too_large)
    monkeypatch.setattr(files, "read_whole", unread)
    sf.publish_file(source, SCHEMA, sf.Anatomize(), sf.LDiversity(4), tmp_path / "out")
    assert asked == [source]
    assert sf.verify(tmp_path / "out").ok


def test_streaming_refuses_what_it_cannot_do(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a permuted release needs all rows in memory"):
        sf.publish_file(
            source, SCHEMA, sf.Mondrian(), sf.LDiversity(2), tmp_path / "out",
            form="permuted", engine="stream",
        )  # fmt: skip
    with pytest.raises(ParameterError, match="l-diversity"):
        sf.publish_file(
            source,
            SCHEMA,
            sf.Anatomize(near=False),
            sf.TCloseness(0.5),
            tmp_path / "out",
            engine="stream",
        )
    with pytest.raises(ParameterError, match="engine must be"):
        sf.publish_file(
            source,
            SCHEMA,
            sf.Anatomize(),
            sf.LDiversity(2),
            tmp_path / "out",
            engine="fast",  # type: ignore[arg-type]
        )
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_found_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputExists):
        sf.publish_file(
            tmp_path / "missing.csv", SCHEMA, sf.Anatomize(), sf.LDiversity(2), tmp_path / "out"
        )
