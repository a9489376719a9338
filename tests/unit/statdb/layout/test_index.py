"""Digits and bitmaps, and conditions of many runs."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.statdb import Responder
from sfumato.statdb.layout.bucketization import lay_out
from sfumato.statdb.layout.index import choose_bases, even_bases
from sfumato.statdb.layout.signatures import Signatures
from tests.support.tables import microdata


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 88, 1000, 2**20 + 1])
@pytest.mark.parametrize("digits", [1, 2, 3, 20])
def test_bases_reach_every_code(size: int, digits: int) -> None:
    bases = even_bases(size, digits)
    assert len(bases) == digits
    assert np.prod([float(base) for base in bases]) >= size


def test_the_attribute_that_saves_most_gets_another_digit() -> None:
    assert choose_bases([88, 2, 57], 200) == [(88,), (2,), (57,)]
    assert choose_bases([88, 2, 57], 100) == [(10, 9), (2,), (57,)]
    # as few as digits of base 2 take, even if that is too many
    fewest = choose_bases([1000, 1000], 0)
    assert [sum(base - 1 for base in bases) for bases in fewest] == [10, 10]


def wide() -> sf.Microdata:
    generator = np.random.default_rng(0)
    n = 3000
    columns = {
        "income": generator.integers(0, 10**6, n),
        "age": generator.integers(0, 100, n),
        "disease": generator.integers(0, 6, n),
    }
    return microdata(columns, sensitive=["disease"])


def test_large_domains_in_small_space() -> None:
    table = wide()
    coded = sum(codes.nbytes for codes in table.codes.values())
    for cohort in (None, 8, 64):
        stored = Responder.create(table, m=3, cohort=cohort, seed=0).stored
        assert len(stored.index.bases) > 2
        assert stored.index.bitmaps.nbytes < 3 * coded
        assert stored.nbytes < 4 * coded


@pytest.mark.parametrize(
    "condition",
    [
        "income < 500000",
        "income BETWEEN 123456 AND 654321 AND age IN (1, 3, 5, 7, 9, 50)",
        "NOT income BETWEEN 100000 AND 900000 AND age <> 30",
        "income >= 0",
        "income > 999999999",
    ],
)
def test_conditions_on_large_domains(condition: str) -> None:
    """Without a sensitive condition the answer is exact, so it must be the truth."""
    table = wide()
    for cohort in (None, 8):
        found = Responder.create(table, m=3, cohort=cohort, seed=0).count(condition)
        assert found.lo == found.hi == table.count(condition).lo


def test_lists_of_very_many_values_are_looked_up_row_by_row() -> None:
    table = wide()
    values = table.attributes["income"].values.to_pylist()[::3]
    query = sf.Query({"income": values})
    found = Responder.create(table, m=3, seed=0).count(query)
    assert found.lo == found.hi == table.count(query).lo
    assert len(values) > 500


@pytest.mark.parametrize("cohort", [None, 1, 2, 3, 8, 9, 64, 65])
def test_no_segment_crosses_a_word_or_another(cohort: int | None) -> None:
    groups = np.array([700, 130, 65, 64, 63, 9, 8, 7, 3, 2, 1, 1], np.int64)
    sizes = np.array([2, 3, 2, 4, 2, 3, 2, 2, 5, 2, 3, 2])
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    values = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    buckets = lay_out(Signatures(starts, values, groups), cohort, 5)
    seen = np.zeros(buckets.n_places, np.int64)
    for b in range(buckets.n_buckets):
        room = int(buckets.room[b])
        for k in range(int(buckets.cohorts[b])):
            places = buckets.segments(b, k)
            seen[places] += 1
            words = places // 64
            assert (words[:, 0] == words[:, -1]).all() or room % 64 == 0
            assert (places[:, 0] % room == 0).all() or room % 64 == 0
            if room % 64 == 0:
                assert (places[:, 0] % 64 == 0).all()
    assert seen.max() == 1
    sizes_of = np.diff(buckets.starts)
    assert seen.sum() == (buckets.cohorts * buckets.size * sizes_of).sum()
    assert (buckets.groups * sizes_of).sum() == (groups * sizes).sum()
