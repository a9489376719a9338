"""Usefulness: what is kept of what goes with what, beside the marginals, by brute force."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.usefulness import Asked, Usefulness
from sfumato.audits.usefulness.association import chance, distance
from sfumato.audits.usefulness.learning_counts import _posterior, auc
from sfumato.audits.usefulness.sampling import sampled
from sfumato.engines.parts import TableParts
from sfumato.errors import SchemaError


def associated(n: int = 4000, seed: int = 0, *, strength: float = 0.9) -> sf.Microdata:
    """A job and a pay that follow from age and sex, but for some noise."""
    draw = np.random.default_rng(seed)
    age, sex = draw.integers(20, 60, n), draw.integers(0, 2, n)
    follows = draw.random(n) < strength
    job = np.where(follows, (age - 20) // 10 + 4 * sex, draw.integers(0, 8, n))
    columns = {"age": age, "sex": [("f", "m")[code] for code in sex], "job": job * 100}
    return sf.Microdata.from_arrow(pa.table(columns), sf.Schema(quasi=["age", "sex"],
                                                               sensitive="job"))  # fmt: skip


def anatomized(table: sf.Microdata) -> Any:
    return sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(4), seed=1)


def boxes(table: sf.Microdata) -> Any:
    return sf.publish(table, sf.Mondrian(), sf.KAnonymity(5) & sf.DistinctLDiversity(2), seed=1)


def test_the_verdict_flips() -> None:
    table = associated()
    little, most = (sf.usefulness(make(table), table) for make in (anatomized, boxes))
    assert (little.verdict, most.verdict) == ("keeps little", "keeps most")
    assert "beats the marginals by little" in little.sentences[0]
    assert little.kept < 0.3 < 0.9 < most.kept
    assert sum(one.survives for one in little.differences) == 0
    assert all(one.survives for one in most.differences)
    seen = sf.evaluate(anatomized(table), table, queries=30, seed=1)
    assert "beats the marginals by little" in seen.advice[0].text
    assert seen.errors is not None
    assert seen.errors.without is not None
    # random sets average what goes with what away: there the marginals do as well
    assert seen.errors.without.median < 2 * seen.errors.comparison.median


def test_where_nothing_goes_with_anything_there_is_nothing_to_keep() -> None:
    table = associated(strength=0.0)
    for make in (anatomized, boxes):
        found = sf.usefulness(make(table), table)
        assert found.verdict == "nothing to keep"
        assert math.isnan(found.kept)
        assert found.differences == ()


def test_distances_are_those_of_the_rows() -> None:
    """Cross tables counted by hand, and those of groups by the rows of each group."""
    table = associated(600)
    release = anatomized(table)
    found = {one.columns: one for one in sf.usefulness(release, table).conditionals}
    one = found["sex",]
    sex, job = (np.array(table.codes[name]) for name in ("sex", "job"))
    order = [table.attributes["sex"].values.index(label).as_py() for label in one.categories]
    truth = np.array([np.bincount(job[sex == code], minlength=8) for code in order])
    assert one.truth.tolist() == truth.tolist()
    qit, st = release.qit.to_pydict(), release.st.to_pydict()
    values = np.zeros((max(qit["group_id"]) + 1, 8))
    for group, value, count in zip(st["group_id"], st["job"], st["count"], strict=True):
        values[group, value // 100] = count
    shares = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    estimate = np.array([
        sum(shares[group] for group, label in zip(qit["group_id"], qit["sex"], strict=True)
            if label == wanted)
        for wanted in one.categories
    ])  # fmt: skip
    assert one.estimate == pytest.approx(estimate)
    apart = [np.abs(t / t.sum() - e / e.sum()).sum() / 2
             for t, e in zip(truth, estimate, strict=True)]  # fmt: skip
    assert one.distance == pytest.approx(np.average(apart, weights=truth.sum(axis=1)))
    usual = truth.sum(axis=0) / truth.sum()
    alone = [np.abs(t / t.sum() - usual).sum() / 2 for t in truth]
    assert one.marginals == pytest.approx(np.average(alone, weights=truth.sum(axis=1)))


def test_what_chance_shows_is_what_shuffled_tables_show() -> None:
    draw = np.random.default_rng(1)
    found = []
    for _ in range(40):
        lines, columns = draw.integers(0, 6, 500), draw.integers(0, 5, 500)
        cells = np.zeros((6, 5))
        np.add.at(cells, (lines, columns), 1)
        alone = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / 500
        found.append((distance(cells, alone), chance(cells)))
    measured, expected = np.mean(found, axis=0)
    assert measured == pytest.approx(expected, rel=0.15)


def test_relations_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    table = associated(900)
    found = sf.usefulness(boxes(table), table)
    (sex,) = (one for one in found.associations if one.column == "sex")
    cells = next(one.truth for one in found.conditionals if one.columns == ("sex",))
    assert sex.v == pytest.approx(stats.contingency.association(cells.astype(int)))
    assert sex.rank is None  # sexes have no order
    (age,) = (one for one in found.associations if one.column == "age")
    cells = next(one.truth for one in found.conditionals if one.columns == ("age",))
    lines, columns = (np.repeat(axis.ravel(), cells.ravel().astype(int))
                      for axis in np.indices(cells.shape))  # fmt: skip
    assert age.rank == pytest.approx(stats.spearmanr(lines, columns).statistic)
    (slope,) = found.coefficients
    pay = np.array(table.codes["job"], np.float64)
    edges = np.flatnonzero(np.diff(np.append(-1, lines)))
    assert len(edges) == cells.shape[0]
    bins = np.searchsorted(np.cumsum(cells.sum(axis=1)), np.arange(len(pay)), side="right")
    by_age = np.argsort(table.codes["age"], kind="stable")
    line = stats.linregress(bins, pay[by_age])
    assert slope.slope == pytest.approx(line.rvalue)
    assert slope.lo < slope.slope < slope.hi


def test_an_exact_release_keeps_everything() -> None:
    """Groups of equal rows: no box is wider than a value, so nothing is lost."""
    columns = {"age": np.repeat(np.arange(8), 50), "pay": np.tile(np.repeat([1, 2], 25), 8)}
    columns["pay"] = columns["pay"] + columns["age"]
    table = sf.read(pa.table(columns), sf.Schema(quasi=["age"], sensitive="pay"))
    found = sf.usefulness(sf.publish(table, sf.Mondrian(), sf.KAnonymity(50), seed=1), table)
    assert found.kept == pytest.approx(1)
    assert found.best == pytest.approx(0)
    assert all(one.inside for one in found.coefficients)


def test_the_means_of_groups_stand_beside_their_boxes() -> None:
    table = associated()
    coarse = sf.publish(table, sf.Mondrian(), sf.KAnonymity(300), seed=1)
    found = sf.usefulness(coarse, table)
    assert found.best is not None
    assert 0 < found.best < 2 * found.distance < found.marginals


FORMS: dict[str, Callable[[sf.Microdata], Any]] = {
    "boxes": boxes,
    "anatomized": anatomized,
    "permuted": lambda table: sf.publish(
        table, sf.Mondrian(), sf.LDiversity(2), form="permuted", seed=1
    ),
    "perturbed": lambda table: sf.perturb(table, m=4, seed=1),
    "nothing shown": lambda table: sf.publish(
        table, sf.Mondrian(), sf.KAnonymity(table.n_rows), labels="suppression", seed=1
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_measured(name: str) -> None:
    table = associated(800)
    found = sf.usefulness(FORMS[name](table), table)
    assert isinstance(found, Usefulness)
    assert len(found.conditionals) == 3
    assert all(0 <= one.distance <= 1 for one in found.conditionals)
    json.dumps(found.to_dict())
    assert "000" not in repr(found)
    if name == "nothing shown":
        assert found.kept == pytest.approx(0)


def test_a_folder_and_a_database_are_measured(tmp_path: Path) -> None:
    table = associated(800)
    release = boxes(table)
    folder = sf.publish(table, sf.Mondrian(), sf.KAnonymity(5)).write(tmp_path / "out")
    assert sf.usefulness(folder, table).kept > 0.9
    db = sf.StatDB.create(tmp_path / "db", table, m=3)
    found = sf.usefulness(db, table)
    assert found.marginals == sf.usefulness(release, table).marginals
    assert 0 < found.kept <= 1


def test_a_table_without_sensitive_columns_is_refused() -> None:
    table = sf.read(pa.table({"age": [1, 2, 3]}), sf.Schema(quasi=["age"]))
    with pytest.raises(SchemaError, match="sensitive"):
        sf.usefulness(sf.publish(table, sf.Mondrian(), sf.KAnonymity(2), seed=1), table)


@pytest.mark.parametrize("make", [boxes, anatomized])
def test_sampled_rows_are_those_of_the_release(make: Callable[[sf.Microdata], Any]) -> None:
    """Single columns keep their distribution, and ages stay in the boxes or are exact."""
    table = associated(2000)
    points, values = sampled(make(table), table, "job", 2000, 1)
    assert len(points) == 2000
    for column, name in enumerate(("age", "sex")):
        true = np.bincount(table.codes[name], minlength=40) / 2000
        seen = np.bincount(points[:, column], minlength=40) / 2000
        assert np.abs(true - seen).sum() / 2 < 0.08
    jobs = [np.bincount(codes, minlength=8) for codes in (table.codes["job"], values)]
    assert np.abs(jobs[0] - jobs[1]).sum() / 4000 < 0.05


def test_learning_from_a_release() -> None:
    pytest.importorskip("sklearn")
    table = associated(1500)
    most, little = (
        sf.usefulness(make(table), table, learn=True, seed=1) for make in (boxes, anatomized)
    )
    assert [one.model for one in most.learners] == ["Gradient boosting", "Logistic regression"]
    for good, poor in zip(most.learners, little.learners, strict=True):
        assert good.auc > 0.7
        assert good.auc_released > good.auc - 0.1
        assert good.auc == poor.auc
        assert good.off_released < poor.off_released  # chances learned from mixed groups are flat
    again = sf.usefulness(boxes(table), table, learn=True, seed=1)
    assert again.learners == most.learners


@pytest.mark.parametrize("name", ["database", "perturbed"])
def test_learning_from_counts_where_there_are_no_rows(name: str, tmp_path: Path) -> None:
    table = associated(1500)
    some: dict[str, Callable[[], Any]] = {
        "database": lambda: sf.StatDB.create(tmp_path / "db", table, m=2),
        "perturbed": lambda: sf.perturb(table, m=2, seed=1),
    }
    found = sf.usefulness(some[name](), table, learn=True, seed=1)
    (one,) = found.learners
    assert (one.model, found.unlearned) == ("Naive Bayes of counts", None)
    assert one.auc > 0.9
    assert 0.6 < one.auc_released <= one.auc + 0.02
    flat = sf.StatDB.create(tmp_path / "flat", associated(1500, strength=0), m=2)
    (none,) = sf.usefulness(flat, associated(1500, strength=0), learn=True, seed=1).learners
    assert abs(none.auc_released - 0.5) < 0.1
    few = sf.usefulness(sf.perturb(associated(60), m=2, seed=1), associated(60), learn=True)
    assert (few.learners, "100 rows" in str(few.unlearned)) == ((), True)


def test_naive_bayes_is_that_of_scikit_learn() -> None:
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(0)
    y = draw.integers(0, 3, 400)
    x = np.stack([(y + draw.integers(0, 3, 400)) % 4, draw.integers(0, 2, 400)], axis=1)
    tables = [
        np.array([[np.sum((x[:, j] == at) & (y == one)) for one in range(3)] for at in range(size)])
        for j, size in enumerate((4, 2))
    ]
    own = _posterior([cells.astype(float) for cells in tables], [x[:, 0], x[:, 1]])
    prior = (np.bincount(y) + 1) / (len(y) + 3)
    model = naive_bayes.CategoricalNB(alpha=1.0, class_prior=prior).fit(x, y)
    assert own == pytest.approx(model.predict_proba(x))
    scores = np.round(own[:, 1], 2)  # with ties
    assert auc(y == 1, scores) == pytest.approx(metrics.roc_auc_score(y == 1, scores))


def test_questions_are_chosen_once_for_all_releases() -> None:
    table = associated(800)
    asked = Asked.of(TableParts.of(table))
    assert asked.usefulness(boxes(table)).to_dict() == sf.usefulness(boxes(table), table).to_dict()
