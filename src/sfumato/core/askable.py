"""Things that can be asked: releases, and for its owner the table itself.

Answering is the business of a higher layer, ``asking``; it is looked up when a question comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.foreign import our_errors
from sfumato.core.query import Query


class Askable:
    """``count`` and ``query``, with an estimate and hard bounds in every answer."""

    __slots__ = ()

    @our_errors("answering")
    def count(self, where: str | Query = "") -> Answer:
        """How many rows satisfy a condition, as in ``count("age <= 30 AND disease = 'flu'")``."""
        found = _answering().count(self, where)
        assert isinstance(found, Answer)
        return found

    @our_errors("answering")
    def query(self, query: str | Query) -> Result:
        """Answer ``SELECT ... FROM t [WHERE ...] [GROUP BY ...]``; the table may have any name."""
        found = _answering().answer(self, query)
        assert isinstance(found, Result)
        return found

    @our_errors("answering")
    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query of a workload, as arrays."""
        found = _answering().counts(self, queries)
        assert isinstance(found, CountAnswers)
        return found


def _answering() -> Any:
    return import_module("sfumato.asking.ask")
