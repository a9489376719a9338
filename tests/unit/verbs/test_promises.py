"""What release.json promises."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.models.base import AllOf

TABLE = pa.table({"age": list(range(12)), "ill": ["flu", "cold", "gout"] * 4})
SCHEMA = sf.Schema(quasi=["age"], sensitive=["ill"])


@dataclass(frozen=True)
class Varied:
    """Somebody's own model."""

    least: int

    def passes(self, groups: Histograms) -> Flags:
        return groups.distinct >= self.least


@pytest.mark.parametrize(
    "model",
    [
        sf.LDiversity(2) & sf.LDiversity(2),
        sf.LDiversity(2) & sf.LDiversity(2, on="ill"),
        sf.LDiversity(2) & sf.LDiversity(2) & sf.LDiversity(3),
    ],
    ids=str,
)
@pytest.mark.parametrize("algorithm", [sf.Anatomize(), sf.Mondrian()], ids=str)
def test_what_is_asked_for_twice_is_promised_once(
    algorithm: Any, model: Any, tmp_path: Path
) -> None:
    table = sf.Microdata.from_arrow(TABLE, SCHEMA)
    folder = sf.publish(table, algorithm, model).write(tmp_path / "out")
    sf.verify(folder).require()


def test_own_models_of_one_class_are_stated_once() -> None:
    table = sf.Microdata.from_arrow(TABLE, SCHEMA)
    release = sf.publish(table, sf.Mondrian(), AllOf((Varied(2), Varied(3))))
    assert [one["class"] for one in release.manifest.promise] == ["Varied"]
