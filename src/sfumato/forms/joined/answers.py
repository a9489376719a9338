"""Answers from a join release: about the rows of the microdata, not about the lines of the JAT.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010,
section 3.3. The SI tells how many rows of a sensitive group are of the microdata, and the JAT which
boxes they lie in: that bounds how many of them satisfy the conditions on quasi-identifiers
(stock.py), and makes the scope of each sensitive group (group_bounds.py) within which the
SIs count as STs do. An answer of the SIs alone is exact.

A release made by Direct says nowhere how many lines of a box are of the microdata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import pyarrow as pa

from sfumato.answers.answerer import Certain
from sfumato.answers.group_bounds import Found, Scope
from sfumato.answers.kernels import tally
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.answers.sides import Extents, Reading, Sides
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Codes, Flags
from sfumato.core.attribute import encode
from sfumato.core.compiled import announce
from sfumato.core.schema import Role
from sfumato.errors import DataError, QueryRefused
from sfumato.forms.catalogs import catalog_of
from sfumato.forms.joined.choices import choices_of
from sfumato.forms.joined.release import COUNT, SENSITIVE_GROUP, JoinRelease
from sfumato.forms.joined.stock import Stock, places_among
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.sides import describe, read_sides
from sfumato.queries.columns import Catalog, Column
from sfumato.queries.values import Values

UNKNOWN = (
    "a release made by Direct does not tell how many lines of a box are rows of the microdata, so "
    "nothing can be counted; publish with Refinement, which does"
)


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Certain):
    """The boxes of the JAT and the SIs. Sides are read when a query first asks for them."""

    catalog: Catalog
    boxes: pa.Table
    quasi: dict[str, PublishedColumn]
    stock: Stock
    tables: tuple[Rows, ...]
    _sides: dict[str, tuple[Sides, Codes]] = field(default_factory=dict, repr=False)

    @classmethod
    def of_release(cls, release: JoinRelease) -> Joined | Uncounted:
        """Prepare a release; only its tables and its manifest are read."""
        announce(tally)
        quasi = {column.name: column for column in release.manifest.of_role(Role.QUASI)}
        if not release.sis:
            return Uncounted.of(quasi, release.groups)
        stock, boxes = Stock.of_release(release)
        named = {name: si for name, si in release.sis.items() if name}
        tables = tuple(_rows_of(name, si, stock) for name, si in named.items())
        exact = catalog_of(
            release.manifest, [si.schema.field(name) for name, si in named.items()]
        ).columns
        described = (describe(column, boxes) for column in quasi.values())
        catalog = Catalog.of([*described, *exact.values()])
        return cls(catalog, boxes, quasi, stock, tables)

    def find(self, where: Where) -> Found:
        """Count in the first SI that is asked, within the scope of the boxes and the others."""
        holder = next((table for table in self.tables if table.asked(where)), None)
        scope = self._scope(where, self._reading(where), holder)
        rows = self.stock.rows if holder is None else holder.tally(where, scope)
        return Found(rows, scope)

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """Sensitive values are counted; of a quasi-identifier every value is asked by itself."""
        if name not in self.quasi:
            own = self._holder(name)
            return own.tally_by(where, name, self._scope(where, self._reading(where), own))
        sides, of_box = self._side(name)
        others = {other: wanted for other, wanted in where.items() if other != name}
        seen, wanted = self._reading(others), where.get(name)
        holder = next((table for table in self.tables if table.asked(where)), None)
        # the SIs say the same whatever the key
        rest = self._scope(others, _everything(len(self.stock.lines)), holder)
        rows = self.stock.rows if holder is None else holder.tally(others, rest)

        def counted(key: object) -> tuple[float, int, int]:
            if wanted is not None and not wanted.holds(key):
                return 0.0, 0, 0
            found = sides.read(Values(missing=True) if key is None else Values(frozenset([key])))
            both = _both(seen, found, of_box)
            return Found(rows, _narrowed(rest, self.stock, both)).counted()

        keys = sides.keys()
        estimate, lo, hi = np.array([counted(key) for key in keys]).reshape(-1, 3).T
        return KeyCounts(keys, estimate, lo.astype(np.int64), hi.astype(np.int64))

    def choices(self, where: Where, name: str, function: str) -> Choices:  # noqa: ARG002
        """Choose among the values that the SI counts, or among those that lie in boxes."""
        seen = self._reading(where)
        if name not in self.quasi:
            holder = self._holder(name)
            return holder.choices(where, name, self._scope(where, seen, holder))
        sides, of_box = self._side(name)
        extents = Extents(*(ends[of_box] for ends in sides.extents(where[name])))
        left = self._scope(where, _everything(len(self.stock.lines)), None)
        return choices_of(self.stock, seen, extents, self.find(where), left)

    def _scope(self, where: Where, seen: Reading, holder: Rows | None) -> Scope:
        """What boxes and SIs leave of each sensitive group; the holder itself counts later."""
        scope = self.stock.scope(seen)
        for table in self.tables:
            if table is not holder and table.asked(where):
                scope = scope.within(table.tally(where, scope), self.stock.rows)
        return scope

    def _reading(self, where: Where) -> Reading:
        """Box by box: the share that is wanted, whether all of it, whether any."""
        seen = _everything(len(self.stock.lines))
        for name, wanted in where.items():
            if name in self.quasi:
                sides, of_box = self._side(name)
                seen = _both(seen, sides.read(wanted), of_box)
        return seen

    def _holder(self, name: str) -> Rows:
        return next(table for table in self.tables if name in table.names)

    def _side(self, name: str) -> tuple[Sides, Codes]:
        if name not in self._sides:
            self._sides[name] = read_sides(self.quasi[name], self.boxes)
        return self._sides[name]


@dataclass(frozen=True, slots=True, eq=False)
class Uncounted(Certain):
    """A release made by Direct: its columns are known, and every question is refused."""

    catalog: Catalog

    @classmethod
    def of(cls, quasi: dict[str, PublishedColumn], boxes: pa.Table) -> Uncounted:
        """Columns with the reason for which they cannot be asked about."""
        known = (describe(column, boxes) for column in quasi.values())
        return cls(Catalog.of(Column(one.name, one.type, refusal=UNKNOWN) for one in known))

    def find(self, where: Where) -> Found:  # noqa: ARG002
        """Refuse."""
        _refuse("COUNT")

    def counts_by(self, where: Where, name: str) -> KeyCounts:  # noqa: ARG002
        """Refuse."""
        _refuse(name)

    def choices(self, where: Where, name: str, function: str) -> Choices:  # noqa: ARG002
        """Refuse."""
        _refuse(name)


def _refuse(clause: str) -> NoReturn:
    raise QueryRefused(UNKNOWN, clause=clause)


def _narrowed(rest: Scope, stock: Stock, seen: Reading) -> Scope:
    """The scope of the SIs, with what the boxes leave."""
    boxes = stock.scope(seen)
    return Scope(rest.share * boxes.share, rest.lack + boxes.lack, np.minimum(rest.cap, boxes.cap))


def _everything(n: int) -> Reading:
    return Reading(np.ones(n), np.ones(n, np.bool_), np.ones(n, np.bool_))


def _both(seen: Reading, side: Reading, of_box: Codes) -> Reading:
    """What is left of each box with one more side."""
    sure: Flags = seen.sure & side.sure[of_box]
    possible: Flags = seen.possible & side.possible[of_box]
    return Reading(seen.share * side.share[of_box], sure, possible)


def _rows_of(name: str, si: pa.Table, stock: Stock) -> Rows:
    known = np.unique(si[SENSITIVE_GROUP].to_numpy())
    groups = places_among(si[SENSITIVE_GROUP].to_numpy(), known)
    found = Rows.of([encode(name, si.column(name))], groups, len(known), si[COUNT].to_numpy())
    if not np.array_equal(found.sizes(), stock.rows):
        raise DataError(f"the SI of {name!r} counts other rows than another SI", source=name)
    return found
