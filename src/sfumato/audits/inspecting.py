"""Inspect a table wherever it is, whether it fits into memory or not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from sfumato.audits.column_counts import count_columns
from sfumato.audits.inspection import (
    ColumnProfile,
    guess_schema,
    profile,
    profiles_of,
)
from sfumato.audits.risk import Risk, assess
from sfumato.core.foreign import our_errors
from sfumato.core.schema import Role, Schema
from sfumato.engines.memory import memory_or_half
from sfumato.engines.parts import open_parts
from sfumato.engines.rows import column_names, needs_streaming, open_columns, together
from sfumato.errors import DataError
from sfumato.io.dialects import Dialect, Written
from sfumato.io.tables import Source, markers, read_table


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is seen of a table; no schema where no column seems to be known to others."""

    rows: int
    profiles: tuple[ColumnProfile, ...]
    schema: Schema | None
    risk: Risk | None


@our_errors("inspecting")
def inspect_table(
    source: Source,
    schema: Schema | None = None,
    *,
    query: str | None = None,
    missing: str | Collection[str] = (),
    memory_limit: int | None = None,
    person: str | None = None,
    household: str | None = None,
    weight: str | None = None,
    population: Source | None = None,
    **written: Unpack[Written],
) -> Inspection:
    """Look at a table under a schema, or under the one that is guessed; see ``read``.

    A file that does not fit into so much memory is read part by part. The last four are those of
    ``assess``.
    """
    memory, dialect = memory_or_half(memory_limit), Dialect.said(**written)
    beside: dict[str, Any] = {
        "person": person, "household": household, "weight": weight, "population": population,
    }  # fmt: skip
    if query is None and _is_large(source, dialect, memory):
        absent = (missing,) if isinstance(missing, str) else missing
        rows, counted = count_columns(open_columns(source, absent, dialect), absent, memory)
        if not rows:
            raise DataError(
                f"{source} has columns but no rows; there is nothing to publish", source=str(source)
            )
        profiles = profiles_of(rows, counted)
        used = schema or _guessed(profiles)
        if used is None:
            return Inspection(rows, profiles, None, None)
        with open_parts(source, used, memory, missing=missing, **written) as parts:
            return Inspection(rows, profiles, used, assess(parts, **beside))
    whole = together(source, markers(missing), dialect)
    table = read_table(whole, query=query, missing=missing, trim=True, **written)
    profiles = profile(table)
    used = schema or _guessed(profiles)
    risk = assess(table, used, **beside) if used else None
    return Inspection(table.num_rows, profiles, used, risk)


def _is_large(source: Source, dialect: Dialect, memory: int) -> bool:
    try:
        return needs_streaming(source, Schema(quasi=column_names(source, dialect)), memory)
    except Exception:
        return False  # reading it says what is wrong


def _guessed(profiles: Sequence[ColumnProfile]) -> Schema | None:
    """The guessed schema; None when no column seems to be known to others."""
    found = any(column.role is Role.QUASI for column in profiles)
    return guess_schema(profiles) if found else None
