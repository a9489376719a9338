"""What the owner's own machine remembers of releases: which rows went where.

A folder that only its owner may open: ``$SFUMATO_STATE``, or ``sfumato`` in the place where the
platform keeps such things. It holds a secret key, made once, and one small file per release, under
the fingerprint of the rows that it was made of:

    key                                      32 random bytes
    releases/<fingerprint>/<path's hash>.json    path, date, kind and series of a release
    unfinished/<path's hash>                 path of a folder that is being written (unfinished.py)

Fingerprints are made with the key (core/fingerprint.py), so without it the files tell which
releases are of the same rows, and nothing about the rows. None of this is ever written to or beside
a release. An empty ``SFUMATO_STATE`` means that nothing is remembered.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

VARIABLE = "SFUMATO_STATE"
KEY_BYTES = 32
_KEY, _RELEASES = "key", "releases"


@dataclass(frozen=True, slots=True)
class Made:
    """A release, or a statistical database, that was made at a place; ``on`` is a date.

    Releases of one ``series`` tell no more together than each.
    """

    path: str
    kind: str
    on: str
    series: str = ""

    @classmethod
    def now(cls, path: Path, kind: str, series: str = "") -> Made:
        """Made at this moment."""
        return cls(str(path.resolve()), kind, datetime.now(UTC).date().isoformat(), series)


@dataclass(frozen=True, slots=True)
class OwnerState:
    """The folder. Everything raises OSError where it cannot be read or written."""

    folder: Path

    def key(self) -> bytes:
        """The secret key, made when it is first asked for."""
        path = self.folder / _KEY
        if not path.exists():
            self._make_key(path)
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise OSError(errno.EINVAL, f"{_KEY} does not hold {KEY_BYTES} bytes; remove it")
        return key

    def made_of(self, fingerprint: str) -> list[Made]:
        """What was made of rows with this fingerprint, oldest first."""
        return sorted(self._read(self._home(fingerprint)), key=lambda made: (made.on, made.path))

    def fingerprints_at(self, path: Path) -> list[str]:
        """The fingerprints under which something at this path is remembered."""
        name = _file_name(path)
        homes = self.folder / _RELEASES
        if not homes.is_dir():
            return []
        return sorted(home.name for home in homes.iterdir() if (home / name).is_file())

    def remember(self, fingerprint: str, made: Made) -> None:
        """Write down that something was made of these rows; whole or not at all."""
        home = self._home(fingerprint)
        _make_private(home)
        text = json.dumps(asdict(made), indent=2) + "\n"
        _replace(home / _file_name(Path(made.path)), text.encode())

    def _home(self, fingerprint: str) -> Path:
        return self.folder / _RELEASES / fingerprint

    def _read(self, home: Path) -> Iterator[Made]:
        for path in sorted(home.glob("*.json")) if home.is_dir() else ():
            with suppress(ValueError, TypeError):  # a file that is not ours says nothing
                made = Made(**json.loads(path.read_text("utf-8")))
                if all(isinstance(part, str) for part in astuple(made)):
                    yield made

    def _make_key(self, path: Path) -> None:
        """Two runs may do so at once: the first one's key stays."""
        _make_private(self.folder)
        fresh = _written(path, secrets.token_bytes(KEY_BYTES))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        except OSError:
            # a disk without links; the window in which two runs could meet is small
            if not path.exists():
                fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)


def owner_key() -> bytes | None:
    """The owner's key, or None where nothing is remembered; why not is said by who remembers."""
    try:
        state = owner_state()
        return None if state is None else state.key()
    except OSError:
        return None


def owner_state() -> OwnerState | None:
    """The owner's state, not looked at yet; None if nothing is to be remembered."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return OwnerState(Path(given).expanduser()) if given else None
    return OwnerState(_platform_folder() / "sfumato")


def private_file(path: Path, content: bytes) -> Path:
    """Write a file that only its owner may read, whole or not at all; its folder is made."""
    _make_private(path.parent)
    _replace(path, content)
    return path


def _platform_folder() -> Path:
    """Where programs keep what they remember between runs."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise OSError(errno.ENOENT, "there is no home folder") from error
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    stated = os.environ.get("XDG_STATE_HOME", "")
    return Path(stated) if Path(stated).is_absolute() else home / ".local" / "state"


def _make_private(folder: Path) -> None:
    """Make a folder and those above it; the new ones are for their owner only."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        with suppress(FileExistsError):
            one.mkdir(mode=0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _replace(path: Path, content: bytes) -> None:
    fresh = _written(path, content)
    try:
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _written(path: Path, content: bytes) -> Path:
    """A file beside the path, on disk, that only its owner may read."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return fresh


def _file_name(path: Path) -> str:
    name = hashlib.blake2b(os.fsencode(path.resolve()), digest_size=16).hexdigest()
    return f"{name}.json"
