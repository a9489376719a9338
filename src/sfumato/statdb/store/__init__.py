"""The folder of a statistical database: arrays that are mapped, and a header that describes them.

    patients.statdb/        owner only, as everything in it
      statdb.json           format, facts, checksums; names the state and the files that hold
      state-<random>/       one file per array (.npy) and per domain (.arrow), one for the rows
                            that wait (waiting-<random>.arrow), if any do, and one for what stands
                            otherwise than in the arrays' files (patch-<random>.npy), if anything
      lock                  held by whoever changes the database

The header is the switch: new files are written beside those that hold, flushed, and become the
database when a new header takes the old one's place, in one rename. A process that is killed
before leaves the old database, one that is killed after leaves the new one, and the next writer
clears what is left over; one that fails, as on a full disk, clears it itself. No file is ever
changed. Readers take no lock: what they have mapped stays theirs until they let go of it.

**What a change writes.** Files of arrays that are as they were are named by the new header, too,
with the checksums that they had. Where few words of a large array change, they are written to the
patch, all of those since the array's file was written, and put in place in memory when the database
is opened: of a mapped file, only the pages that are touched are copied. When patches would have
more than an eighth of the size of the arrays, a new state is written whole. When only the rows that
wait change, the new header has the old generation: nobody who is served can notice.

**What is verified when.** Opening reads every file and compares its checksum. A change of a
database that nobody else has changed since it was opened does not read them again, and takes their
checksums over as they are stated, so damage that comes later is found by the next to open it.

The bucketization and the secret order of rows in it are the guarantee. They are written once and
never computed again; nothing else tells them, so a lost store cannot be rebuilt. Identifiers are
not in it.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import OutputExists, StoreError
from sfumato.io.folders import explanation, flush_entry, new_folder
from sfumato.io.locks import Busy, take_lock
from sfumato.io.paths import usable
from sfumato.statdb.store.files import (
    Patch,
    private_file,
    read_table,
    require_unchanged,
)
from sfumato.statdb.store.header import (
    HEADER,
    clear_leftovers,
    closed,
    put_header,
    read_header,
    seal,
    version_of,
)
from sfumato.statdb.store.writing import (
    Changes,
    Contents,
    allowed_patches,
    described,
    held_patches,
    merged_patches,
    write_files,
    write_patch,
    write_state,
    write_waiting,
)

__all__ = [
    "HEADER",
    "LOCK",
    "Changes",
    "Contents",
    "Held",
    "Patch",
    "change_state",
    "changing",
    "create_store",
    "open_store",
    "replace_state",
    "replace_waiting",
    "require_absent",
    "state_name",
]

LOCK = "lock"
_TRIES = 5  # a reader that meets a writer between header and state looks again


class Held(NamedTuple):
    """What was read, how often it was changed, and the checksum of the header that named it."""

    contents: Contents
    generation: int
    seal: str


def create_store(path: str | Path, contents: Contents) -> None:
    """Write a new store, whole or not at all; what stands there is never replaced."""
    require_absent(path)
    with new_folder(path) as folder:
        folder.chmod(stat.S_IRWXU)
        header = write_state(folder, contents, generation=1)
        private_file(folder / LOCK).close()
        put_header(folder, header)


def require_absent(path: str | Path) -> None:
    """Raise if something stands there: asked before the long work starts."""
    target = usable(path, StoreError)
    if os.path.lexists(target):
        raise OutputExists(
            f"{target} exists, and a database is never replaced: its answers would contradict "
            "earlier ones; choose another folder",
            path=target,
        )


def open_store(path: str | Path) -> Held:
    """Map a store and check all of it."""
    folder = Path(path)
    for _ in range(_TRIES):
        header = read_header(folder)
        try:
            return Held(_mapped(folder, header), int(header["generation"]), seal(header))
        except FileNotFoundError:
            continue
        except PermissionError as error:
            raise closed(folder) from error
    raise StoreError(f"{folder} is damaged: the state its header names is not there", path=folder)


@contextmanager
def changing(path: str | Path) -> Iterator[str]:
    """Hold the store's lock, or raise if somebody else does; the checksum of the header."""
    folder = Path(path)
    read_header(folder)
    try:
        handle = take_lock(folder / LOCK)
    except Busy as error:
        raise StoreError(
            f"{folder} is being changed by another process; try again when it is done", path=folder
        ) from error
    except OSError as error:
        raise StoreError(f"cannot change {folder}: {explanation(error)}", path=folder) from error
    try:
        yield seal(read_header(folder))
    finally:
        os.close(handle)


