"""Classifiers from releases: what they are trained from is what COUNT estimates."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.lines import Lines
from sfumato.asking.ask import answerer
from sfumato.asking.training import MOST_VALUES, Classifier, reader_of
from sfumato.forms.registry import FORMS
from sfumato.learning.tree import Tree
from sfumato.queries.values import Values, of_ranges
from tests.support.releases import generalized as boxes

CITIES = ["c0", "c1", "c2", "c3", "c4"]
VALUES = ("a", "b", "c", "d")


def table(rows: int = 300, seed: int = 1) -> sf.Microdata:
    generator = np.random.default_rng(seed)
    age, city = generator.integers(20, 60, rows), generator.integers(0, 5, rows)
    likely = (age // 10 + (city > 2)) % 4
    values = np.where(generator.random(rows) < 0.7, likely, generator.integers(0, 4, rows))
    columns = {
        "age": pa.array(age.tolist(), mask=generator.random(rows) < 0.05),
        "size": pa.array(generator.normal(170, 10, rows).round(1)),
        "city": pa.array([f"c{one}" for one in city]),
        "day": pa.array(generator.integers(15_000, 15_030, rows).astype(np.int32)).cast(
            pa.date32()
        ),
        "s": pa.array([VALUES[one] for one in values]),
    }
    schema = sf.Schema(
        quasi=["age", "size", "city", "day"],
        sensitive="s",
        orders={"city": CITIES},
    )
    return sf.Microdata.from_arrow(pa.table(columns), schema)


def generalized(labels: Literal["ranges", "sets"]) -> Callable[[sf.Microdata], Any]:
    return lambda data: sf.publish(data, sf.Mondrian(), sf.LDiversity(1.5), labels=labels)


RELEASES: dict[str, Callable[[sf.Microdata], Any]] = {
    "ranges": generalized("ranges"),
    "sets": generalized("sets"),
    "suppressed": lambda data: sf.publish(data, sf.LocalRecoding(), sf.LDiversity(1.5)),
    "anatomized": lambda data: sf.publish(data, sf.Anatomize(), sf.LDiversity(2)),
    "permuted": lambda data: sf.publish(data, sf.Anatomize(), sf.LDiversity(2), form="permuted"),
    "table": lambda data: data,
}


def lines_of(source: Any) -> Lines:
    reader, asked = reader_of(source), answerer(source)
    axes = [reader.axis_of(asked, name) for name in ("age", "size", "city", "day")]
    return reader.lines_of(asked, axes, "s")


@pytest.mark.parametrize("kind", RELEASES)
def test_expected_counts_are_those_of_answers(kind: str) -> None:
    release = RELEASES[kind](table())
    lines, asked = lines_of(release), answerer(release)
    values = [*lines.target.values.to_pylist()]
    generator = np.random.default_rng(0)
    for _ in range(60):
        bins = [int(generator.integers(len(axis.bins))) for axis in lines.axes]
        asks = generator.random(4) < 0.5
        code = int(generator.integers(len(values)))
        where = {
            axis.column.name: axis.bins[b]
            for axis, b, asked_here in zip(lines.axes, bins, asks, strict=True)
            if asked_here
        }
        counted = asked.find({**where, "s": Values(frozenset([values[code]]))}).counted().estimate
        assert expected(lines, bins, asks, code) == pytest.approx(counted, abs=1e-9)


def expected(lines: Lines, bins: list[int], asks: Any, code: int) -> float:
    """The formula of answers/lines.py."""
    parts = [shares[lines.sides[:, j], bins[j]] for j, shares in enumerate(lines.shares) if asks[j]]
    amounts = reduce(np.multiply, parts, lines.weights)
    matrix = np.zeros((lines.values.n_groups, lines.n_values))
    matrix[lines.values.groups, lines.values.values] = lines.values.shares
    return float((amounts * matrix[lines.groups, code]).sum())


@pytest.mark.parametrize("kind", RELEASES)
def test_bins_hold_every_value_once(kind: str) -> None:
    data = table()
    lines = lines_of(RELEASES[kind](data))
    for axis, shares in zip(lines.axes, lines.shares, strict=True):
        assert shares.sum(axis=1) == pytest.approx(1.0)
        attribute = data.attributes[axis.column.name]
        assert axis.of_codes(attribute)[: len(attribute.values)].min() >= 0


@pytest.mark.parametrize("kind", RELEASES)
def test_the_leaves_of_a_tree_have_the_chances_that_answers_expect(kind: str) -> None:
    release = RELEASES[kind](table(2000))
    learnt, asked = sf.train(release, target="s"), answerer(release)
    assert isinstance(learnt._model, Tree)
    assert learnt._model.leaves > 2
    for node, bins in nodes(learnt):
        where = {
            axis.column.name: reduce(joined, (axis.bins[b] for b in kept))
            for axis, kept in zip(learnt._axes, bins, strict=True)
            if len(kept) < len(axis.bins)
        }
        counts = [
            asked.find({**where, "s": Values(frozenset([one]))}).counted().estimate
            for one in VALUES
        ]
        chances = np.array(counts) / sum(counts)
        assert learnt._model.chances[node] == pytest.approx(chances, abs=1e-6)


def joined(one: Values, other: Values) -> Values:
    both = (*one.all_ranges(), *other.all_ranges())
    return of_ranges(both, one.missing or other.missing)


def nodes(learnt: Classifier) -> Iterator[tuple[int, list[list[int]]]]:
    """Every node with the bins that it has."""
    tree = learnt._model
    assert isinstance(tree, Tree)
    waiting = [(0, [list(range(len(axis.bins))) for axis in learnt._axes])]
    while waiting:
        node, bins = waiting.pop()
        yield node, bins
        if (axis := int(tree.axes[node])) >= 0:
            for side, goes in ((0, True), (1, False)):
                kept = [b for b in bins[axis] if tree.left[node, b] == goes]
                half = [*bins[:axis], kept, *bins[axis + 1 :]]
                waiting.append((int(tree.below[node, side]), half))


def test_releases_that_hide_less_teach_more() -> None:
    data, others = table(3000), table(3000, seed=2)
    ideal = sf.train(data, target="s").accuracy(others)
    fine, coarse = (
        sf.train(sf.publish(data, sf.Mondrian(), sf.KAnonymity(k)), target="s") for k in (5, 1000)
    )
    assert ideal > 0.7
    assert fine.accuracy(others) > ideal - 0.08
    assert coarse.accuracy(others) < fine.accuracy(others) - 0.1


@pytest.mark.parametrize("model", ["naive-bayes", "tree"])
def test_groups_of_one_value_and_point_are_learnt_like_the_table(model: Any) -> None:
    data = table(500)
    exact = boxes(data, range(data.n_rows))
    learnt, ideal = (sf.train(one, target="s", model=model) for one in (exact, data))
    assert learnt.predict(data).equals(ideal.predict(data))


def test_predictions_are_values_and_know_what_was_never_seen() -> None:
    data = table()
    learnt = sf.train(data, target="s", model="naive-bayes")
    strange = pa.table({"age": [999], "size": [0.0], "city": ["c0"], "day": [None]})
    strange = strange.set_column(3, "day", pa.array([None], pa.date32()))
    schema = sf.Schema(quasi=["age", "size", "city", "day"])
    (found,) = learnt.predict(sf.Microdata.from_arrow(strange, schema)).to_pylist()
    assert found in VALUES


def test_a_missing_target_is_a_value() -> None:
    rows = {"q": [1, 1, 1, 2, 2, 2], "s": [None, None, None, "x", "x", "x"]}
    data = sf.Microdata.from_arrow(pa.table(rows), sf.Schema(quasi=["q"], sensitive="s"))
    learnt = sf.train(data, target="s", model="naive-bayes")
    assert learnt.predict(data).to_pylist() == rows["s"]
    assert learnt.accuracy(data) == 1.0


def test_what_cannot_be_learnt_is_refused() -> None:
    data = table()
    for options, said in (
        ({"target": "age"}, "no sensitive column 'age'"),
        ({"target": "s", "features": ["s"]}, "no quasi-identifier 's'"),
        ({"target": "s", "features": []}, "no column to learn by"),
        ({"target": "s", "model": "forest"}, "there are 'naive-bayes', 'tree'"),
    ):
        with pytest.raises(sf.errors.ParameterError, match=said):
            sf.train(data, **options)
    with pytest.raises(sf.errors.ParameterError, match="perturbed release"):
        sf.train(sf.perturb(data, p=0.5), target="s")
    with pytest.raises(sf.errors.QueryRefused, match="made for reading"):
        sf.train(sf.publish(data, sf.Mondrian(), sf.KAnonymity(5), labels="text"), target="s")
    learnt = sf.train(data, target="s")
    with pytest.raises(sf.errors.SchemaError, match="no column 'age'"):
        learnt.predict(sf.Microdata.from_arrow(pa.table({"b": [1]}), sf.Schema(quasi=["b"])))
    with pytest.raises(sf.errors.SchemaError, match="to compare with"):
        learnt.accuracy(sf.Microdata.from_arrow(pa.table({"age": [1]}), sf.Schema(quasi=["age"])))


def test_columns_of_another_type_are_refused() -> None:
    learnt = sf.train(table(), target="s", features=["age"])
    texts = sf.Microdata.from_arrow(pa.table({"age": ["x"]}), sf.Schema(quasi=["age"]))
    with pytest.raises(sf.errors.SchemaError, match="'age' holds string values"):
        learnt.predict(texts)


def test_targets_of_too_many_values_are_refused() -> None:
    n = MOST_VALUES + 1
    rows = pa.table({"q": list(range(n)), "s": list(range(n))})
    data = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["q"], sensitive="s"))
    with pytest.raises(sf.errors.ParameterError, match="declare bins"):
        sf.train(data, target="s")


def test_forms_of_groups_are_learnt_from_and_no_others() -> None:
    learnt = {name for name, form in FORMS.items() if form.lines is not None}
    assert learnt == {"generalized", "anatomized", "permuted"}
