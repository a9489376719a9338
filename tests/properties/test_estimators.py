"""Estimators against plain Python, and what must hold for any release and any query."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.askable import Askable
from sfumato.core.microdata import Microdata
from sfumato.core.query import Query
from sfumato.core.taxonomy import Taxonomy
from sfumato.forms.columns import Labels
from tests.support.releases import (
    anatomized,
    generalized,
    naive_anatomized,
    naive_exact,
    naive_generalized,
)
from tests.support.strategies import nested_trees, tables
from tests.support.tables import microdata

LABELS: st.SearchStrategy[Labels] = st.sampled_from(["ranges", "sets", "taxonomy"])


@st.composite
def groupings(draw: st.DrawFn, table: Microdata) -> list[int]:
    """Any partition of the rows, groups numbered from 0 without gaps."""
    n = table.n_rows
    drawn = draw(st.lists(st.integers(0, max(0, n // 3)), min_size=n, max_size=n))
    return np.unique(drawn, return_inverse=True)[1].tolist()  # type: ignore[no-any-return]


@st.composite
def trees_and_rows(draw: st.DrawFn) -> Microdata:
    """A table with a taxonomy, some of its values missing."""
    tree = Taxonomy.from_nested(draw(nested_trees()))
    n = draw(st.integers(1, 20))
    values = draw(st.lists(st.none() | st.sampled_from(tree.leaves), min_size=n, max_size=n))
    sick = draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
    if not any(values):
        values[0] = tree.leaves[0]
    return microdata({"v": values, "d": sick}, sensitive=["d"], taxonomies={"v": tree})


def any_tables() -> st.SearchStrategy[Microdata]:
    return tables(max_rows=20) | trees_and_rows()


def domain(table: Microdata, name: str) -> list[Any]:
    return [*table.attributes[name].values.to_pylist(), None]


def stranger(table: Microdata, name: str) -> Any:
    """A value of the attribute's type that no domain has."""
    return 987_654 if isinstance(domain(table, name)[0], int | float) else "stranger"


@st.composite
def queries(draw: st.DrawFn, table: Microdata) -> Query:
    names = draw(st.lists(st.sampled_from(list(table.attributes)), unique=True))
    return Query(
        {
            name: draw(st.sets(st.sampled_from([*domain(table, name), stranger(table, name)])))
            for name in names
        }
    )


@given(st.data())
@settings(max_examples=60)
def test_estimates_agree_with_plain_python(data: st.DataObject) -> None:
    table = data.draw(any_tables())
    groups = data.draw(groupings(table))
    labels = data.draw(LABELS)
    apart, boxes = anatomized(table, groups), generalized(table, groups, labels)
    for query in data.draw(st.lists(queries(table), min_size=1, max_size=4)):
        truth, from_tables, from_boxes = (
            one.count(query).estimate for one in (table, apart, boxes)
        )
        assert truth == naive_exact(table, query)
        assert from_tables == pytest.approx(naive_anatomized(apart, query))
        assert from_boxes == pytest.approx(naive_generalized(boxes, query))


def releases_of(data: st.DataObject, table: Microdata) -> list[Askable]:
    groups = data.draw(groupings(table))
    return [
        table,
        anatomized(table, groups),
        generalized(table, groups, data.draw(LABELS)),
    ]


@given(st.data())
@settings(max_examples=30)
def test_a_query_that_covers_everything_counts_every_row(data: st.DataObject) -> None:
    table = data.draw(any_tables())
    everything = {
        name: set(range(5000)) | set(domain(table, name))
        if name == "number"
        else domain(table, name)
        for name in table.attributes
    }
    asked = data.draw(st.lists(st.sampled_from(list(everything)), unique=True))
    for prepared in releases_of(data, table):
        assert prepared.count(Query({})).estimate == table.n_rows
        assert prepared.count(Query(everything)).estimate == table.n_rows
        some = Query({name: everything[name] for name in asked})
        assert prepared.count(some).estimate == table.n_rows


@given(st.data())
@settings(max_examples=30)
def test_disjoint_conditions_add_up(data: st.DataObject) -> None:
    table = data.draw(any_tables())
    query = data.draw(queries(table))
    split = data.draw(st.sampled_from(list(table.attributes)))
    values = domain(table, split)
    first = data.draw(st.sets(st.sampled_from(values)))
    rest = set(values) - first
    for prepared in releases_of(data, table):
        parts = [
            prepared.count(Query({**query.where, split: wanted})).estimate
            for wanted in (first, rest, first | rest)
        ]
        assert parts[0] + parts[1] == pytest.approx(parts[2])


@given(st.data())
@settings(max_examples=30)
def test_estimates_are_exact_where_boxes_are_single_values(data: st.DataObject) -> None:
    table = data.draw(any_tables())
    vectors = np.stack([table.codes[name] for name in table.schema.quasi], axis=1)
    groups = np.unique(vectors, axis=0, return_inverse=True)[1].ravel().tolist()
    query = data.draw(queries(table))
    truth = naive_exact(table, query)
    boxes = generalized(table, groups, data.draw(LABELS))
    assert boxes.count(query).estimate == pytest.approx(truth)
    # QIT and ST lose what goes with what among several sensitive attributes
    asked = [name for name in table.schema.sensitive if name in query.where]
    if len(asked) < 2:
        assert anatomized(table, groups).count(query).estimate == pytest.approx(truth)


@given(st.data())
@settings(max_examples=30)
def test_without_a_sensitive_condition_an_anatomized_answer_is_exact(data: st.DataObject) -> None:
    table = data.draw(any_tables())
    query = data.draw(queries(table))
    plain = Query(
        {name: wanted for name, wanted in query.where.items() if name in table.schema.quasi}
    )
    release = anatomized(table, data.draw(groupings(table)))
    assert release.count(plain).estimate == naive_exact(table, plain)
