"""What was given where something else is expected, in words: never what a value holds.

The representation of a frame shows its first people, and an error may go to a log.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def given(value: Any) -> str:
    """A value in a few words."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return f"the text {str(value)!r}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value)
    home = kind.__module__.partition(".")[0].lstrip("_")
    if home in ("builtins", "sfumato"):
        return f"a value of type {kind.__name__}"
    return f"a {kind.__name__} of {home}"
