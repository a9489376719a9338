"""What release.json says of how groups were made is true of all that we make."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.histograms import Histograms
from sfumato.models.base import Model
from sfumato.verbs.checks import Form

MODELS: list[Model] = [
    sf.LDiversity(3), sf.LDiversity(2.5), sf.LDiversity(4.3), sf.DistinctLDiversity(3),
    sf.EntropyLDiversity(2.5), sf.RecursiveLDiversity(2, 2), sf.TCloseness(0.3),
    sf.LDiversity(2) & sf.TCloseness(0.2), sf.LDiversity(2) & sf.DistinctLDiversity(4),
]  # fmt: skip
WAYS = [
    sf.Anatomize(), sf.Anatomize(size=1), sf.Anatomize(size=31), sf.Anatomize(size=200),
    sf.Anatomize(near=False), sf.Frontier(), sf.Frontier(size=10), sf.Frontier(refine=1),
    sf.Frontier(size=9, refine=1),
]  # fmt: skip


def people(n: int, seed: int) -> sf.Microdata:
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, n)
    ill = (age // 8 + random.integers(0, 5, n)) % 9
    schema = sf.Schema(quasi=["age", "town"], sensitive="ill")
    return sf.read(
        pa.table({"age": age, "town": random.choice(list("abc"), n), "ill": ill}), schema
    )


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_it_is_true_of_every_release(way: sf.Anatomize | sf.Frontier, tmp_path: Path) -> None:
    forms: Iterator[Form] = cycle(("anatomized", "permuted", "anatomized", "generalized"))
    table, verified = people(203, 1), 0
    for number, (model, form) in enumerate(zip(MODELS, forms, strict=False)):
        release = sf.publish(table, way, model, form=form)
        verified += sf.verify(release.write(tmp_path / str(number))).require().ok
    assert verified == len(MODELS)


class AtLeastForty:
    """A model of one's own, for which groups are merged."""

    needs_sensitive = True

    def passes(self, groups: Histograms) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return groups.sizes >= 40


@pytest.mark.parametrize("way", [sf.Anatomize(size=3), sf.Anatomize(near=False)], ids=str)
def test_it_is_true_of_models_of_ones_own(way: sf.Anatomize, tmp_path: Path) -> None:
    release = sf.publish(people(300, 1), way, sf.LDiversity(3) & AtLeastForty())
    sf.verify(release.write(tmp_path / "out"), models=[AtLeastForty()]).require()
