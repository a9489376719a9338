"""Answers from a generalized table.

Xiao, Tao: "Anatomy", section 1.1, after LeFevre et al., for the estimate: rows lie evenly in their
box, attribute by attribute, so each contributes the share of its box that satisfies the conditions
on quasi-identifiers. "Dynamic anonymization", Lemma 2, for the bounds: rows whose box lies wholly
in the query count surely, rows whose box touches it possibly. sides says what lies in a box.
Sensitive and insensitive values stand in the rows as they are: conditions on them are exact.

Every row may have any value of its box. What more is known of whole groups serves where it is the
point: a published mean for sums and averages, ends that some row has for minima and maxima.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sfumato.answers.answerer import Certain
from sfumato.answers.encoded import encoded_columns
from sfumato.answers.group_bounds import Found, Scope, require_all_there
from sfumato.answers.kernels import tally
from sfumato.answers.means import within_means
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.answers.sides import Extents, Sides
from sfumato.answers.value_bounds import Choices
from sfumato.core.aggregates import AGGREGATES
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.compiled import announce
from sfumato.core.schema import Role
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.sides import declared, describe, read_sides
from sfumato.queries.binding import NOT_MISSING
from sfumato.queries.columns import Catalog, column_of, plain_type


@dataclass(frozen=True, slots=True, eq=False)
class Boxed(Certain):
    """The published boxes of a release, and the exact values of the rows in each.

    Sides are read from their columns when a query first asks for them.
    """

    catalog: Catalog
    boxes: pa.Table
    quasi: dict[str, PublishedColumn]
    rows: Rows
    sizes: Counts
    left_out: int = 0
    _sides: dict[str, tuple[Sides, Codes]] = field(default_factory=dict, repr=False)

    @classmethod
    def of_release(cls, release: GeneralizedTable) -> Boxed:
        """Prepare a release; only its table and its manifest are read."""
        announce(tally)
        boxes, manifest = release.groups, release.manifest
        exact = encoded_columns(release.rows.select([one.name for one in _exact(manifest)]))
        return cls(
            _catalog(manifest, boxes, release.rows).refusing(exact.refusals),
            boxes,
            {column.name: column for column in manifest.of_role(Role.QUASI)},
            Rows.of(exact.columns, release.group_of_row, boxes.num_rows),
            np.bincount(release.group_of_row, minlength=boxes.num_rows),
            manifest.suppressed,
        )

    def find(self, where: Where) -> Found:
        """Count exact values box by box, within the scope of the sides."""
        scope = self._scope(where)
        return Found(self.rows.tally(where, scope), scope, self.left_out)

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """Exact values are counted; a box's rows may have any value of its side."""
        if name not in self.quasi:
            found = self.rows.tally_by(where, name, self._scope(where))
            return found.with_left_out(self.left_out)
        sides, of_box = self.side(name)
        keys = sides.keys()
        scope = self._scope({other: wanted for other, wanted in where.items() if other != name})
        rows = self.rows.tally(where, scope)
        single = sides.single()

        def per_key(amounts: Floats | Counts, held: Floats | Flags) -> Floats:
            weights = np.bincount(of_box, amounts, len(single)).astype(np.float64)
            return sides.spread(weights * held)

        wanted = where.get(name)
        kept = np.array([wanted is None or wanted.holds(key) for key in keys], np.bool_)
        estimate = per_key(scope.share * rows, 1 / sides.sizes())
        lo = per_key(scope.fewest(rows), single)
        hi = per_key(scope.most(rows), np.ones(len(single)))
        return KeyCounts(
            keys,
            np.where(kept, np.maximum(estimate, 0.0), 0.0),
            np.where(kept, np.rint(lo), 0).astype(np.int64),
            np.where(kept, np.rint(hi), 0).astype(np.int64),
        ).with_left_out(self.left_out)

    def choices(self, where: Where, name: str, function: str) -> Choices:
        """Exact values, or those that lie in the sides of boxes."""
        require_all_there(self.left_out, function)
        scope = self._scope(where)
        if name not in self.quasi:
            return self._of_rows(where, name, scope)
        found = self.rows.tally(where, scope)
        open_ = np.flatnonzero((found > 0) & scope.reached)
        extents = self._extents(where, name, function, Found(found, scope))
        low, high, mean = (ends[open_] for ends in extents)
        chosen = Scope(scope.share[open_], scope.lack[open_], scope.cap[open_])
        return Choices(
            low,
            high,
            mean,
            chosen.share * found[open_],
            found[open_],
            np.arange(len(open_) + 1),
            chosen.fewest(found[open_]),
            chosen.most(found[open_]),
        )

    def side(self, name: str) -> tuple[Sides, Codes]:
        """The different sides along an attribute, and which of them each box has."""
        if name not in self._sides:
            self._sides[name] = read_sides(self.quasi[name], self.boxes)
        return self._sides[name]

    def _of_rows(self, where: Where, name: str, scope: Scope) -> Choices:
        """Every row of a box is chosen or not for itself, so equal rows are a cluster."""
        together = self.rows.choices(where, name, scope)
        groups = np.repeat(np.arange(len(together.least)), np.diff(together.starts))
        sure = (together.least > 0)[groups]
        return Choices(
            together.low,
            together.high,
            together.expected,
            together.weights,
            together.counts,
            np.arange(len(together.counts) + 1),
            np.where(sure, together.counts, 0),
            together.counts,
        )

    def _scope(self, where: Where) -> Scope:
        """What the sides leave of each box."""
        scope = Scope.whole(self.sizes)
        for name, wanted in where.items():
            if name in self.quasi:
                sides, of_box = self.side(name)
                share, sure, possible = (part[of_box] for part in sides.read(wanted))
                scope = Scope(
                    scope.share * share,
                    np.where(sure, scope.lack, self.sizes),
                    np.where(possible, scope.cap, 0),
                )
        return scope

    def _extents(self, where: Where, name: str, function: str, found: Found) -> Extents:
        """What the wanted values of an attribute are in each box."""
        sides, of_box = self.side(name)
        extents = Extents(*(ends[of_box] for ends in sides.extents(where[name])))
        column = self.quasi[name]
        # boxes of which every value is wanted and none may be missing
        everything = sides.read(where[name]).sure & sides.read(NOT_MISSING).sure
        if AGGREGATES[function].adds and f"{name}_mean" in column.columns:
            stated = self.boxes.column(f"{name}_mean").to_numpy().astype(np.float64)
            kind = self.catalog.columns[name].type
            stated_here = everything[of_box] & np.isfinite(stated)
            return within_means(extents, stated, stated_here, self.sizes, found, kind)
        if (end := AGGREGATES[function].end) and column.tight:
            whole = everything[of_box] & (found.scope.lack == 0) & (found.rows == self.sizes)
            low, high = (np.where(whole, getattr(extents, end), other) for other in extents[:2])
            return Extents(low, high, extents.mean)
        return extents


def _exact(manifest: Manifest) -> Iterable[PublishedColumn]:
    return (*manifest.of_role(Role.SENSITIVE), *manifest.of_role(Role.INSENSITIVE))


def _catalog(manifest: Manifest, boxes: pa.Table, rows: pa.Table) -> Catalog:
    quasi = [describe(column, boxes) for column in manifest.of_role(Role.QUASI)]
    exact = [
        column_of(column.name, kind, declared(column, plain_type(kind)))
        for column in _exact(manifest)
        for kind in (rows.schema.field(column.name).type,)
    ]
    return Catalog.of([*quasi, *exact])
