"""A source whose column names are known and whose rows are not loaded yet.

Every kind of source becomes an ``Opened``, so that a schema can be checked against the names
first, and identifiers are never loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from sfumato.core.foreign import is_memory, out_of_memory, said
from sfumato.errors import DataError, SfumatoError

Load = Callable[[Sequence[str]], pa.Table]


@dataclass(frozen=True, slots=True)
class Opened:
    """``load`` gives the rows of the named columns; ``label`` is the source in error messages."""

    label: str
    names: tuple[str, ...]
    load: Load

    def __post_init__(self) -> None:
        """Refuse names that stand for two columns: which one is meant cannot be known."""
        for name, times in Counter(self.names).items():
            if times > 1:
                raise DataError(
                    f"{self.label} has {times} columns named {name!r}; rename all but one",
                    source=self.label,
                )


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Report what Arrow or the operating system say about a source in one line that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, SfumatoError):
            raise
        if is_memory(error):
            raise out_of_memory(f"reading {label}") from error
        raise DataError(f"cannot read {label}: {one_line(error)}", source=label) from error


def one_line(error: BaseException) -> str:
    """The error's message without its line breaks."""
    return said(error)
