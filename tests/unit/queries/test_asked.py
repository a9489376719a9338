"""Questions of the wrong type: refused by name, wherever they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

import sfumato as sf
from sfumato.client import Connection
from sfumato.core.query import Query
from sfumato.errors import ParameterError
from sfumato.statdb import Responder
from tests.support.releases import anatomized, generalized
from tests.support.tables import microdata

COLUMNS: dict[str, Any] = {"age": [20, 30, 40, 50] * 3, "ill": ["flu", "cold", "gout"] * 4}


def table() -> sf.Microdata:
    return microdata(COLUMNS, quasi=["age"], sensitive=["ill"])


SOURCES: dict[str, Callable[[], Any]] = {
    "table": table,
    "boxes": lambda: generalized(table(), [0] * 6 + [1] * 6),
    "apart": lambda: anatomized(table(), [0] * 6 + [1] * 6),
    "noise": lambda: sf.perturb(table(), m=2, seed=1),
    "database": lambda: Responder.create(table(), m=2, seed=1),
    # nothing is sent: there is no line
    "connection": lambda: Connection("d", cast(Any, None)),
}
WRONG: dict[str, Any] = {
    "None": None,
    "dict": {"age": [20]},
    "bytes": b"age = 20",
    "number": 20,
    "list": ["age = 20"],
}


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Any:
    return SOURCES[request.param]()


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("verb", ["count", "query"])
def test_what_is_neither_text_nor_query_is_refused(source: Any, verb: str, wrong: Any) -> None:
    with pytest.raises(ParameterError, match="is a text or a Query, not ") as refusal:
        getattr(source, verb)(wrong)
    assert refusal.value.parameter == {"count": "where", "query": "query"}[verb]
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("wrong", [None, 3, "SELECT COUNT(*) FROM t", b"x", Query()], ids=repr)
def test_a_workload_is_a_list(source: Any, wrong: Any) -> None:
    with pytest.raises(ParameterError, match="queries must be a list"):
        source.counts(wrong)


def test_a_workload_of_something_else_is_refused(source: Any) -> None:
    with pytest.raises(ParameterError, match="a question is a text or a Query, not None"):
        source.counts([None])


def test_the_owner_asks_a_database_for_versions_in_the_same_way() -> None:
    with pytest.raises(ParameterError, match="a condition is a text or a Query"):
        SOURCES["database"]().version(None)


@pytest.mark.parametrize("where", ["age = 20", 5, [1]], ids=repr)
def test_conditions_of_a_query_are_a_dict(where: Any) -> None:
    with pytest.raises(ParameterError, match="conditions are a dict of columns"):
        Query(where)


@pytest.mark.parametrize("wanted", [20, None, 2.5], ids=repr)
def test_a_condition_of_a_query_is_a_list(wanted: Any) -> None:
    with pytest.raises(ParameterError, match="a list of values is meant"):
        Query({"age": wanted})
