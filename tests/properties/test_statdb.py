"""The statistical database against enumeration: every decomposition, every possible table."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.predicates import Both, Compare, OneOf, Predicate
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible
from sfumato.statdb import Responder
from sfumato.statdb.count.anatomy import a_count_plain
from sfumato.statdb.layout.layout import build_in_regions
from sfumato.statdb.layout.making import First, Framework
from sfumato.statdb.layout.signatures import plan
from tests.support.releases import rows_of
from tests.support.statdb import buckets_of
from tests.support.tables import microdata

Row = dict[str, Any]


def wants(predicate: Predicate, value: Any) -> bool:
    if isinstance(predicate, Both):
        low, high = predicate.first, predicate.second
        assert isinstance(low, Compare)
        assert isinstance(high, Compare)
        return bool(low.value <= value <= high.value)
    assert isinstance(predicate, OneOf)
    return value in predicate.values


def holds(query: Query, row: Mapping[str, Any]) -> bool:
    return all(wants(predicate, row[name]) for name, predicate in query.where.items())


@st.composite
def tables(draw: st.DrawFn, most: int = 24) -> sf.Microdata:
    n = draw(st.integers(4, most))

    def column(top: int) -> list[int]:
        return draw(st.lists(st.integers(0, top), min_size=n, max_size=n))

    disease = [f"d{code}" for code in column(draw(st.integers(1, 6)))]
    columns = {"age": column(9), "sex": column(1), "zip": column(40), "disease": disease}
    return microdata(columns, quasi=["age", "sex", "zip"], sensitive=["disease"])


@st.composite
def questions(draw: st.DrawFn, ranges_only: bool = False) -> Query:
    where: dict[str, Predicate | list[Any]] = {}
    for name, top in (("age", 9), ("sex", 1), ("zip", 40)):
        kind = draw(st.sampled_from(["none", "range", "range" if ranges_only else "list"]))
        if kind == "range":
            low = draw(st.integers(-1, top + 1))
            where[name] = sf.between(low, draw(st.integers(low, top + 1)))
        elif kind == "list":
            where[name] = draw(st.lists(st.integers(-1, top + 1), max_size=4))
    if draw(st.booleans()):
        wanted = st.sampled_from([f"d{code}" for code in range(8)])
        where["disease"] = draw(st.lists(wanted, max_size=4))
    return Query(where)


def database(
    table: sf.Microdata,
    m: int,
    cohort: int | None,
    framework: Framework = "anatomy",
    first: First = "signatures",
) -> Responder | None:
    if first == "regions":
        cohort = cohort or 2

    def create() -> Responder:
        made = Responder.create(
            table, m=m, cohort=cohort, framework=framework, first=first, seed=table.n_rows
        )
        if first != "regions" or cohort is None:
            return made
        # a table too small for regions of the usual size
        stored = build_in_regions(table, m, cohort, 2 * m, Randomness(table.n_rows))
        return replace(made, stored=stored, region=2 * m)

    most = np.bincount(table.codes["disease"]).max()
    if most * m <= table.n_rows:
        return create()
    with pytest.raises(Infeasible) as refusal:
        create()
    assert refusal.value.largest == table.n_rows // most
    return None


COHORTS = st.sampled_from([None, 1, 2, 3, 8])
FIRSTS = st.sampled_from(["signatures", "anatomize", "regions"])


@given(tables(), st.integers(2, 4), COHORTS, FIRSTS)
@settings(max_examples=80)
def test_the_bucketization_has_every_row_once_and_is_m_unique(
    table: sf.Microdata, m: int, cohort: int | None, first: First
) -> None:
    responder = database(table, m, cohort, first=first)
    if responder is None:
        return
    stored = responder.table()
    key = lambda row: sorted(map(str, row.items()))  # noqa: E731
    assert sorted(map(key, rows_of(stored))) == sorted(map(key, rows_of(table)))
    version = responder.version()
    for group in range(version.n_groups):
        values = stored.codes["disease"][version.groups == group].tolist()
        assert len(values) == len(set(values)) >= m


@given(tables(), st.integers(2, 3), COHORTS, FIRSTS, questions())
@settings(max_examples=100)
def test_a_count_is_the_interval_of_a_legal_version_and_contains_the_truth(
    table: sf.Microdata, m: int, cohort: int | None, first: First, query: Query
) -> None:
    responder = database(table, m, cohort, first=first)
    if responder is None:
        return
    found, rows = responder.count(query), rows_of(responder.table())
    version = responder.version(query)
    assert_same_signatures(responder, version)
    assert (found.lo, found.hi) == lemma_3(rows, version.groups, query)
    assert found.lo <= sum(holds(query, row) for row in rows) <= found.hi
    assert found.lo - 1e-9 <= found.estimate <= found.hi + 1e-9
    # never longer than the first version, nor than any other
    lo, hi = lemma_3(rows, responder.version().groups, query)
    assert hi - lo >= found.hi - found.lo


@given(tables(), st.integers(2, 3), COHORTS, FIRSTS, questions(ranges_only=True))
@settings(max_examples=100)
def test_g_count_is_the_interval_of_a_legal_version_and_contains_the_truth(
    table: sf.Microdata, m: int, cohort: int | None, first: First, query: Query
) -> None:
    responder = database(table, m, cohort, "generalization", first)
    if responder is None:
        return
    found, rows = responder.count(query), rows_of(responder.table())
    version = responder.version(query)
    assert_same_signatures(responder, version)
    truth = sum(holds(query, row) for row in rows)
    assert found.lo <= truth <= found.hi
    if all(any(holds(Query({n: p}), row) for row in rows) for n, p in query.where.items()):
        assert (found.lo, found.hi) == lemma_2(rows, version.groups, query)


@given(tables(most=9), questions())
@settings(max_examples=100)
def test_a_count_is_optimal_over_all_decompositions(table: sf.Microdata, query: Query) -> None:
    responder = database(table, 2, None)
    if responder is None:
        return
    rows = rows_of(responder.table())
    found = responder.count(query)
    lengths = [
        hi - lo for lo, hi in (lemma_3(rows, groups, query) for groups in decompositions(responder))
    ]
    assert min(lengths) == found.hi - found.lo


@given(tables(most=9), questions(ranges_only=True))
@settings(max_examples=100)
def test_g_count_is_optimal_over_all_decompositions(table: sf.Microdata, query: Query) -> None:
    responder = database(table, 2, None, "generalization")
    rows = rows_of(table)
    if responder is None or not all(
        any(holds(Query({n: p}), row) for row in rows) for n, p in query.where.items()
    ):
        return
    rows, found = rows_of(responder.table()), responder.count(query)
    ends = [lemma_2(rows, groups, query) for groups in decompositions(responder)]
    assert max(lo for lo, _ in ends) == found.lo
    assert min(hi for _, hi in ends) == found.hi


@given(tables(most=8), questions())
@settings(max_examples=60)
def test_the_interval_spans_all_possible_tables(table: sf.Microdata, query: Query) -> None:
    responder = database(table, 2, None)
    if responder is None:
        return
    rows, groups = rows_of(responder.table()), responder.version(query).groups
    answers = [sum(holds(query, row) for row in possible) for possible in instances(rows, groups)]
    found = responder.count(query)
    assert (found.lo, found.hi) == (min(answers), max(answers))


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12), st.integers(2, 5))
@settings(max_examples=100)
def test_signatures_use_every_row_in_groups_of_different_values(counts: list[int], m: int) -> None:
    if sum(counts) < m or max(counts) * m > sum(counts):
        return
    for first in get_args(First):
        found = plan(np.array(counts), m, first, Randomness(sum(counts)))
        used = np.zeros(len(counts), np.int64)
        for b in range(len(found)):
            signature = found[b]
            assert len(set(signature)) == len(signature) >= m
            used[list(signature)] += found.groups[b]
        assert used.tolist() == counts
        assert len({found[b] for b in range(len(found))}) == len(found)


def assert_same_signatures(responder: Responder, version: sf.Partition) -> None:
    codes = responder.table().codes["disease"]
    first = responder.version()
    assert signatures(codes, first.groups) == signatures(codes, version.groups)


def signatures(codes: Any, groups: Any) -> list[frozenset[int]]:
    held = [frozenset(codes[groups == g].tolist()) for g in range(groups.max() + 1)]
    for g, signature in enumerate(held):
        assert len(signature) == (groups == g).sum()
    return [held[g] for g in groups]


def parts(query: Query) -> tuple[Query, Query]:
    quasi = Query({name: one for name, one in query.where.items() if name != "disease"})
    return quasi, Query({n: one for n, one in query.where.items() if n == "disease"})


def lemma_3(rows: list[Row], groups: Any, query: Query) -> tuple[int, int]:
    quasi, sensitive = parts(query)
    lo = hi = 0
    for g in range(groups.max() + 1):
        members = [row for row, group in zip(rows, groups, strict=True) if group == g]
        q, s = (sum(holds(part, row) for row in members) for part in (quasi, sensitive))
        lo, hi = lo + max(0, q + s - len(members)), hi + min(q, s)
    return lo, hi


def lemma_2(rows: list[Row], groups: Any, query: Query) -> tuple[int, int]:
    quasi, sensitive = parts(query)
    lo = hi = 0
    for g in range(groups.max() + 1):
        members = [row for row, group in zip(rows, groups, strict=True) if group == g]
        s = sum(holds(sensitive, row) for row in members)
        sure = possible = True
        for name in quasi.where:
            domain = sorted({row[name] for row in rows})
            low, high = min(row[name] for row in members), max(row[name] for row in members)
            held = [
                holds(Query({name: quasi.where[name]}), {name: value})
                for value in domain
                if low <= value <= high
            ]
            sure, possible = sure and all(held), possible and any(held)
        lo, hi = lo + s * sure, hi + s * possible
    return lo, hi


def decompositions(responder: Responder) -> Iterator[Any]:
    """Every decomposition of every bucket."""
    buckets = buckets_of(responder)
    places = responder.stored.occupied()
    ways, n_groups = [], 0
    for b in range(buckets.n_buckets):
        lines = buckets.segments(b, 0)
        orders = product([tuple(lines[0])], *(permutations(line) for line in lines[1:].tolist()))
        ways.append([(n_groups, order) for order in orders])
        n_groups += lines.shape[1]
    for chosen in product(*ways):
        at = np.full(buckets.n_places, -1)
        for first, order in chosen:
            for line in order:
                at[list(line)] = first + np.arange(len(line))
        yield at[places]


def instances(rows: list[Row], groups: Any) -> Iterator[list[Row]]:
    """Every table that has the same QIT and ST."""
    members = [np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1)]
    for chosen in product(*(permutations(group) for group in members)):
        table = [dict(row) for row in rows]
        for group, order in zip(members, chosen, strict=True):
            for place, other in zip(group, order, strict=True):
                table[place]["disease"] = rows[other]["disease"]
        yield table


@pytest.mark.parametrize(
    ("first", "cohort"),
    [
        *product(["signatures", "anatomize"], [None, 1, 5, 8, 16, 64]),
        *product(["regions"], [1, 5, 8, 64]),
    ],
)
def test_all_layouts_agree_with_plain_counting(cohort: int | None, first: First) -> None:
    """Enough rows for words, lanes and tiny segments; A-Count from the betas themselves."""
    generator = np.random.default_rng(7)
    n = 12_000
    weights = 1 / np.arange(4, 16)
    columns = {
        "age": generator.integers(0, 90, n),
        "zip": generator.integers(0, 3000, n),
        "disease": generator.choice(12, n, p=weights / weights.sum()),
    }
    table = microdata(columns, sensitive=["disease"])
    responder = Responder.create(table, m=3, cohort=cohort, first=first, seed=1)
    stored = responder.table()
    version = responder.version()
    for query in sf.dynamic_workload(table, queries=6, dimensionality=2, length=0.3, seed=2):
        found = responder.count(query)
        assert found.lo <= table.count(query).lo <= found.hi
        inside = np.ones(stored.n_rows, np.bool_)
        for name in ("age", "zip"):
            if name in query.where:
                wanted = [wants(query.where[name], value) for value in responder.axes[name].line]
                inside &= np.array(wanted)[stored.codes[name]]
        at = np.zeros(buckets_of(responder).n_places, np.bool_)
        at[responder.stored.occupied()] = inside
        asked = [wants(query.where["disease"], value) for value in responder.axes["disease"].line]
        expected, lo, hi = a_count_plain(buckets_of(responder), at, np.array(asked))
        assert (found.lo, found.hi) == (lo, hi)
        assert found.estimate == pytest.approx(expected)
    assert version.n_groups == buckets_of(responder).groups.sum()
