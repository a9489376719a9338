"""How a file is read, and the limits that go with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError

SCHEMA = sf.Schema(identifiers=["id"], quasi=["age"])
ROWS = pa.table({"id": [1, 2, 3], "age": [4, 5, 6]})
LIMITED: dict[str, Any] = {"engine": "memory", "memory_limit": 10**9}


def read() -> object:
    return sf.read(ROWS, SCHEMA, **LIMITED)


def publish() -> object:
    return sf.publish_file(ROWS, SCHEMA, sf.Mondrian(), sf.KAnonymity(2), "out", **LIMITED)


def join() -> object:
    table = sf.read(ROWS, SCHEMA, id="id")
    return sf.publish_join(table, ROWS, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(2), **LIMITED)


@pytest.mark.parametrize("verb", [read, publish, join])
def test_a_limit_is_refused_where_it_would_be_ignored(verb: Callable[[], object]) -> None:
    with pytest.raises(ParameterError, match="a limit of memory is for files that are read part"):
        verb()
