"""What releases of all forms share: how they are written, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from sfumato.core.askable import Askable
from sfumato.core.frames import pandas_frame, polars_frame
from sfumato.core.html import card, grid, share_bar
from sfumato.errors import ParameterError
from sfumato.forms.file_names import stems_of
from sfumato.forms.files import FileFormat, Pieces, write_release
from sfumato.forms.manifest import Manifest
from sfumato.forms.remembering import remembered
from sfumato.io.writing import printable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


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

    def to_pandas(self, about: str | None = None) -> pd.DataFrame:
        """A published table as a frame of pandas, one line per row, whose sets are texts such as
        ``{cook, nurse}``: as lists they could not be grouped by.

        It is the first table, or the one that is ``about`` a sensitive column.
        """
        return pandas_frame(self._readable(about))

    def to_polars(self, about: str | None = None) -> pl.DataFrame:
        """The same as a frame of polars."""
        return polars_frame(self._readable(about))

    def _readable(self, about: str | None) -> pa.Table:
        if about is None:
            first = self._first("csv")
            return printable(first) if isinstance(first, pa.Table) else pa.concat_tables(first)
        if about not in self._by_column:
            known = ", ".join(self._by_column) or "no column"
            raise ParameterError(
                f"no table is about {about!r}; there is one for {known}, and the first for None",
                parameter="about",
            )
        return printable(self._by_column[about])

    def _repr_html_(self) -> str:
        """How each column appears and what it lost; no row, which would be one more release."""
        lost = self.metrics.get("ncp_by_attribute", {})
        rows = [
            (one.name, one.role, one.form, *_loss(lost.get(one.name)))
            for one in self.manifest.columns
        ]
        return card(repr(self), grid(("column", "role", "shown as", "lost", ""), rows, left=3))

    def __repr__(self) -> str:
        """Sizes and promise."""
        stated = self.manifest
        promised = " & ".join(str(part.get("model")) for part in stated.promise)
        name = type(self).__name__
        return f"{name}({stated.rows:,} rows in {stated.groups:,} groups, {promised})"


def _loss(share: float | None) -> tuple[str, str]:
    return ("", "") if share is None else (f"{share:.1%}", share_bar(share))
