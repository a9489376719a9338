"""Read release.json, and nothing that it does not have to state.

The list of fields is closed, each has its type, and no name stands twice: a field that nobody reads
could tell anything to those who know of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.core.attribute import Kind
from sfumato.core.schema import Role
from sfumato.core.seeds import SHORT
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.forms.manifest import (
    CHECKSUM,
    FILE,
    FORMAT,
    MAKER,
    VERSION,
    WITHOUT_CHECKSUMS,
    Manifest,
    PublishedColumn,
    own_checksum,
)
from sfumato.io.folders import RELEASE_FILES

_SHOWN_AS = ("range", "set", "label", "cell", "text", "value", "perturbed", "masked")


def read_manifest(folder: Path) -> Manifest:
    """Read release.json, or say why this folder is not a release."""
    path = folder / FILE
    if not folder.exists():
        raise ReleaseError(f"{folder} does not exist", path=folder)
    if not path.is_file():
        raise ReleaseError(f"{folder} is not a release: it has no {FILE}", path=folder)
    try:
        stated = json.loads(
            path.read_text(encoding="utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_no_constant,
        )
        _require_format(folder, _object(stated, FILE))
        return _manifest(stated)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReleaseError(f"{path} is damaged: {_told(error)}", path=folder) from error


def _told(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it states {twice!r} twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number that a release states")


def _require_format(folder: Path, stated: Mapping[str, Any]) -> None:
    if stated.get("format") != FORMAT:
        raise ReleaseError(f"{folder / FILE} is not the manifest of a release", path=folder)
    version = stated.get("version")
    if type(version) is not int or version not in (WITHOUT_CHECKSUMS, VERSION):
        raise ReleaseError(
            f"{folder} has release format {version!r}, this sfumato reads {WITHOUT_CHECKSUMS} and "
            f"{VERSION}; use the version that wrote it, or a newer one",
            path=folder,
        )


def _manifest(stated: Mapping[str, Any]) -> Manifest:
    sealed = stated["version"] != WITHOUT_CHECKSUMS
    found = _fields(stated, {**_MANIFEST, **(_SEALED if sealed else {})}, _OPTIONAL, FILE)
    if found.pop("made_by") != MAKER:
        raise ValueError(f"it was made by {stated['made_by']!r}, not by {MAKER}")
    if sealed and found.pop(CHECKSUM) != own_checksum(stated):
        raise ValueError("it was changed after it was written: its checksum is another")
    del found["format"]
    return Manifest(**found)


def _column(stated: Any, where: str) -> PublishedColumn:
    column = PublishedColumn(**_fields(_object(stated, where), _COLUMN, _OPTIONAL_OF_COLUMN, where))
    if column.order is not None and column.taxonomy is not None:
        raise ValueError(f"column {column.name!r} has an order and a taxonomy")
    return column


def _fields(
    stated: Mapping[str, Any],
    known: Mapping[str, Callable[[Any, str], Any]],
    optional: frozenset[str],
    where: str,
) -> dict[str, Any]:
    """The stated fields, each read as what it has to be."""
    for name in stated:
        if name not in known:
            raise ValueError(f"{where} states {name!r}, which no release does")
    for name in known:
        if name not in stated and name not in optional:
            raise KeyError(name)
    return {name: known[name](value, name) for name, value in stated.items()}


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {value!r}, not an object")
    return value


def _objects(value: Any, where: str) -> tuple[dict[str, Any], ...]:
    return tuple(_object(part, where) for part in _list(value, where))


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where} is {value!r}, not a list")
    return value


def _count(value: Any, where: str) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{where} is {value!r}, not a count")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where} is {value!r}, not a text")
    return value


def _one_of(*known: str) -> Callable[[Any, str], str]:
    def read(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{where} is {value!r}, not one of {', '.join(known)}")
        return value

    return read


def _columns(value: Any, where: str) -> tuple[PublishedColumn, ...]:
    columns = tuple(_column(part, where) for part in _list(value, where))
    names = [name for column in columns for name in column.columns]
    if len({column.name for column in columns}) < len(columns) or len(set(names)) < len(names):
        raise ValueError("a column is described twice")
    return columns


def _names(value: Any, where: str) -> tuple[str, ...]:
    return tuple(_text(name, where) for name in _list(value, where))


def _types(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(kind, where)) for name, kind in _object(value, where).items())


def _files(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    files = _object(value, where)
    for name in files:
        if name == FILE or not RELEASE_FILES.fullmatch(name):
            raise ValueError(f"{where} names {name!r}, which no release has")
    if list(files) != sorted(files):
        raise ValueError(f"{where} are named in another order")
    return tuple((name, _sha256(found, where)) for name, found in files.items())


def _sha256(value: Any, where: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", _text(value, where)):
        raise ValueError(f"{where} is {value!r}, not a checksum")
    return str(value)


def _order(value: Any, where: str) -> tuple[Any, ...]:
    values = _list(value, where)
    if not values or any(isinstance(one, dict | list) or one is None for one in values):
        raise ValueError(f"{where} is no list of values")
    return tuple(values)


def _taxonomy(value: Any, where: str) -> dict[str, Any]:
    try:
        leaves = Taxonomy.from_nested(_object(value, where)).leaves
    except SfumatoError as error:
        raise ValueError(str(error)) from error
    if not all(isinstance(leaf, str | int | float) for leaf in leaves):
        raise ValueError(f"{where} has a leaf that is no value")
    return dict(value)


def _flag(value: Any, where: str) -> bool:
    if value is not True:  # what is not so is not stated
        raise ValueError(f"{where} is {value!r}; it is true or not stated")
    return True


_MANIFEST: Mapping[str, Callable[[Any, str], Any]] = {
    "format": _text,
    "version": _count,
    "kind": _text,
    "promise": _objects,
    "algorithm": _object,
    "rows": _count,
    "groups": _count,
    "columns": _columns,
    "types": _types,
    "metrics": _object,
    "suppressed": _count,
    "external": _object,
    "seed": _one_of(SHORT),
    "made_by": _text,
}
_SEALED: Mapping[str, Callable[[Any, str], Any]] = {"files": _files, CHECKSUM: _sha256}
_OPTIONAL = frozenset({"external", "seed"})
_COLUMN: Mapping[str, Callable[[Any, str], Any]] = {
    "name": _text,
    "role": _one_of(Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE),
    "form": _one_of(*_SHOWN_AS),
    "columns": _names,
    "kind": _one_of(*Kind),
    "order": _order,
    "taxonomy": _taxonomy,
    "tight": _flag,
    "type": _text,
}
_OPTIONAL_OF_COLUMN = frozenset({"kind", "order", "taxonomy", "tight", "type"})
