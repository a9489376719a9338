"""What a mask is, and what masks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Flags, Floats, Ints
from sfumato.core.attribute import Attribute, Kind, as_floats
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError, SchemaError

_DAY_IN_MS = 86_400_000
_DIGITS = 4  # of what is stated of rows together: enough to correct by, too few to solve for a row


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """The columns that replace those of a table, and how they came about.

    ``stated`` is what release.json says, a line for each column (forms/masked/distortion.py).
    ``origin`` is the row of the table that each row was made of; None where there is no such row.
    """

    columns: Mapping[str, pa.Array]
    stated: tuple[dict[str, Any], ...]
    origin: Ints | None


class Mask(Protocol):
    """Anything that replaces the values of a table."""

    name: ClassVar[str]

    def masked(self, table: Microdata, randomness: Randomness) -> Masked:
        """Replace the values of some columns, in the order of the table's rows."""
        ...


def is_number(attribute: Attribute) -> bool:
    """Whether values can be added to, and averaged: numbers, and not dates or times."""
    return attribute.kind is Kind.NUMERICAL and not pa.types.is_temporal(attribute.values.type)


def step_of(attribute: Attribute) -> int:
    """The distance between neighbouring values; 0 if there is none."""
    kind = attribute.values.type
    if pa.types.is_date64(kind):
        return _DAY_IN_MS
    return int(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def numbers_of(attribute: Attribute, codes: Ints) -> tuple[Floats, Flags]:
    """The values of rows as numbers, 0 where they are missing, and where they are known."""
    known: Flags = codes != attribute.missing_code
    return np.append(as_floats(attribute.values), 0.0)[codes], known


def spread_of(columns: Mapping[str, Floats]) -> dict[str, dict[str, float]]:
    """The covariances of columns whose means are 0, column by column."""
    names = list(columns)
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = [[float(np.mean(columns[a] * columns[b])) for b in names] for a in names]
    return stated_spread(names, np.array(matrix))


def stated_spread(names: Sequence[str], matrix: Floats) -> dict[str, dict[str, float]]:
    """A matrix of covariances as release.json has it."""
    for name, line in zip(names, matrix, strict=True):
        if not np.isfinite(line).all():
            raise DataError(
                f"the numbers of {name!r} are too large to be squared; divide them", source=name
            )
    return {
        a: {b: stated_number(matrix[i, j]) for j, b in enumerate(names)}
        for i, a in enumerate(names)
    }


def stated_number(number: float) -> float:
    """A number with few digits."""
    return float(f"{number:.{_DIGITS}g}")


def chosen(
    table: Microdata, columns: Sequence[str], usual: Sequence[str], what: str
) -> tuple[str, ...]:
    """The columns to mask, in the table's order: those that are named, or the usual ones."""
    known = (*table.schema.quasi, *table.schema.sensitive)
    for name in columns:
        if name not in known:
            raise SchemaError(
                f"no column {name!r} to {what}: name quasi-identifiers or sensitive columns "
                f"({', '.join(known)})",
                column=name,
            )
    if len(set(columns)) < len(columns):
        raise ParameterError("a column is named twice", parameter="columns")
    named = tuple(name for name in known if name in columns)
    found = named or tuple(usual)
    if not found:
        raise SchemaError(f"there is no column to {what}")
    return found
