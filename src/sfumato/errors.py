"""Everything sfumato raises on purpose, as one tree.

::

    SfumatoError
    ├── ParameterError     an argument out of its range            .parameter
    ├── SchemaError        a schema that contradicts itself        .column
    │                      or the table it is used on
    ├── DataError          a table that cannot be read or used     .source
    ├── QueryRefused       a question that cannot be answered      .clause .position
    ├── Infeasible         no partition can satisfy the model      .model .value .largest
    ├── PromiseBroken      published files that break a promise    .failures
    ├── ReleaseError       a folder that is not a whole release    .path
    │   └── OutputExists   a folder that is in the way             .path
    ├── StoreError         a database folder that cannot be used   .path
    │   └── LedgerError    a log that cannot be written now        .path
    ├── RemoteError        a server that gives no answer           .status .code
    │                                                              .hint .request_id
    └── MissingExtra       an optional library is not installed    .extra

Something that may be wrong but stops nothing is a SfumatoWarning.

A message says what failed, on which value, and what would work. These messages are for the
owner of the data; nothing here is meant to be sent to the public.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class SfumatoError(Exception):
    """Root of the tree: catch it to catch everything sfumato raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        """By what it holds: a worker's error must arrive, and its class wants names for that."""
        return _again, (type(self), self.args, self.__dict__)


class ParameterError(SfumatoError, ValueError):
    """An argument is outside the range in which it means something."""

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class SchemaError(SfumatoError, ValueError):
    """A schema contradicts itself or the table it is used on."""

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class DataError(SfumatoError, ValueError):
    """A table cannot be read, or holds something that cannot be anonymized."""

    def __init__(self, message: str, *, source: str | None = None) -> None:
        super().__init__(message)
        self.source = source


class QueryRefused(SfumatoError, ValueError):
    """A question is not understood, or cannot be answered from what is there.

    ``position`` is the place in the query's text, counted from 1; None for one made of objects.
    """

    def __init__(self, message: str, *, clause: str, position: int | None = None) -> None:
        where = "" if position is None else f" (at position {position})"
        super().__init__(f"{message}{where}")
        self.reason = message
        self.clause = clause
        self.position = position


class Infeasible(SfumatoError):
    """No partition of this table satisfies the model."""

    def __init__(
        self,
        message: str,
        *,
        model: object,
        value: object = None,
        largest: float | None = None,
    ) -> None:
        super().__init__(message)
        self.model = model
        self.value = value
        self.largest = largest


class PromiseBroken(SfumatoError):
    """Published files do not keep what their release.json promises."""

    def __init__(self, message: str, *, failures: Sequence[object]) -> None:
        super().__init__(message)
        self.failures = tuple(failures)


class ReleaseError(SfumatoError):
    """A folder is not a whole, readable release."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(message)
        self.path = path


class OutputExists(ReleaseError):
    """Something already stands where a release should be written."""


class StoreError(SfumatoError):
    """The folder of a statistical database is damaged, foreign, locked, or open to others."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(message)
        self.path = path


class LedgerError(StoreError):
    """The log of a database cannot be written: nothing was, and nothing may be answered."""


class RemoteError(SfumatoError):
    """A server gives no answer: out of reach, or for a reason that it tells.

    ``status`` is that of HTTP, 0 when there was no response at all; ``request_id`` is the number
    under which the server's owner finds the request.
    """

    def __init__(
        self, message: str, *, status: int, code: str, hint: str = "", request_id: str = ""
    ) -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.status = status
        self.code = code
        self.hint = hint
        self.request_id = request_id


class MissingExtra(SfumatoError, ImportError):
    """A feature needs an optional library that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional library: pip install 'sfumato[{extra}]'")
        self.extra = extra


class SfumatoWarning(UserWarning):
    """Something the owner should look at before publishing."""


def _again(kind: type[SfumatoError], args: tuple[object, ...], held: dict[str, object]) -> object:
    """An error that comes from another process."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(held)
    return error
