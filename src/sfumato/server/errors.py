"""The one shape of all errors, whatever their cause.

    {"error": {"code": "query_refused", "message": "...", "hint": "...", "request_id": "...",
               "position": 30}}

A code belongs to one status. Messages speak of the question and of public domains, never of rows;
what went wrong inside the server is told to its log, and there by place only.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import QueryRefused

STATUS = {
    "invalid_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "unknown_database": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "too_large": 413,
    "unsupported_media_type": 415,
    "misdirected": 421,
    "query_refused": 422,
    "busy": 429,
    "rate_limited": 429,
    "head_too_large": 431,
    "internal": 500,
    "ledger_unavailable": 503,
    "not_ready": 503,
    "timeout": 504,
}

_REFUSED = (
    "ask like SELECT COUNT(*) FROM t WHERE age BETWEEN 30 AND 50; GET /v1/schema lists the columns "
    "and their values"
)


class ApiError(Exception):
    """Something to tell the client: a code of STATUS, what failed, and what would work.

    ``clause`` is the part of a question that it is about, for protocols that tell it in other ways.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str,
        *,
        position: int | None = None,
        retry_after: float | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        clause: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.position = position
        self.retry_after = retry_after
        self.headers = headers
        self.clause = clause

    @property
    def status(self) -> int:
        """The status that belongs to the code."""
        return STATUS[self.code]

    def stated(self, request_id: str) -> dict[str, Any]:
        """The content of ``error``."""
        told: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "request_id": request_id,
        }
        if self.position is not None:
            told["position"] = self.position
        return told


def invalid(message: str, hint: str) -> ApiError:
    """A request that is not understood."""
    return ApiError("invalid_request", message, hint)


def refused(refusal: QueryRefused) -> ApiError:
    """A question that is understood, or nearly, and not answered."""
    return ApiError(
        "query_refused", refusal.reason, _REFUSED, position=refusal.position, clause=refusal.clause
    )


def internal() -> ApiError:
    """A bug: the client learns only the number to report it by."""
    return ApiError(
        "internal",
        "the server failed to answer",
        "this is a bug of the server; tell its owner the request_id",
    )
