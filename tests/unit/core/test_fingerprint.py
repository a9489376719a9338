"""Fingerprints: the same for the same rows, whatever their order and form, and for no others."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core._siphash import siphash
from sfumato.core.fingerprint import RowSum, fingerprint, row_hashes, row_sum, stated
from tests.support.strategies import tables
from tests.support.tables import microdata

KEY = bytes(range(32))
COLUMNS: dict[str, Any] = {
    "age": [30, 30, None, 41],
    "town": ["Ulm", "Bonn", "Ulm", None],
    "ill": ["flu", "gout", "flu", "cold"],
}


def of(columns: dict[str, Any], **described: Any) -> str:
    return fingerprint(microdata(columns, sensitive=["ill"], **described), KEY)


# The first and the last of the test vectors that the authors publish, and two between.
@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 0x726FDB47DD0E0E31),
        (7, 0xAB0200F58B01D137),
        (8, 0x93F5F5799A932462),
        (15, 0xA129CA6149BE45E5),
    ],
)
def test_siphash_is_that_of_its_authors(length: int, expected: int) -> None:
    key = np.frombuffer(bytes(range(16)), "<u8").astype(np.uint64)
    data = np.frombuffer(bytes([99, *range(length)]), np.uint8)
    assert int(siphash(data, np.array([1, 1 + length]), key)[0]) == expected


def test_order_and_form_do_not_matter() -> None:
    expected = of(COLUMNS)
    order = [2, 0, 3, 1]
    assert of({name: [cells[i] for i in order] for name, cells in COLUMNS.items()}) == expected
    assert of(dict(reversed(COLUMNS.items()))) == expected
    assert of({**COLUMNS, "age": pa.array(COLUMNS["age"], pa.int8())}) == expected
    assert of({**COLUMNS, "age": [30.0, 30.0, None, 41.0]}) == expected
    assert of({**COLUMNS, "town": pa.array(COLUMNS["town"]).dictionary_encode()}) == expected
    # a domain that holds more than the rows do
    assert of(COLUMNS, orders={"town": ["Trier", "Ulm", "Bonn"]}) == expected
    days = [dt.date(2020, 1, n + 1) for n in range(4)]
    times = [dt.datetime(2020, 1, n + 1) for n in range(4)]
    assert of({**COLUMNS, "age": days}) == of({**COLUMNS, "age": times})


@pytest.mark.parametrize(
    "changed",
    [
        {"age": [30, 30, None, 42]},
        {"age": [30, 30, 30, 41]},
        {"town": ["Bonn", "Ulm", "Ulm", None]},  # the same values, in other rows
        {"ill": ["flu", "gout", "flu", "flu"]},
        {"age": [30, 30, None, 41, 41]},
    ],
)
def test_other_rows_have_another(changed: dict[str, Any]) -> None:
    columns = {**COLUMNS, **changed}
    longest = max(map(len, columns.values()))
    whole = {name: [*cells, *cells[-1:]][:longest] for name, cells in columns.items()}
    assert of(whole) != of(COLUMNS)


def test_keys_roles_and_names_count() -> None:
    table = microdata(COLUMNS, sensitive=["ill"])
    assert fingerprint(table, KEY) != fingerprint(table, bytes(32))
    assert fingerprint(microdata(COLUMNS, sensitive=["town"]), KEY) != of(COLUMNS)
    renamed = {"ages" if name == "age" else name: cells for name, cells in COLUMNS.items()}
    assert of(renamed) != of(COLUMNS)
    swapped = {**COLUMNS, "age": COLUMNS["town"], "town": COLUMNS["age"]}
    assert of(swapped) != of(COLUMNS)
    assert of({**COLUMNS, "town": ["Ulm", "Bonn", "Ulm", None]}) != of(
        {**COLUMNS, "town": [None, "Bonn", None, "Ulm"]}
    )


@pytest.mark.slow
@given(tables(max_rows=20), st.integers(0, 20))
def test_parts_add_up(table: sf.Microdata, cut: int) -> None:
    columns = {name: a.decode(table.codes[name]) for name, a in table.attributes.items()}
    total = RowSum()
    for part in (slice(0, cut), slice(cut, None)):
        rows = {name: column[part] for name, column in columns.items()}
        if len(next(iter(rows.values()))):
            total += row_sum(row_hashes(rows, KEY), KEY)
    assert stated(total, table.schema, KEY) == fingerprint(table, KEY)


def test_a_row_that_is_there_twice_counts_twice() -> None:
    # an exclusive or would forget pairs
    twice = {name: [*cells, cells[0], cells[0]] for name, cells in COLUMNS.items()}
    assert of(twice) != of(COLUMNS)
