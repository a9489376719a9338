"""Random tables: a few columns of any type in any role, few rows, often alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    n = draw(st.integers(1, MOST_ROWS))
    roles: list[Role] = ["quasi"] * draw(st.integers(1, 3))
    roles += ["sensitive"] * draw(st.integers(*sensitive))
    if others:
        roles += draw(st.sampled_from([[], [], ["insensitive"], ["identifier"]]))
    names = draw(st.permutations(NAMES).map(lambda order: order[: len(roles)]) | _usual(roles))
    columns = tuple(
        draw(_even_columns(name, n) if even and role == "sensitive" else _columns(name, role, n))
        for name, role in zip(names, roles, strict=True)
    )
    texts = [c.name for c in columns if c.type == "string" and c.role in ("quasi", "sensitive")]
    tree = draw(st.sampled_from([None, *texts]))
    return Table(columns, tree)


def _usual(roles: Sequence[Role]) -> st.SearchStrategy[Sequence[str]]:
    return st.just(NAMES[: len(roles)])


@st.composite
def _columns(draw: st.DrawFn, name: str, role: Role, n: int) -> Column:
    strange = role in ("insensitive", "identifier") or draw(st.integers(0, 39)) == 39
    kind = draw(st.sampled_from(list(TYPES) if strange else CODABLE))
    pool = TYPES[kind]
    fewest = min(3 if role == "sensitive" else 1, len(pool))
    values = draw(_some(pool, fewest))
    cell = st.integers(0, len(values) - 1) if values else st.none()
    holes = draw(st.sampled_from([False, False, True]))
    cells = draw(st.lists(st.none() | cell if holes else cell, min_size=n, max_size=n))
    return Column(name, role, str(kind), tuple(values), tuple(cells))


@st.composite
def _even_columns(draw: st.DrawFn, name: str, n: int) -> Column:
    kind = draw(st.sampled_from(WHOLE))
    values = draw(_some(TYPES[kind], 3))
    cells = draw(st.permutations([i % len(values) for i in range(n)]))
    return Column(name, "sensitive", str(kind), tuple(values), tuple(cells))


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
