"""Look at a table before it is released: roles, risk, and what could be promised.

Roles are guessed from names and counts and err on the safe side: what is neither an identifier nor
sensitive is called quasi-identifying. They are a start for the owner's judgement, not a verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role, Schema
from sfumato.errors import DataError
from sfumato.models.diversity import entropies

_IDENTIFIER = (
    r"name|surname|first_?name|last_?name|ssn|passport|e?_?mail|phone|mobile|iban|account|address"
    r"|street|(.*_)?(id|nbr|uuid|guid)|id_.*|nhs.*|mrn|patient_?(no|number)"
)
_SENSITIVE = (
    r".*(disease|diagnos|diag_1|condition|illness|salary|income|wage|religion|politic|vote|sexual"
    r"|hiv|test_?result|crime|offence|union|medication|treatment|score).*"
)
_SMALL = 5  # classes below this size are what re-identification studies call rare


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: what it holds, the role it seems to play, and why."""

    name: str
    type: str
    distinct: int
    missing: int
    role: Role
    reason: str


@dataclass(frozen=True, slots=True)
class SensitiveProfile:
    """What could be promised about one sensitive attribute."""

    name: str
    most_frequent_share: float
    largest_l: int
    largest_distinct_l: int
    largest_entropy_l: float
    largest_m: int


@dataclass(frozen=True, slots=True)
class Risk:
    """How exposed the rows are as they stand, on the quasi-identifiers together."""

    rows: int
    classes: int
    unique_rows: int
    rows_in_small_classes: int
    smallest_class: int
    largest_k: int
    sensitive: tuple[SensitiveProfile, ...]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def profile(table: pa.Table) -> tuple[ColumnProfile, ...]:
    """Describe every column and guess its role."""
    if table.num_rows == 0:
        raise DataError("the table has no rows; there is nobody to protect")
    return tuple(_profile(name, table.column(name)) for name in table.column_names)


def guess_schema(profiles: Sequence[ColumnProfile]) -> Schema:
    """The schema that the guessed roles amount to."""
    names = {role: [column.name for column in profiles if column.role is role] for role in Role}
    return Schema(
        identifiers=names[Role.IDENTIFIER],
        quasi=names[Role.QUASI],
        sensitive=names[Role.SENSITIVE],
        insensitive=names[Role.INSENSITIVE],
    )


def assess(table: Microdata) -> Risk:
    """Count the rows that stand alone, and what could be promised instead."""
    _, _, sizes = number_rows(table.quasi_codes(), table.quasi_sizes())
    return Risk(
        rows=table.n_rows,
        classes=len(sizes),
        unique_rows=int(np.count_nonzero(sizes == 1)),
        rows_in_small_classes=int(sizes[sizes < _SMALL].sum()),
        smallest_class=int(sizes.min()),
        largest_k=table.n_rows,
        sensitive=tuple(_sensitive(table, name) for name in table.schema.sensitive),
    )


def _profile(name: str, column: pa.ChunkedArray) -> ColumnProfile:
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    role, reason = _guess(name, column.type, distinct, len(column))
    return ColumnProfile(name, str(column.type), distinct, column.null_count, role, reason)


def _guess(name: str, kind: pa.DataType, distinct: int, rows: int) -> tuple[Role, str]:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if re.fullmatch(_IDENTIFIER, plain):
        return Role.IDENTIFIER, "its name"
    if re.fullmatch(_SENSITIVE, plain):
        return Role.SENSITIVE, "its name"
    exact = pa.types.is_string(kind) or pa.types.is_integer(kind)
    if exact and distinct == rows and rows > 1:
        return Role.IDENTIFIER, "every row differs"
    return Role.QUASI, "could be known to others"


def _sensitive(table: Microdata, name: str) -> SensitiveProfile:
    attribute = table.attributes[name]
    everyone = np.zeros(table.n_rows, np.int32)
    whole = Histograms.of_groups(attribute, table.codes[name], everyone, 1)
    most = int(whole.largest[0])
    distinct = int(whole.distinct[0])
    return SensitiveProfile(
        name=name,
        most_frequent_share=most / table.n_rows,
        largest_l=table.n_rows // most,
        largest_distinct_l=distinct,
        largest_entropy_l=math.floor(100 * math.exp(entropies(whole)[0])) / 100,
        largest_m=min(table.n_rows // most, distinct),
    )
