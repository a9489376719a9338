"""Parts of a release that are read alone, each a small release: for answers that add up over them.

A slice is two numbers, so it can be sent to whoever sees the folder. Of a generalized table it is
some row groups of its file: every row counts for itself. Of tables that share groups it is a run of
group numbers, since what is known of a group is known of all its rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines.splits import runs
from sfumato.errors import ParameterError
from sfumato.forms.files import Files
from sfumato.forms.manifest import Manifest
from sfumato.io.opened import reading

_NO_END = 2**63 - 1


class Slice(NamedTuple):
    """From ``low`` up to ``high``, which is not part of it."""

    low: int
    high: int


NOTHING = Slice(0, 0)


def _as_it_is(release: Any, _shown: Mapping[str, pa.Array]) -> Any:
    return release


class Slices(NamedTuple):
    """How a form is cut into slices of about so many rows, and the named columns of one read.

    Where the values that a column shows say what is possible elsewhere, ``shown`` finds those of a
    slice, and ``knowing`` is a slice that knows of all of them.
    """

    cut: Callable[[Files, int], list[Slice]]
    read: Callable[[Files, Slice, Collection[str]], Any]
    shown: Callable[[Any, str], pa.Array] | None = None
    knowing: Callable[[Any, Mapping[str, pa.Array]], Any] = _as_it_is


def narrowed(manifest: Manifest, names: Collection[str]) -> Manifest:
    """What a release with these columns alone would say; rows that were left out are in none."""
    kept = tuple(column for column in manifest.columns if column.name in names)
    return replace(manifest, columns=kept, suppressed=0)


def by_row_groups(files: Files, stem: str, rows: int) -> list[Slice]:
    """Row groups of the one file, together until they have so many rows."""
    with _opened(files, stem) as file:
        sizes = _sizes(file)
    return [Slice(low, high) for low, high, n in runs(sizes, rows) if n]


def by_groups(files: Files, stem: str, column: str, rows: int) -> list[Slice]:
    """Runs of group numbers: each begins with the least number of some row group."""
    with _opened(files, stem) as file:
        ends, sizes = _ends(file, column), _sizes(file)
    if any(end is None for end in ends):
        return [Slice(0, _NO_END)]
    starts = [ends[low][0] for low, _, n in runs(sizes, rows) if n]
    bounds = [0, *sorted(set(starts) - {min(starts, default=0)}), _NO_END]
    return [Slice(low, high) for low, high in pairwise(bounds)]


def read_row_groups(files: Files, stem: str, part: Slice, columns: Sequence[str]) -> pa.Table:
    """Columns of some row groups, as they are stored; texts may come as dictionaries."""
    with _opened(files, stem, columns) as file:
        return file.read_row_groups(range(part.low, part.high), columns, use_threads=False)


def read_groups(
    files: Files, stem: str, part: Slice, columns: Sequence[str], column: str
) -> pa.Table:
    """Columns of the rows whose group number, in a column among them, lies in the slice."""
    with _opened(files, stem) as file:
        places = [
            place
            for place, ends in enumerate(_ends(file, column))
            if ends is None or (ends[0] < part.high and ends[1] >= part.low)
        ]
        found = file.read_row_groups(places, columns, use_threads=False)
    numbers = found.column(column).to_numpy()
    inside = (numbers >= part.low) & (numbers < part.high)
    return files.typed(stem, found if inside.all() else found.filter(pa.array(inside)))


def _opened(files: Files, stem: str, coded: Sequence[str] = ()) -> pq.ParquetFile:
    path = _parquet(files, stem)
    with reading(str(path)):
        if not coded:
            return pq.ParquetFile(path)
        return pq.ParquetFile(path, read_dictionary=[*_texts(path, coded)])


def _parquet(files: Files, stem: str) -> Path:
    for path in files.paths(stem)[:1]:
        if path.suffix == ".parquet":
            return path
    raise ParameterError(
        f"{files.folder} holds no {stem}.parquet, and only Parquet files are asked piece by piece; "
        "load the release into memory, or publish it as Parquet",
        parameter="engine",
    )


def _texts(path: Path, names: Collection[str]) -> Iterator[str]:
    """Columns of texts, each of which is decoded once."""
    for field in pq.read_schema(path):
        if field.name in names and pa.types.is_string(field.type):
            yield field.name


def _sizes(file: pq.ParquetFile) -> list[int]:
    stored = file.metadata
    return [stored.row_group(place).num_rows for place in range(stored.num_row_groups)]


def _ends(file: pq.ParquetFile, column: str) -> list[Any]:
    """Least and greatest value of a column in every row group; None where that is not stored."""
    place = file.schema_arrow.get_field_index(column)
    found = (
        file.metadata.row_group(part).column(place).statistics
        for part in range(file.metadata.num_row_groups)
    )
    return [(one.min, one.max) if one is not None and one.has_min_max else None for one in found]
