"""Synthetic rows: drawn from a model of the table, and nobody's.

The model is a tree (Chow, Liu: "Approximating discrete probability distributions with dependence
trees", 1968) over columns whose values are dealt to cells:

    1. every column gets cells of ``least`` rows or more (cells.py): numbers up to ``bins``
       stretches of their ranks, categories one for each value that is as frequent, and the nearest
       of these for rarer ones
    2. of all pairs of columns the mutual information is estimated, without what chance alone adds,
       and the tree that has most of it connects them (tree.py)
    3. every column but the root is drawn given its parent: by how many rows have both cells. Pairs
       of cells that fewer than ``least`` rows share are never drawn
    4. in its cell a category is a value, and a number lies between averages of ``least`` rows

So no value and no pair along the tree is a single person's. Columns that are no neighbours
in the tree go together as far as those between them do, and combinations of three are nobody's on
purpose, but may be somebody's. There is no noise in the model: it promises nothing, and who knows
all rows but one may learn about that one. O(d^2 n) for d columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from sfumato.algorithms.masking.mask import Masked, chosen, stated_number
from sfumato.algorithms.masking.synthesize.cells import Cells, cells_of
from sfumato.algorithms.masking.synthesize.tree import Branch, branches, least_told
from sfumato.core.arrays import Floats, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError, SchemaError

MODEL = "synthetic rows"
_MOST_COLUMNS = 40
_MOST_BINS = 64
_FITTED = 0.5  # of the rows, whose pairs of cells are frequent enough


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Draw as many rows as the table has from a tree of its columns.

    ``least`` is how many rows share whatever the model knows; ``bins`` how many cells a number has
    at most, by default as many as leave pairs of cells filled. ``columns`` are those to
    publish, by default all quasi-identifiers and sensitive ones: others are left out.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.mask(patients, sf.Synthesize(columns=("age", "sex", "disease")))
    >>> release.table.num_rows
    1000
    """

    name: ClassVar[str] = "synthesize"
    least: int = 5
    bins: int = 0
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """One row is a person."""
        object.__setattr__(self, "columns", tuple(self.columns))
        if type(self.least) is not int or self.least < 2:
            raise ParameterError(
                f"least must be a whole number from 2 on, not {self.least}", parameter="least"
            )
        if type(self.bins) is not int or not (self.bins == 0 or 2 <= self.bins <= _MOST_BINS):
            raise ParameterError(
                f"bins must be a whole number from 2 to {_MOST_BINS}, or 0 for as many as can be "
                f"filled; not {self.bins}",
                parameter="bins",
            )

    def masked(self, table: Microdata, randomness: Randomness) -> Masked:
        """Fit the model, and draw."""
        known = [*table.schema.quasi, *table.schema.sensitive]
        names = chosen(table, self.columns, known, "synthesize")
        self._require_rows(table.n_rows)
        _require_few(table, names)
        cells = [self._cells(table, name) for name in names]
        tree = branches(cells, self.least)
        _require_fitted(names, cells, tree)
        drawn = _drawn(tree, table.n_rows, randomness)
        shown = {
            name: one.draw(drawn[place], _shares(randomness, table.n_rows))
            for place, (name, one) in enumerate(zip(names, cells, strict=True))
        }
        changed = {
            branch.column: 1 - (1 - cells[branch.column].lost) * branch.kept for branch in tree
        }
        stated = tuple(
            {"model": MODEL, "on": name, "changed": stated_number(changed[place])}
            for place, name in enumerate(names)
        )
        return Masked(shown, stated, None)

    def _cells(self, table: Microdata, name: str) -> Cells:
        bins = self.bins or int(min(max(sqrt(table.n_rows / self.least) / 2, 2), _MOST_BINS))
        return cells_of(table.attributes[name], table.codes[name], self.least, bins)

    def _require_rows(self, rows: int) -> None:
        if rows < 2 * self.least:
            raise DataError(
                f"a model in which {self.least} rows share whatever it knows takes "
                f"{2 * self.least} rows or more, and the table has {rows}"
            )


def _require_few(table: Microdata, names: tuple[str, ...]) -> None:
    if len(names) > _MOST_COLUMNS:
        codes = [(table.codes[name], table.attributes[name].size) for name in names]
        drop = [names[place] for place in least_told(codes)[: len(names) - _MOST_COLUMNS]]
        raise SchemaError(
            f"{_MOST_COLUMNS} columns are fitted at most, and there are {len(names)}; drop those "
            f"that say least of others: {_listed(drop)}",
            column=drop[0],
        )


def _require_fitted(names: tuple[str, ...], cells: list[Cells], tree: list[Branch]) -> None:
    """A column of which most rows say what nobody else says would be made up."""
    kept = {branch.column: branch.kept for branch in tree}
    drop = [
        name
        for place, name in enumerate(names)
        if not cells[place].count or kept[place] * (1 - cells[place].lost) < _FITTED
    ]
    if drop:
        raise SchemaError(
            "the model cannot fit columns most of whose values, or pairs with another column, are "
            f"too rare: drop {_listed(drop)} from the schema, or merge their values",
            column=drop[0],
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def _drawn(tree: list[Branch], rows: int, randomness: Randomness) -> dict[int, Ints]:
    """The cells of every row, parents before their children."""
    drawn: dict[int, Ints] = {}
    for branch in tree:
        parents = np.zeros(rows, np.int64) if branch.parent is None else drawn[branch.parent]
        drawn[branch.column] = branch.draw(parents, _shares(randomness, rows))
    return drawn


def _shares(randomness: Randomness, n: int) -> Floats:
    """Numbers from 0 on below 1."""
    words = randomness.words(n) >> np.uint64(11)
    shares: Floats = words.astype(np.float64) * 2.0**-53
    return shares
