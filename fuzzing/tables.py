"""Random tables: a few columns of any type in any role, few rows, often alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from fuzzing.columns import CODABLE, TYPES, WHOLE, Column, Role
from sfumato.core.spelling import folded

MOST_ROWS = 24
# The usual ones first: cases shrink towards them.
NAMES = (
    "age", "sex", "disease", "zip", "Age", "group_id", "count", "select", "a b", 'quo"te', "é",
    "age_min", "age_missing", " blank ", "1", "*", "a,b", "a/b", "..", "con", "x" * 70, "tab\tbed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of one length; ``tree`` names the text column that has a taxonomy, if one has."""

    columns: tuple[Column, ...]
    tree: str | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].cells)

    def arrow(self) -> pa.Table:
        """The table in its own types."""
        return pa.table({column.name: column.array() for column in self.columns})

    def of_role(self, role: Role) -> list[Column]:
        """The columns of a role."""
        return [column for column in self.columns if column.role == role]

    def schema(self, identifiers: Sequence[str] = ()) -> sf.Schema:
        """The roles, and the taxonomy; with identifiers that are not in the case."""
        roles: dict[str, Any] = {
            role: [column.name for column in self.of_role(role)]
            for role in ("quasi", "sensitive", "insensitive")
        }
        named = {column.name: column for column in self.columns}
        trees = {} if self.tree is None else {self.tree: _taxonomy(named[self.tree].values)}
        hidden = [column.name for column in self.of_role("identifier")]
        return sf.Schema(**roles, identifiers=[*hidden, *identifiers], taxonomies=trees)

    def microdata(self) -> sf.Microdata:
        """The table as sfumato reads it, or its refusal."""
        return sf.Microdata.from_arrow(self.arrow(), self.schema())


@st.composite
def tables(
    draw: st.DrawFn,
    sensitive: tuple[int, int] = (0, 2),
    *,
    others: bool = True,
    even: bool = False,
) -> Table:
    """One to three quasi-identifiers, so many sensitive columns, and now and then others.

    In ``even`` tables sensitive values are equally frequent, so that most models can hold.
    """
    roles: list[Role] = ["quasi"] * draw(st.integers(1, 3))
    roles += ["sensitive"] * draw(st.integers(*sensitive))
    if others:
        roles += draw(st.sampled_from([[], [], ["insensitive"], ["identifier"]]))
    names = draw(st.permutations(NAMES).map(lambda order: order[: len(roles)]) | _usual(roles))
    columns = [draw(_empty(*one, even)) for one in zip(names, roles, strict=True)]
    # row by row, so that what fails can lose rows
    fewest = draw(st.sampled_from([1, 8, 16]))
    rows = draw(st.lists(st.tuples(*map(_cells, columns)), min_size=fewest, max_size=MOST_ROWS))
    filled = tuple(
        replace(column, cells=_dealt(column, cells) if even else cells)
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True)
    )
    texts = [c.name for c in filled if c.type == "string" and c.role in ("quasi", "sensitive")]
    return Table(filled, draw(st.sampled_from([None, *texts])))


def _usual(roles: Sequence[Role]) -> st.SearchStrategy[Sequence[str]]:
    return st.just(NAMES[: len(roles)])


@st.composite
def _empty(draw: st.DrawFn, name: str, role: Role, even: bool) -> Column:
    """A column with values and, so far, one cell, which is empty where others may be."""
    if even and role == "sensitive":
        kinds = WHOLE
    elif role in ("insensitive", "identifier") or draw(st.integers(0, 39)) == 39:
        kinds = list(TYPES)
    else:
        kinds = CODABLE
    kind = draw(st.sampled_from(kinds))
    values = draw(_some(TYPES[kind], min(3 if role == "sensitive" else 1, len(TYPES[kind]))))
    holes = not values or draw(st.sampled_from([False, False, True]))
    return Column(name, role, str(kind), tuple(values), (None,) if holes else (0,))


def _cells(column: Column) -> st.SearchStrategy[int | None]:
    cell = st.integers(0, len(column.values) - 1) if column.values else st.none()
    return st.none() | cell if column.cells == (None,) else cell


def _dealt(column: Column, cells: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Sensitive values in equal numbers, dealt in the order of the drawn cells."""
    if column.role != "sensitive":
        return cells
    order = sorted(range(len(cells)), key=lambda i: (cells[i] or 0, i))
    dealt = {row: rank % len(column.values) for rank, row in enumerate(order)}
    return tuple(dealt[row] for row in range(len(cells)))


def _some(pool: Sequence[str], fewest: int) -> st.SearchStrategy[list[str]]:
    if not pool:
        return st.just([])
    return st.lists(st.sampled_from(pool), min_size=fewest, max_size=6, unique=True)


def _taxonomy(values: Sequence[str]) -> sf.Taxonomy:
    """A tree of two branches over texts, in the one spelling that a column has."""
    leaves = sorted({*folded(pa.array(values)).to_pylist()} - {None}) or ["nothing"]
    half = (len(leaves) + 1) // 2
    branches = {"left": leaves[:half], "right": leaves[half:]}
    return sf.Taxonomy.from_nested({"anything": {k: part for k, part in branches.items() if part}})
