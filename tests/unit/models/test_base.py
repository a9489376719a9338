"""Combining models, and writing them down."""

import json

import pytest

from sfumato.errors import ParameterError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import AllOf, BuiltIn, Model, all_of, parts
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import DistinctLDiversity, LDiversity, RecursiveLDiversity
from sfumato.models.registry import MODELS, model_from_dict
from tests.support.algorithms import identify
from tests.support.models import SETTINGS, NobodyAlone
from tests.support.tables import attribute, histograms

K, D, L = KAnonymity(3), DistinctLDiversity(2), LDiversity(2)


def test_and_keeps_every_part_in_order() -> None:
    assert tuple(parts(K & D & L)) == (K, D, L)
    assert tuple(parts(K & (D & L))) == (K, D, L)
    assert tuple(parts((K & D) & (L & K))) == (K, D, L, K)
    assert tuple(parts(K)) == (K,)


def test_a_users_own_model_combines() -> None:
    mine = NobodyAlone()
    assert tuple(parts(K & mine)) == (K, mine)
    assert isinstance(mine, Model)
    assert not isinstance(object(), Model)


def test_all_parts_must_hold() -> None:
    groups = histograms(attribute(3), [[2, 0, 0], [1, 1, 0], [3, 0, 0], [2, 1, 0], [1, 1, 1]])
    assert (K & D).passes(groups).tolist() == [False, False, False, True, True]
    assert (K & D & L).passes(groups).tolist() == [False, False, False, False, True]


def test_models_read_like_words() -> None:
    assert str(K & LDiversity(2, on="disease")) == (
        "k-anonymity (k = 3) & l-diversity (l = 2, on = disease)"
    )


def test_several_models_become_one() -> None:
    assert all_of([K]) is K
    assert all_of([K, D]) == AllOf((K, D))


@pytest.mark.parametrize(
    "model",
    [*SETTINGS, LDiversity(2, on="d"), TCloseness(0.1, "ordered", on="d")],
    ids=identify,
)
def test_a_model_comes_back_from_its_dictionary(model: BuiltIn) -> None:
    stated = json.loads(json.dumps(model.to_dict()))
    assert stated["model"] == model.name
    assert model_from_dict(stated) == model
    assert None not in stated.values()


def test_every_model_is_registered_under_its_name() -> None:
    assert {name: model.name for name, model in MODELS.items()} == {name: name for name in MODELS}
    # names, because a dataclass with slots leaves the class it was made from behind
    bases = (BuiltIn, KAnonymity)
    found = {model.__qualname__ for base in bases for model in base.__subclasses__()}
    assert {model.__qualname__ for model in MODELS.values()} == found


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ({"model": "z-anonymity", "z": 3}, "unknown model 'z-anonymity'; known: k-anonymity"),
        ({}, "unknown model None"),
        ({"model": "k-anonymity"}, "k-anonymity: "),
        ({"model": "k-anonymity", "k": 3, "l": 2}, "k-anonymity: "),
    ],
)
def test_dictionaries_that_state_no_model(stated: dict[str, object], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint) as caught:
        model_from_dict(stated)
    assert caught.value.parameter == "model"


def test_parameters_out_of_range_stay_their_own_error() -> None:
    with pytest.raises(ParameterError) as caught:
        model_from_dict({"model": "recursive-cl-diversity", "c": 0, "l": 2})
    assert caught.value.parameter == "c"
    with pytest.raises(ParameterError, match="l must be a finite number above 1, not 'two'"):
        model_from_dict({"model": "l-diversity", "l": "two"})
    assert RecursiveLDiversity(1.0, 2) == model_from_dict(
        {"model": "recursive-cl-diversity", "c": 1.0, "l": 2}
    )


def test_a_bare_model_combines_from_the_left() -> None:
    mine = NobodyAlone()
    both = mine & KAnonymity(2)
    assert isinstance(both, AllOf)
    assert tuple(parts(both)) == (mine, KAnonymity(2))


def test_a_promise_of_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least one"):
        AllOf(())
