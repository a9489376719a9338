"""Bounds and estimates of every kind of source against all tables it is compatible with.

Definition 9 of "Dynamic anonymization": the interval runs from the smallest to the largest answer
on any possible microdata instance. The estimate of a count or a sum is its mean over all instances,
except where it corrects for noise of a known kind (tests/statistical looks at that).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.asking import ask
from sfumato.core.arrays import Ints
from sfumato.core.askable import Askable
from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.predicates import Predicate
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.core.taxonomy import Taxonomy
from sfumato.forms.columns import Labels, side_for
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import JoinRelease, joined_tables, sensitive_tables
from sfumato.forms.manifest import Manifest
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.release import PerturbedTable
from sfumato.forms.registry import FORMS
from sfumato.queries.binding import bind
from sfumato.verbs import perturb
from tests.support.models import Anything
from tests.support.possible import POSSIBLE, truth
from tests.support.releases import Fixed, anatomized, generalized
from tests.support.tables import microdata

TREE = Taxonomy.from_nested({"any": {"north": ["a", "b"], "south": ["c"]}})
NUMBERS, LETTERS = st.integers(0, 3), st.sampled_from("abc")
MOST_INSTANCES = 3_000
DESCRIBED: list[dict[str, Any]] = [{}, {"taxonomies": {"y": TREE}}, {"orders": {"y": "cab"}}]
LABELS: st.SearchStrategy[Labels] = st.sampled_from(["ranges", "sets", "taxonomy"])


def test_every_kind_of_source_is_checked_here() -> None:
    assert {Microdata, *(form.release for form in FORMS.values())} == set(POSSIBLE)


@st.composite
def tiny_tables(draw: st.DrawFn) -> tuple[Microdata, list[int]]:
    """Up to five rows with numbers, letters, missing values, and how they are grouped."""
    n = draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    rows = {
        "x": column(NUMBERS),
        "y": column(LETTERS | st.none() if draw(st.booleans()) else LETTERS),
        "s": column(NUMBERS | st.none()),
        "d": column(LETTERS),
        "i": column(NUMBERS | st.none()),
    }
    if all(value is None for value in rows["y"]):
        rows["y"][0] = "a"
    several = draw(st.booleans())
    if not several:
        del rows["d"]
    described = draw(st.sampled_from(DESCRIBED))
    # one row is not missing: a column of nothing has no type
    rows["s"][0], rows["i"][0] = draw(NUMBERS), draw(NUMBERS)
    table = microdata(
        rows,
        quasi=["x", "y"],
        sensitive=["s", "d"] if several else ["s"],
        insensitive=["i"],
        **described,
    )
    drawn = column(st.integers(0, 2))
    return table, np.unique(drawn, return_inverse=True)[1].tolist()


def predicates(values: st.SearchStrategy[Any], comparable: bool) -> st.SearchStrategy[Predicate]:
    operators = ["=", "<>", "<", "<=", ">", ">="] if comparable else ["=", "<>"]
    leaf: st.SearchStrategy[Predicate] = (
        st.builds(sf.Compare, st.sampled_from(operators), values)
        | st.sets(values, max_size=3).map(sf.one_of)
        | st.just(sf.Missing())
    )
    return st.recursive(
        leaf,
        lambda part: (
            part.map(lambda p: ~p)
            | st.tuples(part, part).map(lambda two: two[0] & two[1])
            | st.tuples(part, part).map(lambda two: two[0] | two[1])
        ),
        max_leaves=3,
    )


@st.composite
def tiny_joins(draw: st.DrawFn) -> tuple[Microdata, JoinRelease]:
    """Up to five lines in boxes in sensitive groups, of which some are rows of the microdata."""
    n = draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[Any], size: int = n) -> list[Any]:
        return draw(st.lists(values, min_size=size, max_size=size))

    everyone = microdata(
        {"x": column(NUMBERS), "y": column(LETTERS)}, **draw(st.sampled_from(DESCRIBED))
    )
    box = np.unique(column(st.integers(0, 3)), return_inverse=True)[1]
    firsts = np.unique(box, return_index=True)[1]
    group = np.unique(column(st.integers(0, 1), len(firsts)), return_inverse=True)[1]
    inside = np.array(column(st.booleans()))
    inside[firsts] = True  # of every box somebody is of the microdata
    n_inside = int(inside.sum())
    rows = {"s": column(NUMBERS | st.none(), n_inside), "d": column(LETTERS, n_inside)}
    rows["s"][0] = draw(NUMBERS)
    sensitive = draw(st.sampled_from([["s", "d"], ["s"]]))
    shown = {
        name: everyone.attributes[name].decode(everyone.codes[name][inside]) for name in ("x", "y")
    }
    table = microdata({**shown, **{name: rows[name] for name in sensitive}}, sensitive=sensitive)
    return table, joined(everyone, box, group[box][inside], group, table, draw(LABELS))


def joined(
    everyone: Microdata,
    box: Ints,
    group_of_row: Ints,
    group_of_box: Ints,
    table: Microdata,
    labels: Labels,
) -> JoinRelease:
    partition = Partition.of(box.astype(np.int32))
    sides = (side_for(one, everyone.codes[one.name], partition, labels) for one in everyone.quasi)
    lines, quasi = joined_tables(Boxes(tuple(sides)), group_of_box.astype(np.int32), labels)
    groups = group_of_row.astype(np.int32)
    sizes = np.bincount(groups)
    seen = {
        one.name: Histograms.of_groups(one, table.codes[one.name], groups, len(sizes))
        for one in table.sensitive
    }
    sis, sensitive = sensitive_tables(sizes, seen)
    stated = Manifest(
        JoinRelease.kind, (), {"name": "refinement"}, everyone.n_rows, lines.num_rows,
        (*quasi, *sensitive), (), {},
    )  # fmt: skip
    return JoinRelease(lines, partition.published_groups(), sis, stated)


@st.composite
def conditions(draw: st.DrawFn, table: Microdata) -> dict[str, Predicate]:
    names = columns_of(table)
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    numbers = {"x", "s", "i"}
    return {
        name: draw(predicates(NUMBERS if name in numbers else LETTERS, comparable=True))
        for name in chosen
    }


def columns_of(table: Microdata) -> list[str]:
    return [*table.attributes, *table.schema.insensitive]


def aggregates(table: Microdata) -> list[Aggregate]:
    computed = (
        Aggregate(function, name)
        for function in ("count", "sum", "avg", "min", "max")
        for name in ("x", "s", "i")
        if name in columns_of(table)
    )
    return [COUNT, *computed]


def loose(release: GeneralizedTable) -> GeneralizedTable:
    """The same boxes without the word that their ends are values of the group."""
    columns = tuple(replace(column, tight=None) for column in release.manifest.columns)
    return replace(release, manifest=replace(release.manifest, columns=columns))


def permuted(table: Microdata, groups: list[int]) -> PermutedTable:
    return sf.publish(table, Fixed(tuple(groups)), Anything(), form="permuted")


def perturbed(table: Microdata) -> PerturbedTable:
    assume(all(attribute.size > 1 for attribute in table.sensitive))
    return perturb(table, p=0.4)


def sources(data: st.DataObject) -> tuple[Microdata, Askable]:
    if data.draw(st.integers(0, 6)) == 0:
        return data.draw(tiny_joins())
    table, groups = data.draw(tiny_tables())
    labels = data.draw(LABELS)
    made: Callable[[], Askable] = data.draw(
        st.sampled_from(
            [
                lambda: table,
                lambda: anatomized(table, groups),
                lambda: loose(generalized(table, groups, labels)),
                lambda: loose(generalized(table, groups, labels, means=["x"])),
                lambda: permuted(table, groups),
                lambda: perturbed(table),
            ]
        )
    )
    return table, made()


def instances(source: Askable) -> list[Any]:
    """All of them, or none where there are too many."""
    found = []
    for table in POSSIBLE[type(source)](source):
        found.append(table)
        if len(found) > MOST_INSTANCES:
            return []
    return found


@given(st.data())
@settings(max_examples=470, deadline=None, suppress_health_check=list(HealthCheck))
def test_bounds_are_the_extremes_over_all_possible_tables(data: st.DataObject) -> None:
    table, source = sources(data)
    possible = instances(source)
    query = Query(data.draw(conditions(table)), aggregates(table))
    catalog = ask.answerer(source).catalog
    bound = bind(query, catalog)
    answers = source.query(query).answers[0]
    means = isinstance(source, GeneralizedTable) and "x_mean" in source.groups.column_names
    of_join = isinstance(source, JoinRelease)
    for aggregate, answer in zip(bound.select, answers, strict=True):
        if not possible:
            continue
        true = [truth(rows, bound, aggregate) for rows in possible]
        known = [value for value in true if value is not None]
        if aggregate.function in ("sum", "avg", "min", "max"):
            count = Aggregate("count", aggregate.attribute)
            empty = [truth(rows, bound, count) == 0 for rows in possible]
            if all(empty):
                assert answer.lo is None
                continue
            assert answer.nullable == any(empty) or means
        assert answer.lo <= answer.estimate + 1e-9
        assert answer.estimate <= answer.hi + 1e-9
        if means and (aggregate.attribute == "x" or "x" in query.where):
            # a mean tells more than is used: bounds hold, and may be wider than need be
            assert answer.lo - 1e-9 <= min(known)
            assert max(known) <= answer.hi + 1e-9
            continue
        if of_join and aggregate.attribute == "x" and query.where and aggregate.function != "count":
            # see forms.joined.choices: bounds hold, and may be wider than need be
            assert answer.lo <= min(known) + 1e-9
            assert max(known) <= answer.hi + 1e-9
            continue
        assert answer.lo == pytest.approx(min(known)), aggregate
        assert answer.hi == pytest.approx(max(known)), aggregate
        # in a join release tables differ in where rows lie, and are not equally likely
        corrected = isinstance(source, PerturbedTable) or of_join
        if aggregate.function in ("count", "sum") and not means and not corrected:
            assert answer.estimate == pytest.approx(sum(true) / len(true)), aggregate


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_groups_are_answered_like_queries_of_their_own(data: st.DataObject) -> None:
    table, source = sources(data)
    where = data.draw(conditions(table))
    names = columns_of(table)
    summing = Aggregate("sum", data.draw(st.sampled_from([n for n in ("i", "x") if n in names])))
    by = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    result = source.query(Query(where, [COUNT, summing], by))
    total = 0.0
    for *key, counted, summed in result:
        same = {name: sf.one_of([value]) for name, value in zip(by, key, strict=True)}
        both = {
            name: where[name] & same[name] if name in where and name in same else one
            for name, one in {**where, **same}.items()
        }
        alone = source.query(Query(both, [COUNT, summing])).answers[0]
        assert (counted.lo, counted.hi) == (alone[0].lo, alone[0].hi)
        assert counted.estimate == pytest.approx(alone[0].estimate)
        assert (summed.lo, summed.hi) == (alone[1].lo, alone[1].hi)
        assert counted.hi > 0
        total += counted.estimate
    # keys that are not listed can have no row, so the groups are all there is
    # (of corrected counts each is kept between 0 and what is there: they need not add up)
    if not isinstance(source, PerturbedTable):
        assert total == pytest.approx(source.count(Query(where)).estimate)
    assert len(set(result.keys)) == len(result.keys)


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_minima_and_maxima_of_whole_tight_groups_are_exact(data: st.DataObject) -> None:
    table, groups = data.draw(tiny_tables())
    release = generalized(table, groups)
    where = data.draw(conditions(table))
    found = {
        name: [
            source.query(Query(where, [Aggregate(name, "x")])).answer
            for source in (table, release, loose(release))
        ]
        for name in ("min", "max")
    }
    for true, tight, wide in found.values():
        assert true.lo is None or true.lo in tight
        assert wide.lo is None or (wide.lo <= tight.lo and tight.hi <= wide.hi)
    if not where:
        assert all(tight.exact for _, tight, _ in found.values())
