"""Folders that are being written, and what is left of them when a run is killed.

A folder that is not finished lies beside its target, under a name that tells host and process:

    .out.sfumato-<host>-<pid>-<random>.new     being written
    .out.sfumato-<host>-<pid>-<random>.old     the former release, until the new one is in place

It may hold rows as they are, so it must not outlive its run. Whoever writes next clears up, in the
folder that is written to and wherever the owner's state (owner_state.py) says that something was
begun. What is left is known by its process, if that was on this host, and otherwise by its age.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.io.owner_state import owner_state, private_file

NEW, OLD = "new", "old"
# Nothing is written for so long without touching a file. After it a process of the same number is
# another one, and another host's is taken to have ended.
STALE = 7 * 24 * 3600.0  # seconds
_NAME = re.compile(r"\.(.+)\.sfumato-(\w+)-(\d+)-[0-9a-f]{8}\.(new|old)", re.DOTALL)
_HOME = "unfinished"

# Called with every folder that is begun.
listeners: list[Callable[[Path], object]] = []


def beside(target: Path, state: str) -> Path:
    """A name for a folder that is not finished."""
    mark = f"sfumato-{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name}.{mark}.{state}")


@contextmanager
def begun(folder: Path, target: Path) -> Iterator[None]:
    """Let others know about a folder while it is written, and becomes the target."""
    for tell in listeners:
        tell(folder)
    note = _note(folder, target)
    try:
        yield
    finally:
        if note is not None:
            with suppress(OSError):
                note.unlink()
                for home in note.parents[:2]:
                    home.rmdir()  # unless something is remembered


def clear(target: Path | None = None) -> None:
    """Remove what killed runs have left, beside a target and wherever the owner's state says so."""
    if target is not None and target.parent.is_dir():
        for found in sorted(target.parent.iterdir()):
            _clear(found)
    with suppress(OSError, ValueError):
        for note in _notes():
            folder = Path(os.fsdecode(note.read_bytes()))
            _clear(folder)
            if not folder.exists() and not _is_at_work(folder):
                note.unlink(missing_ok=True)


def _clear(found: Path) -> None:
    if not _NAME.fullmatch(found.name) or found.is_symlink() or not found.is_dir():
        return
    if _is_at_work(found):
        return
    target = found.with_name(_NAME.sub(r"\1", found.name))
    if found.suffix == f".{OLD}" and not target.exists():
        # killed between two renames: the former release goes back to its place
        with suppress(OSError):  # another run may have done so
            found.rename(target)
    else:
        shutil.rmtree(found, ignore_errors=True)


def _is_at_work(folder: Path) -> bool:
    """Whether the process that a name tells may still be writing."""
    match = _NAME.fullmatch(folder.name)
    if match is None:
        return False
    if match[2] == _host() and not _is_running(int(match[3])):
        return False
    return time.time() - _touched(folder) < STALE


def _touched(folder: Path) -> float:
    """When something in the folder was last written; now, if that cannot be seen."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
    except OSError:
        return time.time()


def _is_running(pid: int) -> bool:
    if os.name == "nt":
        return True  # there, signal 0 would not ask but interrupt
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _host() -> str:
    """This host; containers may share its name and a disk, and number their processes anew."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return re.sub(r"\W", "_", socket.gethostname()) + re.sub(r"\D", "", space)


def _note(folder: Path, target: Path) -> Path | None:
    """A note with the owner that a folder is begun; none where nothing is remembered."""
    try:
        home = _home()
        if home is None or home.resolve().is_relative_to(target):
            return None
        path = os.fsencode(folder)
        return private_file(home / hashlib.blake2b(path, digest_size=16).hexdigest(), path)
    except OSError:
        return None  # a convenience: the next run beside it clears up as well


def _notes() -> Iterator[Path]:
    home = _home()
    if home is not None and home.is_dir():
        yield from sorted(path for path in home.iterdir() if not path.name.startswith("."))


def _home() -> Path | None:
    state = owner_state()
    return None if state is None else state.folder / _HOME
