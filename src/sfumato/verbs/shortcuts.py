"""publish for the hurried: a table that is not read yet, and promises by their letters.

publish(table, algorithm, model)                              the clear form
publish(frame, k=5, l=3, quasi=[...], sensitive="disease")    the same, made on the way
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from sfumato.core.expected import given
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.engines.reading import read
from sfumato.errors import ParameterError
from sfumato.io.schema_files import as_schema
from sfumato.io.tables import Source
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import Model, all_of, as_model
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import LDiversity


class Shortcuts(TypedDict, total=False):
    """What ``publish`` takes in place of a table that was read, and of a model."""

    schema: Schema | str | Path | None
    quasi: Sequence[str]
    sensitive: str | Sequence[str]
    identifiers: Sequence[str]
    insensitive: Sequence[str]
    k: int | None
    l: float | None
    t: float | None


def read_now(table: Source, schema: Schema | str | Path | None, **roles: Any) -> Microdata:
    """The table under its schema, which is given whole or as roles; one that was read as it is."""
    named = {role: names for role, names in roles.items() if len(names)}
    if isinstance(table, Microdata):
        if schema is not None or named:
            said = "schema" if schema is not None else next(iter(named))
            raise ParameterError(
                f"the table was read with its roles; leave {said} out", parameter=said
            )
        return table
    if schema is not None and named:
        raise ParameterError(
            f"{next(iter(named))} and a schema both say which role a column has; keep one",
            parameter=next(iter(named)),
        )
    if schema is not None:
        return read(table, as_schema(schema))
    if "quasi" not in named:
        raise ParameterError(
            f"table is {given(table)}, and nothing says what role a column has; read it first, "
            "sf.read(table, schema), or name the roles here: quasi=[...], sensitive=..., or "
            "schema=...",
            parameter="table",
        )
    return read(table, Schema(**named))


def model_now(
    model: Model | Sequence[Model] | None, k: int | None, l: float | None, t: float | None
) -> Model:
    """The model, which is given itself or by letters."""
    asked = {"k": (KAnonymity, k), "l": (LDiversity, l), "t": (TCloseness, t)}
    letters = {name: make(value) for name, (make, value) in asked.items() if value is not None}
    if model is not None and letters:
        raise ParameterError(
            f"{', '.join(letters)} and a model both say what is promised; put "
            f"{' & '.join(f'sf.{type(one).__name__}(...)' for one in letters.values())} into the "
            "model, or leave the model out",
            parameter=next(iter(letters)),
        )
    if model is None and not letters:
        raise ParameterError(
            "say what to promise: a model such as sf.KAnonymity(10), or k=10, l=3, t=0.2",
            parameter="model",
        )
    return as_model(model) if model is not None else all_of(list(letters.values()))
