"""Changes touch what changes: few words, the same answers as a database laid out anew."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.index import marked
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.slots import count_counterfeits, slots_of
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates import Change, updated
from sfumato.statdb.updates.edits import Edits, UpdateRows, laid_out_anew
from sfumato.statdb.updates.newcomers import Newcomers
from sfumato.statdb.updates.rows import no_rows
from tests.support.statdb import buckets_of

SCHEMA = sf.Schema(quasi=["person", "x", "y"], sensitive="s")
M = 3
QUERIES = ["x <= 2", "x <= 2 AND s = 'a'", "y = 1 AND x > 1 AND s IN ('b', 'c')", "s <> 'a'"]


def rows(random: np.random.Generator, n: int, first: int, values: str = "abcdefgh") -> pa.Table:
    """Rows that the quasi-identifier ``person`` tells apart."""
    return pa.table(
        {
            "person": np.arange(first, first + n) % 9973,
            "x": random.integers(0, 5, n),
            "y": random.integers(0, 3, n),
            "s": pa.array((list(values) * n)[:n], pa.string()),
        }
    )


def microdata(table: pa.Table) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, SCHEMA)


def change(
    responder: Responder,
    inserted: pa.Table | None = None,
    deleted: pa.Table | None = None,
    *,
    accept: bool = False,
) -> Change:
    return updated(
        responder,
        no_rows(responder.schema, responder.attributes),
        None if inserted is None else microdata(inserted),
        None if deleted is None else microdata(deleted),
        Randomness(1),
        accept_exposure=accept,
    )


def require_consistent(responder: Responder) -> None:
    """Bitmaps say what codes say, segments hold what their buckets allow, groups are counted."""
    stored, buckets = responder.stored, buckets_of(responder)
    places = stored.occupied()
    codes = [stored.codes[name] for name in responder.schema.quasi]
    again = marked(stored.index, codes, stored.everybody.copy())
    assert (again == stored.index.bitmaps).all()
    empty = np.ones(buckets.n_places, np.bool_)
    empty[places] = False
    assert not any(column[empty].any() for column in codes)  # nothing is left of who is gone
    slots = slots_of(buckets, places)
    assert (slots.line < np.diff(buckets.starts)[slots.bucket]).all()
    assert (slots.cohort < buckets.cohorts[slots.bucket]).all()
    assert (slots.slot < buckets.size[slots.bucket]).all()
    assert (np.diff(buckets.base) > 0).all()
    assert buckets.end <= buckets.n_places
    held: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for b, line, k in np.stack(slots[:3], axis=1).tolist():
        held[b, k][line] += 1
    groups: Counter[int] = Counter()
    for (b, _), lines in held.items():
        groups[b] += max(lines.values())
    assert [groups[b] for b in range(buckets.n_buckets)] == buckets.groups.tolist()
    signatures = [buckets.signature(b) for b in range(buckets.n_buckets)]
    assert [buckets.find(one) for one in signatures] == list(range(buckets.n_buckets))


def laid_out(responder: Responder) -> Responder:
    """The same rows in a layout made anew."""
    none = np.zeros(0, np.int32)
    nobody = UpdateRows(
        Newcomers([], [], none, none), none, dict.fromkeys(responder.stored.codes, none)
    )
    sizes = [responder.attributes[name].size for name in responder.schema.quasi]
    n_values = responder.attributes[responder.sensitive].size
    gone = none.astype(np.int64)
    old = responder.stored
    assert isinstance(old, Layout)
    stored = laid_out_anew(old, gone, nobody, responder.cohort, n_values, sizes)
    return replace(responder, stored=stored)


def cohorts(responder: Responder) -> Counter[tuple[tuple[Any, ...], ...]]:
    """Who is with whom: the rows of every cohort."""
    slots = slots_of(buckets_of(responder), responder.stored.occupied())
    table = responder.table()
    lines = zip(*(table.codes[name].tolist() for name in table.codes), strict=True)
    together = defaultdict(list)
    for line, b, k in zip(lines, slots.bucket.tolist(), slots.cohort.tolist(), strict=True):
        together[b, k].append(line)
    return Counter(tuple(sorted(group)) for group in together.values())


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
@pytest.mark.parametrize("cohort", [1, 3, 8, 70, None])
@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([0, 3, 8, 24, 160]), st.booleans()),
        min_size=1,
        max_size=6,
    ),
)
def test_lives_of_databases(
    framework: Any, cohort: int | None, seed: int, steps: list[tuple[int, int, bool]]
) -> None:
    random = np.random.default_rng(seed)
    truth = rows(random, 240, 0)
    responder = Responder.create(
        microdata(truth), m=M, cohort=cohort, framework=framework, seed=seed
    )
    require_consistent(responder)
    for born, (n_out, n_in, accept) in enumerate(steps, 1):
        order = random.permutation(truth.num_rows)
        gone, stay = truth.take(order[:n_out]), truth.take(order[n_out:])
        new = rows(random, n_in, 9973 - 160 * born if accept else 160 * born + 80)
        done = change(responder, new if n_in else None, gone if n_out else None, accept=accept)
        responder = done.responder
        require_consistent(responder)
        truth = pa.concat_tables([stay, new]) if done.update.inserted else stay
        exact = microdata(truth)
        for query in QUERIES:
            found = responder.count(query)
            assert found.lo <= exact.count(query).estimate <= found.hi
        assert done.update.rows == truth.num_rows
        assert done.update.counterfeits == count_counterfeits(buckets_of(responder), len(truth))
        anew = laid_out(responder)
        require_consistent(anew)
        for query in QUERIES:
            one, other = anew.count(query), responder.count(query)
            assert (one.lo, one.hi) == (other.lo, other.hi)
        assert cohorts(anew) == cohorts(responder)


def large(cohort: int | None = 8, n: int = 40_000) -> tuple[pa.Table, Responder]:
    random = np.random.default_rng(1)
    truth = rows(random, n, 0)
    return truth, Responder.create(microdata(truth), m=M, first="signatures", cohort=cohort, seed=1)


@pytest.mark.parametrize("cohort", [1, 8, None])
def test_few_rows_are_few_words(cohort: int | None) -> None:
    truth, responder = large(cohort)
    new = rows(np.random.default_rng(2), 8, 0)
    done = change(responder, new, truth.slice(0, 10))
    assert isinstance(done.made, Edits)
    assert len(done.made.words) <= 18
    before, after = responder.stored, done.responder.stored
    untouched = np.ones(before.index.bitmaps.shape[1], np.bool_)
    untouched[done.made.words] = False
    assert (before.index.bitmaps == after.index.bitmaps)[:, untouched].all()
    arrays = done.arrays()
    assert arrays is not None
    assert sum(one.nbytes for one in arrays.values()) < before.nbytes / 20
    assert "index.bases" not in arrays  # named again, not written again
    require_consistent(done.responder)


@pytest.mark.slow
@pytest.mark.parametrize("cohort", [1, 8, None])
def test_rows_that_come_one_batch_after_the_other(cohort: int | None) -> None:
    """Places to spare are used up, buckets move, and sometimes everything is laid out anew."""
    random = np.random.default_rng(3)
    truth, responder = large(cohort, 12_000)
    kinds: Counter[str] = Counter()
    for number in range(60):
        values = random.permutation(list("abcdefgh"))[: random.integers(M, 9)]
        new = rows(random, 8 * len(values), 100 * number, "".join(values))
        done = change(responder, new)
        kinds[type(done.made).__name__] += 1
        responder = done.responder
        truth = pa.concat_tables([truth, new])
        require_consistent(responder)
    exact = microdata(truth)
    for query in QUERIES:
        found = responder.count(query)
        assert found.lo <= exact.count(query).estimate <= found.hi
    assert min(kinds["Edits"], kinds["Layout"]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("cohort", [1, 8, None])
def test_rows_that_leave_take_their_places_with_them_in_the_end(cohort: int | None) -> None:
    truth, responder = large(cohort, 4_000)
    n_places = buckets_of(responder).n_places
    while truth.num_rows > 100:
        done = change(responder, None, truth.slice(0, truth.num_rows // 4))
        truth, responder = truth.slice(truth.num_rows // 4), done.responder
        require_consistent(responder)
    if cohort != 8:  # in cohorts of 8, somebody is left in most
        assert buckets_of(responder).n_places < n_places / 4


@pytest.mark.parametrize("column", ["x", "y"])
def test_a_domain_that_grows_changes_its_column_and_the_index(column: str) -> None:
    _, responder = large()
    new = rows(np.random.default_rng(2), 8, 0)
    place = new.column_names.index(column)
    new = new.set_column(place, column, pa.array([2, 77, -5, 3, 1, 1, 2, 3][:8]))
    done = change(responder, new)
    assert isinstance(done.made, Edits)
    assert set(done.made.grown) == {column}
    require_consistent(done.responder)
    assert done.responder.count(f"{column} = 77").hi == 1
    assert done.responder.count(f"{column} <= 2").lo == (
        responder.count(f"{column} <= 2").lo + sum(one <= 2 for one in new[column].to_pylist())
    )
    arrays = done.arrays()
    assert arrays is not None
    others = {"codes.person", "codes.x", "codes.y"} - {f"codes.{column}"}
    assert all(hasattr(arrays[name], "at") for name in others)


def test_a_first_missing_value_makes_a_domain_grow() -> None:
    _, responder = large()
    new = rows(np.random.default_rng(2), 8, 0)
    new = new.set_column(1, "x", pa.array([None, 1, 2, 3, 4, 0, 1, 2]))
    done = change(responder, new)
    require_consistent(done.responder)
    assert done.responder.count("x IS NULL").hi == 1


def test_a_database_of_an_earlier_version_has_nothing_to_spare() -> None:
    """Its first newcomers have it laid out anew; from then on there is room."""
    _, responder = large()
    anew = buckets_of(responder)
    tight = anew._replace(base=np.append(anew.base[:-1], -(-anew.end // 64) * 64))
    words = int(tight.base[-1]) // 64
    stored = Layout(
        responder.stored.index._replace(bitmaps=responder.stored.index.bitmaps[:, :words].copy()),
        {name: column[: words * 64].copy() for name, column in responder.stored.codes.items()},
        tight,
    )
    old = Responder(responder.schema, responder.attributes, M, 8, "anatomy", stored)
    require_consistent(old)
    first = change(old, rows(np.random.default_rng(2), 8 * 5, 0, "abcde"))
    require_consistent(first.responder)
    second = change(first.responder, rows(np.random.default_rng(2), 8 * 4, 0, "defg"))
    assert isinstance(second.made, Edits)
