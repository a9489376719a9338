"""What can be learned from counts alone, where there are no rows: naive Bayes.

A statistical database, or a release whose rows are noise, still says how many of a category are of
a class. Naive Bayes needs no more: P(class) times P(category | class) for every quasi-identifier,
each with one row more than was counted (Laplace).
"""

from __future__ import annotations

import numpy as np

from sfumato.audits.usefulness.counting import Counting, crossed
from sfumato.audits.usefulness.questions import Classes, bins_of_codes, singles
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.engines.parts import TableParts

MODEL = "Naive Bayes of counts"


def chances_of_counts(
    source: Counting, table: TableParts, classes: Classes, train: Counts, test: Counts
) -> tuple[Floats, Floats]:
    """The chance of every class for rows to be tested on: learned from the table, and from counts.

    Classes are columns. The table is known by the rows ``train`` only.
    """
    crosses = singles(table, table.schema.quasi)
    whole, of = table.domain, classes.of_code[table.domain.codes[classes.name]]
    places = [
        bins_of_codes(table, cross.columns[0], cross.bins[0])[whole.codes[cross.columns[0]]]
        for cross in crosses
    ]
    counted = [crossed(source, cross, classes).cells for cross in crosses]
    own = [
        _cells(place[train], of[train], cells) for place, cells in zip(places, counted, strict=True)
    ]
    lines = [place[test] for place in places]
    return _posterior(own, lines), _posterior(counted, lines)


def _cells(lines: Counts, columns: Counts, like: Floats) -> Floats:
    cells = np.zeros_like(like)
    np.add.at(cells, (lines, columns), 1)
    return cells


def _posterior(tables: list[Floats], lines: list[Counts]) -> Floats:
    n = len(lines[0])
    prior = np.mean([cells.sum(axis=0) for cells in tables], axis=0) + 1
    logs = np.tile(np.log(prior), (n, 1))
    for cells, line in zip(tables, lines, strict=True):
        shares = (cells + 1) / (cells + 1).sum(axis=0)
        logs += np.log(shares)[line]
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = chances / chances.sum(axis=1, keepdims=True)
    return found


def auc(has: Flags, scores: Floats) -> float:
    """How likely somebody who has it is ranked before somebody who has not; ties are halves."""
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(times) - (times - 1) / 2
    positive = int(has.sum())
    below = ranks[place][has].sum() - positive * (positive + 1) / 2
    return float(below / (positive * (len(has) - positive)))
