"""How a file is read: whole, or part by part."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from sfumato.errors import ParameterError

Engine: TypeAlias = Literal["auto", "memory", "stream"]


def require_engine(engine: str) -> None:
    """Raise unless there is such a way to read."""
    if engine not in get_args(Engine):
        raise ParameterError(
            f"engine must be one of {', '.join(get_args(Engine))}, not {engine!r}",
            parameter="engine",
        )
