"""How a file is read: whole, part by part, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from sfumato.errors import ParameterError

Engine: TypeAlias = Literal["auto", "memory", "stream"]
Cluster: TypeAlias = Literal["dask", "spark"]
CLUSTERS: tuple[str, ...] = get_args(Cluster)
_ADDRESSES = {"dask": "scheduler", "spark": "master"}  # what they call it


def require_engine(engine: str, memory_limit: int | None = None, more: Sequence[str] = ()) -> None:
    """Raise unless there is such a way to read, and it can keep to a limit if there is one."""
    known = (*get_args(Engine), *more)
    if engine not in known:
        raise ParameterError(
            f"engine must be one of {', '.join(known)}, not {engine!r}", parameter="engine"
        )
    if engine == "memory" and memory_limit is not None:
        raise ParameterError(
            "a limit of memory is for files that are read part by part; the in-memory engine takes "
            'what it needs: leave the limit out, or use the engine "auto" or "stream"',
            parameter="memory_limit",
        )


def address_of(engine: str, scheduler: str | None, master: str | None) -> str | None:
    """Where the cluster of an engine is; raise if there is an address that nobody works at."""
    given = {"scheduler": scheduler, "master": master}
    for name, address in given.items():
        if address is not None and _ADDRESSES.get(engine) != name:
            raise ParameterError(
                f"the engine {engine!r} has no {name}; "
                f"{', '.join(f'{one} has a {of}' for one, of in _ADDRESSES.items())}",
                parameter=name,
            )
    return given.get(_ADDRESSES.get(engine, ""))
