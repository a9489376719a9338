"""Which column plays which role, and how its values are to be read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sfumato.core.attribute import Kind
from sfumato.core.binning import Bins, Quantiles, bins_of
from sfumato.core.expected import given
from sfumato.core.html import card, grid
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.words import Words
from sfumato.errors import ParameterError, SchemaError


class Role(StrEnum):
    """What a column may tell about a person."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the owner says about one column beyond its role; None leaves it to the data."""

    kind: Kind | None = None
    order: tuple[Any, ...] | None = None
    bins: Bins | None = None

    def __repr__(self) -> str:
        """How long an order is; its values may be many."""
        words = [] if self.kind is None else [self.kind.value]
        words += [] if self.order is None else [f"{len(self.order):,} values in order"]
        words += [] if self.bins is None else [_in_words(self.bins)]
        return f"Declaration({', '.join(words)})"


@dataclass(frozen=True, slots=True, init=False)
class Schema:
    """Roles of the columns. A column without a role is not read at all.

    Identifiers are dropped from everything that leaves; quasi-identifiers are generalized;
    sensitive values are what must not be linked to a person; insensitive columns are published
    as they are. ``bins`` divides numbers into classes: so many with about equally many rows,
    between borders such as ``[0, 20000]``, or at ``{"quantiles": [0.25, 0.5, 0.75]}``. ``points``
    names pairs of quasi-identifiers that are places, such as ``{"home": ["x", "y"]}``: statistical
    databases can be asked about circles around them.

    >>> sf.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive="disease")
    Schema(identifiers=['name'], quasi=['age', 'sex'], sensitive=['disease'])
    """

    identifiers: tuple[str, ...]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    declarations: Mapping[str, Declaration] = field(hash=False)
    taxonomies: Mapping[str, Taxonomy] = field(hash=False)
    words: Words
    points: Mapping[str, tuple[str, str]] = field(hash=False)

    def __init__(
        self,
        *,
        quasi: Sequence[str],
        sensitive: str | Sequence[str] = (),
        identifiers: Sequence[str] = (),
        insensitive: Sequence[str] = (),
        kinds: Mapping[str, Kind | str] | None = None,
        orders: Mapping[str, Sequence[Any]] | None = None,
        bins: Mapping[str, Any] | None = None,
        taxonomies: Mapping[str, Taxonomy] | None = None,
        words: Words | None = None,
        points: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        def fix(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        fix("identifiers", _names("identifiers", identifiers))
        fix("quasi", _names("quasi", quasi))
        sensitive = [sensitive] if isinstance(sensitive, str) else sensitive
        fix("sensitive", _names("sensitive", sensitive))
        fix("insensitive", _names("insensitive", insensitive))
        fix("declarations", _declarations(kinds or {}, orders or {}, bins or {}))
        fix("taxonomies", dict(taxonomies or {}))
        fix("words", words or Words())
        fix(
            "points",
            {name: _names(f"the point {name!r}", pair) for name, pair in (points or {}).items()},
        )
        self._check()

    @property
    def roles(self) -> dict[str, Role]:
        """Every column with its role, quasi-identifiers first."""
        return dict(self._pairs())

    def without_identifiers(self) -> Schema:
        """The same roles of all columns that are used."""
        made = copy.copy(self)
        object.__setattr__(made, "identifiers", ())
        return made

    def of_quasi(self, names: Sequence[str]) -> Schema:
        """The same roles, with some of the quasi-identifiers only, in their order here."""
        made = copy.copy(self)
        object.__setattr__(made, "quasi", tuple(name for name in self.quasi if name in names))
        left = {name: pair for name, pair in self.points.items() if {*pair} <= {*made.quasi}}
        object.__setattr__(made, "points", left)
        return made

    def _pairs(self) -> Iterator[tuple[str, Role]]:
        for role, names in (
            (Role.QUASI, self.quasi),
            (Role.SENSITIVE, self.sensitive),
            (Role.INSENSITIVE, self.insensitive),
            (Role.IDENTIFIER, self.identifiers),
        ):
            for name in names:
                yield name, role

    def _check(self) -> None:
        if not self.quasi:
            raise SchemaError("a schema needs at least one quasi-identifier (quasi = [...])")
        roles: dict[str, Role] = {}
        for name, role in self._pairs():
            if "\0" in name:  # tables that are read in parts have columns of their own under such
                raise SchemaError(
                    f"column {name!r} has a zero character in its name; rename it", column=name
                )
            if name in roles:
                raise SchemaError(
                    f"column {name!r} has two roles, {roles[name]} and {role}; keep one",
                    column=name,
                )
            roles[name] = role
        for name, pair in self.points.items():
            if name in roles or [one in self.quasi for one in pair] != [True, True]:
                raise SchemaError(
                    f"the point {name!r} needs a name of its own and two quasi-identifiers, "
                    f'{name} = ["x", "y"]',
                    column=name,
                )
        coded = {*self.quasi, *self.sensitive}
        for name in self.words.columns() - roles.keys():
            raise SchemaError(f"{name!r} has words of its own but no role", column=name)
        for name in (*self.declarations, *self.taxonomies):
            if name not in coded:
                raise SchemaError(
                    f"{name!r} is described but is neither quasi nor sensitive", column=name
                )
        for name, declared in self.declarations.items():
            if declared.bins is not None and (declared.order or name in self.taxonomies):
                raise SchemaError(
                    f"column {name!r} has bins and an order or a taxonomy; keep one", column=name
                )
            if declared.order is None:
                continue
            if declared.kind is Kind.NUMERICAL:
                raise SchemaError(
                    f"column {name!r} is numerical: its order is that of the numbers", column=name
                )
            if name in self.taxonomies:
                raise SchemaError(
                    f"column {name!r} has an order and a taxonomy; the taxonomy's leaves from left "
                    "to right are its order, so keep one",
                    column=name,
                )

    def _repr_html_(self) -> str:
        """Roles, and how much is said about each column."""
        rows = [(name, role.value, self._said(name)) for name, role in self.roles.items()]
        return card("Schema", grid(("column", "role", "declared"), rows, left=3))

    def _said(self, name: str) -> str:
        declared = self.declarations.get(name)
        words = [] if declared is None else [repr(declared)[len("Declaration(") : -1]]
        return ", ".join(words + ["a taxonomy"] * (name in self.taxonomies))

    def __repr__(self) -> str:
        """Names only: declared orders and taxonomies may be long."""
        parts = {
            "identifiers": self.identifiers,
            "quasi": self.quasi,
            "sensitive": self.sensitive,
            "insensitive": self.insensitive,
            "declared": tuple(self.declarations),
            "taxonomies": tuple(self.taxonomies),
        }
        shown = (f"{part}={[*names]}" for part, names in parts.items() if names)
        return f"Schema({', '.join(shown)})"


def require_schema(schema: object) -> None:
    """Raise unless this is a schema."""
    if not isinstance(schema, Schema):
        raise ParameterError(
            f"schema must be a Schema or the path of a schema file, not {given(schema)}; make one: "
            "sf.Schema(quasi=[...], sensitive=...), or of a dict: sf.Schema(**roles)",
            parameter="schema",
        )


def _names(role: str, names: Sequence[Any]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise SchemaError(f"{role} wants a list of column names, not the text {names!r}")
    for name in names:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"{role} holds {name!r}, which is not a column name")
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise SchemaError(f"{role} names column {twice!r} twice", column=twice)
    return tuple(names)


def _declarations(
    kinds: Mapping[str, Kind | str], orders: Mapping[str, Sequence[Any]], bins: Mapping[str, Any]
) -> dict[str, Declaration]:
    return {
        name: Declaration(
            kind=_kind(name, kinds[name]) if name in kinds else _kind_of_order(name, orders),
            order=tuple(orders[name]) if name in orders else None,
            bins=bins_of(name, bins[name]) if name in bins else None,
        )
        for name in {**kinds, **orders, **bins}
    }


def _kind(name: str, kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        known = " or ".join(repr(str(known)) for known in Kind)
        raise SchemaError(
            f"column {name!r} has kind {kind!r}; it can be {known}", column=name
        ) from None


def _in_words(bins: Bins) -> str:
    if isinstance(bins, Quantiles):
        return f"{len(bins.shares) + 1:,} bins at quantiles"
    return f"{len(bins) + 1:,} bins by borders" if isinstance(bins, tuple) else f"{bins} bins"


def _kind_of_order(name: str, orders: Mapping[str, Sequence[Any]]) -> Kind | None:
    return Kind.CATEGORICAL if name in orders else None
