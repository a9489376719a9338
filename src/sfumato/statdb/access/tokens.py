"""Who may ask a database: tokens that are shown once, stored hashed, expire and can be revoked.

    sfu_<id>_<secret part>      sfu_3f9a0c51d2e4_ZWqk...    43 letters for 32 random bytes

The id is no secret: it names the token in lists and in the ledger. Of the secret part the SHA-256
is stored. A slow hash, as for passwords, would add nothing: 256 random bits cannot be guessed,
however fast each try is.

    patients.statdb/access.sqlite

Making and revoking one is recorded in the ledger, by its id: names are for the owner.

An open ``Tokens`` keeps what it has read, and asks SQLite each time whether somebody has written
since: a revocation in another process holds from the next ``verify`` on.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from sfumato.errors import ParameterError, StoreError
from sfumato.statdb.access.owner_entries import note
from sfumato.statdb.access.sqlite_files import Opened, explained, open_private, require_folder

FILE = "access.sqlite"
Role: TypeAlias = Literal["owner", "analyst", "auditor"]
USUAL_LIFE = timedelta(days=90)

_LONGEST_NAME = 100
_ID_BYTES, _SECRET_BYTES = 6, 32
_SECRET = re.compile(r"sfu_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LENGTH = 4 + 12 + 1 + 43
_NOBODY = bytes(32)
_PERIOD = (
    1.0  # seconds between looks whether the file is still there: they cost as much as the rest
)


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
            **{name: None if at is None else _text(at) for name, at in times.items()},
        }


class _Known(NamedTuple):
    token: Token
    digest: bytes


class Tokens:
    """The tokens of one database. Any thread may use it; close it, or use it in a ``with``."""

    def __init__(self, opened: Opened) -> None:
        """Use ``open``."""
        self._opened = opened
        self._turn = threading.Lock()
        self._seen: int | None = None
        self._looked = 0.0
        self._known: dict[str, _Known] = {}

    @classmethod
    def open(cls, folder: str | Path) -> Tokens:
        """Open the tokens of a database; the file is made if it is missing."""
        require_folder(Path(folder))
        path = Path(folder) / FILE
        try:
            opened = cls(open_private(path, _SCRIPT))
            opened._current()
            return opened
        except (sqlite3.Error, OSError) as error:
            raise StoreError(explained(path, error), path=path) from error

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
        until = "never" if token.expires is None else _text(token.expires)
        with self._changing(f"create {token_id}, {role}, expires {until}") as opened:
            opened.connection.execute(
                "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?)", (*_line(token), _digest(part))
            )
        return token, f"sfu_{token_id}_{part}"

    def verify(self, secret: str) -> Token | None:
        """The token of a secret; None if there is none, or it has expired or was revoked."""
        match = _SECRET.fullmatch(secret) if len(secret) == _LENGTH else None
        if match is None:
            return None
        found = self._current().get(match[1])
        same = hmac.compare_digest(_digest(match[2]), found.digest if found else _NOBODY)
        return found.token if found and same and found.token.state == "valid" else None

    def all(self) -> list[Token]:
        """All tokens that ever were, the oldest first."""
        return [known.token for known in self._current().values()]

    def revoke(self, id: str) -> Token:
        """Make a token useless at once and for good; it stays listed, for the ledger names it."""
        if id not in self._current():
            raise ParameterError(f"there is no token {id[:50]!r}; list them", parameter="id")
        with self._changing(f"revoke {id}") as opened:
            opened.connection.execute(
                "UPDATE token SET revoked = ? WHERE id = ? AND revoked IS NULL",
                (_text(datetime.now(UTC)), id),
            )
        return self._current()[id].token

    @property
    def in_use(self) -> bool:
        """Whether any token was ever made.

        Then nobody gets in without one, also when all have expired or were revoked.
        """
        return bool(self._current())

    @property
    def were_in_use(self) -> bool:
        """The same as far as it was seen, also when the file is gone."""
        return bool(self._known)

    def __len__(self) -> int:
        """How many tokens are valid."""
        return sum(token.state == "valid" for token in self.all())

    def __bool__(self) -> bool:
        """Always: to have no valid token is not to be nothing."""
        return True

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._opened.connection.close()

    def __enter__(self) -> Tokens:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _current(self) -> dict[str, _Known]:
        """All tokens by id, read again if somebody has written meanwhile."""
        opened = self._opened
        with self._turn:
            try:
                self._look()
                (version,) = opened.one("PRAGMA data_version")
                if version != self._seen:
                    lines = opened.many("SELECT * FROM token ORDER BY created, id")
                    self._known = {line[0]: _of(line) for line in lines}
                    self._seen = version
            except (sqlite3.Error, ValueError, TypeError) as error:
                raise _failure(opened.path, error) from error
            return self._known

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked > _PERIOD:
            self._opened.require_in_place()
            self._looked = now

    def require_in_place(self) -> None:
        """Raise unless the file that is read is still that of the folder."""
        self._opened.require_in_place()

    @contextmanager
    def _changing(self, done: str) -> Iterator[Opened]:
        """Change the file; that stands in the ledger before it holds."""
        opened = self._opened
        with self._turn:
            self._seen = None  # one's own changes are none to SQLite
            try:
                opened.require_in_place()
                opened.connection.execute("BEGIN IMMEDIATE")
                yield opened
                note(opened.path.parent, "token", done)
                opened.connection.execute("COMMIT")
            except BaseException as error:
                opened.roll_back()
                if isinstance(error, sqlite3.Error):
                    raise _failure(opened.path, error) from error
                raise


_SCRIPT = """
CREATE TABLE IF NOT EXISTS token (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
    expires TEXT, revoked TEXT, digest BLOB NOT NULL
);
"""


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


def _text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


def _line(token: Token) -> tuple[str | None, ...]:
    times = (token.created, token.expires, token.revoked)
    return (
        token.id,
        token.name,
        token.role,
        *(None if at is None else _text(at) for at in times),
    )


def _of(line: tuple[Any, ...]) -> _Known:
    id, name, role, created, *others, digest = line
    expires, revoked = (None if one is None else datetime.fromisoformat(one) for one in others)
    if role not in get_args(Role):
        raise ValueError(f"the token {id} has a role that there is not")
    token = Token(id, name, role, datetime.fromisoformat(created), expires, revoked)
    return _Known(token, bytes(digest))


def _failure(path: Path, error: Exception) -> StoreError:
    if isinstance(error, sqlite3.Error):
        return StoreError(explained(path, error), path=path)
    return StoreError(f"{path} is damaged: {error}", path=path)
