"""What the types of Arrow are called for whoever knows tables and no Arrow."""

from __future__ import annotations

_KINDS = (
    (("int", "uint"), "whole numbers"),
    (("float", "double", "halffloat", "decimal"), "numbers"),
    (("string", "large_string", "string_view"), "texts"),
    (("bool",), "true or false"),
    (("date",), "dates"),
    (("timestamp",), "dates with time"),
    (("time",), "times of day"),
    (("duration",), "durations"),
)


def in_words(kind: str) -> str:
    """``int64`` holds whole numbers; a type that has no word is called as it is.

    >>> in_words("date32[day]"), in_words("null")
    ('dates', 'null')
    """
    return next((word for starts, word in _KINDS if kind.startswith(starts)), kind)
