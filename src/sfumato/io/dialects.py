"""How a file of delimited texts is written, as far as its reader says so."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from sfumato.errors import ParameterError

POINT, _COMMA = ".", ","


class Written(TypedDict, total=False):
    """What a reader may say; see ``read``."""

    names: Sequence[str] | None
    header: bool | None
    encoding: str | None
    decimal: str
    day_first: bool


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is said about a file.

    ``names`` are the names of the columns; without ``header`` the file then has no header line.
    ``header`` True: the line is the header, whatever it looks like; given names replace its own.
    """

    names: tuple[str, ...] | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str = POINT
    day_first: bool = False

    @classmethod
    def said(
        cls,
        names: Sequence[str] | None = None,
        header: bool | None = None,
        encoding: str | None = None,
        decimal: str = POINT,
        day_first: bool = False,
    ) -> Dialect:
        """Check what was given to ``read``."""
        if isinstance(names, str):
            raise ParameterError(
                f"names must be a list, one name per column, not {names!r}", parameter="names"
            )
        if header is False and names is None:
            raise ParameterError(
                "a file without a header line needs names=[...] (--names) for its columns",
                parameter="header",
            )
        if names is not None and not all(map(str.strip, names)):
            raise ParameterError("names must not be empty", parameter="names")
        if decimal not in (POINT, _COMMA):
            raise ParameterError(f'decimal is "." or ",", not {decimal!r}', parameter="decimal")
        if encoding is not None:
            _require_encoding(encoding)
        stripped = None if names is None else tuple(one.strip() for one in names)
        return cls(stripped, header, encoding, decimal, day_first)

    @property
    def is_row(self) -> bool:
        """Whether the first line is a row."""
        return self.names is not None and self.header is not True

    @property
    def silent(self) -> bool:
        """Whether nothing was said about the first line."""
        return self.names is None and self.header is None

    @property
    def codec(self) -> str:
        """The encoding, without the mark that some texts begin with."""
        return self.encoding or "utf-8-sig"

    def require_unused(self, label: str) -> None:
        """Raise if something is said that is of no effect on this source."""
        said = {
            "names": self.names is not None,
            "encoding": self.encoding is not None,
            "decimal": self.decimal != POINT,
            "day_first": self.day_first,
        }
        for name, given in said.items():
            if given:
                raise ParameterError(
                    f"{name} is for CSV files; {label} says itself how it is written",
                    parameter=name,
                )


def _require_encoding(encoding: str) -> None:
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise ParameterError(
            f"no encoding is called {encoding!r}; try utf-8, windows-1252, latin-1 or utf-16",
            parameter="encoding",
        )
