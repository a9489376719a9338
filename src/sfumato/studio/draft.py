"""What the owner has said about the columns so far: a schema that is not finished yet.

A draft may lack quasi-identifiers, and keeps what was said about a column whose role changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.core.attribute import Kind
from sfumato.core.binning import Bins, bins_of, stated_bins
from sfumato.core.schema import Role, Schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.words import Words
from sfumato.errors import SchemaError

_CODED = (Role.QUASI, Role.SENSITIVE)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A taxonomy, and where it is from: what to write in Python, and in words."""

    taxonomy: Taxonomy = field(repr=False)
    python: str
    words: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The role of every column, None for one that is not read; and how values are read."""

    roles: Mapping[str, Role | None]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    orders: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    bins: Mapping[str, Bins] = field(default_factory=dict)
    trees: Mapping[str, Tree] = field(default_factory=dict)
    words: Words = field(default_factory=Words)

    @classmethod
    def of_schema(cls, schema: Schema, columns: Iterable[str], path: str) -> Draft:
        """The draft that a schema file amounts to, for a table with these columns."""
        declared = schema.declarations
        return cls(
            roles={name: schema.roles.get(name) for name in columns},
            kinds={n: d.kind for n, d in declared.items() if d.kind and d.order is None},
            orders={n: d.order for n, d in declared.items() if d.order is not None},
            bins={n: d.bins for n, d in declared.items() if d.bins is not None},
            trees={
                name: Tree(tree, f"sf.read_schema({path!r}).taxonomies[{name!r}]", f"of {path}")
                for name, tree in schema.taxonomies.items()
            },
            words=schema.words,
        )

    def with_role(self, name: str, role: Role | None) -> Draft:
        """The same with another role of a column."""
        self._require(name)
        return replace(self, roles={**self.roles, name: role})

    def as_found(self, name: str) -> Draft:
        """The same with nothing said about how the values of a column are read."""
        self._require(name)
        others: dict[str, Any] = {
            part: {n: said for n, said in getattr(self, part).items() if n != name}
            for part in ("kinds", "orders", "bins", "trees")
        }
        return replace(self, **others)

    def with_kind(self, name: str, kind: str) -> Draft:
        """The same with a column read as numbers, or as names."""
        plain = self.as_found(name)
        try:
            return replace(plain, kinds={**plain.kinds, name: Kind(kind)})
        except ValueError:
            raise SchemaError(f"{kind!r} is no kind of values", column=name) from None

    def with_order(self, name: str, values: Iterable[Any]) -> Draft:
        """The same with the values of a column in an order, the lowest first."""
        plain = self.as_found(name)
        return replace(plain, orders={**plain.orders, name: tuple(values)})

    def with_bins(self, name: str, bins: Any) -> Draft:
        """The same with the numbers of a column in classes."""
        plain = self.as_found(name)
        return replace(plain, bins={**plain.bins, name: bins_of(name, bins)})

    def with_tree(self, name: str, tree: Tree) -> Draft:
        """The same with a taxonomy over the values of a column."""
        plain = self.as_found(name)
        return replace(plain, trees={**plain.trees, name: tree})

    def of_role(self, role: Role) -> list[str]:
        """The columns of a role, in the order of the table."""
        return [name for name, own in self.roles.items() if own is role]

    def how(self, name: str) -> str:
        """How the values of a column are read, in a word."""
        if name in self.kinds:
            return str(self.kinds[name])
        parts = {"order": self.orders, "bins": self.bins, "tree": self.trees}
        return next((word for word, said in parts.items() if name in said), "found")

    @property
    def schema(self) -> Schema:
        """The schema that it amounts to now; an error without a quasi-identifier."""
        if not self.of_role(Role.QUASI):
            raise SchemaError(
                "no column is known to others (quasi-identifying) yet; give one that role"
            )
        return self._schema()

    def alone(self, name: str) -> Schema:
        """A schema of one column, to read its values as they are said to be."""
        return replace(self, roles={name: Role.QUASI}, words=Words())._schema()

    def python(self) -> str:
        """The schema as it is written in Python."""
        lists = {
            "identifiers": self.of_role(Role.IDENTIFIER),
            "quasi": self.of_role(Role.QUASI),
            "sensitive": self.of_role(Role.SENSITIVE),
            "insensitive": self.of_role(Role.INSENSITIVE),
        }
        coded = self._coded()
        said = {
            "kinds": {n: repr(str(one)) for n, one in self.kinds.items() if n in coded},
            "orders": {n: repr(list(one)) for n, one in self.orders.items() if n in coded},
            "bins": {n: repr(stated_bins(one)) for n, one in self.bins.items() if n in coded},
            "taxonomies": {n: one.python for n, one in self.trees.items() if n in coded},
        }
        lines = [f"    {role}={names!r},\n" for role, names in lists.items() if names]
        lines += [f"    {part}={_dict(known)},\n" for part, known in said.items() if known]
        return f"sf.Schema(\n{''.join(lines)})"

    def _schema(self) -> Schema:
        coded = self._coded()
        return Schema(
            identifiers=self.of_role(Role.IDENTIFIER),
            quasi=self.of_role(Role.QUASI),
            sensitive=self.of_role(Role.SENSITIVE),
            insensitive=self.of_role(Role.INSENSITIVE),
            kinds={n: one for n, one in self.kinds.items() if n in coded},
            orders={n: one for n, one in self.orders.items() if n in coded},
            bins={n: stated_bins(one) for n, one in self.bins.items() if n in coded},
            taxonomies={n: one.taxonomy for n, one in self.trees.items() if n in coded},
            words=self._words(),
        )

    def _coded(self) -> set[str]:
        return {name for name, role in self.roles.items() if role in _CODED}

    def _words(self) -> Words:
        """Those about columns that have a role."""
        known = {name for name, role in self.roles.items() if role is not None}
        parts: dict[str, Any] = {
            part: {n: said for n, said in getattr(self.words, part).items() if n in known}
            for part in ("labels", "units", "names")
        }
        return replace(self.words, **parts)

    def _require(self, name: str) -> None:
        if name not in self.roles:
            raise SchemaError(f"the table has no column {name!r}", column=name)


def _dict(known: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name!r}: {said}' for name, said in known.items())}}}"
