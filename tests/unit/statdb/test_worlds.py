"""Worlds that nobody may tell apart are the same to all questions; others are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.answer import Result
from sfumato.statdb.responder import Responder
from sfumato.statdb.worlds import compared, crossed, exchanged

KINDS: list[dict[str, Any]] = [{}, {"size": 12}, {"cohort": 2}, {"cohort": 8}, {"cohort": None}]


def people(n: int = 600) -> sf.Microdata:
    random = np.random.default_rng(2)
    columns = {
        "age": random.integers(20, 80, n),
        "place": random.choice(list("abcdefg"), n),
        "salary": random.integers(0, 20, n) * 100,
    }
    return sf.read(pa.table(columns), sf.Schema(quasi=["age", "place"], sensitive="salary"))


@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_answers_are_the_same_in_both_worlds(kind: dict[str, Any], framework: Any) -> None:
    responder = Responder.create(people(), m=4, framework=framework, seed=1, **kind)
    random = np.random.default_rng(1)
    other = exchanged(responder, random)
    before, after = responder.table(), other.table()
    assert sorted(before.codes["salary"]) == sorted(after.codes["salary"])
    assert _pairs(before) != _pairs(after)  # people have other values now
    assert compared(responder, other, 300, seed=1).differ == 0


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_exchanges_across_groups_are_noticed(kind: dict[str, Any]) -> None:
    """The control; in a whole bucket there is nobody of another one at times."""
    responder = Responder.create(people(), m=4, seed=1, **kind)
    random = np.random.default_rng(1)
    told = [
        compared(responder, crossed(responder, random), 200, seed=i).differ > 0 for i in range(6)
    ]
    assert sum(told) >= 4


class _Leaking(Responder):
    """Says the truth of every tenth question."""

    def query(self, query: Any) -> Result:
        if hash(str(query)) % 10:
            return super().query(query)
        return self.table().query(query)


def test_a_database_that_tells_the_truth_at_times_is_found() -> None:
    sound = Responder.create(people(), m=4, seed=1)
    fields = {name: getattr(sound, name) for name in sound.__dataclass_fields__}
    leaking = _Leaking(**fields)
    other = replace(leaking, stored=exchanged(sound, np.random.default_rng(1)).stored)
    assert compared(leaking, other, 300, seed=1).differ > 5


def _pairs(table: sf.Microdata) -> list[tuple[int, ...]]:
    columns = [table.codes[name].tolist() for name in ("age", "place", "salary")]
    return sorted(zip(*columns, strict=True))
