"""Texts beside columns of dates and times, as PostgreSQL reads them.

    since BETWEEN '2020-01-01T00:00:00Z' AND '2020-06-30T23:59:59Z'

PostgreSQL gives a text the type of the column that it is compared with: of a date the time of day
is left out, and of a time without a zone the zone. Grafana's time filter counts on that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.queries.columns import Catalog
from sfumato.server.wire.tokens import Token
from sfumato.server.wire.values import DATE, TIMESTAMP, kind_of

_MOMENT = re.compile(
    r"'(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|[+-]\d\d(?::?\d\d)?)?'", re.ASCII
)
_SAYS_ITS_TYPE = frozenset(("DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "ZONE"))


def fitted(tokens: Sequence[Token], catalog: Catalog) -> Sequence[Token]:
    """The tokens, with such texts in the form that their columns have."""
    if not any(one.kind == "text" and _MOMENT.fullmatch(one.text) for one in tokens):
        return tokens
    kinds = {name.lower(): kind_of(one.type) for name, one in catalog.columns.items()}
    found, last = list(tokens), None
    for place, token in enumerate(tokens):
        if token.is_name:
            last = kinds.get(token.name.lower(), last)
            continue
        moment = _MOMENT.fullmatch(token.text) if token.kind == "text" else None
        if moment is None or _has_a_type(tokens, place):
            continue
        if last == DATE:
            found[place] = token._replace(text=f"'{moment[1]}'")
        elif last == TIMESTAMP:
            found[place] = token._replace(text=f"'{moment[1]} {moment[2]}'")
    return found


def _has_a_type(tokens: Sequence[Token], place: int) -> bool:
    """TIMESTAMP '...', '...'::timestamp, CAST('...' AS timestamp)."""
    before = tokens[place - 1].word if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    return before in _SAYS_ITS_TYPE or (
        after is not None and (after.text == "::" or after.word == "AS")
    )
