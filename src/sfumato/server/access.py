"""Who may do what: one table, and everything that is not in it is denied.

A token belongs to one database. On a loopback address a database without tokens lets everybody on
the machine ask, as an analyst; one token that was ever made for it ends that.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from sfumato.errors import StoreError
from sfumato.server.databases import Served
from sfumato.server.errors import ApiError
from sfumato.server.headers import is_direct
from sfumato.server.http import Call
from sfumato.server.proxies import Proxies, require_direct
from sfumato.statdb.access.tokens import Role, Token

_ALL: frozenset[Role] = frozenset(get_args(Role))
_INSIDERS: frozenset[Role] = frozenset(("auditor", "owner"))

# what needs no token: nothing in it depends on rows or on who asked
PUBLIC = frozenset({"page", "about", "static", "health", "ready", "openapi"})
# routes by name (routes.py), and the roles they are for
ALLOWED: Mapping[str, frozenset[Role]] = {
    "databases": _ALL,
    "schema": _ALL,
    "query": _ALL,
    "ask": _ALL,
    "explain": _ALL,
    "receipt": _ALL,  # whoever has it has the answer
    "ledger": _INSIDERS,
    "metrics": _INSIDERS,
    "tokens": frozenset(("owner",)),
}
_WATCHED = frozenset({"health", "ready"})  # machines that watch ask under any name
LOCAL = "local"
MOMENT = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Grant:
    """Who asks, and of which database."""

    served: Served
    who: str
    role: Role


@dataclass(frozen=True, slots=True)
class Door:
    """The rules of one server; whom it has let in it knows for a moment.

    So a token that is revoked stops working within that moment, and many requests in a row look it
    up once.
    """

    databases: Mapping[str, Served]
    loopback: bool
    require_tokens: bool
    proxies: Proxies = field(default_factory=Proxies)
    _recent: dict[str | None, tuple[float, list[Grant]]] = field(default_factory=dict)

    def require_expected(self, call: Call) -> None:
        """Refuse a request that takes a way on which nobody was expected."""
        if self.loopback and not self.proxies and call.route not in _WATCHED:
            require_direct(call)

    def grants(self, call: Call) -> list[Grant]:
        """All databases that a request may use, whatever it wants there; at least one."""
        secret = secret_of(call)
        if secret is None and not self.is_open(call):
            raise Unauthorized(known=False)
        found = self.admitted(secret)
        call.who = found[0].who
        return found

    def admitted(self, secret: str | None) -> list[Grant]:
        """All databases that a token opens; without one, those that never had any."""
        now = time.monotonic()
        until, found = self._recent.get(secret, (0.0, []))
        if now >= until:
            found = self._granted(secret)
            self._recent[secret] = (now + MOMENT, found)
        return found

    def _granted(self, secret: str | None) -> list[Grant]:
        if secret is None:
            found = [Grant(one, LOCAL, "analyst") for one in self.unguarded()]
        else:
            found = [
                Grant(served, token.id, token.role)
                for served in self.databases.values()
                if (token := _verified(served, secret)) is not None
            ]
        if not found:
            self._recent.pop(secret, None)
            raise Unauthorized(known=secret is not None)
        return found

    def unguarded(self) -> list[Served]:
        """The databases that never had a token."""
        try:
            return [one for one in self.databases.values() if not one.tokens.in_use]
        except StoreError:
            raise _no_tokens() from None

    def is_local(self, call: Call) -> bool:
        """Whether a request comes from this machine, and nobody else's errand."""
        return self.loopback and is_direct(call.headers)

    def is_open(self, call: Call) -> bool:
        """Whether a request may go without a token, as far as it is about the whole server."""
        return (
            not self.require_tokens and b"authorization" not in call.headers and self.is_local(call)
        )


def chosen(grants: Sequence[Grant], route: str, database: str | None) -> Grant:
    """The one database that a request is about, if its role allows the route."""
    if database is not None:
        grants = [grant for grant in grants if grant.served.name == database]
        if not grants:
            raise ApiError(
                "unknown_database",
                "there is no such database, or none for this token",
                "GET /v1/databases lists those that you may ask",
            )
    if len(grants) > 1:
        raise ApiError(
            "invalid_request",
            "several databases are served here, and none is named",
            "name one as database; GET /v1/databases lists them",
        )
    return anywhere(grants, route)


def anywhere(grants: Sequence[Grant], route: str) -> Grant:
    """A database whose role allows a route."""
    for grant in grants:
        if grant.role in ALLOWED.get(route, ()):
            return grant
    raise Denied(grants[0])


class Denied(ApiError):
    """Somebody known wants what is not for them; the ledger will say so."""

    def __init__(self, grant: Grant) -> None:
        super().__init__(
            "forbidden",
            f"tokens of the role {grant.role} may not do this",
            "ask the owner of the database for a token of another role",
        )
        self.grant = grant


class Unauthorized(ApiError):
    """Somebody unknown."""

    def __init__(self, *, known: bool) -> None:
        super().__init__(
            "unauthorized",
            "the token is unknown, expired or revoked" if known else "this server asks for a token",
            "send Authorization: Bearer sfu_...; the owner of the database makes tokens with: "
            "sfumato statdb token create",
            headers=(("WWW-Authenticate", 'Bearer realm="sfumato"'),),
        )


def _verified(served: Served, secret: str) -> Token | None:
    try:
        return served.tokens.verify(secret)
    except StoreError:
        raise _no_tokens() from None


def _no_tokens() -> ApiError:
    return ApiError(
        "not_ready",
        "the tokens of a database cannot be read, so nobody can be let in",
        "try again later; the owner finds the reason with: sfumato statdb token list FOLDER",
        retry_after=10,
    )


def secret_of(call: Call) -> str | None:
    """The token that a request brings; None if it brings none."""
    stated = call.headers.get(b"authorization")
    if stated is None:
        return None
    kind, _, secret = stated.decode("latin-1").partition(" ")
    if kind.lower() == "basic":
        return _password(secret.strip())
    return secret.strip() if kind.lower() == "bearer" else ""


def _password(encoded: str) -> str:
    """The token in HTTP Basic, which tools know that cannot send headers of one's own.

    It is the password, or the name where there is no password. Browsers are never asked for it, so
    none keeps it: they would send it along with whatever other pages make them ask.
    """
    try:
        pair = base64.b64decode(encoded, validate=True).decode("latin-1")
    except ValueError:
        return ""
    name, _, password = pair.partition(":")
    return password or name
