"""Taxonomies from the desk: intervals over numbers, or a file that was uploaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.core.taxonomy_builders import interval_taxonomy
from sfumato.errors import SchemaError
from sfumato.io.taxonomy_files import read_taxonomies
from sfumato.studio.draft import Tree


def built(column: str, told: Any) -> Tree:
    """Intervals: ``{"low": 0, "high": 99, "widths": [5, 20]}``."""
    if not isinstance(told, dict) or not isinstance(told.get("widths"), list):
        raise SchemaError("intervals have a low and a high end, and widths", column=column)
    low, high, widths = told.get("low"), told.get("high"), told["widths"]
    shown = f"low={low!r}, high={high!r}, widths={widths!r}"
    tree = interval_taxonomy(low, high, widths)  # type: ignore[arg-type]
    return Tree(tree, f"sf.interval_taxonomy({shown})", f"intervals, {shown}")


def uploaded(place: Callable[[str], Path], column: str, told: Any) -> Tree:
    """A file of any form that ``read_taxonomies`` knows: ``{"name": "job.csv", "text": "..."}``."""
    if not isinstance(told, dict) or not all(
        isinstance(told.get(part), str) for part in ("name", "text")
    ):
        raise SchemaError("a taxonomy is uploaded with its name and its text", column=column)
    try:
        content = told["text"].encode()
    except UnicodeEncodeError:
        raise SchemaError(
            "the taxonomy is no text: it holds half of a letter", column=column
        ) from None
    path = place(told["name"])
    path.write_bytes(content)
    try:
        tree = read_taxonomies(path, column)[column]
    except SchemaError as error:
        raise SchemaError(str(error).replace(str(path), path.name), column=column) from None
    return Tree(
        tree, f"sf.read_taxonomies({path.name!r}, {column!r})[{column!r}]", f"of {path.name}"
    )
