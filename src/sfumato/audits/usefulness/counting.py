"""Counts of a cross table, of whatever can be asked: a table, a release, a statistical database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from sfumato.answers.rows import KeyCounts
from sfumato.asking.ask import answerer_about, bound_all
from sfumato.audits.usefulness.questions import Classes, Cross
from sfumato.core.answer import CountAnswers
from sfumato.core.arrays import Counts, Floats
from sfumato.core.askable import Askable
from sfumato.core.predicates import Predicate
from sfumato.core.query import Query
from sfumato.engines.parts import TableParts
from sfumato.forms.registry import FORMS


class Counting(Protocol):
    """Whatever counts rows: a table, a release, a statistical database."""

    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """Estimated rows by category and class; sums and counts of the numbers, where they are known.

    ``cells`` has a line for each category. ``sums`` and ``known`` are those of a numerical column,
    from which its means follow.
    """

    cells: Floats
    sums: Floats | None = None
    known: Floats | None = None

    @property
    def means(self) -> Floats:
        """The mean of every category, that of all where it has no rows; NaN without any."""
        assert self.sums is not None
        assert self.known is not None
        rows = self.known.sum()
        whole = self.sums.sum() / rows if rows else np.nan
        means: Floats = np.where(
            self.known > 0, self.sums / np.where(self.known > 0, self.known, 1), whole
        )
        return means

    @property
    def independent(self) -> Crossed:
        """What the marginals alone make of it: everything independent."""
        lines, total = self.cells.sum(axis=1), max(float(self.cells.sum()), 1.0)
        cells = np.outer(lines, self.cells.sum(axis=0)) / total
        if self.sums is None or self.known is None:
            return Crossed(cells)
        known = self.known.sum() * lines / total
        return Crossed(cells, self.sums.sum() * lines / total, known)


def crossed(source: Counting, cross: Cross, classes: Classes) -> Crossed:
    """Ask for every cell; estimates below nothing, which noise can give, are taken for nothing."""
    if not isinstance(source, TableParts) and getattr(source, "kind", None) not in FORMS:
        return _one_by_one(source, cross, classes)
    asked = answerer_about(cast(Askable, source), {*cross.columns, classes.name})
    queries = [Query(condition) for condition in cross.conditions]
    found = [asked.counts_by(bound.where, classes.name) for bound in bound_all(asked, queries)]
    codes = np.array([classes.place.get(key, -1) for key in found[0].keys], np.int64)
    cells = np.array([_by_class(counted, codes, classes) for counted in found])
    if not classes.numeric:
        return Crossed(cells)
    sums, known = np.array([_summed(counted, codes, classes) for counted in found]).T
    return Crossed(cells, sums, known)


def _by_class(counted: KeyCounts, codes: Counts, classes: Classes) -> Floats:
    there = codes >= 0
    of = classes.of_code[codes[there]]
    rows = np.maximum(counted.estimate[there], 0)
    return np.bincount(of, rows, len(classes.bins)).astype(np.float64)


def _summed(counted: KeyCounts, codes: Counts, classes: Classes) -> tuple[float, float]:
    assert classes.numbers is not None
    there = (codes >= 0) & (codes < len(classes.numbers))
    rows = np.maximum(counted.estimate[there], 0)
    return float(rows @ classes.numbers[codes[there]]), float(rows.sum())


def _one_by_one(source: Counting, cross: Cross, classes: Classes) -> Crossed:
    """One count for each cell, of what answers nothing else."""
    queries = [
        Query(_both(condition, classes, place))
        for condition in cross.conditions
        for place in range(len(classes.bins))
    ]
    counted = np.maximum(source.counts(queries).estimate, 0)
    return Crossed(counted.reshape(-1, len(classes.bins)))


def _both(condition: Mapping[str, Predicate], classes: Classes, place: int) -> dict[str, Predicate]:
    return {**condition, classes.name: classes.bins[place].predicate}
