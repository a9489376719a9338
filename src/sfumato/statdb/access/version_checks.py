"""Versions of a database, checked from the rows up: the index and the counting are not used.

For a question, the version behind its answer is made and looked at: every group must lie in one
bucket, hold no value twice, and with its counterfeits have exactly the bucket's signature, of at
least m values. A row's bucket is the store's, so its signature is the same in every version. Then
the interval that the version shows is computed by the lemmas for one published version, and must be
the answer; and the truth must lie in it. Neighbours have one version, see near_checks.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Counts, Flags, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.predicates import Missing, Not, one_of
from sfumato.core.query import Aggregate, Query
from sfumato.statdb.access.near_checks import NearGround, marked_codes
from sfumato.statdb.count.asking import conditions_of
from sfumato.statdb.count.conditions import Conditions, is_all
from sfumato.statdb.database import StatDB
from sfumato.statdb.layout.bucketization import Bucketization
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The rows of a database, and by row the bucket and the cohort that the store gives it."""

    database: StatDB
    table: Microdata
    buckets: Bucketization
    bucket: Counts
    cohort: Counts
    widths: Counts

    @classmethod
    def of(cls, database: StatDB, stored: Layout) -> Ground:
        """From the places of rows, as bucketization.py describes them."""
        buckets = stored.buckets
        return cls(database, database.table(), buckets, *stored.homes(), np.diff(buckets.starts))

    def alpha(self, wanted: Flags) -> Counts:
        """How many values of each bucket's signature are wanted."""
        buckets = self.buckets
        found: Counts = np.add.reduceat(
            wanted[buckets.values].astype(np.int64), buckets.starts[:-1]
        )
        return found


def ground_of(database: StatDB) -> Ground | NearGround:
    """What versions of a database are checked against."""
    stored = database.responder.stored
    if isinstance(stored, Neighbourhoods):
        return NearGround.of(database, stored)
    return Ground.of(database, stored)


def narrowed(query: Query, by: tuple[str, ...], key: tuple[object, ...], one: Aggregate) -> Query:
    """The question for the count of one group."""
    where = dict(query.where)
    parts = {name: one_of([value]) for name, value in zip(by, key, strict=True)}
    if one.attribute is not None:
        known = Not(Missing())
        asked = parts.get(one.attribute)
        parts[one.attribute] = known if asked is None else asked & known
    for name, part in parts.items():
        where[name] = where[name] & part if name in where else part
    return Query(where)


def version_flaw(ground: Ground | NearGround, version: Partition) -> str:
    """What keeps a version from being one of the m-invariant set; nothing if it is."""
    if isinstance(ground, NearGround):
        return ground.version_flaw(version)
    responder, groups = ground.database.responder, version.groups
    if len(groups) != len(ground.bucket) or version.n_left_out:
        return "a version lacks rows"
    home = ground.cohort[_first_rows(version)]
    if (home[groups] != ground.cohort).any():
        return "a group of a version has rows of two signatures or two cohorts"
    codes = ground.table.codes[responder.sensitive]
    if _any_twice(groups, codes, responder.attributes[responder.sensitive].size):
        return "a group of a version has a value twice"
    if not _in_signatures(ground, codes):
        return "a row has a value that its signature lacks"
    if ground.widths.min() < responder.m:
        return f"a signature has fewer than {responder.m} values"
    places = int(ground.widths[ground.bucket[_first_rows(version)]].sum())
    if places - version.n_rows != ground.database.counterfeits:
        return "a version has other counterfeits than the database"
    return ""


def shown_interval(
    ground: Ground | NearGround, version: Partition, conditions: Conditions
) -> tuple[int, int, int]:
    """The ends of the interval that a version shows for a count, and the truth."""
    responder = ground.database.responder
    sensitive = responder.sensitive
    quasi = {
        name: runs
        for name, runs in conditions.items()
        if name != sensitive and not is_all(runs, responder.axes[name])
    }
    wanted = marked_codes(conditions.get(sensitive), responder.axes[sensitive].size)
    hit = np.ones(version.n_rows, np.bool_)
    for name, runs in quasi.items():
        hit &= marked_codes(runs, responder.axes[name].size)[ground.table.codes[name]]
    truth = int((hit & wanted[ground.table.codes[sensitive]]).sum())
    if not all(quasi.values()):
        return 0, 0, truth
    if isinstance(ground, NearGround) and responder.framework == "anatomy":
        return *ground.interval(hit, wanted), truth
    if isinstance(ground, NearGround):
        return *ground.boxed(*_boxes(ground, Partition.of(ground.group), quasi), wanted), truth
    bucket = ground.bucket[_first_rows(version)]
    alpha, width = ground.alpha(wanted)[bucket], ground.widths[bucket]
    if responder.framework == "anatomy":
        beta = np.bincount(version.groups, hit, version.n_groups).astype(np.int64)
        lo, hi = np.maximum(0, alpha + beta - width), np.minimum(alpha, beta)
    else:
        inside, outside = _boxes(ground, version, quasi)
        lo, hi = alpha * (inside & (version.sizes == width)), alpha * ~outside
    # how many rows there are is public, so counterfeits do not count above it, and not for all
    if not quasi and wanted.all():
        return version.n_rows, version.n_rows, truth
    return int(lo.sum()), min(int(hi.sum()), version.n_rows), truth


def count_flaw(ground: Ground | NearGround, query: Query, lo: int, hi: int) -> str:
    """What is wrong with the answer to a count, and with the version behind it."""
    database = ground.database
    version = ground.version() if isinstance(ground, NearGround) else database.version(query)
    problem = version_flaw(ground, version)
    if problem:
        return problem
    *shown, truth = shown_interval(ground, version, conditions_of(database.responder, query))
    boxed = database.responder.framework == "generalization" and database.counterfeits > 0
    # with counterfeits and many conditions, boxes may be answered more widely than they could be
    wider = boxed and lo <= shown[0] and shown[1] <= hi
    if shown != [lo, hi] and not wider:
        return "an answer is not what its version shows"
    return "" if lo <= truth <= hi else "an answer does not contain the truth"


def _first_rows(version: Partition) -> Counts:
    _, rows = np.unique(version.groups, return_index=True)
    found: Counts = rows.astype(np.int64)
    return found


def _any_twice(groups: Ints, codes: Ints, n_codes: int) -> bool:
    pairs = groups.astype(np.int64) * n_codes + codes
    return len(np.unique(pairs)) < len(pairs)


def _in_signatures(ground: Ground, codes: Ints) -> bool:
    buckets, size = ground.buckets, int(codes.max()) + 1
    owners = np.repeat(np.arange(buckets.n_buckets), ground.widths)
    if _any_twice(owners, buckets.values, int(buckets.values.max()) + 1):
        return False
    size = max(size, int(buckets.values.max()) + 1)
    return bool(np.isin(ground.bucket * size + codes, owners * size + buckets.values).all())


def _boxes(
    ground: Ground | NearGround, version: Partition, quasi: Conditions
) -> tuple[Flags, Flags]:
    """Groups whose box lies inside the query, and those whose box lies outside."""
    inside = np.ones(version.n_groups, np.bool_)
    outside = np.zeros(version.n_groups, np.bool_)
    order = np.argsort(version.groups, kind="stable")
    starts = np.append(0, np.cumsum(version.sizes)[:-1])
    for name, runs in quasi.items():
        ((first, last),) = runs  # boxes answer ranges only; others are refused
        codes = ground.table.codes[name][order].astype(np.int64)
        low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        inside &= (low >= first) & (high <= last)
        outside |= (high < first) | (low > last)
    return inside, outside
