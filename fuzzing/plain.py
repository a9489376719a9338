"""Cases as JSON and back, by the types that their fields have."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Union, get_args, get_origin, get_type_hints


def to_plain(case: Any) -> Any:
    """A case as dictionaries and lists."""
    return dataclasses.asdict(case)


def from_plain(kind: Any, stated: Any) -> Any:
    """The case that such dictionaries and lists state."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{name: from_plain(hints[name], value) for name, value in stated.items()})
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        if parts[-1] is Ellipsis:
            return tuple(from_plain(parts[0], value) for value in stated)
        return tuple(from_plain(part, value) for part, value in zip(parts, stated, strict=True))
    if get_origin(kind) in (Union, types.UnionType):
        return None if stated is None else from_plain(get_args(kind)[0], stated)
    return stated
