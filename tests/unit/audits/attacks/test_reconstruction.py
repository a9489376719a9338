"""Tables that agree with answers: all of them on tiny inputs, the true one where it is told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.reconstruction import Reconstruction, Told, reconstructed
from sfumato.core.answer import CountAnswers
from sfumato.core.query import Query
from sfumato.errors import DataError
from sfumato.statdb.responder import Responder

pytest.importorskip("scipy")
M, N_VALUES = 4, 8


def people(n: int = 400) -> sf.Microdata:
    random = np.random.default_rng(3)
    columns = {
        "age": random.permutation(n),
        "place": random.choice(list("abcdef"), n),
        "illness": [f"i{code}" for code in random.integers(0, N_VALUES, n)],
    }
    return sf.read(pa.table(columns), sf.Schema(quasi=["age", "place"], sensitive="illness"))


def attacked(database: object, table: sf.Microdata) -> float:
    (sensitive,) = table.sensitive
    way = Reconstruction(people=30, boxes=60, tables=4)
    who, values, _ = way.attack(database, known_people(table), sensitive, 6.0, seed=1)  # type: ignore[arg-type]
    return float((table.codes["illness"][who] == values).mean())


class _Exact:
    """A database that tells the truth."""

    def __init__(self, table: sf.Microdata) -> None:
        self.table = table

    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        found = [self.table.count(one) for one in queries]
        true = np.array([int(one.lo) for one in found])
        return CountAnswers(true.astype(float), true, true)


def test_true_counts_give_everybody_away() -> None:
    table = people()
    assert attacked(_Exact(table), table) > 0.9


@pytest.mark.parametrize("kind", [{}, {"cohort": 2}, {"cohort": None}], ids=str)
def test_a_database_gives_nobody_away(kind: dict[str, int]) -> None:
    responder = Responder.create(people(), m=M, seed=1, **kind)  # type: ignore[arg-type]
    assert attacked(responder, responder.table()) < 0.38  # of 80 people; 0.25 promised


def test_a_difference_of_two_answers_is_found() -> None:
    told = [Told((0, 1, 2), 0, 2, 2), Told((1, 2), 0, 1, 1)]
    shares = reconstructed(told, np.ones(3, np.int64), 2, 6, 5.0, np.random.default_rng(1))
    assert shares[0].tolist() == [1.0, 0.0]
    assert shares[1:, 0].sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(8))
def test_what_all_tables_share_is_certain(seed: int) -> None:
    """Against all tables of five people that agree with random answers."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, 5)
    told = []
    for _ in range(4):
        chosen = np.flatnonzero(random.random(5) < 0.6)
        value = int(random.integers(0, 3))
        exact = int((truth[chosen] == value).sum())
        told.append(Told(tuple(chosen.tolist()), value, exact, exact + int(random.integers(0, 2))))
    tables = [
        table
        for table in product(range(3), repeat=5)
        if all(a.lo <= sum(table[p] == a.value for p in a.subjects) <= a.hi for a in told)
    ]
    shares = reconstructed(told, np.ones(5, np.int64), 3, 8, 5.0, random)
    for person in range(5):
        possible = {table[person] for table in tables}
        assert {int(v) for v in np.flatnonzero(shares[person] > 1e-6)} <= possible
        if len(possible) == 1:
            assert shares[person].max() == pytest.approx(1)


def test_people_who_are_alike_are_one_variable() -> None:
    told = [Told((0,), 0, 2, 2)]
    shares = reconstructed(told, np.array([3, 1]), 2, 2, 5.0, np.random.default_rng(1))
    assert shares[0] == pytest.approx([2 / 3, 1 / 3])


def test_answers_that_contradict_each_other_are_refused() -> None:
    told = [Told((0,), 0, 1, 1), Told((0,), 1, 1, 1)]
    with pytest.raises(DataError, match="no table agrees"):
        reconstructed(told, np.ones(1, np.int64), 2, 1, 5.0, np.random.default_rng(1))
