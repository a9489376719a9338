"""Insertions and deletions that keep m-invariance.

After Xiao, Tao: "m-Invariance: towards privacy preserving re-publication of dynamic datasets",
SIGMOD 2007, for bucketizations in cohorts. A row that stays keeps its signature, and its cohort.

    1. deleted rows leave their places; a place without a row is a counterfeit, as far as a group
       needs one
    2. an inserted row takes a free place of its value, if there is one
    3. the other inserted rows form groups of their own: signatures as in a first version, in new
       cohorts. If they cannot (a value is too frequent among them), counterfeits of other values
       are added until they can
    4. cohorts without any row are dropped

A row that is deleted and inserted in one change stays where it is: a second signature beside the
first would leave only the values that are in both.

Which equal row is deleted and which free place is taken is random; counterfeits have the values
that are most frequent in the database. A counterfeit satisfies no condition, so intervals contain
the truth; they become longer with every counterfeit, as a group has values that nobody in it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows, rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError
from sfumato.statdb.arrivals import alike, require_known
from sfumato.statdb.bucketization import Bucketization, lay_out
from sfumato.statdb.engine import Engine
from sfumato.statdb.first_version import Signature, Signatures, as_arrays, plan
from sfumato.statdb.public_domains import is_declared
from sfumato.statdb.stored import indexed


@dataclass(frozen=True, slots=True)
class Update:
    """What a change did: rows that went and came, and counterfeits that the database now has."""

    deleted: int
    inserted: int
    rows: int
    counterfeits: int


class Seats(NamedTuple):
    """Where rows are, place by place or row by row: signature, cohort in its bucket, value.

    ``signatures`` lists what ``signature`` counts through.
    """

    signatures: list[Signature]
    signature: Codes
    cohort: Codes
    value: Codes


def updated(
    engine: Engine, inserted: Microdata | None, deleted: Microdata | None, randomness: Randomness
) -> tuple[Engine, Update]:
    """The engine of the changed table."""
    inserted, deleted = (
        None if rows is None else alike(engine.schema, engine.attributes, rows)
        for rows in (inserted, deleted)
    )
    if inserted is not None and deleted is not None:
        inserted, deleted = _without_returns(engine.table(), inserted, deleted, randomness)
    kept, seats = _without(engine, deleted, randomness)
    rows, attributes = _merged(engine, kept, inserted)
    sensitive = attributes[engine.sensitive]
    values = rows.codes[engine.sensitive].astype(np.int32)
    seats = _seated(seats, values, engine.m, engine.cohort, sensitive, randomness)
    stored = indexed(rows, *_laid_out(seats, engine.cohort, sensitive.size))
    changed = replace(engine, attributes=attributes, stored=stored)
    return changed, Update(
        deleted=engine.n_rows - kept.n_rows,
        inserted=0 if inserted is None else inserted.n_rows,
        rows=rows.n_rows,
        counterfeits=_counterfeits(seats),
    )


def _without(
    engine: Engine, deleted: Microdata | None, randomness: Randomness
) -> tuple[Microdata, Seats]:
    """The rows that stay, and where they are."""
    table, buckets = engine.table(), engine.stored.buckets
    seats = _seats_of(buckets, engine.stored.occupied())
    if deleted is None:
        return table, seats
    gone = _found(table, deleted, randomness)
    stay = np.setdiff1d(np.arange(table.n_rows), gone)
    return table.take(stay), Seats(seats.signatures, *(part[stay] for part in seats[1:]))


def _seats_of(buckets: Bucketization, places: Counts) -> Seats:
    b = np.searchsorted(buckets.base, places, "right") - 1
    # buckets without a stride would share a base; there are none
    line, within = np.divmod(places - buckets.base[b], buckets.stride[b])
    return Seats(
        [buckets.signature(number) for number in range(buckets.n_buckets)],
        b.astype(np.int32),
        (within // buckets.room[b]).astype(np.int32),
        buckets.values[buckets.starts[b] + line],
    )


def _without_returns(
    table: Microdata, inserted: Microdata, deleted: Microdata, randomness: Randomness
) -> tuple[Microdata | None, Microdata | None]:
    """Both without the rows that they share, which do not change; None for no rows."""
    number = _numbered(table, inserted, deleted)
    comes, goes = number[: inserted.n_rows], number[inserted.n_rows :]
    size = int(number.max(initial=-1)) + 1
    shared = np.minimum(np.bincount(comes, minlength=size), np.bincount(goes, minlength=size))
    if not shared.any():
        return inserted, deleted
    _found(table, deleted, randomness)  # what is not there cannot return
    new, old = (np.flatnonzero(_ranks(part) >= shared[part]) for part in (comes, goes))
    return (
        inserted.take(new) if len(new) else None,
        deleted.take(old) if len(old) else None,
    )


def _ranks(numbers: Codes) -> Counts:
    """How many equal ones stand before each."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    return ranks


