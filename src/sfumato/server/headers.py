"""What every response carries, and which requests a browser must not be tricked into sending."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from sfumato.server.errors import ApiError

SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)

_FORWARDED = (
    b"forwarded",
    b"via",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-real-ip",
)
_OWN_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def check_origin(headers: Mapping[bytes, bytes], *, writes: bool) -> None:
    """Refuse what a page of another site sends: tokens and loopback trust the user, not it."""
    if headers.get(b"sec-fetch-site") == b"cross-site" and (
        headers.get(b"sec-fetch-mode") != b"navigate" or writes
    ):
        raise _foreign()
    origin = headers.get(b"origin")
    if writes and origin is not None:
        try:
            host = urlsplit(origin.decode("latin-1")).netloc
        except ValueError:
            raise _foreign() from None
        if not host or host.lower() != headers.get(b"host", b"").decode("latin-1").lower():
            raise _foreign()


def is_direct(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request to a loopback address was meant for it.

    One that a proxy hands on comes from anywhere; one under another host's name comes from a page
    that made its own name point here.
    """
    if any(name in headers for name in _FORWARDED):
        return False
    return _is_own(headers.get(b"host", b""))


@lru_cache(100)
def _is_own(host: bytes) -> bool:
    try:
        own = urlsplit(f"//{host.decode('latin-1')}")
        return "@" not in own.netloc and (own.hostname or "") in _OWN_NAMES
    except ValueError:
        return False


def _foreign() -> ApiError:
    return ApiError(
        "forbidden",
        "the request comes from a page of another site",
        "ask from the server's own page, or from a program that sends no Origin",
    )
