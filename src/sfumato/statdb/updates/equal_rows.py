"""Which rows a change is about: the database has no identifiers, so rows are told by their values.

A *member* is in the answers; a *newcomer* waits, or is inserted by this very change. A row to
delete may be equal to one of each, its *twins*, and only the owner knows whom it is about:

    the member     goes, and the newcomer comes in time. If the newcomer went instead, nobody would
                   see the member leave, and who knows of it would see that the two have one value
    the newcomer   goes, before anybody was told of it, and the member stays where it is. If the
                   member went instead, who knows that it stayed would see the same; and if the two
                   are one person, who is deleted and inserted again, a second signature beside the
                   first would leave only the values that are in both

So the owner is asked. Twins that are both members have equal places, and which one goes is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows, rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts, Flags, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates.domains import codes_in

Twins: TypeAlias = Literal["member", "newcomer"]
_SHOWN = 5  # numbers of rows in an error


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
    twins: Twins | None,
    randomness: Randomness,
) -> Moves:
    """What a change does, or why it cannot be done; ``twins`` says which of two equal rows goes."""
    if twins is not None and twins not in get_args(Twins):
        raise ParameterError(
            f"twins must be 'member' or 'newcomer', not {twins!r}", parameter="twins"
        )
    places = candidates(responder, deleted)
    numbers = _numbered((responder.rows_at(places), waiting, inserted, deleted))
    size = max(int(one.max(initial=-1)) for one in numbers) + 1
    here, waits, comes, goes = (np.bincount(one, minlength=size) for one in numbers)
    _require_there(numbers[3], np.maximum(goes - here - waits, 0), randomness)
    new = waits + comes
    if twins is None:
        _require_clear(goes, here, new)
    untold = np.minimum(goes, new) if twins == "newcomer" else np.maximum(goes - here, 0)
    undone = np.minimum(untold, comes)
    wanted = (goes - untold, untold - undone, comes - undone)
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


def _require_there(numbers: Codes, lacking: Counts, randomness: Randomness) -> None:
    """Refuse rows that are not in the database, and say which: by number, not by what they say."""
    if not lacking.any():
        return
    found = _chosen(numbers, lacking, randomness) + 1
    shown = ", ".join(f"{one:,}" for one in found[:_SHOWN].tolist())
    more = ", ..." if len(found) > _SHOWN else ""
    raise DataError(
        f"{len(found):,} of {len(numbers):,} rows to delete are not in the database: row {shown}"
        f"{more} of those to delete"
    )


def _require_clear(goes: Counts, here: Counts, new: Counts) -> None:
    """Refuse to guess whom a row to delete is about."""
    unclear = (goes > 0) & (here > 0) & (new > 0) & (goes < here + new)
    if unclear.any():
        raise DataError(
            f"{int(goes[unclear].sum()):,} rows to delete are equal to one in the database and to "
            "one that waits or is inserted, so say whom they are about: twins = 'member' if people "
            "in the database leave, and others like them come; 'newcomer' if those who have just "
            "come go again, or a row was deleted and inserted unchanged"
        )


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