def _found(table: Microdata, deleted: Microdata, randomness: Randomness) -> Counts:
    """For every row to delete one row of the table that equals it, a random one among equals."""
    number = _numbered(table, table, deleted)
    wanted = np.bincount(number[table.n_rows :], minlength=int(number.max()) + 1)
    members, starts = rows_by_group(number[: table.n_rows], len(wanted))
    lacking = int(np.maximum(wanted - np.diff(starts), 0).sum())
    if lacking:
        raise DataError(f"{lacking:,} of {deleted.n_rows:,} rows to delete are not in the database")
    shuffle_groups(members, starts, randomness.half_words(len(members)))
    rank = np.arange(len(members)) - np.repeat(starts[:-1], np.diff(starts))
    chosen: Counts = members[rank < np.repeat(wanted, np.diff(starts))].astype(np.int64)
    return chosen


def _numbered(table: Microdata, *parts: Microdata) -> Codes:
    """Rows of all parts, equal ones with equal numbers; what the table lacks is one value."""
    names = list(table.codes)
    sizes = np.array([table.attributes[name].size + 1 for name in names], np.int64)
    lines = [
        np.stack([_codes_in(table.attributes[name], part, name) for name in names], axis=1)
        for part in parts
    ]
    codes = np.concatenate(lines)
    number, _, _ = number_rows(np.where(codes < 0, sizes - 1, codes).astype(np.int32), sizes)
    return number


def _merged(
    engine: Engine, kept: Microdata, inserted: Microdata | None
) -> tuple[Microdata, dict[str, Attribute]]:
    """Kept rows, then inserted ones, in domains that hold the values of both."""
    if inserted is None:
        return kept, dict(kept.attributes)
    attributes, codes = {}, {}
    for name, attribute in kept.attributes.items():
        wider = _widened(engine, attribute, inserted)
        codes[name] = np.concatenate(
            [_codes_in(wider, kept, name), _codes_in(wider, inserted, name)]
        )
        attributes[name] = wider
    n_rows = kept.n_rows + inserted.n_rows
    nothing = pa.table({"": pa.nulls(n_rows)}).select([])
    return Microdata(kept.schema, n_rows, attributes, codes, nothing), attributes


def _widened(engine: Engine, own: Attribute, rows: Microdata) -> Attribute:
    """The domain with the values that it lacks.

    One that was declared cannot grow, that of the sensitive attribute must not.
    """
    theirs = rows.attributes[own.name]
    if own.name == engine.sensitive:
        require_known(own, theirs, rows.codes[own.name])
        return own
    both = pa.chunked_array([own.values, theirs.values])
    order = own.values.to_pylist() if is_declared(engine.schema, own.name) else None
    wider, _ = encode(own.name, both, kind=own.kind, order=order)
    return replace(own, values=wider.values, has_missing=own.has_missing or theirs.has_missing)


