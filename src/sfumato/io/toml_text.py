"""Values as TOML text. Python reads TOML but does not write it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

from sfumato.errors import SchemaError

_SHORT = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
_WIDTH = 100


def toml_value(value: Any) -> str:
    """A text, number, truth value or date."""
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        # float() because subclasses (NumPy's) print their own names
        return repr(float(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    raise SchemaError(
        f"{value!r} ({type(value).__name__}) cannot be written to a schema file; use texts, "
        "numbers, truth values or dates"
    )


def toml_string(text: str) -> str:
    """A text in double quotes, on one line."""
    if re.search("[\ud800-\udfff]", text):
        raise SchemaError(f"{text!r} is not valid Unicode and cannot be written to a file")
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def toml_key(name: str) -> str:
    """A name as it stands left of the equals sign or in a table's header."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def toml_array(values: Iterable[Any], *, indent: int = 0) -> str:
    """A list: on one line if it fits beside ``indent`` characters, else one value per line."""
    items = [toml_value(value) for value in values]
    short = f"[{', '.join(items)}]"
    if indent + len(short) <= _WIDTH:
        return short
    return "[\n" + "".join(f"    {item},\n" for item in items) + "]"


def toml_comment(text: str) -> str:
    """A comment of one line. What is not printable would be an error, or would hide the rest."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return "# " + " ".join(printable.split())


def _escaped(letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"
