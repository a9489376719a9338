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
    │   └── LedgerError    a ledger that cannot be written now        .path
    ├── MachineError       files or threads that the system        .doing
    │   │                  does not give
    │   └── OutOfMemory    memory that it does not give            .doing
    ├── RemoteError        a server that gives no answer           .status .code
    │                                                              .hint .request_id
    └── MissingExtra       an optional library is not installed    .extra

Something that may be wrong but stops nothing is a SfumatoWarning.

A message says what failed, on which value, and what would work. It is shorter than a kilobyte:
a value may be a text of any length, a table may have any number of columns, and of both the
beginning and the end are shown. The culprits are stored whole. These messages are for the owner of
the data; nothing here is meant to be sent to the public.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

_MOST = 900  # bytes of a message
_CUT = " [...] "


class SfumatoError(Exception):
    """Root of the tree: catch it to catch everything sfumato raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))

    def __reduce__(self) -> tuple[object, ...]:
        """By what it holds: a worker's error must arrive, and its class wants names for that.

        A culprit that cannot travel, such as a model defined in a function, goes as its text: an
        error that does not arrive leaves a pool waiting for ever.
        """
        held = {name: _portable(value) for name, value in self.__dict__.items()}
        return _again, (_known(type(self)), tuple(map(_portable, self.args)), held)


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
        self.reason = shortened(message, _MOST - len(where))
        super().__init__(f"{self.reason}{where}")
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
    """The ledger of a database cannot be written: nothing was, and nothing may be answered."""


class MachineError(SfumatoError):
    """The system refuses something that the work needs: a file, a thread, room on a disk."""

    def __init__(self, message: str, *, doing: str) -> None:
        super().__init__(message)
        self.doing = doing


class OutOfMemory(MachineError):
    """There is less memory than the work needs. Nothing half-written is left."""


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

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


def shortened(text: str, most: int = _MOST) -> str:
    """A text of at most so many bytes: of a longer one the beginning and the end.

    What failed stands at the beginning of a message and what would work at its end; what is long
    is the value between.
    """
    if len(text) <= most and _size(text) <= most:
        return text
    room = most - len(_CUT)
    head, tail = text[: room * 2 // 3], text[-(room - room * 2 // 3) :]
    while _size(head) > room * 2 // 3:
        head = head[:-1]
    while _size(tail) > room - room * 2 // 3:
        tail = tail[1:]
    return f"{head}{_CUT}{tail}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _portable(value: object) -> object:
    """The value, or the parts of a list of values, as far as another process can have them."""
    if isinstance(value, tuple | list) and not _travels(value):
        return tuple(map(_portable, value))
    return value if _travels(value) else _told(value)


def _travels(value: object) -> bool:
    """Whether a value comes back; some can be sent and then not be read."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return True


def _told(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _known(kind: type[SfumatoError]) -> type[SfumatoError]:
    """The class, or the nearest above it that another process knows."""
    return next(one for one in kind.__mro__ if issubclass(one, SfumatoError) and _travels(one))


def _again(kind: type[SfumatoError], args: tuple[object, ...], held: dict[str, object]) -> object:
    """An error that comes from another process."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(held)
    return error
