"""Questions and answers as a ledger holds them, made comparable with those of the store.

An answer is the JSON of its rows, alone or in an object under "rows":

    [{"key": {"sex": "F"}, "answers": {"count": {"lo": 12, "hi": 30, "estimate": 21.0, "nullable":
    false}}}]

A question is SQL, a line of JSON as queries.query_json reads it, or an object with one of them
under "sql" or "query".
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sfumato.core.answer import Result, plain
from sfumato.core.query import Query
from sfumato.queries.json import from_line
from sfumato.queries.sql import parse
from sfumato.statdb.count.plain_text import read_plain_question

# what reading something that is no question or answer may raise, beside errors of sfumato
DAMAGES = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


def print_of_recorded(answer: str) -> bytes:
    """A digest of a recorded answer."""
    return _fingerprint(_recorded(answer))


def print_of(result: Result) -> bytes:
    """A digest of an answer; equal answers have equal ones, whatever their columns are called."""
    return _fingerprint(_own_rows(result))


def query_of(text: str) -> Query:
    """The question of a text."""
    if not text.lstrip().startswith("{"):
        return read_plain_question(text) or parse(text)
    stated = json.loads(text)
    if isinstance(stated.get("sql"), str):
        return parse(stated["sql"])
    return from_line(json.dumps(stated["query"]) if "query" in stated else text)


def hashed(text: str) -> bytes:
    """A digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _recorded(answer: str) -> list[Any]:
    """Keys and ends, without the names, which a question may choose."""
    stated = json.loads(answer)
    rows = stated["rows"] if isinstance(stated, dict) else stated
    return [
        [
            list(row["key"].values()),
            [
                [one["lo"], one["hi"], one["estimate"], one["nullable"]]
                for one in row["answers"].values()
            ],
        ]
        for row in rows
    ]


def _own_rows(result: Result) -> list[Any]:
    return [
        [
            list(map(plain, key)),
            [[plain(one.lo), plain(one.hi), plain(one.estimate), one.nullable] for one in answers],
        ]
        for key, answers in zip(result.keys, result.answers, strict=True)
    ]


def _fingerprint(rows: list[Any]) -> bytes:
    lines = sorted(json.dumps(row, default=str) for row in rows)
    return hashed("\n".join(lines))
