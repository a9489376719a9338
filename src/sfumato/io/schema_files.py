"""Schemas and taxonomies as files.

::

    identifiers = ["name"]
    quasi = ["age", "sex", "education", "job"]
    sensitive = "disease"                       # or a list
    insensitive = []

    [attributes.education]
    order = ["none", "primary", "secondary", "university"]

    [attributes.age]
    kind = "categorical"                        # or "numerical"; normally seen from the values

    [taxonomies.job]                            # one root; an empty list is a value by itself
    "*" = { technical = ["engineer", "lawyer"], artist = ["dancer", "writer"] }
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.core.schema import Schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import DataError, SchemaError
from sfumato.io.files import require_file
from sfumato.io.hints import did_you_mean
from sfumato.io.schema_writing import write_schema

__all__ = ["read_schema", "read_taxonomies", "write_schema"]

LISTS = ("identifiers", "quasi", "sensitive", "insensitive")
TABLES = ("attributes", "taxonomies")
DETAILS = ("kind", "order", "bins")

_WORDS = {dict: "a table", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def read_schema(path: str | Path) -> Schema:
    """The schema in a TOML file."""
    path = Path(path)
    content = _parsed(path, {".toml": _parse_toml})
    _require_known(path, "", content, (*LISTS, *TABLES))
    details = _table(path, "attributes", content.get("attributes", {}))
    for name, detail in details.items():
        where = f"attributes.{name}"
        _require_known(path, where, _table(path, where, detail), DETAILS)
    with _naming(path):
        return Schema(
            **{role: _names(path, role, content[role]) for role in LISTS if role in content},
            # a schema without quasi-identifiers is refused by Schema itself
            **({} if "quasi" in content else {"quasi": ()}),
            kinds={n: _text(path, n, d["kind"]) for n, d in details.items() if "kind" in d},
            orders={n: _order(path, n, d["order"]) for n, d in details.items() if "order" in d},
            bins={n: d["bins"] for n, d in details.items() if "bins" in d},
            taxonomies=_taxonomies(path, "taxonomies", content.get("taxonomies", {})),
        )


def read_taxonomies(path: str | Path) -> dict[str, Taxonomy]:
    """The taxonomies in a TOML or JSON file: the name of each attribute, then its tree."""
    path = Path(path)
    content = _parsed(path, {".toml": _parse_toml, ".json": _parse_json})
    return _taxonomies(path, "", content)


def _parsed(path: Path, parsers: Mapping[str, Any]) -> dict[str, Any]:
    if path.suffix.lower() not in parsers:
        raise SchemaError(f"{path} has an unknown extension; use {' or '.join(parsers)}")
    try:
        require_file(path)
        # editors on Windows put a byte order mark in front
        text = path.read_text("utf-8-sig")
        with _naming(path):
            return _table(path, "", parsers[path.suffix.lower()](text))
    except DataError as error:
        raise SchemaError(str(error)) from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise SchemaError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise SchemaError(f"{path} is not valid {path.suffix[1:].upper()}: {error}") from None


def _parse_toml(text: str) -> Any:
    return tomllib.loads(text)


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


def _taxonomies(path: Path, where: str, trees: Any) -> dict[str, Taxonomy]:
    found = {}
    for name, tree in _table(path, where, trees).items():
        place = _joined(where, name)
        _check_tree(path, place, _table(path, place, tree))
        with _naming(path, place):
            found[name] = Taxonomy.from_nested(tree)
    return found


def _check_tree(path: Path, where: str, tree: Any) -> None:
    if isinstance(tree, dict):
        for label, below in tree.items():
            _check_tree(path, _joined(where, label), below)
        return
    if not isinstance(tree, list):
        raise _wrong(path, where, "a table of labels or a list of values", tree)
    for value in tree:
        if isinstance(value, dict | list | None):
            raise _wrong(path, where, "a list of values", value, inside=True)


def _names(path: Path, role: str, names: Any) -> list[str]:
    if role == "sensitive" and isinstance(names, str):
        return [names]
    if not isinstance(names, list):
        raise _wrong(path, role, "a list of column names", names)
    for name in names:
        if not isinstance(name, str):
            raise _wrong(path, role, "a list of column names", name, inside=True)
    return names


def _order(path: Path, name: str, order: Any) -> list[Any]:
    where = f"attributes.{name}.order"
    if not isinstance(order, list) or not order:
        raise _wrong(path, where, "a list of values, lowest first", order)
    for value in order:
        if isinstance(value, dict | list):
            raise _wrong(path, where, "a list of values, lowest first", value, inside=True)
    return order


def _text(path: Path, name: str, kind: Any) -> str:
    if not isinstance(kind, str):
        raise _wrong(path, f"attributes.{name}.kind", '"numerical" or "categorical"', kind)
    return kind


def _table(path: Path, where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(path, where, "a table", value)
    return value


def _require_known(path: Path, where: str, found: Iterable[str], known: tuple[str, ...]) -> None:
    for key in found:
        if key not in known:
            hint = did_you_mean(key, known) or f"known are {', '.join(known)}"
            raise SchemaError(f"{path}: unknown key {_joined(where, key)!r}; {hint}")


@contextmanager
def _naming(path: Path, where: str = "") -> Iterator[None]:
    """Put the file, and the key if there is one, in front of what is said about its content."""
    try:
        yield
    except SchemaError as error:
        if str(error).startswith(str(path)):
            raise
        place = f"{path}: {where}: " if where else f"{path}: "
        raise SchemaError(f"{place}{error}", column=error.column) from None


def _wrong(path: Path, where: str, wanted: str, found: Any, *, inside: bool = False) -> SchemaError:
    said = _WORDS.get(type(found)) or f"{found!r}"
    if isinstance(found, str):
        said = f"the text {found!r}"
    holds = "holds" if inside else "is"
    return SchemaError(f"{path}: {where or 'the top level'} {holds} {said}; it should be {wanted}")


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
