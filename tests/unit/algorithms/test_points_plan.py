from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.points import Points
from sfumato.algorithms.points_plan import _runs
from sfumato.algorithms.recoding import levels
from sfumato.algorithms.recoding.base import levels_of
from sfumato.algorithms.recoding.frequency_sets import FrequencySet
from sfumato.algorithms.recoding.judge import Judge
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Schema
from sfumato.models.anonymity import KAnonymity
from sfumato.models.bound import Bound
from sfumato.models.diversity import DistinctLDiversity
from sfumato.models.requirements import requirements
from tests.support.strategies import tables


@st.composite
def weighted(draw: st.DrawFn) -> tuple[Bound, Bound]:
    """The requirements of a table whose rows stand for several, and of one that has them all."""
    table: Microdata = draw(tables())
    n = table.n_rows
    weights = np.array(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)), np.int64)
    rows = table.take(np.repeat(np.arange(n), weights))
    whole = Bound.of(requirements(KAnonymity(3) & DistinctLDiversity(2), table.schema), rows)
    return replace(whole, table=table, weights=weights), whole


@settings(max_examples=50)
@given(weighted())
def test_points_weigh_what_their_rows_stand_for(drawn: tuple[Bound, Bound]) -> None:
    few, all_rows = drawn
    offsets = {"d": 0, "e": few.table.attributes["d"].size}
    found = Points.distinct(few.table, offsets, few.weights)
    expected = Points.distinct(all_rows.table, offsets)
    for name in ("codes", "weights", "starts", "values", "counts"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@settings(max_examples=50)
@given(weighted())
def test_frequency_sets_count_what_rows_stand_for(drawn: tuple[Bound, Bound]) -> None:
    (found, _), (expected, _) = map(FrequencySet.of, drawn)
    assert np.array_equal(found.codes, expected.codes)
    assert np.array_equal(found.weights, expected.weights)
    for name, seen in expected.seen.items():
        for part in ("starts", "values", "counts", "whole"):
            assert np.array_equal(getattr(found.seen[name], part), getattr(seen, part)), part


@settings(max_examples=50)
@given(weighted(), st.data())
def test_groups_pass_by_what_rows_stand_for(
    drawn: tuple[Bound, Bound], data: st.DataObject
) -> None:
    few, all_rows = drawn
    assert few.weights is not None
    n = few.table.n_rows
    _, groups = np.unique(
        data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), return_inverse=True
    )
    verdict = few.passing(Partition.of(groups.astype(np.int32)))
    spread = np.repeat(groups, few.weights).astype(np.int32)
    assert np.array_equal(verdict, all_rows.passing(Partition.of(spread)))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 20))
def test_runs_are_full_and_not_more(loads: list[int], most: int) -> None:
    firsts = [*_runs(np.array(loads), most).tolist(), len(loads)]
    assert firsts[0] == 0
    for low, high in pairwise(firsts):
        assert high == low + 1 or sum(loads[low:high]) <= most
        assert high == len(loads) or sum(loads[low : high + 1]) > most


def test_the_sets_that_a_lattice_keeps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """And which of them are kept changes no verdict."""
    chance = np.random.default_rng(4)
    table = Microdata.from_arrow(
        pa.table({name: chance.integers(0, 12, 900) for name in "abcd"}),
        Schema(quasi=["a", "b", "c", "d"]),
    )
    bound = Bound.of(requirements(KAnonymity(2), table.schema), table)
    exact, _ = FrequencySet.of(bound)
    ladders = [levels_of(attribute) for attribute in table.quasi]
    vectors = list(np.ndindex(*(len(ladder) for ladder in ladders)))

    def verdicts() -> tuple[list[object], int]:
        judge = levels.LevelJudge(ladders, exact, Judge.of(bound, 0.2, "ncp"))
        found: list[object] = [judge.verdict(vector) for vector in vectors]
        return found, sum(map(len, judge._shelf))

    kept, much = verdicts()
    monkeypatch.setattr(levels, "_TIMES", 1.6)
    fewer, little = verdicts()
    assert fewer == kept
    assert little <= 1.6 * len(exact) < much
