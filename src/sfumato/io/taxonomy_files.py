"""Taxonomies from files, in the three forms in which they are usually kept.

**Nested**, in TOML or JSON: the name of each attribute, then its tree. An empty list is a value by
itself. ::

    [job]
    "*" = { technical = ["engineer", "lawyer"], artist = ["dancer", "writer"] }

**A hierarchy table**, as ARX keeps it: a CSV file for one attribute, called like the attribute
(``job.csv``). Each line is a value, its label at level 1, at level 2, ..., the root. There is no
header line; the separator is a semicolon, a tab or a comma. ::

    engineer;technical;*
    dancer;artist;*

**A long table**, as Parquet, Arrow or CSV, for any number of attributes: a line per value and
level, under the names ``attribute``, ``value``, ``level`` and ``generalized``. Level 0 is the value
itself.

Values in tables are texts; they become numbers or dates when a column of such is read with them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import DataError, SchemaError
from sfumato.io.files import ARROW, PARQUET, open_file
from sfumato.io.hierarchy_tables import Entry, Row, rows_of, tree_of
from sfumato.io.hints import did_you_mean
from sfumato.io.nested_files import joined, naming, read_nested, read_text, require_table, wrong

NESTED = (".toml", ".json")
TEXT = (".csv", ".tsv", ".txt")
LONG = ("attribute", "value", "level", "generalized")

# In the order in which they are preferred: labels such as [20, 30[ have commas of their own.
_SEPARATORS = (";", "\t", ",")


def read_taxonomies(path: str | Path, attribute: str | None = None) -> dict[str, Taxonomy]:
    """The taxonomies in a file of any form, or in all CSV files of a folder, by attribute.

    With ``attribute`` only its taxonomy is wanted; for a hierarchy table, which does not name its
    attribute, it is the name instead of the file's.

    >>> from pathlib import Path
    >>> written = Path("jobs.toml").write_text('job.any.care = ["nurse", "physician"]')
    >>> sf.read_taxonomies("jobs.toml")
    {'job': Taxonomy(2 values, 2 levels above them)}
    """
    path = Path(path)
    found = _in_folder(path) if path.is_dir() else _in_file(path, attribute)
    if attribute is None:
        return found
    if attribute not in found:
        hint = did_you_mean(attribute, found) or f"it has {', '.join(found)}"
        raise SchemaError(f"{path} has no taxonomy for {attribute!r}; {hint}", column=attribute)
    return {attribute: found[attribute]}


def nested_taxonomy(path: Path, where: str, tree: Any) -> Taxonomy:
    """The taxonomy that a nested file states under a key."""
    _check_tree(path, where, require_table(path, where, tree))
    with naming(path, where):
        return Taxonomy.from_nested(tree)


def _in_folder(folder: Path) -> dict[str, Taxonomy]:
    found: dict[str, Taxonomy] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in TEXT[:2]:  # a .txt beside them is rather a note
            continue
        for name, taxonomy in _in_file(path, None).items():
            if name in found:
                raise SchemaError(f"{path}: another file of the folder has {name!r}; keep one")
            found[name] = taxonomy
    if not found:
        raise SchemaError(f"the folder {folder} has no hierarchy tables (*.csv)")
    return found


def _in_file(path: Path, attribute: str | None) -> dict[str, Taxonomy]:
    name = path.name.lower()
    if name.endswith(NESTED):
        trees = read_nested(path, NESTED).items()
        return {key: nested_taxonomy(path, key, tree) for key, tree in trees}
    if name.endswith(PARQUET + ARROW):
        return _long(path, _stored_entries(path))
    if not name.endswith(TEXT):
        known = ", ".join(NESTED + TEXT + PARQUET + ARROW)
        raise SchemaError(f"{path} has an unknown extension; taxonomies are in {known}")
    lines = list(_csv_lines(path))
    header = [cell.lower() for cell in lines[0][1]] if lines else []
    if set(LONG) <= set(header):
        return _long(path, _csv_entries(path, header, lines[1:]))
    with naming(path):
        rows = [Row(place, tuple(cells)) for place, cells in lines]
        return {attribute or path.stem: tree_of(rows)}


def _long(path: Path, entries: Iterator[Entry]) -> dict[str, Taxonomy]:
    found = {}
    with naming(path):
        tables = rows_of(entries)
    for name, rows in tables.items():
        with naming(path, name):
            found[name] = tree_of(rows)
    return found


def _stored_entries(path: Path) -> Iterator[Entry]:
    try:
        opened = open_file(path)
        for name in LONG:
            if name not in opened.names:
                raise SchemaError(
                    f"{path} has no column {name!r}; a long table has {', '.join(LONG)}"
                )
        columns = [_texts(column) for column in opened.load(LONG).columns]
    except DataError as error:
        raise SchemaError(str(error)) from None
    for number, cells in enumerate(zip(*columns, strict=True), start=1):
        yield Entry(f"row {number}", *cells)


def _texts(column: pa.ChunkedArray) -> list[str]:
    kind = column.type
    plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    return [text.strip() for text in plain.cast(pa.string()).fill_null("").to_pylist()]


def _csv_entries(
    path: Path, header: list[str], lines: list[tuple[str, list[str]]]
) -> Iterator[Entry]:
    columns = [header.index(name) for name in LONG]
    for place, cells in lines:
        if len(cells) != len(header):
            raise SchemaError(
                f"{path}: {place} has {len(cells)} values, but the header has {len(header)} names"
            )
        yield Entry(place, *(cells[column] for column in columns))


def _csv_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The cells of every line that has any, without blanks around them."""
    text = read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield f"line {reader.line_num}", stripped
    except csv.Error as error:
        raise SchemaError(f"{path}: line {reader.line_num}: {error}") from None


def _separator(text: str) -> str:
    """The one that most lines have; before a comma a tab, and before both a semicolon."""
    lines = ["".join(line.split('"')[::2]) for line in text.splitlines()]
    return max(_SEPARATORS, key=lambda separator: sum(separator in line for line in lines))


def _check_tree(path: Path, where: str, tree: Any) -> None:
    if isinstance(tree, dict):
        for label, below in tree.items():
            _check_tree(path, joined(where, label), below)
        return
    if not isinstance(tree, list):
        raise wrong(path, where, "a table of labels or a list of values", tree)
    for value in tree:
        if isinstance(value, dict | list | None):
            raise wrong(path, where, "a list of values", value, inside=True)
