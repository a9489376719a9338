"""How many rows of the microdata the boxes of a join release hold.

The SI tells that M rows of a sensitive group are of the microdata; the JAT shows the group's boxes,
B of them with n_b lines each, N in all. Of every box one line at least is of the microdata, or it
would not have been published. So its number of microdata rows m_b satisfies

    1 <= m_b <= n_b,  sum of m_b = M
    expected m_b = 1 + (M - B) (n_b - 1) / (N - B)

where the rows beyond the sure ones are spread evenly over the lines beyond the sure ones. (The
plain M n_b / N may be below 1, and so contradict the bounds.) Rows lie evenly in their box. Hence

    expected   sum of m_b * (share of the box that is wanted)
    at least   max(boxes wholly inside, M - lines of the other boxes)
    at most    min(lines of the boxes that touch, M - boxes that do not)

of the M rows satisfy conditions on quasi-identifiers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.answers.group_bounds import Scope
from sfumato.answers.sides import Reading
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.errors import DataError
from sfumato.forms.compact import number_lines
from sfumato.forms.joined.release import COUNT, SENSITIVE_GROUP, JoinRelease


class Stock(NamedTuple):
    """Boxes and what is known of the microdata's rows in them.

    By box the ``lines``, the sensitive ``group`` and the ``expected`` rows; by group the ``rows``
    and the number of ``boxes``.
    """

    lines: Counts
    group: Codes
    expected: Floats
    rows: Counts
    boxes: Counts

    @classmethod
    def of(cls, lines: Counts, group: Codes, rows: Counts) -> Stock:
        """Find out what to expect, or raise where the tables contradict each other."""
        boxes = np.bincount(group, minlength=len(rows))
        all_lines = np.bincount(group, lines, len(rows)).astype(np.int64)
        if len(boxes) > len(rows) or (boxes > rows).any() or (rows > all_lines).any():
            raise DataError(
                "the SI counts more rows than the JAT has lines, or fewer than it has boxes; "
                "verify tells where"
            )
        rate = (rows - boxes) / np.maximum(all_lines - boxes, 1)
        return cls(lines, group, 1 + rate[group] * (lines - 1), rows, boxes)

    @classmethod
    def of_release(cls, release: JoinRelease) -> tuple[Stock, pa.Table]:
        """What a release made by Refinement tells, and its boxes; equal ones count as one."""
        numbers, first = number_lines(release.groups)
        boxes = release.groups.take(pa.array(first))
        lines = np.bincount(numbers[release.group_of_row], minlength=len(first))
        si = next(iter(release.sis.values()))
        known, places = np.unique(si[SENSITIVE_GROUP].to_numpy(), return_inverse=True)
        rows = np.bincount(places, si[COUNT].to_numpy()).astype(np.int64)
        return cls.of(lines, places_among(boxes[SENSITIVE_GROUP].to_numpy(), known), rows), boxes

    def scope(self, seen: Reading) -> Scope:
        """How many rows of each group satisfy conditions of which boxes show so much."""
        n = len(self.rows)
        share = np.bincount(self.group, self.expected * seen.share, n) / self.rows
        outside = np.bincount(self.group, np.where(seen.sure, 0, self.lines), n).astype(np.int64)
        at_least = np.maximum(np.bincount(self.group[seen.sure], minlength=n), self.rows - outside)
        touching = np.bincount(self.group, np.where(seen.possible, self.lines, 0), n)
        apart = np.bincount(self.group[~seen.possible], minlength=n)
        at_most = np.minimum(touching.astype(np.int64), self.rows - apart)
        # rounding must not spoil what is certain
        share = np.clip(share, at_least / self.rows, at_most / self.rows)
        return Scope(share, self.rows - at_least, at_most)


def places_among(groups: Counts, known: Counts) -> Codes:
    """Where sensitive groups stand among those that are known."""
    places = np.minimum(np.searchsorted(known, groups), len(known) - 1)
    if not np.array_equal(known[places], groups):
        raise DataError("the JAT has sensitive groups that the SI lacks")
    return places.astype(np.int32)
