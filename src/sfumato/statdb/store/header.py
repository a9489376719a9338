"""The header of a store: which files hold the database, and what they must sum up to.

It is the switch: whatever it names is the database, and it is replaced in one rename.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.errors import StoreError
from sfumato.io.folders import flush_entry
from sfumato.statdb.store.files import write_bytes

FORMAT = "sfumato-statdb"
# rows that wait, or patches, are not for a program that would forget them; neighbours not for one
# that does not know their layout
VERSION, WITH_WAITING, WITH_PATCHES, WITH_NEIGHBOURS = 1, 2, 3, 4
HEADER = "statdb.json"
_FRESH = f".{HEADER}.new"


def put_header(folder: Path, header: Mapping[str, Any]) -> None:
    """Make what a header names the database, and clear what it does not name."""
    text = json.dumps({**header, "checksum": seal(header)}, indent=1, ensure_ascii=False)
    write_bytes(folder / _FRESH, text.encode())
    (folder / _FRESH).replace(folder / HEADER)
    flush_entry(folder)
    clear_leftovers(folder, header)


def read_header(folder: Path) -> dict[str, Any]:
    """The header of a store, without its checksum, which is that of what it says."""
    try:
        header = json.loads((folder / HEADER).read_text("utf-8"))
        _require_private(folder)  # after it is known to be a database, and not some other folder
    except FileNotFoundError as error:
        raise StoreError(f"{folder} is not a statistical database", path=folder) from error
    except NotADirectoryError as error:
        raise StoreError(f"{folder} is a file, not a statistical database", path=folder) from error
    except PermissionError as error:
        raise closed(folder) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder} is damaged: its {HEADER} is not JSON", path=folder) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StoreError(f"{folder} is not a statistical database of ours", path=folder)
    if header.get("version") not in range(VERSION, WITH_NEIGHBOURS + 1):
        raise StoreError(
            f"{folder} has format {header.get('version')!r}, this sfumato reads {VERSION} to "
            f"{WITH_NEIGHBOURS}; use the version that wrote it, or a newer one",
            path=folder,
        )
    checksum = header.pop("checksum", None)
    if checksum != seal(header):
        raise StoreError(f"{folder} is damaged: its {HEADER} was changed", path=folder)
    return header


def seal(header: Mapping[str, Any]) -> str:
    """The checksum of a header."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def version_of(header: Mapping[str, Any]) -> int:
    """The lowest version of the format that a program must know to use all that is named."""
    if is_near(header["facts"]):
        return WITH_NEIGHBOURS
    if header.get("patch") is not None:
        return WITH_PATCHES
    return VERSION if header["waiting"] is None else WITH_WAITING


def is_near(facts: Mapping[str, Any]) -> bool:
    """Whether these are the facts of a database of neighbours, which have a size and no cohort."""
    return "size" in facts


def clear_leftovers(folder: Path, header: Mapping[str, Any]) -> None:
    """Remove states and files that a header does not name, as killed or failed writers leave."""
    with suppress(OSError):
        (folder / _FRESH).unlink(missing_ok=True)
    for found in folder.glob("state-*"):
        if found.name != header["state"]:
            shutil.rmtree(found, ignore_errors=True)
    named = {*header["files"], *(_file(header, part) for part in ("waiting", "patch"))}
    for found in (folder / header["state"]).glob("*"):
        if found.name not in named:
            with suppress(OSError):  # the next writer tries again
                found.unlink()


def closed(folder: Path) -> StoreError:
    """Why a folder cannot be used."""
    return StoreError(f"{folder} cannot be opened: permission denied", path=folder)


def _file(header: Mapping[str, Any], part: str) -> str | None:
    stated: Mapping[str, Any] = header.get(part) or {}
    return stated.get("file")


def _require_private(folder: Path) -> None:
    open_to = stat.S_IMODE(folder.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if os.name == "posix" and open_to:
        raise StoreError(
            f"{folder} can be opened by others than its owner, and whoever reads it knows "
            f"everything: chmod 700 {folder}",
            path=folder,
        )