def replace_state(path: str | Path, contents: Contents, *, seen: bool = True) -> int:
    """Make other contents the database; call it while ``changing``. Tells the new generation.

    If nobody can have ``seen`` a difference, as nothing but the writing is another, that stays.
    """
    folder = Path(path)
    with _or_as_before(folder) as old:
        header = write_state(folder, contents, int(old["generation"]) + seen)
        put_header(folder, header)
    return int(header["generation"])


def change_state(path: str | Path, changes: Changes, whole: Callable[[], Contents]) -> int:
    """Change some arrays and domains; call it while ``changing``. Tells the new generation.

    ``whole`` gives all contents, should that be the better way to write them.
    """
    folder = Path(path)
    patches = merged_patches(folder, changes.arrays)
    with _or_as_before(folder) as old:
        state = folder / str(old["state"])
        if sum(patch.nbytes for patch in patches.values()) > allowed_patches(state, old):
            return replace_state(path, whole())
        arrays = {n: one for n, one in changes.arrays.items() if not isinstance(one, Patch)}
        fresh = write_files(state, arrays, changes.domains, f"-{secrets.token_hex(4)}")
        kept = {n: one for n, one in old["files"].items() if not _is_replaced(one, changes)}
        header = described(
            state,
            int(old["generation"]) + 1,
            changes.facts,
            kept | fresh,
            write_waiting(state, changes.waiting),
            write_patch(state, patches),
        )
        put_header(folder, header)
    return int(header["generation"])


def replace_waiting(path: str | Path, waiting: pa.Table) -> None:
    """Change the rows that wait and nothing else; call it while ``changing``."""
    folder = Path(path)
    with _or_as_before(folder) as old:
        header = {**old, "waiting": write_waiting(folder / str(old["state"]), waiting)}
        flush_entry(folder / str(old["state"]))
        put_header(folder, {**header, "version": version_of(header)})


def state_name(path: str | Path) -> str:
    """The state that holds: another one whenever the rows that are answered have changed."""
    header = read_header(Path(path))
    return f"{header['state']}, {header['generation']}"


@contextmanager
def _or_as_before(folder: Path) -> Iterator[dict[str, Any]]:
    """Change what the header names; if that fails, nothing is left of the attempt."""
    old = read_header(folder)
    try:
        clear_leftovers(folder, old)
        yield old
    except BaseException as error:
        # by what the header says now: it may have been replaced before something failed
        now = read_header(folder)
        clear_leftovers(folder, now)
        if not isinstance(error, OSError):
            raise
        outcome = "is as it was" if now == old else "has changed, and a power cut may undo that"
        raise StoreError(
            f"cannot change {folder}: {explanation(error)}; the database {outcome}", path=folder
        ) from error


def _is_replaced(stated: Mapping[str, Any], changes: Changes) -> bool:
    """Whether a file holds what changes otherwise than by a patch."""
    if "domain" in stated:
        return stated["domain"] in changes.domains
    change = changes.arrays.get(stated["array"])
    return change is not None and not isinstance(change, Patch)


def _mapped(folder: Path, header: Mapping[str, Any]) -> Contents:
    state = folder / header["state"]
    arrays: dict[str, NDArray[Any]] = {}
    domains: dict[str, pa.Array] = {}
    for name, stated in header["files"].items():
        require_unchanged(state / name, stated["checksum"], folder)
        if "array" in stated:
            # copied when written to: kernels know one kind of array, which can be written
            mapped = np.load(state / name, mmap_mode="c", allow_pickle=False)
            arrays[stated["array"]] = np.asarray(mapped)
        else:
            domains[stated["domain"]] = read_table(state / name).column("value").combine_chunks()
    for name, patch in held_patches(folder, header).items():
        patch.put(arrays[name])
    stated = header.get("waiting")  # older stores do not tell
    if stated is None:
        return Contents(header["facts"], arrays, domains)
    require_unchanged(state / stated["file"], stated["checksum"], folder)
    return Contents(header["facts"], arrays, domains, read_table(state / stated["file"]))
