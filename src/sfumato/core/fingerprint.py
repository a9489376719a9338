"""Whether two tables hold the same rows, told by numbers that tell nothing else.

Every value is hashed with a secret key and the name of its column; a row's number is made of the
sum of its values' hashes, and a table's of the sum of its rows' numbers. So neither the order of
rows nor that of columns matters, parts of a table add up, and a number counts as itself however a
file stores it (37, 37.0, int8 or text).

A fingerprint is only as good as the secrecy of the key: anybody who has it can try tables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._siphash import siphash
from sfumato.core.arrays import Counts, Words
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema

KEY_BYTES = 32
PUBLIC_KEY = b"a checksum keeps no secret"
_WORD = 2**64
_PART = 2**20  # rows: sums of parts add up, and words are wider than codes


@dataclass(frozen=True, slots=True)
class RowSum:
    """How many rows, and the two sums of their numbers; those of parts add up."""

    rows: int = 0
    first: int = 0
    second: int = 0

    def __add__(self, other: RowSum) -> RowSum:
        return RowSum(
            self.rows + other.rows,
            (self.first + other.first) % _WORD,
            (self.second + other.second) % _WORD,
        )


def fingerprint(table: Microdata, key: bytes) -> str:
    """The fingerprint of a table's quasi-identifiers and sensitive values."""
    return stated(table_sum(table, DomainHashes.of(table.attributes, key)), table.schema, key)


@dataclass(frozen=True, slots=True, eq=False)
class DomainHashes:
    """The hashes of every attribute's values under a key, a missing one last."""

    key: bytes
    of_codes: Mapping[str, Words]

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute], key: bytes) -> DomainHashes:
        """Hash each value once, however often it occurs."""
        nulls = {name: pa.nulls(1, one.values.type) for name, one in attributes.items()}
        domains = {
            name: pa.concat_arrays([one.values, nulls[name]]) for name, one in attributes.items()
        }
        hashes = {name: value_hashes(name, domain, key) for name, domain in domains.items()}
        return cls(key, hashes)


def table_sum(table: Microdata, hashes: DomainHashes, weights: Counts | None = None) -> RowSum:
    """The sums over the rows of a table, or over some of them, whose domains are the table's;
    with ``weights`` each row is there so many times.
    """
    found = RowSum()
    for low in range(0, max(1, table.n_rows), _PART):
        part = slice(low, low + _PART)
        total = np.zeros(len(range(table.n_rows)[part]), np.uint64)
        for name, of_codes in hashes.of_codes.items():
            total += of_codes[table.codes[name][part]]
        found += row_sum(total, hashes.key, None if weights is None else weights[part])
    return found


def digest(table: Microdata, weights: Counts | None = None) -> bytes:
    """A checksum of a table's rows, to bind chance to; no identifier is in it.

    Insensitive columns do not count: they are published as they are.
    """
    hashes = DomainHashes.of(table.attributes, PUBLIC_KEY)
    return rows_digest(table_sum(table, hashes, weights), table.schema)


def rows_digest(rows: RowSum, schema: Schema) -> bytes:
    """The checksum of rows that were summed up with the public key."""
    return stated(rows, schema, PUBLIC_KEY).encode()


def stated(rows: RowSum, schema: Schema, key: bytes) -> str:
    """The fingerprint of rows under the roles of their columns."""
    roles = {"quasi": sorted(schema.quasi), "sensitive": sorted(schema.sensitive)}
    said = json.dumps([roles, rows.rows, rows.first, rows.second])
    return hashlib.blake2b(said.encode(), key=key, digest_size=16).hexdigest()


def row_hashes(columns: Mapping[str, pa.Array | pa.ChunkedArray], key: bytes) -> Words:
    """For every row, the sum of its values' hashes; at least one column."""
    total: Words | None = None
    for name, column in columns.items():
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        coded = array.dictionary_encode(null_encoding="encode")
        found = value_hashes(name, coded.dictionary, key)[coded.indices.to_numpy()]
        total = found if total is None else total + found
    assert total is not None
    return total


def row_sum(hashes: Words, key: bytes, weights: Counts | None = None) -> RowSum:
    """The sums of rows, given the sums of their values, and how often each is there."""
    words = np.frombuffer(hashlib.blake2b(b"rows", key=key, digest_size=16).digest(), "<u8")
    times = np.uint64(1) if weights is None else weights.astype(np.uint64)
    first, second = (int((_mixed(hashes, word) * times).sum(dtype=np.uint64)) for word in words)
    return RowSum(len(hashes) if weights is None else int(weights.sum()), first, second)


def value_hashes(name: str, values: pa.Array, key: bytes) -> Words:
    """The hash of every value of a column; a null is a value like others."""
    secret = hashlib.blake2b(name.encode(), key=key, digest_size=16).digest()
    # a letter in front tells the empty text from nothing
    texts = pc.binary_join_element_wise("v", _texts(values), "").fill_null("n")
    return text_hashes(texts, np.frombuffer(secret, "<u8").astype(np.uint64))


def text_hashes(texts: pa.Array, key: Words) -> Words:
    """The hash of every text under a key of two words."""
    array = texts.cast(pa.large_string())
    _, starts, data = array.buffers()
    places = np.frombuffer(starts, np.int64)[array.offset : array.offset + len(array) + 1]
    return siphash(np.frombuffer(data or b"", np.uint8), places, key)


def _texts(values: pa.Array) -> pa.Array:
    """Values as texts that do not depend on how a file stores them."""
    if pa.types.is_string(values.type):
        texts = values
    elif pa.types.is_nested(values.type) or pa.types.is_interval(values.type):
        texts = pa.array([None if one is None else str(one) for one in values.to_pylist()])
    else:
        texts = values.cast(pa.string())
    # 37.0 is 37, and midnight is the day
    texts = pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0*$", r"\1")
    return pc.replace_substring_regex(texts, r"^([0-9-]{10})[ T]00:00:00(\.0*)?$", r"\1")


def _mixed(hashes: Words, secret: np.uint64) -> Words:
    """Numbers of rows: without mixing, sums would only tell how often each value occurs."""
    mixed: Words = hashes ^ secret
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(33)
    return mixed
