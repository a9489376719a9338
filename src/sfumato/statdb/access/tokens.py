"""Who may ask a database: tokens that are shown once, stored hashed, expire and can be revoked.

    sfu_<id>_<secret part>      sfu_3f9a0c51d2e4_ZWqk...    43 letters for 32 random bytes

The id is no secret: it names the token in lists and in the ledger. Of the secret part the SHA-256
is stored. A slow hash, as for passwords, would add nothing: 256 random bits cannot be guessed,
however fast each try is.

    patients.statdb/access.sqlite       or beside the ledger that several servers share

Making and revoking one is recorded in the ledger, by its id: names are for the owner. A revocation
in another process holds from the next ``verify`` on (token_files.py).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from sfumato.errors import ParameterError
from sfumato.statdb.access.token_files import FILE, FileShelf, Shelf
from sfumato.statdb.access.token_records import Known, Role, Token, line_of, text_of

__all__ = ["FILE", "USUAL_LIFE", "Role", "Token", "Tokens"]

USUAL_LIFE = timedelta(days=90)

_LONGEST_NAME = 100
_ID_BYTES, _SECRET_BYTES = 6, 32
_SECRET = re.compile(r"sfu_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LENGTH = 4 + 12 + 1 + 43
_NOBODY = bytes(32)


class Tokens:
    """The tokens of one database. Any thread may use it; close it, or use it in a ``with``."""

    def __init__(self, shelf: Shelf) -> None:
        """Use ``open``, or ``Place.tokens``."""
        self._shelf = shelf

    @classmethod
    def open(cls, folder: str | Path) -> Tokens:
        """Open the tokens in the folder of a database; the file is made if it is missing."""
        return cls(FileShelf.open(folder))

    def create(
        self, name: str, role: Role, expires_in: timedelta | None = USUAL_LIFE
    ) -> tuple[Token, str]:
        """A new token and its secret, which nobody can show again."""
        _require_name(name)
        if role not in get_args(Role):
            known = ", ".join(get_args(Role))
            raise ParameterError(f"role must be one of {known}, not {role!r}", parameter="role")
        created = datetime.now(UTC)
        token_id, part = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        token = Token(token_id, name, role, created, _end(created, expires_in), None)
        until = "never" if token.expires is None else text_of(token.expires)
        with self._shelf.changing(f"create {token_id}, {role}, expires {until}") as pen:
            pen.insert(Known(token, _digest(part)))
        return token, f"sfu_{token_id}_{part}"

    def verify(self, secret: str) -> Token | None:
        """The token of a secret; None if there is none, or it has expired or was revoked."""
        match = _SECRET.fullmatch(secret) if len(secret) == _LENGTH else None
        if match is None:
            return None
        found = self._shelf.current().get(match[1])
        same = hmac.compare_digest(_digest(match[2]), found.digest if found else _NOBODY)
        return found.token if found and same and found.token.state == "valid" else None

    def all(self) -> list[Token]:
        """All tokens that ever were, the oldest first."""
        return [known.token for known in self._shelf.current().values()]

    def lines(self) -> list[tuple[Any, ...]]:
        """All as they are kept, with the digests of their secrets."""
        known = self._shelf.current().values()
        return [(*line_of(one.token), one.digest) for one in known]

    def revoke(self, id: str) -> Token:
        """Make a token useless at once and for good; it stays listed, for the ledger names it."""
        if id not in self._shelf.current():
            raise ParameterError(f"there is no token {id[:50]!r}; list them", parameter="id")
        with self._shelf.changing(f"revoke {id}") as pen:
            pen.revoke(id, text_of(datetime.now(UTC)))
        return self._shelf.current()[id].token

    @property
    def in_use(self) -> bool:
        """Whether any token was ever made.

        Then nobody gets in without one, also when all have expired or were revoked.
        """
        return bool(self._shelf.current())

    @property
    def were_in_use(self) -> bool:
        """The same as far as it was seen, also when they are gone."""
        return bool(self._shelf.seen())

    def look(self) -> None:
        """Find out what others have written, where that takes long."""
        self._shelf.look()

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that."""
        self._shelf.interrupt(seconds)

    def require_in_place(self) -> None:
        """Raise unless what is read is what the owner changes."""
        self._shelf.require_in_place()

    def __len__(self) -> int:
        """How many tokens are valid."""
        return sum(token.state == "valid" for token in self.all())

    def __bool__(self) -> bool:
        """Always: to have no valid token is not to be nothing."""
        return True

    def close(self) -> None:
        """Let go of them."""
        self._shelf.close()

    def __enter__(self) -> Tokens:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_name(name: str) -> None:
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or not name.strip():
        raise ParameterError(
            f"a token's name says whose it is, in 1 to {_LONGEST_NAME} printable letters",
            parameter="name",
        )


def _end(created: datetime, life: timedelta | None) -> datetime | None:
    if life is None:
        return None
    try:
        if life > timedelta():
            return created + life
    except OverflowError:
        pass
    raise ParameterError(
        f"a token expires some time from now, or never (None), not after {life}",
        parameter="expires_in",
    )


def _digest(part: str) -> bytes:
    return hashlib.sha256(part.encode("ascii")).digest()
