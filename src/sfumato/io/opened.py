"""A source whose column names are known and whose rows are not loaded yet.

Every kind of source becomes an ``Opened``, so that a schema can be checked against the names
first, and identifiers are never loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from sfumato.errors import DataError

Load = Callable[[Sequence[str]], pa.Table]


@dataclass(frozen=True, slots=True)
class Opened:
    """``load`` gives the rows of the named columns; ``label`` is the source in error messages."""

    label: str
    names: tuple[str, ...]
    load: Load

    def __post_init__(self) -> None:
        """Refuse names that stand for two columns: which one is meant cannot be known."""
        if len(set(self.names)) == len(self.names):
            return
        for name in self.names:
            if self.names.count(name) > 1:
                raise DataError(
                    f"{self.label} has {self.names.count(name)} columns named {name!r}; "
                    "rename all but one",
                    source=self.label,
                )


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Report what Arrow or the operating system say about a source in one line that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {label}: {one_line(error)}", source=label) from error


def one_line(error: BaseException) -> str:
    """The error's message without its line breaks."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
