"""What a release shows, as one number: equal for the same rows in another order or file format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Words
from sfumato.core.fingerprint import RowSum, row_hashes, row_sum
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.load import Release
from sfumato.forms.permuted.release import PermutedTable
from sfumato.io.set_texts import set_texts


def content_digest(release: Release, key: bytes) -> str:
    """The number, made with a key of the owner's."""
    said = [release.kind, *(f"{one.rows} {one.first} {one.second}" for one in _sums(release, key))]
    return hashlib.blake2b("\n".join(said).encode(), key=key, digest_size=16).hexdigest()


def _sums(release: Release, key: bytes) -> Iterator[RowSum]:
    """The rows of each table of the release."""
    if isinstance(release, GeneralizedTable):
        # groups stand once: sets that are repeated in every row are hashed once
        hashes = _hashes(release.groups, key)[release.group_of_row]
        others = _hashes(release.rows, key) if release.rows.num_columns else np.uint64(0)
        yield row_sum(hashes + others, key)
    elif isinstance(release, JoinRelease):
        yield row_sum(_hashes(release.groups, key)[release.group_of_row], key)
        yield from _each(release.sis.values(), key)
    elif isinstance(release, AnatomizedTables):
        yield from _each([release.qit, *release.sts.values()], key)
    elif isinstance(release, PermutedTable):
        yield from _each([release.table], key)
    else:
        yield from _each([release.table, *release.domains.values()], key)


def _each(tables: Iterable[pa.Table], key: bytes) -> Iterator[RowSum]:
    for table in tables:
        yield row_sum(_hashes(table, key), key)


def _hashes(table: pa.Table, key: bytes) -> Words:
    if not table.num_columns:
        return np.zeros(table.num_rows, np.uint64)
    columns = {name: _plain(table.column(name)) for name in table.column_names}
    return row_hashes(columns, key)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return set_texts(array) if pa.types.is_list(array.type) else array
