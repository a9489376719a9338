"""The folder of a statistical database: arrays that are mapped, and a header that describes them.

    patients.statdb/        owner only, as everything in it
      statdb.json           format, facts, checksums; names the state that holds
      state-<random>/       one file per array (.npy) and per domain (.arrow), one for the rows
                            that wait (waiting-<random>.arrow), if any do
      lock                  held by whoever changes the database

The header is the switch: a new state is written beside the old one, flushed, and becomes the
database when a new header takes the old one's place, in one rename. A process that is killed
before leaves the old state, one that is killed after leaves the new one, and the next writer
clears what is left over. When only the rows that wait change, the new header names the old state,
of the old generation: nobody who is served from it can notice. Readers take no lock: what they
have mapped stays theirs until they let go of it.

The bucketization and the secret order of rows in it are the guarantee. They are written once and
never computed again; nothing else tells them, so a lost store cannot be rebuilt. Identifiers are
not in it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.errors import OutputExists, StoreError
from sfumato.io.folders import flush, new_folder
from sfumato.statdb.store_files import (
    checksum_of,
    private_file,
    read_table,
    require_unchanged,
    write_table,
)

FORMAT = "sfumato-statdb"
VERSION, WITH_WAITING = 1, 2  # rows that wait are not for a program that would forget them
HEADER = "statdb.json"
LOCK = "lock"
_TRIES = 5  # a reader that meets a writer between header and state looks again


class Contents(NamedTuple):
    """What a store holds: facts for JSON, arrays by name, domains by attribute, rows that wait."""

    facts: dict[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    domains: Mapping[str, pa.Array]
    waiting: pa.Table | None = None


def create_store(path: str | Path, contents: Contents) -> None:
    """Write a new store, whole or not at all; what stands there is never replaced."""
    require_absent(path)
    with new_folder(path) as folder:
        folder.chmod(stat.S_IRWXU)
        header = _write_state(folder, contents, generation=1)
        private_file(folder / LOCK).close()
        _put_header(folder, header)


def require_absent(path: str | Path) -> None:
    """Raise if something stands there: asked before the long work starts."""
    target = Path(path)
    if os.path.lexists(target):
        raise OutputExists(
            f"{target} exists, and a database is never replaced: its answers would contradict "
            "earlier ones; choose another folder",
            path=target,
        )


def open_store(path: str | Path) -> tuple[Contents, int]:
    """Map a store and check it; its contents, and how often it was changed."""
    folder = Path(path)
    for _ in range(_TRIES):
        header = _read_header(folder)
        try:
            return _mapped(folder, header), int(header["generation"])
        except FileNotFoundError:
            continue
        except PermissionError as error:
            raise _closed(folder) from error
    raise StoreError(f"{folder} is damaged: the state its header names is not there", path=folder)


@contextmanager
def changing(path: str | Path) -> Iterator[None]:
    """Hold the store's lock, or raise if somebody else does."""
    import fcntl

    folder = Path(path)
    _read_header(folder)
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _closed(folder) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise StoreError(
                f"{folder} is being changed by another process; try again when it is done",
                path=folder,
            ) from error
        yield
    finally:
        os.close(handle)


def replace_state(path: str | Path, contents: Contents) -> int:
    """Make other contents the database; call it while ``changing``. Tells the new generation."""
    folder = Path(path)
    old = _read_header(folder)
    _clear_leftovers(folder, str(old["state"]))
    header = _write_state(folder, contents, int(old["generation"]) + 1)
    try:
        _put_header(folder, header)
    except BaseException:
        shutil.rmtree(folder / header["state"], ignore_errors=True)
        raise
    _clear_leftovers(folder, header["state"])
    return int(header["generation"])


def replace_waiting(path: str | Path, waiting: pa.Table) -> None:
    """Change the rows that wait and nothing else; call it while ``changing``."""
    folder = Path(path)
    header = _read_header(folder)
    state = folder / str(header["state"])
    _clear_leftovers(folder, state.name)
    _clear_waiting(state, header)
    fresh = {**header, **_write_waiting(state, waiting)}
    flush(state)
    _put_header(folder, fresh)
    _clear_waiting(state, fresh)


def state_name(path: str | Path) -> str:
    """The state that holds: another one whenever the rows that are answered have changed."""
    return str(_read_header(Path(path))["state"])


