"""SUM, AVG, MIN and MAX of a statistical database against enumeration of what is possible."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.query import Aggregate, Query
from sfumato.statdb import Responder
from sfumato.statdb.layout.index import EVERYBODY
from sfumato.statdb.layout.making import Framework
from tests.properties.test_statdb import decompositions, holds, questions
from tests.support.releases import rows_of
from tests.support.statdb import buckets_of
from tests.support.tables import microdata

FUNCTIONS: tuple[str, ...] = ("sum", "avg", "min", "max")
COHORTS = st.sampled_from([None, 1, 2, 8])
SALARIES = [None, -3, 0, 1, 4, 5, 9]
Possible = Sequence[int | None]  # the salaries that rows which qualify have


class Group(NamedTuple):
    """Salaries of the whole signature, and which of the group's rows satisfy the QI predicates."""

    signature: list[int | None]
    inside: list[bool]


@st.composite
def databases(draw: st.DrawFn, framework: Framework = "anatomy", most: int = 9) -> Responder | None:
    """A database in which some rows may be gone; None where m is out of reach."""
    n = draw(st.integers(4, most))

    def column(values: Sequence[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    columns = {
        "age": column(range(10)),
        "sex": column(range(2)),
        "zip": column(range(41)),
        "salary": column(SALARIES[draw(st.integers(0, 1)) :]),
    }
    m, table = draw(st.integers(2, 3)), microdata(columns, sensitive=["salary"])
    if np.bincount(table.codes["salary"]).max() * m > n:
        return None
    responder = Responder.create(table, m=m, cohort=draw(COHORTS), framework=framework, seed=n)
    gone = draw(st.lists(st.integers(0, n - 1), max_size=draw(st.sampled_from([0, 0, n // 2]))))
    return without(responder, gone)


def without(responder: Responder, gone: Sequence[int]) -> Responder:
    """The database after rows have left: their places are in no bitmap any more."""
    bitmaps = responder.stored.index.bitmaps.copy()
    for place in responder.stored.occupied()[list(set(gone))].tolist():
        bitmaps[:, place >> 6] &= ~(np.uint64(1) << np.uint64(place & 63))
    index = responder.stored.index._replace(bitmaps=bitmaps)
    return replace(responder, stored=replace(responder.stored, index=index))


def ask(responder: Responder, query: Query, function: str) -> sf.Answer:
    return responder.query(Query(query.where, [Aggregate(function, "salary")])).answer


def wanted(query: Query) -> Query:
    """The same with a condition on salaries in place of diseases."""
    where: dict[str, Any] = dict(query.where)
    if "disease" in where:
        where.pop("disease")
        where["salary"] = [-3, 1, 9]
    return Query(where)


def value_of(function: str, salaries: Possible) -> Any:
    """What SQL makes of them; None where nothing qualifies."""
    known = [salary for salary in salaries if salary is not None]
    if not known:
        return None
    if function == "avg":
        return Fraction(sum(known), len(known))
    return sum(known) if function == "sum" else min(known) if function == "min" else max(known)


def groups_of(responder: Responder, groups: Any, query: Query) -> list[Group]:
    quasi = Query({name: one for name, one in query.where.items() if name != "salary"})
    buckets, rows = buckets_of(responder), rows_of(responder.table())
    bucket = np.searchsorted(buckets.base, responder.stored.occupied(), "right") - 1
    found = []
    for g in range(groups.max() + 1):
        members = np.flatnonzero(groups == g).tolist()
        codes = buckets.signature(int(bucket[members[0]]))
        keys = responder.axes["salary"].keys
        found.append(Group([keys[c] for c in codes], [holds(quasi, rows[i]) for i in members]))
    return found


def possible(group: Group, query: Query) -> Iterator[tuple[int | None, ...]]:
    """Every way to give different values of the signature to the rows that qualify."""
    for values in set(permutations(group.signature, len(group.inside))):
        had = [value for value, inside in zip(values, group.inside, strict=True) if inside]
        yield tuple(v for v in had if holds_salary(query, v))


def holds_salary(query: Query, salary: int | None) -> bool:
    if salary is None or "salary" not in query.where:
        return salary is not None
    return holds(Query({"salary": query.where["salary"]}), {"salary": salary})


def extremes(function: str, ways: Sequence[set[tuple[Any, ...]]]) -> tuple[Any, Any, bool]:
    """Least and largest value over all combinations of the groups' ways, and if one has no row."""
    found = {value_of(function, [v for part in one for v in part]) for one in product(*ways)}
    known = [value for value in found if value is not None]
    return min(known, default=None), max(known, default=None), None in found


def same(found: sf.Answer, lo: Any, hi: Any, nullable: bool, function: str) -> bool:
    if function == "sum" and nullable and lo is not None:
        lo, hi = min(lo, 0), max(hi, 0)  # a sum of no rows counts as 0
    if lo is None:
        return (found.lo, found.hi, found.nullable) == (None, None, True)
    close = abs(found.lo - lo) < 1e-9 and abs(found.hi - hi) < 1e-9
    return close and found.nullable == nullable


@given(databases(), questions(), st.sampled_from(FUNCTIONS))
@settings(max_examples=250)
def test_intervals_span_all_possible_tables(
    responder: Responder | None, query: Query, function: str
) -> None:
    if responder is None:
        return
    query = wanted(query)
    groups = groups_of(responder, responder.version(Query(query.where)).groups, query)
    ways = [set(possible(group, query)) for group in groups]
    found = ask(responder, query, function)
    assert same(found, *extremes(function, reduced(ways)), function)
    assert_contains(found, responder, query, function)
    assert found.lo is None or found.lo - 1e-9 <= found.estimate <= found.hi + 1e-9


def reduced(ways: list[set[tuple[Any, ...]]]) -> list[set[tuple[Any, ...]]]:
    """Order does not matter, and what is the same in all respects is looked at once."""
    return [{tuple(sorted(way)) for way in one} for one in ways]


def assert_contains(found: sf.Answer, responder: Responder, query: Query, function: str) -> None:
    rows = [row for row in rows_of(responder.table()) if holds(query, row)]
    truth = value_of(function, [row["salary"] for row in rows])
    if truth is None:
        assert found.nullable
    else:
        assert found.lo - 1e-9 <= truth <= found.hi + 1e-9


@given(databases(most=8), questions(), st.sampled_from(FUNCTIONS))
@settings(max_examples=100)
def test_no_decomposition_has_better_bounds(
    responder: Responder | None, query: Query, function: str
) -> None:
    """At both ends; of whole buckets, in which every combination of rows is a decomposition."""
    if responder is None or responder.cohort is not None or has_left(responder):
        return
    query = wanted(query)
    found = ask(responder, query, function)
    for groups in decompositions(responder):
        ways = [set(chosen(group, query)) for group in groups_of(responder, groups, query)]
        lo, hi, nullable = extremes(function, ways)
        if function == "sum" and nullable and lo is not None:
            lo, hi = min(lo, 0), max(hi, 0)
        if lo is not None:
            assert found.nullable <= nullable
            assert lo - 1e-9 <= found.lo
            assert found.hi <= hi + 1e-9


def has_left(responder: Responder) -> bool:
    buckets = buckets_of(responder)
    return bool(responder.n_rows < (buckets.groups * np.diff(buckets.starts)).sum())


def chosen(group: Group, query: Query) -> Iterator[tuple[Any, ...]]:
    for values in combinations(group.signature, sum(group.inside)):
        yield tuple(sorted(v for v in values if v is not None and holds_salary(query, v)))


@given(databases("generalization", most=8), questions(ranges_only=True), st.sampled_from(FUNCTIONS))
@settings(max_examples=250)
def test_boxes_give_the_interval_of_their_version(
    responder: Responder | None, query: Query, function: str
) -> None:
    if responder is None:
        return
    query = wanted(query)
    found = ask(responder, query, function)
    assert_contains(found, responder, query, function)
    rows = rows_of(responder.table())
    quasi = {name: one for name, one in query.where.items() if name != "salary"}
    if not all(any(holds(Query({n: p}), row) for row in rows) for n, p in quasi.items()):
        return
    groups = responder.version(Query(query.where)).groups
    ways = []
    for g, group in enumerate(groups_of(responder, groups, query)):
        members = [row for row, own in zip(rows, groups, strict=True) if own == g]
        values = [v for v in group.signature if v is not None and holds_salary(query, v)]
        whole = len(members) == len(group.signature)
        ways.append(box_ways(values, all(group.inside) and whole, outside(members, quasi)))
    assert same(found, *extremes(function, ways), function)


def outside(members: list[dict[str, Any]], quasi: dict[str, Any]) -> bool:
    """Whether all rows lie on one side of the query in some dimension."""
    for name, predicate in quasi.items():
        low, high = predicate.first.value, predicate.second.value
        if all(row[name] < low for row in members) or all(row[name] > high for row in members):
            return True
    return False


def box_ways(values: list[int], sure: bool, gone: bool) -> set[tuple[Any, ...]]:
    if gone:
        return {()}
    sizes = [len(values)] if sure else range(len(values) + 1)
    return {way for size in sizes for way in combinations(sorted(values), size)}


@given(databases(most=24), questions(), st.sampled_from(FUNCTIONS))
@settings(max_examples=150)
def test_the_truth_is_always_inside(
    responder: Responder | None, query: Query, function: str
) -> None:
    if responder is not None:
        query = wanted(query)
        assert_contains(ask(responder, query, function), responder, query, function)


@given(databases("generalization", most=24), questions(ranges_only=True))
@settings(max_examples=150)
def test_boxes_contain_the_truth_also_without_some_rows(
    responder: Responder | None, query: Query
) -> None:
    if responder is None:
        return
    query = wanted(query)
    truth = sum(holds(query, row) for row in rows_of(responder.table()))
    found = responder.count(query)
    assert found.lo <= truth <= found.hi
    for function in FUNCTIONS:
        assert_contains(ask(responder, query, function), responder, query, function)
    everybody = responder.stored.index.bitmaps[EVERYBODY]
    assert responder.version(query).n_rows == responder.stored.flags(everybody).sum()
