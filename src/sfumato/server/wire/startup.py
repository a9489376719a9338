"""The beginning of a connection: TLS, what the client wants, and who it is.

A token is the password, under any name of a user. It is asked for over TLS, or on this machine:
elsewhere it would go over the network as plain text. The token store keeps hashes only, of 256
random bits; that is why there is no SCRAM, which needs another hash for each token.
"""

from __future__ import annotations

import ipaddress
import ssl
from struct import error, pack, unpack
from typing import NamedTuple

from sfumato.errors import ParameterError
from sfumato.server.access import Grant, Unauthorized
from sfumato.server.errors import ApiError
from sfumato.server.service import Service
from sfumato.server.wire import messages
from sfumato.server.wire.errors import (
    NO_DATABASE,
    NOT_ALLOWED,
    PROTOCOL,
    WireError,
    told,
)
from sfumato.server.wire.line import Line
from sfumato.server.wire.messages import Body

_LONGEST = 10_000  # bytes of what comes before a password, as in PostgreSQL
_LONGEST_PASSWORD = 1_000
_REQUESTS = 3  # for TLS, for GSS, and for the session


class Cancel(NamedTuple):
    """Somebody wants what a session is doing to end."""

    number: int
    key: int


class Wanted(NamedTuple):
    """What a client says of its session."""

    database: str
    user: str
    settings: dict[str, str]


async def wanted(line: Line, tls: ssl.SSLContext | None) -> Wanted | Cancel:
    """The first messages, up to the one that says what the client wants."""
    for _ in range(_REQUESTS):
        (length,) = unpack("!I", await line.read(4))
        if not 8 <= length <= _LONGEST:
            raise messages.broken()
        content = await line.read(length - 4)
        (code,) = unpack("!I", content[:4])
        if code == messages.SSL and tls is not None and not line.secure:
            line.write(b"S")
            await line.secured(tls)
        elif code in (messages.SSL, messages.GSS):
            line.write(b"N")
            await line.flush()
        elif code == messages.CANCEL:
            return _cancel(content[4:])
        else:
            return _wanted(line, code, content[4:])
    raise messages.broken()


async def admitted(line: Line, service: Service, found: Wanted) -> tuple[str | None, Grant]:
    """The secret of a token, if one is needed, and the database that is asked."""
    door = service.door
    if not door.require_tokens and door.loopback and is_near(line.peer):
        for served in door.unguarded():
            if served.name == found.database:
                return None, grant_of(service, None, found.database)
    if not line.secure and not is_near(line.peer):
        raise WireError(
            NOT_ALLOWED, "this server is asked over TLS only", "use sslmode=require", fatal=True
        )
    line.write(messages.ASK_PASSWORD)
    await line.flush()
    secret = await _password(line)
    try:
        return secret, grant_of(service, secret, found.database)
    except Unauthorized as unknown:
        service.meter.fail(door.proxies.visitor_at(line.peer))
        raise _unauthorized(unknown) from None


def grant_of(service: Service, secret: str | None, database: str) -> Grant:
    """What a token, or this machine, may do with a database now."""
    grants = service.door.admitted(secret)
    for grant in grants:
        if grant.served.name == database:
            return grant
    names = ", ".join(grant.served.name for grant in grants)
    raise WireError(
        NO_DATABASE,
        f"there is no database {database[:63]!r}, or none for this token",
        f"you may ask {names}",
        fatal=True,
    )


def is_near(peer: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        return ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False


def tls_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """TLS with a certificate and its key, both in PEM files; the key may be in the same one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as problem:
        raise ParameterError(
            f"the certificate {certificate} cannot be used: {problem}; give a certificate and its "
            "key without a password, as PEM files",
            parameter="postgres_certificate",
        ) from problem
    return context


def _no_password() -> str:
    """OpenSSL would ask for it at the terminal."""
    raise ValueError("the key has a password")


async def _password(line: Line) -> str:
    kind, length = await line.head()
    if kind != b"p":
        raise messages.broken()
    return Body(await line.body(length, _LONGEST_PASSWORD)).text().strip()


def _wanted(line: Line, code: int, content: bytes) -> Wanted:
    if code >> 16 != 3:
        raise WireError(
            PROTOCOL, f"protocol {code >> 16}.{code & 0xFFFF} is not spoken here", fatal=True
        )
    body, settings = Body(content), dict[str, str]()
    while name := body.text():
        settings[name] = body.text()
    body.end()
    own = [name for name in settings if name.startswith("_pq_.")]
    if code & 0xFFFF or own:
        listed = b"".join(map(messages.text, own))
        line.write(messages.message(b"v", pack("!II", messages.VERSION_3, len(own)) + listed))
    user = settings.pop("user", "")
    database = settings.pop("database", "") or user
    if settings.pop("replication", "off").lower() not in ("off", "false", "no", "0"):
        raise WireError("0A000", "replication is not supported", fatal=True)
    return Wanted(database, user, {name: settings[name] for name in settings if name not in own})


def _cancel(content: bytes) -> Cancel:
    try:
        return Cancel(*unpack("!II", content))
    except error:
        raise messages.broken() from None


def _unauthorized(problem: ApiError) -> WireError:
    found = told(problem)
    return WireError(
        found.state,
        f"{problem.message}: the password is a token",
        "the owner of the database makes tokens with: sfumato statdb token create",
        fatal=True,
    )
