"""Published values in their one spelling, as publishing would have left them.

Two spellings of a value count as two values, which makes a group look diverse or tells its rows
apart: NaN beside null, -0.0 beside 0.0, an accent typed in two ways, a blank or an invisible letter
at the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sfumato.core.moments import comparable
from sfumato.core.schema import Role
from sfumato.core.spelling import folded, require_one_spelling
from sfumato.errors import DataError, SfumatoWarning
from sfumato.forms.manifest import Manifest, PublishedColumn


def other_spellings(manifest: Manifest, tables: Sequence[pa.Table]) -> Iterator[str]:
    """Values of quasi-identifiers and sensitive columns that could be spelled otherwise."""
    found = [(table, frozenset(table.column_names)) for table in tables]
    for column in manifest.columns:
        if column.role == Role.INSENSITIVE:
            continue  # published as it came, whatever it is
        for name in column.columns:
            for table, names in found:
                if name in names:
                    yield from _other_values(name, table.column(name))
        if column.role == Role.SENSITIVE:
            yield from _twice(column, tables)


def _other_values(name: str, shown: pa.ChunkedArray) -> Iterator[str]:
    if pa.types.is_list(shown.type):
        shown = pa.chunked_array([chunk.flatten() for chunk in shown.chunks], shown.type.value_type)
    if pa.types.is_floating(shown.type):
        numbers = shown.drop_null().to_numpy()
        if not np.isfinite(numbers).all():
            yield f"{name!r} holds NaN or an infinite number; a missing value is a null"
        if np.signbit(numbers[numbers == 0]).any():
            yield f"{name!r} holds -0.0 for 0.0"
    elif pa.types.is_string(shown.type):
        values = shown.unique()
        if not folded(values).equals(values):
            yield f"{name!r} holds a text that could be spelled otherwise (blanks, accents, unseen)"


def _twice(column: PublishedColumn, tables: Sequence[pa.Table]) -> Iterator[str]:
    """A sensitive value that looks like two."""
    if column.order is not None or column.taxonomy is not None:
        return
    for table in tables:
        if column.name in table.column_names:
            values = table.column(column.name).unique()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SfumatoWarning)  # the owner was told
                    require_one_spelling(column.name, comparable(values))
            except DataError as error:
                yield str(error)
