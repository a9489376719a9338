"""Tables that are read whole: lines of JSON, Excel workbooks, files of Stata, SPSS and SAS.

A code with a label (1 = "female") is read as its label, as its owner sees it; a code without one in
such a column as the text of its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from sfumato.errors import DataError, MissingExtra, SfumatoError
from sfumato.io.compression import open_stream
from sfumato.io.csv_files import with_blocks
from sfumato.io.hints import did_you_mean
from sfumato.io.opened import Opened, one_line, reading

JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_EXTRA = "formats"
_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
STATISTICS = tuple(_READERS)


def open_json_lines(path: Path) -> Opened:
    """One object per line; a name that a line lacks is missing there."""

    def parsed(size: int) -> pa.Table:
        options = pyarrow.json.ReadOptions(block_size=size)
        with open_stream(path) as stream:
            return pyarrow.json.read_json(stream, read_options=options)

    with reading(str(path)):
        table = with_blocks(parsed)
    return _whole(path, table)


def open_workbook(path: Path, sheet: str | None = None) -> Opened:
    """A sheet of a workbook, the first row of which are names; needed where there are several."""
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra(f"reading {path.suffix} files", _EXTRA) from None
    with _reading(path):
        book = fastexcel.read_excel(path)
    names = list(book.sheet_names)
    if sheet is None and len(names) > 1:
        raise DataError(
            f"{path} has {len(names)} sheets, {', '.join(names)}; name one as the query: "
            f"query={names[0]!r} (--query)",
            source=str(path),
        )
    with _reading(path):
        table = pa.table(book.load_sheet(names[0] if sheet is None else sheet).to_arrow())
    return _whole(path, table)


def sheet_of(path: Path, query: str | None) -> str | None:
    """The sheet that a query names, if it is no statement."""
    if query is None or not path.name.lower().endswith(WORKBOOKS):
        return None
    if query.strip().upper().startswith(("SELECT ", "WITH ", "FROM ")):
        return None
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra(f"reading {path.suffix} files", _EXTRA) from None
    with _reading(path):
        names = list(fastexcel.read_excel(path).sheet_names)
    if query not in names and query != "t":
        hint = did_you_mean(query, names) or f"it has {', '.join(names)}"
        raise DataError(f"{path} has no sheet {query!r}; {hint}", source=str(path))
    return query if query in names else None


def open_statistics(path: Path) -> Opened:
    """A file of a statistics package; only the columns that are asked for are read."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra(f"reading {path.suffix} files", _EXTRA) from None
    read: Callable[..., Any] = getattr(pyreadstat, _READERS[path.suffix.lower()])
    with _reading(path):
        _, found = read(str(path), metadataonly=True, output_format="dict")
    names = tuple(found.column_names)

    def load(columns: Sequence[str]) -> pa.Table:
        with _reading(path):
            values, about = read(str(path), usecols=list(columns), output_format="dict")
            labels = about.variable_value_labels
            return pa.table({name: _labelled(values[name], labels.get(name)) for name in columns})

    return Opened(str(path), names, load)


def _labelled(values: Sequence[Any], labels: Mapping[Any, str] | None) -> pa.Array:
    found = pa.array(values, from_pandas=True)
    if not labels:
        return _whole_numbers(_known(found))
    encoded = found.dictionary_encode()
    texts = [labels.get(code, _written(code)) for code in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _written(code: Any) -> str:
    return f"{code:g}" if isinstance(code, float) else str(code)


def _known(column: pa.Array) -> pa.Array:
    """A text without letters is how these packages write that there is none."""
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _whole_numbers(column: pa.Array) -> pa.Array:
    """Numbers without fractions as what they are: these packages know doubles only."""
    if not pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def _whole(path: Path, table: pa.Table) -> Opened:
    def load(columns: Sequence[str]) -> pa.Table:
        return table.select(list(columns))

    return Opened(str(path), tuple(table.column_names), load)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever a library says about a file, which may be any file, as ours."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        raise DataError(f"cannot read {path}: {one_line(error)}", source=str(path)) from error
