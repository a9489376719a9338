"""Which rows a change is about: the database has no identifiers, so rows are told by their values.

A row that is deleted and inserted in one change stays where it is: a second signature beside the
first would leave only the values that are in both. A row to delete is looked for among those that
wait first, as nobody was told of them: a twin that left and another that came would look to others
like somebody who left and returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows, rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts, Flags, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates.domains import codes_in


class Moves(NamedTuple):
    """Places that rows leave; the numbers of those that wait and go, and of those that come."""

    gone: Counts
    withdrawn: Counts
    came: Counts


def moves(
    responder: Responder,
    waiting: Microdata,
    inserted: Microdata,
    deleted: Microdata,
    randomness: Randomness,
) -> Moves:
    """What a change does, which equal row goes being random; or why it cannot be done."""
    places = candidates(responder, deleted)
    numbers = _numbered((responder.rows_at(places), waiting, inserted, deleted))
    size = max(int(one.max(initial=-1)) for one in numbers) + 1
    here, waits, comes, goes = (np.bincount(one, minlength=size) for one in numbers)
    lacking = int(np.maximum(goes - here - waits, 0).sum())
    if lacking:
        raise DataError(f"{lacking:,} of {deleted.n_rows:,} rows to delete are not in the database")
    stays = np.minimum(comes, goes)
    withdrawn = np.minimum(goes - stays, waits)
    wanted = (goes - stays - withdrawn, withdrawn, comes - stays)
    found = (_chosen(own, n, randomness) for own, n in zip(numbers[:3], wanted, strict=True))
    rows, *others = found
    return Moves(places[rows], *others)


def candidates(responder: Responder, deleted: Microdata) -> Counts:
    """The places of rows of which every value is some deleted row's: equal ones are among them."""
    stored = responder.stored
    found = stored.occupied() if deleted.n_rows else np.zeros(0, np.int64)
    for name, column in stored.codes.items():
        found = found[_marks(responder, deleted, name)[column[found]]]
    values = stored.values_at(found)
    return found[_marks(responder, deleted, responder.sensitive)[values]]


def _marks(responder: Responder, rows: Microdata, name: str) -> Flags:
    """Which codes of an attribute some row has."""
    marks = np.zeros(responder.attributes[name].size, np.bool_)
    codes = codes_in(responder.attributes[name], rows, name)
    marks[codes[codes >= 0]] = True
    return marks


def _chosen(numbers: Codes, wanted: Counts, randomness: Randomness) -> Counts:
    """So many rows of each number, random ones among equals, in their order."""
    members, starts = rows_by_group(numbers, len(wanted))
    shuffle_groups(members, starts, randomness.half_words(len(members)))
    rank = np.arange(len(members)) - np.repeat(starts[:-1], np.diff(starts))
    chosen: Counts = np.sort(members[rank < np.repeat(wanted, np.diff(starts))]).astype(np.int64)
    return chosen


def _numbered(parts: Sequence[Microdata]) -> list[Codes]:
    """Numbers for the rows of all parts, equal ones for equal rows."""
    columns, sizes = zip(*(_column(name, parts) for name in parts[0].codes), strict=True)
    number, _, _ = number_rows(np.stack(columns, axis=1), np.array(sizes, np.int64))
    return np.split(number, np.cumsum([part.n_rows for part in parts])[:-1])


def _column(name: str, parts: Sequence[Microdata]) -> tuple[Codes, int]:
    """One column of all parts in codes of a common domain; missing is the code after the last."""
    columns = [_used(part.attributes[name].values, part.codes[name]) for part in parts]
    common = pa.chunked_array([values for values, _ in columns]).unique()
    found = [
        np.append(pc.index_in(values, common).to_numpy(zero_copy_only=False), len(common))[codes]
        for values, codes in columns
    ]
    return np.concatenate(found).astype(np.int32), len(common) + 1


def _used(values: pa.Array, codes: Ints) -> tuple[pa.Array, Ints]:
    """The same column with the values that occur only, where few rows have a large domain."""
    if len(values) <= len(codes):
        return values, codes
    used, places = np.unique(codes, return_inverse=True)
    return values.take(pa.array(used[used < len(values)])), places
