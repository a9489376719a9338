"""What models say of themselves is true, and believed of nobody who does not say it."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from sfumato.core.histograms import Histograms
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn, Trait, has
from sfumato.models.closeness import TCloseness
from tests.support.algorithms import identify
from tests.support.models import SETTINGS, NobodyAlone
from tests.support.tables import attribute, histograms

VALUES = 5
PAIRS = 400
EVERY = pytest.mark.parametrize("model", SETTINGS, ids=identify)


def tables(seed: int) -> list[tuple[Histograms, Histograms]]:
    """Four groups of a few rows, and what is left when the first two are merged."""
    random, of = np.random.default_rng(seed), attribute(VALUES, ordered=True)
    found = []
    for _ in range(PAIRS):
        matrix = random.integers(0, 4, (4, VALUES)) * (random.random((4, VALUES)) < 0.7)
        matrix[:, 0] += 1  # no group is empty
        merged = np.vstack([matrix[:1] + matrix[1:2], matrix[2:]])
        found.append((histograms(of, matrix.tolist()), histograms(of, merged.tolist())))
    return found


@EVERY
def test_merging_safe(model: BuiltIn) -> None:
    assert has(model, "merging_safe")
    seen = 0
    for apart, merged in tables(1):
        if model.passes(apart)[:2].all():
            seen += 1
            assert model.passes(merged)[0]
    assert seen > 5


@EVERY
def test_group_alone(model: BuiltIn) -> None:
    changed = 0
    for apart, _ in tables(2):
        others = replace(apart, whole=apart.whole + np.array([0, 0, 0, 50, 50]))
        changed += int((model.passes(apart) != model.passes(others)).sum())
    assert (changed == 0) is has(model, "group_alone")


@EVERY
def test_values_safe(model: BuiltIn) -> None:
    """Two values under one name: nobody passes who did not."""
    assert has(model, "values_safe") is not (isinstance(model, TCloseness | KAnonymity))
    assert not has(model, "values_safe") or not _made_safe_by_joining(model)


def test_joining_values_hides_distances() -> None:
    assert _made_safe_by_joining(TCloseness(0.25, "equal"))


@EVERY
def test_lasting(model: BuiltIn) -> None:
    """Who fails it fails the model; who passes it does so whatever is taken in."""
    demanded = model.lasting()
    assert (demanded is None) is isinstance(model, TCloseness)
    if demanded is None:
        return
    for apart, merged in tables(4):
        keeps, passes = demanded.passes(apart), model.passes(apart)
        assert not (passes & ~keeps).any()
        assert demanded.passes(merged)[0] or not keeps[:2].any()


def test_a_users_own_model_has_no_trait_that_it_does_not_name() -> None:
    class Named(NobodyAlone):
        merging_safe = True

    assert [has(NobodyAlone(), trait) for trait in get_args(Trait)] == [False] * 3
    assert [has(Named(), trait) for trait in get_args(Trait)] == [True, False, False]


def _made_safe_by_joining(model: BuiltIn) -> int:
    """How many groups pass once two values have one name, and did not before."""
    seen = [apart for apart, _ in tables(3)]
    return sum(int((model.passes(_joined(one)) & ~model.passes(one)).sum()) for one in seen)


def _joined(groups: Histograms) -> Histograms:
    matrix = np.zeros((groups.n_groups, VALUES), np.int64)
    matrix[groups.groups, groups.values] = groups.counts
    matrix[:, 3] += matrix[:, 4]
    whole = groups.whole.copy()
    whole[3:] = whole[3] + whole[4], 0
    assert groups.attribute is not None
    matrix[:, 4] = 0
    return Histograms.of_matrix(groups.attribute, matrix, whole)
