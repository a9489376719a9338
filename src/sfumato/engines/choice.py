"""How a file is read: whole, or part by part."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from sfumato.errors import ParameterError

Engine: TypeAlias = Literal["auto", "memory", "stream"]


def require_engine(engine: str, memory_limit: int | None = None) -> None:
    """Raise unless there is such a way to read, and it can keep to a limit if there is one."""
    if engine not in get_args(Engine):
        raise ParameterError(
            f"engine must be one of {', '.join(get_args(Engine))}, not {engine!r}",
            parameter="engine",
        )
    if engine == "memory" and memory_limit is not None:
        raise ParameterError(
            "a limit of memory is for files that are read part by part; the in-memory engine takes "
            'what it needs: leave the limit out, or use the engine "auto" or "stream"',
            parameter="memory_limit",
        )
