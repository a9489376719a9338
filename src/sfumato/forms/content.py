"""What a release shows, as one number: equal for the same rows in another order or file format."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Words
from sfumato.core.fingerprint import row_hashes, row_sum
from sfumato.forms.registry import Release, form_of
from sfumato.io.set_texts import set_texts


def content_digest(release: Release, key: bytes) -> str:
    """The number, made with a key of the owner's."""
    tables = form_of(release).content(release, lambda table: _hashes(table, key))
    sums = (row_sum(hashes, key) for hashes in tables)
    said = [release.kind, *(f"{one.rows} {one.first} {one.second}" for one in sums)]
    return hashlib.blake2b("\n".join(said).encode(), key=key, digest_size=16).hexdigest()


def _hashes(table: pa.Table, key: bytes) -> Words:
    if not table.num_columns:
        return np.zeros(table.num_rows, np.uint64)
    columns = {name: _plain(table.column(name)) for name in table.column_names}
    return row_hashes(columns, key)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return set_texts(array) if pa.types.is_list(array.type) else array
