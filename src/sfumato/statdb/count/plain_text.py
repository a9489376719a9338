"""The plainest conditions, read without a grammar: comparisons with literals, joined by AND.

    age BETWEEN 30 AND 50 AND disease = 'flu'

Most questions to a database look like this, and reading them with a whole SQL parser takes longer
than answering them. Whatever is not plainly of this form is left to queries.sql; what is, means
the same there (a test compares the two).
"""

from __future__ import annotations

import re
from typing import cast

from sfumato.core.predicates import Compare, Operator, Predicate, between
from sfumato.core.query import Query

_NUMBER = r"(-?(?:0|[1-9]\d{0,14}))"
_CONDITION = re.compile(
    rf"""\s* ([a-z_]\w*) \s*
    (?: \b BETWEEN \s+ {_NUMBER} \s+ AND \s+ {_NUMBER}
      | (<=|>=|<>|=|<|>) \s* (?: {_NUMBER} | '([\w ]*)' )
    )
    (?: (\s+ AND) \b | \s* \Z )""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
# words that mean something else in SQL than a column of that name
_WORDS = frozenset(
    re.findall(
        r"\w+",
        """all and any as asc between by case cast collate current_date current_time
        current_timestamp date desc distinct else end escape exists false from group having if in
        interval into is join like limit not null on or order select some t table then time
        timestamp true union values when where with""",
    )
)


# the most frequent question, whose condition is read without a grammar if it is plain enough
_COUNT = re.compile(r"\s*SELECT\s+COUNT\(\*\)\s+FROM\s+t\s+WHERE\b", re.IGNORECASE | re.ASCII)


def read_plain_question(text: str) -> Query | None:
    """The query of a count under a plain condition; None for any other text."""
    found = _COUNT.match(text)
    return None if found is None else read_plain(text[found.end() :])


def read_plain(text: str) -> Query | None:
    """The query of a plain condition; None for any other text."""
    where: dict[str, Predicate] = {}
    names: set[str] = set()
    at, open_ = 0, True
    while open_:
        found = _CONDITION.match(text, at)
        if found is None:
            return None
        name, low, high, operator, number, word, follows = found.groups()
        lowered = name.lower()
        if lowered in names or lowered in _WORDS:
            return None
        names.add(lowered)
        if operator is None:
            where[name] = between(int(low), int(high))
        elif number is not None:
            where[name] = Compare(cast(Operator, operator), int(number))
        elif operator in ("=", "<>"):
            where[name] = Compare(cast(Operator, operator), word)
        else:
            return None
        at, open_ = found.end(), follows is not None
    return Query(where)
