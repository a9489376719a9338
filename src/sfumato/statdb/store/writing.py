"""Writing what a store holds: arrays, domains, rows that wait, and patches; see __init__.py."""

from __future__ import annotations

import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from numpy.typing import NDArray

from sfumato.io.folders import flush_entry
from sfumato.statdb.store.files import (
    Patch,
    read_patches,
    require_unchanged,
    write_array,
    write_patches,
    write_table,
)
from sfumato.statdb.store.header import FORMAT, read_header, version_of

_SHARE = 8  # patches take at most one part in so many of what they change
_LITTLE = 2**16  # bytes; so much is written as a patch, however small the database is


class Contents(NamedTuple):
    """What a store holds: facts for JSON, arrays by name, domains by attribute, rows that wait."""

    facts: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    domains: Mapping[str, pa.Array]
    waiting: pa.Table | None = None


class Changes(NamedTuple):
    """The same, of arrays and domains only those that change, or how an array does."""

    facts: dict[str, Any]
    arrays: Mapping[str, NDArray[Any] | Patch]
    domains: Mapping[str, pa.Array]
    waiting: pa.Table | None = None


def write_state(folder: Path, contents: Contents, generation: int) -> dict[str, Any]:
    """Write arrays and domains into a state of their own; the header that describes them."""
    state = folder / f"state-{secrets.token_hex(8)}"
    state.mkdir(stat.S_IRWXU)
    files = write_files(state, contents.arrays, contents.domains, "")
    waiting = write_waiting(state, contents.waiting)
    return described(state, generation, contents.facts, files, waiting, None)


def described(
    state: Path,
    generation: int,
    facts: dict[str, Any],
    files: Mapping[str, Any],
    waiting: dict[str, Any] | None,
    patch: dict[str, Any] | None,
) -> dict[str, Any]:
    """The header of what was written into a state, whose names are on disk then."""
    flush_entry(state)
    header = {
        "format": FORMAT,
        "state": state.name,
        "generation": generation,
        "facts": facts,
        "files": files,
        "waiting": waiting,
        **({} if patch is None else {"patch": patch}),
    }
    return {**header, "version": version_of(header)}


def write_files(
    state: Path, arrays: Mapping[str, NDArray[Any]], domains: Mapping[str, pa.Array], mark: str
) -> dict[str, dict[str, Any]]:
    """Write arrays and domains; their files, numbered: a column may have a name that none can."""
    files: dict[str, dict[str, Any]] = {}
    for number, (name, array) in enumerate(arrays.items()):
        file = f"array-{number}{mark}.npy"
        files[file] = {"checksum": write_array(state / file, array), "array": name}
    for number, (name, values) in enumerate(domains.items()):
        file = f"domain-{number}{mark}.arrow"
        checksum = write_table(state / file, pa.table({"value": values}))
        files[file] = {"checksum": checksum, "domain": name}
    return files


def write_waiting(state: Path, waiting: pa.Table | None) -> dict[str, Any] | None:
    """Write the rows that wait into a state; what the header says of them."""
    if not waiting:
        return None
    name = f"waiting-{secrets.token_hex(8)}.arrow"
    return {"file": name, "checksum": write_table(state / name, waiting)}


def write_patch(state: Path, patches: Mapping[str, Patch]) -> dict[str, Any] | None:
    """Write patches into a state; what the header says of them."""
    if not patches:
        return None
    name = f"patch-{secrets.token_hex(8)}.npy"
    checksum = write_patches(state / name, list(patches.values()))
    return {"file": name, "checksum": checksum, "arrays": list(patches)}


def merged_patches(folder: Path, arrays: Mapping[str, NDArray[Any] | Patch]) -> dict[str, Patch]:
    """The patches of all arrays, those that hold included, unless an array is written anew."""
    found = dict(held_patches(folder, read_header(folder)))
    for name, change in arrays.items():
        if not isinstance(change, Patch):
            found.pop(name, None)
        else:
            found[name] = change.after(found[name]) if name in found else change
    return {name: patch for name, patch in found.items() if len(patch.at)}


def held_patches(folder: Path, header: Mapping[str, Any]) -> Mapping[str, Patch]:
    """The patches that a header names, checked."""
    stated = header.get("patch")
    if stated is None:
        return {}
    path = folder / header["state"] / stated["file"]
    require_unchanged(path, stated["checksum"], folder)
    return read_patches(path, stated["arrays"])


def allowed_patches(state: Path, header: Mapping[str, Any]) -> int:
    """How many bytes patches may have."""
    size = sum((state / str(name)).stat().st_size for name in header["files"])
    return max(_LITTLE, size // _SHARE)