def _codes_in(attribute: Attribute, table: Microdata, name: str) -> Ints:
    """A column's codes in another domain of the attribute; -1 for what that lacks."""
    theirs = table.attributes[name]
    places = pc.index_in(theirs.values, attribute.values)
    missing = attribute.missing_code if attribute.has_missing else -1
    codes = np.append(places.fill_null(-1).to_numpy(), missing)
    narrow = np.min_scalar_type(-attribute.size - 1)
    found: Ints = codes.astype(narrow)[table.codes[name]]
    return found


def _seated(
    seats: Seats,
    values: Codes,
    m: int,
    cohort: int | None,
    sensitive: Attribute,
    randomness: Randomness,
) -> Seats:
    """Seats for all rows: those that have one come first, the others are given one."""
    first = len(seats.value)
    new = values[first:]
    given = np.full((len(new), 2), -1, np.int32)
    _deal(_free(seats), new, given, randomness)
    waiting = np.bincount(new[given[:, 0] < 0], minlength=sensitive.size)
    signatures = seats.signatures
    if waiting.any():
        had = given[:, 0] >= 0
        held = Seats(
            signatures,
            np.append(seats.signature, given[had, 0]),
            np.append(seats.cohort, given[had, 1]),
            np.append(seats.value, new[had]),
        )
        waiting = _with_counterfeits(waiting, np.bincount(held.value, minlength=sensitive.size), m)
        signatures, places = _new_places(held, plan(waiting, m, "signatures", randomness), cohort)
        _deal(places, new, given, randomness)
    signature, row_cohort = (np.append(a, b) for a, b in zip(seats[1:3], given.T, strict=True))
    return Seats(signatures, signature, row_cohort, values)


def _deal(places: Codes, values: Codes, given: Codes, randomness: Randomness) -> None:
    """Give rows without a seat (signature, cohort) one of their value, at random while they last.

    ``places`` are lines of signature, cohort and value.
    """
    places = places[randomness.permutation(len(places))]
    rows = randomness.permutation(len(values))
    rows = rows[given[rows, 0] < 0]
    order, wanted = (np.argsort(codes, kind="stable") for codes in (places[:, 2], values[rows]))
    places, rows = places[order], rows[wanted]
    here, there = values[rows], places[:, 2]
    # the i-th row of a value takes the i-th place of that value
    rank = np.arange(len(rows)) - np.searchsorted(here, here)
    at = np.searchsorted(there, here) + rank
    found = at < np.searchsorted(there, here, "right")
    given[rows[found]] = places[at[found], :2]


def _free(seats: Seats) -> Codes:
    """Places without a row in groups that there are: (signature, cohort, value) for each."""
    counts = _counts(seats)
    lines = [
        (number, cohort, value)
        for (number, cohort), held in counts.items()
        for value in seats.signatures[number]
        for _ in range(max(held.values()) - held[value])
    ]
    return np.array(lines, np.int32).reshape(-1, 3)


def _counts(seats: Seats) -> dict[tuple[int, int], Counter[int]]:
    """Rows of each value in every cohort that has any."""
    n_cohorts, n_values = (int(part.max(initial=0)) + 1 for part in seats[2:])
    keys = (seats.signature.astype(np.int64) * n_cohorts + seats.cohort) * n_values + seats.value
    found, times = np.unique(keys, return_counts=True)
    counts: dict[tuple[int, int], Counter[int]] = {}
    for key, n in zip(found.tolist(), times.tolist(), strict=True):
        home, value = divmod(key, n_values)
        counts.setdefault(divmod(home, n_cohorts), Counter())[value] = n
    return counts


def _counterfeits(seats: Seats) -> int:
    """How many values of groups belong to nobody."""
    return len(_free(seats))


