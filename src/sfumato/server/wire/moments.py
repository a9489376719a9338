"""Dates and times as tools write them, in the words that questions have.

    since BETWEEN '2020-01-01T00:00:00Z' AND '2020-06-30T23:59:59Z'

PostgreSQL gives a text the type of the column that it is compared with: of a date the time of day
is left out, and of a time without a zone the zone. Grafana's time filter counts on that.

    DATE_TRUNC('day', since), CAST(since AS date), since::date

A day that is made a day of is the day itself: charts of Superset and Metabase ask so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfumato.queries.columns import Catalog
from sfumato.server.wire.tokens import Token
from sfumato.server.wire.values import DATE, TIMESTAMP, Kind, kind_of

_MOMENT = re.compile(
    r"'(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|[+-]\d\d(?::?\d\d)?)?'", re.ASCII
)
_MAKES_DAYS = frozenset(("CAST", "DATE_TRUNC"))
_SAYS_ITS_TYPE = frozenset(("DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "ZONE"))


def fitted(tokens: Sequence[Token], catalog: Catalog) -> Sequence[Token]:
    """The tokens, with such texts in the form that their columns have, and without such casts."""
    kinds = {name.lower(): kind_of(one.type) for name, one in catalog.columns.items()}
    if any(one.word in _MAKES_DAYS or one.text == "::" for one in tokens):
        tokens = _days(tokens, kinds)
    if not any(one.kind == "text" and _MOMENT.fullmatch(one.text) for one in tokens):
        return tokens
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


def _days(tokens: Sequence[Token], kinds: Mapping[str, Kind]) -> list[Token]:
    """Without what makes a day of a day."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        if tokens[at].word in _MAKES_DAYS:
            inside, end = _call(tokens, at)
            if _is_day(inside, kinds):
                found += inside
                at = end
                continue
        is_cast = [one.text.upper() for one in tokens[at : at + 2]] == ["::", "DATE"]
        if is_cast and _is_day(found[-1:], kinds):
            at += 2
            continue
        found.append(tokens[at])
        at += 1
    return found


def _call(tokens: Sequence[Token], at: int) -> tuple[Sequence[Token], int]:
    """The argument that stands in CAST(... AS date) or DATE_TRUNC('day', ...), and its end."""
    end = next((to for to in range(at, len(tokens)) if tokens[to].text == ")"), at)
    shape = [one.text.upper() for one in tokens[at : end + 1]]
    if shape[1:4] == ["(", "'DAY'", ","]:
        return tokens[at + 4 : end], end + 1
    if shape[1:2] == ["("] and shape[-3:] == ["AS", "DATE", ")"]:
        return tokens[at + 2 : end - 2], end + 1
    return (), at


def _is_day(tokens: Sequence[Token], kinds: Mapping[str, Kind]) -> bool:
    """Whether they name a column of days, perhaps with its table."""
    names, dots = tokens[::2], tokens[1::2]
    return (
        len(tokens) % 2 == 1
        and all(one.is_name for one in names)
        and all(one.text == "." for one in dots)
        and kinds.get(names[-1].name.lower()) == DATE
    )


def _has_a_type(tokens: Sequence[Token], place: int) -> bool:
    """TIMESTAMP '...', '...'::timestamp, CAST('...' AS timestamp)."""
    before = tokens[place - 1].word if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    return before in _SAYS_ITS_TYPE or (
        after is not None and (after.text == "::" or after.word == "AS")
    )
