"""A schema as a TOML file that its owner can read, judge and edit."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.core.attribute import Kind
from sfumato.core.binning import Bins, Quantiles
from sfumato.core.schema import Declaration, Schema, require_schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.words import Words
from sfumato.errors import OutputExists, ReleaseError, SchemaError
from sfumato.io.nested_files import read_nested
from sfumato.io.opened import one_line
from sfumato.io.paths import usable
from sfumato.io.toml_text import toml_array, toml_comment, toml_key, toml_string, toml_value

_MEANINGS = (
    ("identifiers", "Names a person directly: left out of everything that is published."),
    ("quasi", "May be known to others and point to a person: made coarser."),
    ("sensitive", "Must not be linked to a person."),
    ("insensitive", "Harmless: published as it is."),
)


def write_schema(
    path: str | Path,
    schema: Schema,
    *,
    notes: Mapping[str, str] | None = None,
    force: bool = False,
) -> None:
    """Write a schema file; ``notes`` say something about a column in a comment beside its name.

    Columns that have a note but no role are listed in a comment at the end.

    >>> schema = sf.Schema(quasi=["age", "sex"], sensitive="disease")
    >>> sf.write_schema("schema.toml", schema)
    >>> sf.read_schema("schema.toml") == schema
    True
    """
    require_schema(schema)
    path = usable(path)
    text = schema_text(schema, notes or {})
    if path.exists() and not force:
        raise OutputExists(
            f"{path} exists; choose another name, or replace it with force=True (--force)",
            path=path,
        )
    if path.exists() and not _is_schema(path.resolve()):
        raise OutputExists(
            f"{path} exists and is no schema file, so it is not replaced; choose another name, "
            "such as schema.toml",
            path=path,
        )
    try:
        _replace(path.resolve(), text)
    except OSError as error:
        raise ReleaseError(f"cannot write {path}: {one_line(error)}", path=path) from error


def schema_text(schema: Schema, notes: Mapping[str, str]) -> str:
    """The content of a schema file."""
    blocks = ["# Each column has one role. Columns without a role are not read at all.\n"]
    for role, meaning in _MEANINGS:
        blocks.append(f"# {meaning}\n{_role(role, getattr(schema, role), notes)}\n")
    texts = [(name, getattr(schema.words, name)) for name in ("title", "description", "source")]
    blocks.insert(1, "".join(f"{name} = {toml_string(text)}\n" for name, text in texts if text))
    described = [*schema.declarations, *schema.words.columns() - schema.declarations.keys()]
    blocks += [
        _attribute(name, schema.declarations.get(name, Declaration()), schema.words)
        for name in sorted(described, key=[*schema.roles].index)
    ]
    blocks += [_taxonomy(name, taxonomy) for name, taxonomy in schema.taxonomies.items()]
    if schema.points:
        pairs = (f"{toml_key(name)} = {toml_array(pair)}" for name, pair in schema.points.items())
        blocks.append("\n".join(["[points]", *pairs, ""]))
    unread = [name for name in notes if name not in schema.roles]
    if unread:
        listed = (toml_comment(f"  {toml_string(name)}  {notes[name]}") for name in unread)
        blocks.append("\n".join(["# Without a role:", *listed, ""]))
    return "\n".join(block for block in blocks if block)


def _role(role: str, names: tuple[str, ...], notes: Mapping[str, str]) -> str:
    if not any(name in notes for name in names):
        return f"{role} = {toml_array(names, indent=len(role) + 3)}"
    items = [f"    {toml_string(name)}," for name in names]
    width = max(len(item) for item in items)
    lines = [
        f"{item:<{width}}  {toml_comment(notes[name])}" if name in notes else item
        for item, name in zip(items, names, strict=True)
    ]
    return "\n".join([f"{role} = [", *lines, "]"])


def _attribute(name: str, declared: Declaration, words: Words) -> str:
    lines = []
    # an order makes a column categorical by itself
    if declared.kind is not None and not (declared.order and declared.kind is Kind.CATEGORICAL):
        lines.append(f"kind = {toml_value(str(declared.kind))}")
    if declared.order is not None:
        lines.append(f"order = {toml_array(declared.order, indent=8)}")
    if declared.bins is not None:
        lines.append(f"bins = {_bins(declared.bins)}")
    for key, known in (("label", words.labels), ("unit", words.units)):
        if name in known:
            lines.append(f"{key} = {toml_string(known[name])}")
    if name in words.names:
        pairs = [f"{toml_key(v)} = {toml_string(text)}" for v, text in words.names[name].items()]
        lines.append(f"names = {{ {', '.join(pairs)} }}")
    return "\n".join([f"[attributes.{toml_key(name)}]", *lines, ""]) if lines else ""


def _bins(bins: Bins) -> str:
    if isinstance(bins, Quantiles):
        return f"{{ quantiles = {toml_array(bins.shares)} }}"
    return toml_array(bins, indent=8) if isinstance(bins, tuple) else str(bins)


def _taxonomy(name: str, taxonomy: Taxonomy) -> str:
    lines = list(_branches((), taxonomy.to_nested()))
    return "\n".join([f"[taxonomies.{toml_key(name)}]", *lines, ""])


def _branches(above: tuple[str, ...], tree: Any) -> Iterator[str]:
    """One line per list of values, under its dotted path.

    Nested tables would have to follow all lists of their parent, which would change the order of
    the values.
    """
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from _branches((*above, label), below)
        return
    key = ".".join(toml_key(label) for label in above)
    yield f"{key} = {toml_array(tree, indent=len(key) + 3)}"


def _is_schema(path: Path) -> bool:
    """Whether a file may go when a schema comes: never a table, nor the settings of other tools.

    A draft with mistakes in it is one that its owner wants to be rid of.
    """
    if path.suffix.lower() != ".toml":
        return False
    try:
        found = read_nested(path, (".toml",))
    except SchemaError:
        return path.is_file()
    return not found or any(role in found for role, _ in _MEANINGS)


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename: a reader sees the old file or the new one, whole."""
    temp = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temp.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
