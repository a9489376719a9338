"""Every model against its definition, its compiled rule, and the merging of groups."""

import itertools
import math
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.models._rules import passes_rules, rule_matrix
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.closeness import Distance, TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
    entropies,
)
from sfumato.models.registry import MODELS
from tests.support.oracles import ORACLES
from tests.support.strategies import count_matrices, taxonomies
from tests.support.tables import attribute, histograms

HALVES = st.integers(3, 12).map(lambda number: number / 2)
PARAMETERS: dict[str, st.SearchStrategy[BuiltIn]] = {
    "k-anonymity": st.builds(KAnonymity, st.integers(2, 20)),
    "k-join-anonymity": st.builds(KJoinAnonymity, st.integers(2, 20)),
    "l-diversity": st.builds(LDiversity, HALVES),
    "distinct-l-diversity": st.builds(DistinctLDiversity, st.integers(2, 6)),
    "entropy-l-diversity": st.builds(EntropyLDiversity, HALVES),
    "recursive-cl-diversity": st.builds(
        RecursiveLDiversity, HALVES.map(lambda c: c / 4), st.integers(2, 6)
    ),
    "t-closeness": st.builds(
        TCloseness,
        st.integers(0, 19).map(lambda t: t / 20),
        st.sampled_from(["equal", "ordered", "hierarchical"]),
    ),
}


@st.composite
def models_and_groups(draw: st.DrawFn, name: str) -> tuple[BuiltIn, Histograms, list[list[int]]]:
    model = draw(PARAMETERS[name])
    counts = draw(count_matrices(max_groups=6))
    width = len(counts[0])
    missing = width > 1 and draw(st.booleans())
    tree = draw(taxonomies(n_leaves=width - missing)) if name == "t-closeness" else None
    return (
        model,
        histograms(attribute(width - missing, taxonomy=tree, missing=missing), counts),
        counts,
    )


def compiled_verdicts(model: BuiltIn, groups: Histograms, counts: list[list[int]]) -> list[bool]:
    rule = model.rule(groups)
    assert rule is not None
    width = len(groups.whole)
    rules = rule_matrix([(rule, 0, width)])
    whole = groups.whole / groups.whole.sum()
    scratch = np.full(width + 1, 99, np.int64)  # what earlier calls left behind must not matter
    return [
        passes_rules(rules, np.array(line, np.int64), sum(line), whole, scratch) for line in counts
    ]


def test_every_model_is_tested() -> None:
    assert set(PARAMETERS) == set(ORACLES) == set(MODELS)


@pytest.mark.parametrize("name", PARAMETERS)
@given(data=st.data())
def test_a_model_is_its_definition(name: str, data: st.DataObject) -> None:
    model, groups, counts = data.draw(models_and_groups(name))
    whole = tuple(groups.whole.tolist())
    expected = [ORACLES[name](model, tuple(line), whole, groups.attribute) for line in counts]
    assert model.passes(groups).tolist() == expected


@pytest.mark.parametrize("name", PARAMETERS)
@given(data=st.data())
def test_the_compiled_rule_is_the_model(name: str, data: st.DataObject) -> None:
    model, groups, counts = data.draw(models_and_groups(name))
    verdicts = model.passes(groups).tolist()
    assert compiled_verdicts(model, groups, counts) == verdicts
    rule = model.rule(groups)
    assert rule is not None
    small = [sum(line) < rule.least for line in counts]
    assert not any(verdict and less for verdict, less in zip(verdicts, small, strict=True))


@pytest.mark.parametrize("name", PARAMETERS)
@given(data=st.data())
def test_merging_safe_groups_keeps_them_safe(name: str, data: st.DataObject) -> None:
    model, groups, counts = data.draw(models_and_groups(name))
    safe = model.passes(groups)
    chosen = [line for line, passes in zip(counts, safe, strict=True) if passes]
    of = groups.attribute
    assert of is not None
    for pair in itertools.combinations(chosen, 2):
        merged = np.sum(pair, axis=0, keepdims=True)
        assert model.passes(Histograms.of_matrix(of, merged, groups.whole)).tolist() == [True]


def on_the_limit(line: list[int], of: Attribute, groups: Histograms) -> list[Any]:
    """Models with exactly the parameter that a group bears."""
    single = Histograms.of_matrix(of, np.array([line]), groups.whole)
    distances = {
        distance: TCloseness(0, distance).distances(single)[0]
        for distance in get_args(Distance)[:2]
    }
    models: list[Any] = [
        TCloseness(found, distance) for distance, found in distances.items() if found < 1
    ]
    if sum(line) > 1:
        models.append(KAnonymity(sum(line)))
    if sum(count > 0 for count in line) > 1:  # of one value nothing can be promised
        models += [
            LDiversity(sum(line) / max(line)),
            DistinctLDiversity(sum(count > 0 for count in line)),
            EntropyLDiversity(math.exp(entropies(single)[0])),
        ]
    return models


@given(count_matrices(max_groups=3, max_count=1000))
def test_a_group_exactly_on_the_limit_passes(counts: list[list[int]]) -> None:
    of = attribute(len(counts[0]))
    groups = histograms(of, counts)
    for g, line in enumerate(counts):
        for model in on_the_limit(line, of, groups):
            assert model.passes(groups)[g], model
            assert compiled_verdicts(model, groups, counts)[g], model


@given(st.integers(1, 500), st.integers(1, 500), st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_the_recursive_limit_itself_is_unsafe(tail: int, more: int, c: float) -> None:
    """r1 < c * tail is strict; counts are scaled so that both sides are whole numbers."""
    tail *= 4
    largest = int(c * tail)
    assume(largest >= tail)
    counts = [[tail, largest], [tail, largest - 1 if largest > tail else largest]]
    groups = histograms(attribute(2), counts)
    model = RecursiveLDiversity(c, 2)
    expected = [False, max(counts[1]) < c * min(counts[1])]
    assert model.passes(groups).tolist() == expected
    assert compiled_verdicts(model, groups, counts) == expected
