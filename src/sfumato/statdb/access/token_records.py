"""Tokens as they are kept: what is known of one, and the digest of its secret."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

Role: TypeAlias = Literal["owner", "analyst", "auditor"]


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token, without its secret. Times are UTC."""

    id: str
    name: str
    role: Role
    created: datetime
    expires: datetime | None
    revoked: datetime | None

    @property
    def state(self) -> Literal["valid", "expired", "revoked"]:
        """Whether it opens anything now."""
        if self.revoked is not None:
            return "revoked"
        if self.expires is not None and self.expires <= datetime.now(UTC):
            return "expired"
        return "valid"

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        times = {"created": self.created, "expires": self.expires, "revoked": self.revoked}
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "state": self.state,
            **{name: None if at is None else text_of(at) for name, at in times.items()},
        }


class Known(NamedTuple):
    """A token, and the SHA-256 of its secret part."""

    token: Token
    digest: bytes


def text_of(at: datetime) -> str:
    """A time as it is kept."""
    return at.isoformat(timespec="microseconds")


def line_of(token: Token) -> tuple[str | None, ...]:
    """A token as a line, without the digest."""
    times = (token.created, token.expires, token.revoked)
    return (
        token.id,
        token.name,
        token.role,
        *(None if at is None else text_of(at) for at in times),
    )


def known_of(line: tuple[Any, ...]) -> Known:
    """A line as a token; raises ValueError if it is none."""
    id, name, role, created, *others, digest = line
    expires, revoked = (None if one is None else datetime.fromisoformat(one) for one in others)
    if role not in get_args(Role):
        raise ValueError(f"the token {id} has a role that there is not")
    token = Token(id, name, role, datetime.fromisoformat(created), expires, revoked)
    return Known(token, bytes(digest))