def _with_counterfeits(waiting: Counts, known: Counts, m: int) -> Counts:
    """Counts that are m-eligible: counterfeits of other values join a value that is too frequent.

    They have the values that most rows of the database have, so that they stand out least.
    """
    groups = int(waiting.max())
    lacking = m * groups - int(waiting.sum())
    filled = waiting.copy()
    for value in np.argsort(-known, kind="stable").tolist():
        more = max(0, min(lacking, groups - int(filled[value])))
        filled[value] += more
        lacking -= more
    return filled


def _new_places(
    seats: Seats, planned: Signatures, cohort: int | None
) -> tuple[list[Signature], Codes]:
    """Places of new groups: in cohorts of the same signature that have room, then in new ones."""
    signatures = list(seats.signatures)
    number_of = {signature: number for number, signature in enumerate(signatures)}
    groups = {key: max(held.values()) for key, held in _counts(seats).items()}
    lines: list[tuple[int, int, int]] = []
    for b in range(len(planned)):
        number = number_of.setdefault(planned[b], len(signatures))
        if number == len(signatures):
            signatures.append(planned[b])
        for k, n in _cohorts_for(int(planned.groups[b]), number, groups, cohort):
            lines += [(number, k, value) for value in planned[b] for _ in range(n)]
    return signatures, np.array(lines, np.int32).reshape(-1, 3)


def _cohorts_for(
    n_groups: int, number: int, groups: Mapping[tuple[int, int], int], cohort: int | None
) -> Iterator[tuple[int, int]]:
    """Cohorts of a signature for new groups, and how many go to each."""
    if cohort is None:
        yield 0, n_groups
        return
    k = 0
    while n_groups > 0:
        n = min(n_groups, cohort - groups.get((number, k), 0))
        if n > 0:
            yield k, n
            n_groups -= n
        k += 1


def _laid_out(seats: Seats, cohort: int | None, n_values: int) -> tuple[Bucketization, Codes]:
    """Buckets of the cohorts that have rows, and the row at every place."""
    counts = _counts(seats)
    places: dict[tuple[int, int], int] = {}  # cohorts numbered without gaps in their bucket
    n_cohorts: Counter[int] = Counter()
    groups: Counter[int] = Counter()
    for (number, k), held in counts.items():
        places[number, k] = n_cohorts[number]
        n_cohorts[number] += 1
        groups[number] += max(held.values())
    room = {
        seats.signatures[number]: groups[number] if cohort is None or n == 1 else n * cohort
        for number, n in n_cohorts.items()
    }
    buckets = lay_out(as_arrays(Counter(room)), cohort, n_values)
    bucket_of = {buckets.signature(b): b for b in range(buckets.n_buckets)}
    true_groups = np.zeros(buckets.n_buckets, np.int64)
    keys = np.stack(seats[1:3], axis=1)
    found, of_row = np.unique(keys, axis=0, return_inverse=True)
    b_of = np.array([bucket_of[seats.signatures[number]] for number, _ in found.tolist()])
    k_of = np.array([places[number, k] for number, k in found.tolist()])
    for number, n in groups.items():
        true_groups[bucket_of[seats.signatures[number]]] = n
    rows = _placed(buckets, b_of[of_row.ravel()], k_of[of_row.ravel()], seats.value)
    return buckets._replace(groups=true_groups), rows


def _placed(buckets: Bucketization, bucket: Counts, cohort: Counts, value: Codes) -> Codes:
    """The row at every place, -1 for none: rows of a segment in their order, so that survivors
    keep theirs.
    """
    owner = np.repeat(np.arange(buckets.n_buckets), np.diff(buckets.starts))
    key = bucket * (buckets.values.max() + 1) + value
    line = np.searchsorted(owner * (buckets.values.max() + 1) + buckets.values, key)
    line -= buckets.starts[bucket]
    first = buckets.base[bucket] + line * buckets.stride[bucket] + cohort * buckets.room[bucket]
    order = np.argsort(first, kind="stable")
    ranked = first[order]
    slot = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    rows = np.full(buckets.n_places, -1, np.int32)
    rows[ranked + slot] = order
    return rows
