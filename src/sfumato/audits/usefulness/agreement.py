"""Whether a table can be the one that a release or a database was made of, by their own bounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from sfumato.audits.bins import bins_of
from sfumato.audits.usefulness.counting import Counting
from sfumato.audits.usefulness.questions import bins_of_codes
from sfumato.core.arrays import Counts
from sfumato.core.predicates import Predicate
from sfumato.core.query import Query
from sfumato.engines.parts import TableParts
from sfumato.errors import DataError

_BINS = 8
_NEARLY = 1e-6


def require_agreeing(source: Counting, table: TableParts, refused: Collection[str]) -> None:
    """Raise where the table has more or fewer rows than any table that ``source`` can be of.

    A few bins of every column that can be asked about are counted; bounds contain the truth, so
    what lies outside of them is another table's.
    """
    names = (*table.schema.quasi, *table.schema.sensitive)
    known = [name for name in names if name not in refused]
    if not known:
        return
    asked, true = _counted(table, known)
    found = source.counts([Query({name: one} if one else {}) for name, _, one in asked])
    odd = np.flatnonzero((true < found.lo - _NEARLY) | (true > found.hi + _NEARLY))
    if len(odd):
        name, label, _ = asked[odd[0]]
        where = f"{true[odd[0]]:,} rows" + (f" with {name} {label}" if name else "")
        raise DataError(
            f"the table has {where}, and what is compared with it was made of "
            f"{_between(found.lo[odd[0]], found.hi[odd[0]])}; give the table that it was made of"
        )


def _counted(
    table: TableParts, names: Sequence[str]
) -> tuple[list[tuple[str, str, Predicate | None]], Counts]:
    """Every bin of every column, after all rows; and how many rows are in it."""
    asked: list[tuple[str, str, Predicate | None]] = [("", "", None)]
    true = [np.array([table.n_rows])]
    for name in names:
        counts = table.value_counts[name]
        bins = bins_of(table.attributes[name], counts, _BINS)
        asked += [(name, one.label, one.predicate) for one in bins]
        of_code = bins_of_codes(table, name, bins)[: len(counts)]
        true.append(np.bincount(of_code, counts, len(bins)).astype(np.int64))
    return asked, np.concatenate(true)


def _between(lo: float, hi: float) -> str:
    return f"{hi:,.0f}" if lo == hi else f"{lo:,.0f} to {hi:,.0f}"
