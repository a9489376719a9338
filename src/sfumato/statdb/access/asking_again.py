"""Recorded questions asked of the store again: each meaning once, however often it was asked."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.query import Query
from sfumato.errors import SfumatoError
from sfumato.statdb.access.ledger_answers import DAMAGES, print_of, query_of
from sfumato.statdb.count import asking
from sfumato.statdb.responder import Responder

_HELD = 100_000  # answers by meaning: those that are asked in other words come soon after


@dataclass(slots=True, eq=False)
class Asked:
    """A store's own answers, as prints that can be compared with recorded ones."""

    responder: Responder
    _held: OrderedDict[Any, bytes] = field(default_factory=OrderedDict)

    def print_of(self, text: str) -> bytes | None:
        """The answer to a text; None if it cannot be read, or is refused."""
        try:
            query = query_of(text)
            key = self._meaning(query)
            found = self._held.get(key)
            if found is None:
                found = self._held[key] = print_of(asking.answer(self.responder, query))
                if len(self._held) > _HELD:
                    self._held.popitem(last=False)
        except (SfumatoError, *DAMAGES):
            return None
        return found

    def _meaning(self, query: Query) -> Any:
        """Equal for questions that must be answered alike: codes do not depend on the words."""
        conditions = asking.conditions_of(self.responder, query)
        select = tuple((one.function, one.attribute) for one in query.select)
        return (frozenset(conditions.items()), select, query.by)
