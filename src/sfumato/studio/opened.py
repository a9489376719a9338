"""The table on the desk: read once, and encoded column by column when something is said anew."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sfumato.audits.column_counts import is_usable
from sfumato.audits.inspection import ColumnProfile, profile
from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata, encoded
from sfumato.core.schema import Role, Schema
from sfumato.engines.memory import memory_or_half
from sfumato.engines.rows import column_names, needs_streaming, together
from sfumato.errors import DataError
from sfumato.io.dialects import Dialect
from sfumato.io.other_files import WORKBOOKS
from sfumato.io.plain import plain_table
from sfumato.io.sources import files_of, is_files
from sfumato.io.tables import markers, read_table
from sfumato.io.workbook_sizes import takes_more
from sfumato.studio.draft import Draft

_KEPT = 3  # ways to read a column of which the codes are kept


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A table with its profiles. ``path`` is where it is read from, ``name`` what commands call it.

    ``reading`` is what was said about how the file is written.
    """

    path: str
    name: str
    uploaded: bool
    reading: Mapping[str, Any]
    rows: pa.Table = field(repr=False)
    profiles: tuple[ColumnProfile, ...]
    _codes: dict[Any, tuple[Attribute, Ints]] = field(default_factory=dict, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    @our_errors("opening a table")
    def of(cls, path: str, name: str, *, uploaded: bool, reading: Mapping[str, Any]) -> Opened:
        """Read a file of this machine, whole."""
        if not is_files(path):
            raise DataError(
                "the desk opens files of this machine; of an address or a database the commands "
                "do, such as sfumato inspect",
                source=path,
            )
        said = {part: one for part, one in reading.items() if part != "missing"}
        dialect, absent = Dialect.said(**said), markers(reading.get("missing", ()))
        _require_room(path, dialect)
        whole = together(path, absent, dialect)
        rows = plain_table(read_table(whole, missing=absent, trim=True, **said))
        return cls(path, name, uploaded, reading, rows, profile(rows))

    @property
    def draft(self) -> Draft:
        """The guessed roles."""
        return Draft({column.name: column.role for column in self.profiles})

    def can_play(self, name: str) -> bool:
        """Whether a column can have a role at all: lists and bytes cannot."""
        return is_usable(self.rows.column(name).type)

    def coded(self, draft: Draft, name: str) -> tuple[Attribute, Ints]:
        """The domain and the codes of a column; found once for each way to read it."""
        said = (draft.kinds, draft.orders, draft.bins, draft.trees)
        key = (name, *(part.get(name) for part in said))
        with self._turn:
            found = self._codes.get(key)
        if found is None:
            found = encoded(name, self.rows.column(name), draft.alone(name))
            with self._turn:
                for old in [one for one in self._codes if one[0] == name][: 1 - _KEPT]:
                    del self._codes[old]
                self._codes[key] = found
        return found

    def microdata(self, draft: Draft) -> Microdata:
        """The table under a draft, as ``sf.read`` has it."""
        schema: Schema = draft.schema
        names = (*draft.of_role(Role.QUASI), *draft.of_role(Role.SENSITIVE))
        found = {name: self.coded(draft, name) for name in names}
        return Microdata(
            schema,
            self.rows.num_rows,
            {name: attribute for name, (attribute, _) in found.items()},
            {name: codes for name, (_, codes) in found.items()},
            self.rows.select(list(schema.insensitive)),
        )


def _require_room(path: str, dialect: Dialect) -> None:
    _require_room_for_workbooks(path)
    try:
        large = needs_streaming(path, Schema(quasi=column_names(path, dialect)))
    except Exception:
        return  # reading it says what is wrong
    if large:
        raise DataError(
            f"{path} does not fit into memory, where the desk holds it; sfumato inspect and "
            "sfumato publish read such a file part by part",
            source=path,
        )


def _require_room_for_workbooks(path: str) -> None:
    """Asked first: even to tell the names of columns, such a file is read whole."""
    try:
        books = [file for file in files_of(path) if file.name.lower().endswith(WORKBOOKS)]
        large = any(takes_more(file, memory_or_half(None)) for file in books)
    except Exception:
        return  # reading it says what is wrong
    if large:
        raise DataError(
            f"{path} does not fit into memory, where workbooks are held; save the sheet as CSV or "
            "Parquet",
            source=path,
        )
