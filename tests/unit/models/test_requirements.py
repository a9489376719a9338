"""Models tied to attributes."""

import pytest

from sfumato.core.schema import Schema
from sfumato.errors import SchemaError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement, requirements
from tests.support.models import NobodyAlone

TWO = Schema(quasi=["a"], sensitive=["s", "t"])
NONE = Schema(quasi=["a"])
K, L = KAnonymity(2), LDiversity(2)


def test_a_diversity_model_is_about_every_sensitive_attribute() -> None:
    assert requirements(K & L, TWO) == (
        Requirement(K, None),
        Requirement(L, "s"),
        Requirement(L, "t"),
    )


def test_on_picks_one() -> None:
    on_t = LDiversity(3, on="t")
    assert requirements(on_t, TWO) == (Requirement(on_t, "t"),)
    assert str(Requirement(on_t, "t")) == "l-diversity (l = 3, on = t) on t"


def test_on_must_be_sensitive() -> None:
    with pytest.raises(SchemaError, match="'a', which is not sensitive") as caught:
        requirements(LDiversity(3, on="a"), TWO)
    assert caught.value.column == "a"


def test_a_model_about_values_needs_a_sensitive_column() -> None:
    with pytest.raises(SchemaError, match="needs a sensitive column"):
        requirements(K & L, NONE)
    assert requirements(K, NONE) == (Requirement(K, None),)


def test_a_users_own_model_sees_what_there_is() -> None:
    mine = NobodyAlone()
    assert requirements(mine, TWO) == (Requirement(mine, "s"), Requirement(mine, "t"))
    assert requirements(mine, NONE) == (Requirement(mine, None),)
