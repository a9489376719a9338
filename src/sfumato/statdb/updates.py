"""Insertions and deletions that keep m-invariance.

After Xiao, Tao: "m-Invariance: towards privacy preserving re-publication of dynamic datasets",
SIGMOD 2007, for bucketizations in cohorts. A row that stays keeps its signature, and its cohort.

    1. deleted rows leave their places; a place without a row is a counterfeit, as far as a group
       needs one. Nobody takes it, see newcomers.py
    2. inserted rows join those that wait. When no value has more than 1/m of them, all of them come
       in, in full groups of their own, signatures as in a first version; else all wait. Waiting
       rows are stored, and answered as if they were not there
    3. cohorts without any row are dropped

All come in or none: if only those did that can hide among each other, those left behind would be
known to have the value that is too frequent. The owner may let all in at once (accept_exposure):
then each is alone in a group whose other values are counterfeits, drawn as counterfeits.py says. So
they come even if they could hide among each other: otherwise it would show that they could not, and
then a value near 1/m of the rows is likelier among them (measured: right in up to 1.4/m).

Deletions do not wait. Answers depend on how many rows of each value of a cohort satisfy a
question, never on which value that is (anatomy.py, generalization.py), so a value that lost a row
shows as "one of this list", which was known before; COUNT of a value is from then on an interval,
for all values of the list alike. A counterfeit satisfies no condition, so intervals contain the
truth; they become longer with every counterfeit, as a group has values that nobody in it has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError
from sfumato.statdb.arrivals import alike, coded, columns_of
from sfumato.statdb.counterfeits import drawn_lists
from sfumato.statdb.engine import Engine
from sfumato.statdb.equal_rows import moves
from sfumato.statdb.growing import codes_in, grown_domains, merged
from sfumato.statdb.newcomers import lacking, seated_alone, seated_together
from sfumato.statdb.seats import Seats, count_counterfeits, count_places, laid_out, seats_of
from sfumato.statdb.stored import indexed


@dataclass(frozen=True, slots=True)
class Update:
    """What a change did, for the owner.

    Rows that everybody sees went (``deleted``) and came (``inserted``); ``alone`` of these came in
    among counterfeits. ``withdrawn`` rows were deleted while they waited, ``waiting`` ones wait
    now, for ``lacking`` rows of other values at least. The database now has so many ``rows`` and
    ``counterfeits``.
    """

    deleted: int
    inserted: int
    rows: int
    counterfeits: int
    waiting: int = 0
    lacking: int = 0
    withdrawn: int = 0
    alone: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """The engine after a change, the very same if nobody can see one; and the rows that wait."""

    engine: Engine
    waiting: pa.Table
    update: Update


class _Batch(NamedTuple):
    """Rows that want to come in: as they are stored, coded, and the codes of their values."""

    stored: pa.Table
    rows: Microdata
    values: Codes


def updated(
    engine: Engine,
    waiting: pa.Table,
    inserted: Microdata | None,
    deleted: Microdata | None,
    randomness: Randomness,
    *,
    accept_exposure: bool = False,
) -> Change:
    """The engine of the changed table, and who waits."""
    new, old = (alike(engine.schema, engine.attributes, rows) for rows in (inserted, deleted))
    grown_domains(engine, new)  # what could never come in is refused now
    table, held = engine.table(), coded(engine.schema, engine.attributes, waiting)
    gone, withdrawn, came = moves(table, held, new, old, randomness)
    left = _without(held.n_rows, withdrawn)
    batch = _batch(engine, pa.concat_tables([waiting.take(left), columns_of(new.take(came))]))
    lacks = lacking(batch.values, engine.m)
    # nobody comes in because somebody withdrew: that would tell the value that was too frequent
    eligible = lacks == 0 and len(came) > 0 and not len(withdrawn)
    enters = batch.rows.n_rows > 0 and (accept_exposure or eligible)
    joining = batch if enters else _batch(engine, waiting.slice(0, 0))
    changed = engine
    if len(gone) or enters:
        stay = _without(table.n_rows, gone)
        changed = _changed(engine, stay, joining, randomness, alone=accept_exposure)
    n_waiting = batch.rows.n_rows - joining.rows.n_rows
    return Change(
        changed,
        batch.stored.slice(0, n_waiting),
        Update(
            deleted=len(gone),
            inserted=joining.rows.n_rows,
            rows=changed.n_rows,
            counterfeits=count_counterfeits(_seats(changed)),
            waiting=n_waiting,
            lacking=lacks if n_waiting else 0,
            withdrawn=len(withdrawn),
            alone=joining.rows.n_rows if accept_exposure else 0,
        ),
    )


def _batch(engine: Engine, stored: pa.Table) -> _Batch:
    rows = coded(engine.schema, engine.attributes, stored)
    values = codes_in(engine.attributes[engine.sensitive], rows, engine.sensitive)
    return _Batch(stored, rows, values.astype(np.int32))


def _changed(
    engine: Engine, stay: Counts, joining: _Batch, randomness: Randomness, *, alone: bool
) -> Engine:
    """The engine of the rows that stay and those that join them."""
    rows = merged(engine, engine.table().take(stay), joining.rows)
    if not rows.n_rows:
        raise DataError(
            "no row would be left, and a database without rows has nobody to hide among; leave "
            "some, or delete the folder"
        )
    n_values = engine.attributes[engine.sensitive].size
    before = _seats(engine)
    seats = before.take(stay)
    if alone:
        # of places, not of rows: which value a leaver had must not show in the lists of others
        frequencies = count_places(before, n_values)
        lists = drawn_lists(frequencies, joining.values, engine.m, randomness)
        seats = seated_alone(seats, joining.values, lists, engine.cohort)
    elif joining.rows.n_rows:
        seats = seated_together(seats, joining.values, engine.m, engine.cohort, randomness)
    stored = indexed(rows, *laid_out(seats, engine.cohort, n_values))
    return replace(engine, attributes=rows.attributes, stored=stored)


def _seats(engine: Engine) -> Seats:
    return seats_of(engine.stored.buckets, engine.stored.occupied())


def _without(n_rows: int, gone: Counts) -> Counts:
    """The numbers of the other rows."""
    left: Counts = np.delete(np.arange(n_rows), gone)
    return left
