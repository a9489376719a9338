"""What releases of all forms share: how they are written, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.core.askable import Askable
from sfumato.forms.file_names import stems_of
from sfumato.forms.files import FileFormat, Pieces, write_release
from sfumato.forms.manifest import Manifest
from sfumato.forms.remembering import remembered


class Published(Askable):
    """Tables that the public sees, with the manifest that explains them.

    There is a first table, in the file ``stem``; forms that say more of single columns have a table
    for each, whose files begin with ``column_stem``. ``files`` are the names of the latter, if they
    are not the usual ones.
    """

    __slots__ = ()

    kind: ClassVar[str]
    stem: ClassVar[str]
    column_stem: ClassVar[str] = ""
    ascending: ClassVar[str | None] = None
    """A column of all tables whose numbers never fall, which files store in less space."""

    manifest: Manifest
    files: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """What is held in memory: the first table, and those of single columns."""
        raise NotImplementedError

    @property
    def _by_column(self) -> Mapping[str, pa.Table]:
        """The tables that are about one column each."""
        return {}

    def _first(self, format: FileFormat) -> pa.Table | Pieces:  # noqa: ARG002
        """The first table as it is written, whole or piece by piece."""
        return self.tables[0]

    @property
    def stems(self) -> tuple[str, ...]:
        """Names of its tables' files, without the format."""
        return (self.stem, *(self.files or stems_of(self.column_stem, list(self._by_column))))

    @property
    def metrics(self) -> dict[str, Any]:
        """What was lost, over all published lines."""
        return self.manifest.metrics

    @remembered
    def write(
        self,
        path: str | Path,
        *,
        force: bool = False,
        format: FileFormat = "parquet",
        experiment: bool = False,
    ) -> Path:
        """Write a release folder, whole or not at all; see ``write_release``."""
        stems = (self.stem, *stems_of(self.column_stem, list(self._by_column)))
        tables = (self._first(format), *self._by_column.values())
        return write_release(
            path,
            dict(zip(stems, tables, strict=True)),
            self.manifest,
            force=force,
            format=format,
            experiment=experiment,
            ascending=self.ascending,
        )

    def __repr__(self) -> str:
        """Sizes and promise."""
        stated = self.manifest
        promised = " & ".join(str(part.get("model")) for part in stated.promise)
        name = type(self).__name__
        return f"{name}({stated.rows:,} rows in {stated.groups:,} groups, {promised})"
