"""Who may come in: whoever has the printed address, once; after that, their browser.

Others on this machine can reach the port, and so can pages of other sites, through the browser.
Therefore the address holds a token, which is exchanged for a cookie and is then worth nothing.
Cookies are sent to all ports of a host, so this one is bound to a path that nobody can guess: it
never reaches another local server. A page that makes its own name point here sends that name as
the host, and one of another site its own origin; both are refused.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from threading import Lock

from sfumato.server.errors import ApiError
from sfumato.server.headers import check_origin
from sfumato.server.http import Call, Reply

_COOKIE = "sfumato-desk"
_BYTES = 32
_HOSTS = ("127.0.0.1", "localhost")
# a redirect would still count as coming from elsewhere, and carry no cookie
_WELCOME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>sfumato</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url={room}"></head>
<body><p><a href="{room}">To the desk</a></p></body></html>
"""


class Door:
    """One desk's token, cookie and room: the path under which everything is."""

    def __init__(self, port: int) -> None:
        self.room = f"/{secrets.token_urlsafe(_BYTES)}/"
        self._hosts = {f"{host}:{port}" for host in _HOSTS}
        self._cookie = secrets.token_urlsafe(_BYTES)
        self._token: str | None = secrets.token_urlsafe(_BYTES)
        self._turn = Lock()

    @property
    def query(self) -> str:
        """What the printed address ends in."""
        return f"/?token={self._token}"

    def require_sound(self, call: Call) -> None:
        """Refuse what was not meant for this desk."""
        call.require_sound()
        if call.headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            raise ApiError(
                "misdirected", "the desk is not known under this name", "open the printed address"
            )
        check_origin(call.headers, writes=call.method != "GET")
        if call.method != "GET" and b"origin" not in call.headers:
            raise ApiError("forbidden", "there is no Origin header", "use the page of the desk")

    def admit(self, call: Call) -> Reply:
        """Exchange the token for the cookie, once."""
        token = call.parameters("token").get("token", "")
        with self._turn:
            known, valid = self._token, self._token is not None
            if valid and secrets.compare_digest(token.encode(), str(known).encode()):
                self._token = None
                cookie = f"{_COOKIE}={self._cookie}; Path={self.room}; HttpOnly; SameSite=Strict"
                body = _WELCOME.format(room=self.room).encode()
                return Reply(body, "text/html; charset=utf-8", headers=(("Set-Cookie", cookie),))
        raise _stranger()

    def inside(self, call: Call) -> str | None:
        """The path inside of the room; None for one outside of it."""
        path = str(call.scope["path"])
        if not secrets.compare_digest(path[: len(self.room)].encode(), self.room.encode()):
            return None
        if not secrets.compare_digest(_cookie_of(call).encode(), self._cookie.encode()):
            raise _stranger()
        return path[len(self.room) :]


def _cookie_of(call: Call) -> str:
    try:
        jar = SimpleCookie(call.headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return ""
    return jar[_COOKIE].value if _COOKIE in jar else ""


def _stranger() -> ApiError:
    return ApiError(
        "unauthorized",
        "the desk does not know this browser",
        "open the address that sfumato studio has printed; it works once, so start the desk again "
        "if it was opened elsewhere",
    )
