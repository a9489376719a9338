"""What kind of statement a text is, and those that are about the session alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from sfumato.server.wire.errors import (
    FAILED_BEFORE,
    NO_TABLE,
    NOT_SUPPORTED,
    READ_ONLY,
    SYNTAX,
    WireError,
)
from sfumato.server.wire.outline import SCHEMA
from sfumato.server.wire.settings import Settings
from sfumato.server.wire.tokens import Token

Kind: TypeAlias = Literal["session", "question", "catalog"]

_SESSION = frozenset(
    ("SET", "RESET", "SHOW", "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT",
     "RELEASE", "DISCARD", "DEALLOCATE", "CLOSE", "UNLISTEN", "LISTEN")
)  # fmt: skip
_WRITES = frozenset(
    ("INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ALTER", "DROP", "TRUNCATE", "GRANT",
     "REVOKE", "COMMENT", "VACUUM", "ANALYZE", "REINDEX", "CLUSTER", "REFRESH", "CALL", "DO",
     "NOTIFY", "LOCK", "CHECKPOINT", "REASSIGN", "SECURITY", "IMPORT", "LOAD")
)  # fmt: skip
_FOREIGN = frozenset(("EXPLAIN", "COPY", "DECLARE", "FETCH", "MOVE", "PREPARE", "EXECUTE"))
_ENDS_FAILED = frozenset(("ROLLBACK", "ABORT", "COMMIT", "END"))
_SYSTEM = ("pg_catalog", "information_schema")
_BEFORE_TABLES = frozenset(("FROM", "JOIN"))


class Shown(NamedTuple):
    """The value of a setting, which is shown as a table of one row."""

    name: str
    value: str


def is_about_session(tokens: Sequence[Token]) -> bool:
    """Whether a statement is about the session alone."""
    return tokens[0].word in _SESSION


def kind_of(tokens: Sequence[Token], database: str) -> Kind:
    """What a statement is about; what cannot be done is refused."""
    first = tokens[0]
    if first.word in _SESSION:
        return "session"
    if first.word in _WRITES:
        raise WireError(
            READ_ONLY,
            f"cannot execute {first.word} in a read-only database",
            "its owner changes rows with: sfumato statdb apply",
        )
    if first.word in _FOREIGN:
        raise WireError(NOT_SUPPORTED, f"{first.word} is not supported", at=first.start + 1)
    if first.word not in ("SELECT", "WITH", "VALUES", "TABLE") and first.text != "(":
        raise WireError(
            SYNTAX,
            f"{first.text[:40]!r} is not understood here",
            "ask like SELECT COUNT(*) FROM t WHERE age BETWEEN 30 AND 50",
            at=first.start + 1,
        )
    return _kind_of_query(tokens, database)


def _kind_of_query(tokens: Sequence[Token], database: str) -> Kind:
    """Questions name the one table, everything else is about names and types."""
    unknown: Token | None = None
    kind: Kind = "catalog"
    for place, token in enumerate(tokens[:-1]):
        if token.word not in _BEFORE_TABLES or not tokens[place + 1].is_name:
            continue
        name = _dotted(tokens[place + 1 :])
        if name[-1] in (database.lower(), "t") and name[:-1] in _places(database):
            kind = "question"
        elif name[0] in _SYSTEM or name[0].startswith("pg_"):
            return "catalog"
        elif unknown is None:
            unknown = tokens[place + 1]
    if unknown is not None and kind == "catalog" and not _defines(tokens, unknown):
        shown = ".".join(_dotted(tokens[tokens.index(unknown) :]))
        hint = f"the table is called {database}"
        raise WireError(NO_TABLE, f"there is no table {shown!r}", hint, at=unknown.start + 1)
    return kind


def _places(database: str) -> tuple[tuple[str, ...], ...]:
    return ((), (SCHEMA,), (database.lower(), SCHEMA))


def _dotted(tokens: Sequence[Token]) -> tuple[str, ...]:
    """people, public.people, ..."""
    names = [tokens[0].name.lower()]
    at = 1
    while at + 1 < len(tokens) and tokens[at].text == "." and tokens[at + 1].is_name:
        names.append(tokens[at + 1].name.lower())
        at += 2
    return tuple(names)


def _defines(tokens: Sequence[Token], name: Token) -> bool:
    """Whether the statement itself says what a name is: WITH x AS (...), FROM f(...)."""
    place = tokens.index(name)
    if place + 1 < len(tokens) and tokens[place + 1].text == "(":
        return True
    return tokens[0].word == "WITH" and any(
        one.name.lower() == name.name.lower() and other.word == "AS"
        for one, other in pairwise(tokens)
        if one.is_name
    )


# ----- statements about the session


def tag_of(tokens: Sequence[Token], settings: Settings) -> str | Shown:
    """Do what a statement says of the session, and say how it is called."""
    word = tokens[0].word
    if word == "SHOW":
        return _show(tokens, settings)
    if word == "SET":
        _set(tokens, settings)
    elif word == "RESET":
        name = _setting(tokens[1:])
        settings.reset(None if name.lower() == "all" else name)
    elif word == "DISCARD":
        what = tokens[-1].word
        if what == "ALL":
            settings.reset()
        return f"DISCARD {what}"
    return _TAGS.get(word, word)


_TAGS = {
    "START": "START TRANSACTION",
    "END": "COMMIT",
    "ABORT": "ROLLBACK",
    "CLOSE": "CLOSE CURSOR",
}


def next_status(status: bytes, tokens: Sequence[Token]) -> bytes:
    """Whether a transaction is open after a statement about the session."""
    words = [one.word for one in tokens[:3]]
    if words[0] in ("BEGIN", "START"):
        return b"T"
    if words[0] in ("COMMIT", "END", "ABORT"):
        return b"I"
    if words[0] == "ROLLBACK":
        return b"T" if "TO" in words else b"I"
    return status


def require_usable(status: bytes, tokens: Sequence[Token]) -> None:
    """Refuse everything in a transaction that failed, except to end it."""
    if status == b"E" and tokens[0].word not in _ENDS_FAILED:
        raise WireError(
            FAILED_BEFORE,
            "current transaction is aborted, commands ignored until end of transaction block",
            "send ROLLBACK",
        )


def _show(tokens: Sequence[Token], settings: Settings) -> Shown:
    words = [one.word for one in tokens[1:]]
    if words == ["TRANSACTION", "ISOLATION", "LEVEL"]:
        name = "transaction_isolation"
    elif words == ["TIME", "ZONE"]:
        name = "TimeZone"
    else:
        name = _setting(tokens[1:])
    return Shown(name.lower(), settings.get(name))


def _set(tokens: Sequence[Token], settings: Settings) -> None:
    rest = list(tokens[1:])
    while rest and rest[0].word in ("SESSION", "LOCAL") and len(rest) > 1:
        rest.pop(0)
    words = [one.word for one in rest]
    if words[:1] in (["TRANSACTION"], ["CHARACTERISTICS"], ["CONSTRAINTS"]):
        if "WRITE" in words:
            raise WireError(READ_ONLY, "cannot set transaction read-write mode: nothing is written")
        return
    if words[:2] == ["TIME", "ZONE"]:
        settings.set("timezone", _value(rest[2:]))
        return
    if words[:1] == ["NAMES"]:
        settings.set("client_encoding", _value(rest[1:]))
        return
    at = next((at for at, one in enumerate(rest) if one.text == "=" or one.word == "TO"), None)
    if at is None or at == len(rest) - 1:
        raise WireError(SYNTAX, "write SET name = value", at=tokens[0].start + 1)
    settings.set(_setting(rest[:at]), _value(rest[at + 1 :]))


def _setting(tokens: Sequence[Token]) -> str:
    if not tokens or not all(one.is_name or one.text == "." for one in tokens):
        raise WireError(SYNTAX, "this is no name of a setting")
    return "".join(one.name for one in tokens)


def _value(tokens: Sequence[Token]) -> str:
    parts = [
        one.text[1:-1].replace("''", "'") if one.kind == "text" else one.name for one in tokens
    ]
    return "".join(parts)
