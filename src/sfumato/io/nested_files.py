"""Files made of tables and lists, TOML and JSON: parsing them, and saying where they are wrong."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.io.files import require_file
from sfumato.io.hints import did_you_mean

_WORDS = {dict: "a table", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def read_nested(path: Path, extensions: Iterable[str] = (".toml", ".json")) -> dict[str, Any]:
    """The table that a file holds."""
    extension = path.suffix.lower()
    if extension not in extensions:
        raise SchemaError(f"{path} has an unknown extension; use {' or '.join(extensions)}")
    text = read_text(path)
    try:
        with naming(path):
            return require_table(path, "", _PARSERS[extension](text))
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise SchemaError(f"{path} is not valid {extension[1:].upper()}: {error}") from None


def read_text(path: Path) -> str:
    """The text of a file that belongs to a schema."""
    try:
        require_file(path)
        # editors on Windows put a byte order mark in front
        return path.read_text("utf-8-sig")
    except DataError as error:
        raise SchemaError(str(error)) from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise SchemaError(f"cannot read {path}: {error.strerror}") from None


@contextmanager
def naming(path: Path, where: str = "") -> Iterator[None]:
    """Put the file, and the key if there is one, in front of what is said about its content."""
    try:
        yield
    except (SchemaError, ParameterError) as error:
        if str(error).startswith(str(path)):
            raise
        place = f"{path}: {where}: " if where else f"{path}: "
        column = error.column if isinstance(error, SchemaError) else None
        raise SchemaError(f"{place}{error}", column=column) from None


def require_table(path: Path, where: str, value: Any) -> dict[str, Any]:
    """The value, if it is a table."""
    if not isinstance(value, dict):
        raise wrong(path, where, "a table", value)
    return value


def require_known(path: Path, where: str, found: Iterable[str], known: tuple[str, ...]) -> None:
    """Raise for the first key that means nothing."""
    for key in found:
        if key not in known:
            hint = did_you_mean(key, known) or f"known are {', '.join(known)}"
            raise SchemaError(f"{path}: unknown key {joined(where, key)!r}; {hint}")


def wrong(path: Path, where: str, wanted: str, found: Any, *, inside: bool = False) -> SchemaError:
    """What to raise for a value of the wrong sort, or for one inside a list."""
    said = _WORDS.get(type(found)) or f"{found!r}"
    if isinstance(found, str):
        said = f"the text {found!r}"
    holds = "holds" if inside else "is"
    return SchemaError(f"{path}: {where or 'the top level'} {holds} {said}; it should be {wanted}")


def joined(where: str, key: str) -> str:
    """The dotted name of a key inside a table."""
    return f"{where}.{key}" if where else key


def _parse_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """TOML refuses a key that is given twice; JSON would silently keep the last one."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise SchemaError(f"the key {key!r} is given twice; keep one")
        content[key] = value
    return content


_PARSERS: Mapping[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".json": _parse_json}