def _write_state(folder: Path, contents: Contents, generation: int) -> dict[str, Any]:
    """Write arrays and domains into a state of their own; the header that describes them."""
    state = folder / f"state-{secrets.token_hex(8)}"
    state.mkdir(stat.S_IRWXU)
    files: dict[str, dict[str, Any]] = {}
    for number, (name, array) in enumerate(contents.arrays.items()):
        # numbered: a column's name may be none that a file can have
        file_name = f"array-{number}.npy"
        with private_file(state / file_name) as file:
            np.save(file, array, allow_pickle=False)
        files[file_name] = {"checksum": checksum_of(state / file_name), "array": name}
    for number, (name, values) in enumerate(contents.domains.items()):
        file_name = f"domain-{number}.arrow"
        write_table(state / file_name, pa.table({"value": values}))
        files[file_name] = {"checksum": checksum_of(state / file_name), "domain": name}
    waiting = _write_waiting(state, contents.waiting)
    flush(state)
    return {
        "format": FORMAT,
        "state": state.name,
        "generation": generation,
        "facts": contents.facts,
        "files": files,
        **waiting,
    }


def _write_waiting(state: Path, waiting: pa.Table | None) -> dict[str, Any]:
    """Write the rows that wait into a state; what the header says of them."""
    if not waiting:
        return {"version": VERSION, "waiting": None}
    name = f"waiting-{secrets.token_hex(8)}.arrow"
    write_table(state / name, waiting)
    stated = {"file": name, "checksum": checksum_of(state / name)}
    return {"version": WITH_WAITING, "waiting": stated}


def _put_header(folder: Path, header: dict[str, Any]) -> None:
    text = json.dumps({**header, "checksum": _seal(header)}, indent=1, ensure_ascii=False)
    fresh = folder / f".{HEADER}.new"
    with private_file(fresh) as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / HEADER)
    flush(folder)


def _read_header(folder: Path) -> dict[str, Any]:
    try:
        _require_private(folder)
        header = json.loads((folder / HEADER).read_text("utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"{folder} is not a statistical database", path=folder) from error
    except NotADirectoryError as error:
        raise StoreError(f"{folder} is a file, not a statistical database", path=folder) from error
    except PermissionError as error:
        raise _closed(folder) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder} is damaged: its {HEADER} is not JSON", path=folder) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StoreError(f"{folder} is not a statistical database of ours", path=folder)
    if header.get("version") not in (VERSION, WITH_WAITING):
        raise StoreError(
            f"{folder} has format {header.get('version')!r}, this sfumato reads {VERSION} and "
            f"{WITH_WAITING}; use the version that wrote it, or a newer one",
            path=folder,
        )
    checksum = header.pop("checksum", None)
    if checksum != _seal(header):
        raise StoreError(f"{folder} is damaged: its {HEADER} was changed", path=folder)
    return header


def _mapped(folder: Path, header: Mapping[str, Any]) -> Contents:
    state = folder / header["state"]
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    domains: dict[str, pa.Array] = {}
    for name, stated in header["files"].items():
        require_unchanged(state / name, stated["checksum"], folder)
        if "array" in stated:
            # copied when written to: kernels know one kind of array, which can be written
            mapped = np.load(state / name, mmap_mode="c", allow_pickle=False)
            arrays[stated["array"]] = np.asarray(mapped)
        else:
            domains[stated["domain"]] = read_table(state / name).column("value").combine_chunks()
    stated = header.get("waiting")  # older stores do not tell
    if stated is None:
        return Contents(header["facts"], arrays, domains)
    require_unchanged(state / stated["file"], stated["checksum"], folder)
    return Contents(header["facts"], arrays, domains, read_table(state / stated["file"]))


def _seal(header: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _require_private(folder: Path) -> None:
    open_to = stat.S_IMODE(folder.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if os.name == "posix" and open_to:
        raise StoreError(
            f"{folder} can be opened by others than its owner, and whoever reads it knows "
            f"everything: chmod 700 {folder}",
            path=folder,
        )


def _clear_leftovers(folder: Path, state: str) -> None:
    for found in folder.glob("state-*"):
        if found.name != state:
            shutil.rmtree(found, ignore_errors=True)


def _clear_waiting(state: Path, header: Mapping[str, Any]) -> None:
    named = (header.get("waiting") or {}).get("file")
    for found in state.glob("waiting-*"):
        if found.name != named:
            found.unlink(missing_ok=True)


def _closed(folder: Path) -> StoreError:
    return StoreError(f"{folder} cannot be opened: permission denied", path=folder)
