"""Insertions and deletions that keep m-invariance.

After Xiao, Tao: "m-Invariance: towards privacy preserving re-publication of dynamic datasets",
SIGMOD 2007, for bucketizations in cohorts. A row that stays keeps its signature, and its cohort.

    1. deleted rows leave their places; a place without a row is a counterfeit, as far as a group
       needs one. Nobody takes it, see newcomers.py
    2. inserted rows join those that wait. When no value has more than 1/m of them, all of them come
       in, in full groups of their own, signatures as in a first version; else all wait. Waiting
       rows are stored, and answered as if they were not there
    3. cohorts without any row are dropped, or left empty for others of the same signature

In a database of neighbours newcomers who hide among each other are as many as a group has at least,
and come in groups of neighbours; all is laid out anew (neighbours.py). The rest is about groups
that are regrouped.

Who stays is not touched: few words of the bitmaps change (edits.py), unless there is no room for
newcomers, or more room than rows; then all rows are laid out anew (rebuild.py). Where cohorts are
those of regions, newcomers have regions and cohorts of their own (newcomers.py).

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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods
from sfumato.statdb.layout.slots import count_counterfeits, count_places
from sfumato.statdb.responder import Responder
from sfumato.statdb.store.files import Patch
from sfumato.statdb.updates.counterfeits import drawn_lists
from sfumato.statdb.updates.domains import codes_in, grown_domains, recoded
from sfumato.statdb.updates.edits import Edits, UpdateRows, edited, laid_out_anew, unmark
from sfumato.statdb.updates.equal_rows import Twins, moves
from sfumato.statdb.updates.neighbours import Settled, resettled, settled_alone, settled_together
from sfumato.statdb.updates.newcomers import (
    Newcomers,
    lacking,
    placed_alone,
    placed_in_regions,
    placed_together,
)
from sfumato.statdb.updates.replay import (
    Arrivals,
    guessed,
    is_exposing,
    require_hidden,
    returning,
)
from sfumato.statdb.updates.rows import alike, coded, columns_of


@dataclass(frozen=True, slots=True)
class Update:
    """What a change did, for the owner.

    Rows that everybody sees went (``deleted``) and came (``inserted``); ``alone`` of these came in
    among counterfeits. ``withdrawn`` rows were deleted while they waited, ``waiting`` ones wait
    now, for ``lacking`` more rows at least. The database now has so many ``rows`` and
    ``counterfeits``. ``guessed`` is the share of those who came in whom the frequencies of values
    give away, ``exposing`` whether that is more than 1/m and chance, and ``returned`` counts those
    who came with the quasi-identifiers of somebody who went (replay.py).
    """

    deleted: int
    inserted: int
    rows: int
    counterfeits: int
    waiting: int = 0
    lacking: int = 0
    withdrawn: int = 0
    alone: int = 0
    guessed: float = field(default=0.0, compare=False)
    exposing: bool = False
    returned: int = 0


@dataclass(frozen=True, eq=False)
class Change:
    """What becomes of an responder, and the rows that wait.

    ``made`` is what is stored afterwards: all of it, or how it differs, or None if nobody can see
    a change.
    """

    before: Responder
    attributes: Mapping[str, Attribute]
    made: Layout | Neighbourhoods | Edits | None
    waiting: pa.Table
    update: Update

    @cached_property
    def responder(self) -> Responder:
        """The responder after the change, the very same if nobody can see one."""
        if self.made is None:
            return self.before
        stored = self.made
        if isinstance(stored, Edits):
            stored = stored.stored(*_sizes(self.before, self.attributes))
        return replace(self.before, attributes=self.attributes, stored=stored)

    def arrays(self) -> dict[str, NDArray[Any] | Patch] | None:
        """The stored arrays that change, by name, or how they do; None for all."""
        if not isinstance(self.made, Edits):
            return None
        old, new = self.made.base.buckets, self.made.buckets
        found: dict[str, NDArray[Any] | Patch] = {
            f"buckets.{name}": array
            for name, array in new._asdict().items()
            if array is not getattr(old, name)
        }
        if not self.made.grown:
            return found | self.made.patches()
        whole = self.responder.stored.named()
        for name, patch in self.made.patches().items():
            alike = name.startswith("codes.") and name.removeprefix("codes.") not in self.made.grown
            found[name] = patch if alike else whole[name]
        return found | {name: one for name, one in whole.items() if name.startswith("index.")}


class _Batch(NamedTuple):
    """Rows that want to come in: as they are stored, coded, and the codes of their values."""

    stored: pa.Table
    rows: Microdata
    values: Codes


def updated(
    responder: Responder,
    waiting: pa.Table,
    inserted: Microdata | None,
    deleted: Microdata | None,
    randomness: Randomness,
    *,
    accept_exposure: bool = False,
    accept_returns: bool = False,
    twins: Twins | None = None,
) -> Change:
    """The responder of the changed table, and who waits."""
    new, old = (alike(responder.schema, responder.attributes, rows) for rows in (inserted, deleted))
    grown_domains(responder, new)  # what could never come in is refused now
    held = coded(responder.schema, responder.attributes, waiting)
    gone, withdrawn, came = moves(responder, held, new, old, twins, randomness)
    returned = _returned(responder, gone, new.take(came), accept=accept_returns)
    left = _without(held.n_rows, withdrawn)
    batch = _batch(responder, pa.concat_tables([waiting.take(left), columns_of(new.take(came))]))
    lacks = lacking(batch.values, responder.m, responder.size or 0)
    # nobody comes in because somebody withdrew: that would tell the value that was too frequent
    eligible = lacks == 0 and len(came) > 0 and not len(withdrawn)
    enters = batch.rows.n_rows > 0 and (accept_exposure or eligible)
    joining = batch if enters else _batch(responder, waiting.slice(0, 0))
    attributes = {**responder.attributes, **grown_domains(responder, joining.rows)}
    made: Layout | Neighbourhoods | Edits | None = None
    arrivals = Arrivals.nobody()
    if len(gone) or enters:
        made, arrivals = _made(
            responder, gone, joining, attributes, randomness, alone=accept_exposure
        )
    share = _replayed(responder, arrivals, accept=accept_exposure)
    n_waiting = batch.rows.n_rows - joining.rows.n_rows
    n_rows = responder.n_rows - len(gone) + joining.rows.n_rows
    return Change(
        responder,
        attributes,
        made,
        batch.stored.slice(0, n_waiting),
        Update(
            deleted=len(gone),
            inserted=joining.rows.n_rows,
            rows=n_rows,
            counterfeits=_counterfeits(responder.stored if made is None else made, n_rows),
            waiting=n_waiting,
            lacking=lacks if n_waiting else 0,
            withdrawn=len(withdrawn),
            alone=joining.rows.n_rows if accept_exposure else 0,
            guessed=share,
            exposing=is_exposing(share, joining.rows.n_rows, responder.m),
            returned=returned,
        ),
    )


def _returned(responder: Responder, gone: Counts, came: Microdata, *, accept: bool) -> int:
    """How many return in this very change, if the owner has it so."""
    if not len(gone) or not came.n_rows:
        return 0
    names, value = responder.schema.quasi, responder.sensitive
    leaving = {name: responder.stored.codes[name][gone] for name in names}
    coming = {name: codes_in(responder.attributes[name], came, name) for name in names}
    # rows that are equal in all columns are two people: the owner has said so (twins)
    values = responder.stored.values_at(gone), codes_in(responder.attributes[value], came, value)
    found = returning(responder, leaving, coming, *values)
    if found and not accept:
        raise DataError(
            f"{found:,} rows to insert have the quasi-identifiers of rows to delete, and of nobody "
            "else: whoever asks before and after sees two lists of one person, with few values in "
            "both; leave such rows as they are, or accept_returns (--accept-returns)"
        )
    return found


def _replayed(responder: Responder, came: Arrivals, *, accept: bool) -> float:
    """How many newcomers the frequencies give away; no more than 1/m, unless that is accepted."""
    if not len(came.values):
        return 0.0
    require_hidden(came, responder.m)
    share = guessed(came, _frequencies(responder))
    if is_exposing(share, len(came.values), responder.m) and not accept:
        raise DataError(
            f"{share:.0%} of the newcomers would be guessed right by the frequencies of values, "
            f"where 1/{responder.m} is promised; the database is as it was"
        )
    return share


def _frequencies(responder: Responder) -> Counts:
    """How many places of the database have each value, which everybody can find out."""
    stored, size = responder.stored, responder.attributes[responder.sensitive].size
    if isinstance(stored, Neighbourhoods):
        return np.bincount(stored.values, minlength=size)
    return count_places(stored.buckets)


def _counterfeits(made: Layout | Neighbourhoods | Edits, n_rows: int) -> int:
    """How many values of groups belong to nobody."""
    if isinstance(made, Neighbourhoods):
        return len(made.values) - n_rows
    return count_counterfeits(made.buckets, n_rows)


def _batch(responder: Responder, stored: pa.Table) -> _Batch:
    rows = coded(responder.schema, responder.attributes, stored)
    values = codes_in(responder.attributes[responder.sensitive], rows, responder.sensitive)
    return _Batch(stored, rows, values.astype(np.int32))


def _made(
    responder: Responder,
    gone: Counts,
    joining: _Batch,
    attributes: Mapping[str, Attribute],
    randomness: Randomness,
    *,
    alone: bool,
) -> tuple[Layout | Neighbourhoods | Edits, Arrivals]:
    """What is stored of the rows that stay and those that join them, and how these are hidden."""
    if responder.n_rows - len(gone) + joining.rows.n_rows == 0:
        raise DataError(
            "no row would be left, and a database without rows has nobody to hide among; leave "
            "some, or delete the folder"
        )
    grown = {
        name: attributes[name].size
        for name in responder.schema.quasi
        if attributes[name] is not responder.attributes[name]
    }
    stored, codes = responder.stored, _recoded(responder, attributes, grown)
    theirs = {name: codes_in(attributes[name], joining.rows, name) for name in codes}
    alone = alone or not joining.rows.n_rows
    if isinstance(stored, Neighbourhoods):
        sizes = [attributes[name].size for name in codes]
        came_near = (
            settled_alone(stored, theirs, joining.values, responder.m, sizes[-1], randomness)
            if alone
            else settled_together(responder, attributes, theirs, randomness)
        )
        made = resettled(replace(stored, codes=codes), gone, came_near, sizes)
        return made, _arrivals(came_near, responder.sensitive)
    base = replace(stored, codes=codes)
    table = responder.coded(attributes, {**theirs, responder.sensitive: joining.values})
    newcomers = _newcomers(responder, base, gone, table, randomness, alone=alone)
    came = UpdateRows(newcomers, joining.values, theirs)
    lists = [np.array(one) for one in newcomers.signatures]
    arrivals = Arrivals(lists, newcomers.number, joining.values)
    found = edited(base, gone, came, responder.cohort, grown)
    if found is not None:
        return found, arrivals
    sizes_of = _sizes(responder, attributes)
    return laid_out_anew(base, gone, came, responder.cohort, *sizes_of), arrivals


def _arrivals(came: Settled, sensitive: str) -> Arrivals:
    """Newcomers in groups of their own."""
    values = came.codes[sensitive]
    number = np.repeat(np.arange(len(came.sizes)), came.sizes)
    groups = np.split(values, np.cumsum(came.sizes)[:-1]) if len(came.sizes) else []
    return Arrivals(groups, number[came.is_row], values[came.is_row])


def _newcomers(
    responder: Responder,
    base: Layout,
    gone: Counts,
    table: Microdata,
    randomness: Randomness,
    *,
    alone: bool,
) -> Newcomers:
    """Slots for those who join, among those who stay."""
    buckets, everybody = base.buckets, base.everybody.copy()
    m, cohort, region = responder.m, responder.cohort, responder.region
    values = table.codes[responder.sensitive].astype(np.int32)
    unmark(everybody, gone)
    if alone:
        # of places, not of rows: which value a leaver had must not show in the lists of others
        lists = drawn_lists(count_places(buckets), values, m, randomness)
        return placed_alone(buckets, everybody, lists, cohort)
    if region is None:
        return placed_together(buckets, everybody, values, m, cohort, randomness)
    assert cohort is not None, "regions have cohorts"
    return placed_in_regions(buckets, everybody, table, m, region, cohort, randomness)


def _recoded(
    responder: Responder, attributes: Mapping[str, Attribute], grown: Mapping[str, int]
) -> dict[str, Ints]:
    """The codes at places, in domains that have grown."""
    codes = dict(responder.stored.codes)
    for name in grown:
        codes[name] = recoded(responder.attributes[name], attributes[name], codes[name])
        codes[name][~responder.stored.flags(responder.stored.everybody)] = 0
    return codes


def _sizes(responder: Responder, attributes: Mapping[str, Attribute]) -> tuple[int, list[int]]:
    """The sizes of the domains: of the sensitive attribute, and of the others."""
    return attributes[responder.sensitive].size, [
        attributes[q].size for q in responder.schema.quasi
    ]


def _without(n_rows: int, gone: Counts) -> Counts:
    """The numbers of the other rows."""
    left: Counts = np.delete(np.arange(n_rows), gone)
    return left
