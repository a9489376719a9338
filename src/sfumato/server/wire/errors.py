"""Errors as PostgreSQL's clients know them: a SQLSTATE, a message, a hint, a place in the text."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.server.errors import ApiError

SYNTAX = "42601"
NO_COLUMN = "42703"
NO_TABLE = "42P01"
NO_DATABASE = "3D000"
NOT_SUPPORTED = "0A000"
READ_ONLY = "25006"
FAILED_BEFORE = "25P02"
PROTOCOL = "08P01"
NO_PASSWORD = "28P01"
NOT_ALLOWED = "28000"
TOO_MANY = "53300"
LIMIT = "53400"
TOO_LARGE = "54000"
CANCELLED = "57014"
STOPPING = "57P01"
NOT_READY = "57P03"
INTERNAL = "XX000"
NO_STATEMENT = "26000"
NO_CURSOR = "34000"
BAD_VALUE = "22P02"
BAD_SETTING = "22023"
WRONG_KIND = "42804"

_STATES = {
    "invalid_request": SYNTAX,
    "unauthorized": NO_PASSWORD,
    "forbidden": NOT_ALLOWED,
    "unknown_database": NO_DATABASE,
    "too_large": TOO_LARGE,
    "busy": TOO_MANY,
    "rate_limited": LIMIT,
    "timeout": CANCELLED,
    "ledger_unavailable": NOT_READY,
    "not_ready": NOT_READY,
}


class WireError(Exception):
    """Something to tell the client; ``fatal`` ends the connection."""

    def __init__(
        self,
        state: str,
        message: str,
        hint: str = "",
        *,
        at: int | None = None,
        fatal: bool = False,
    ) -> None:
        super().__init__(message)
        self.state = state
        self.message = message
        self.hint = hint
        self.at = at
        self.fatal = fatal


def told(error: ApiError, columns: Iterable[str] = ()) -> WireError:
    """An error of the server in PostgreSQL's terms."""
    state = _STATES.get(error.code, INTERNAL)
    if error.code == "query_refused":
        state = _state_of(error, columns)
    hint = _HINT if error.code == "query_refused" else error.hint
    if error.retry_after is not None:
        hint = f"{hint} ({error.retry_after:.1f} s)"
    return WireError(state, error.message, hint, at=error.position)


_HINT = "ask like SELECT sex, COUNT(*) FROM t WHERE age BETWEEN 30 AND 50 GROUP BY sex"


def _state_of(error: ApiError, columns: Iterable[str]) -> str:
    """A question is refused for its form, for a column that is not there, or for a value."""
    clause = error.clause or "SELECT"
    if clause.lower() in {name.lower() for name in columns}:
        return WRONG_KIND
    if clause.isupper() or clause in _PARTS:
        return SYNTAX if any(one in error.message for one in _MISREAD) else NOT_SUPPORTED
    return NO_COLUMN


_PARTS = frozenset(("text", "comment", "parameter", "number", "( )", "cast", "type", "query"))
# what the readers of questions say of texts that are no SQL; all else is SQL that is not answered
_MISREAD = ("not understood", "is never closed", "closes nothing", "nothing stands", "is empty",
            "stands directly behind", "cannot be cut", "is expected")  # fmt: skip
