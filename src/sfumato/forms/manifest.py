"""release.json: what a release promises and how to read its tables.

It states parameters, counts and metrics, and the orders and taxonomies that the owner declared. It
never holds another value that the tables do not show, nor the seed, which could undo the published
order. What it may state is a closed list (stated.py), and it has one writing: ``to_json``. Since
format 2 it names the files beside it with their checksums, and has one of its own (checksums.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import pyarrow as pa

from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.moments import python_values
from sfumato.core.schema import Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.io.plain import plain_table
from sfumato.io.types import type_text

FORMAT = "sfumato-release"
VERSION = 2
WITHOUT_CHECKSUMS = 1  # a format that is still read
FILE = "release.json"
CUSTOM = "custom"  # the model of a promise that is the publisher's own
MANY = 10**12  # more than can be counted here is a message, not a number
MAKER = "sfumato"
CHECKSUM = "checksum"


_ASIDE = ("search", "version", "files")  # of a manifest's fields


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """How one attribute of the microdata appears.

    ``form`` is range, set, label, cell or text for a generalized quasi-identifier and value for
    everything published as it is; ``columns`` are the names of its columns in the table. The ends
    of ``tight`` ranges are values of the group, not only around them. ``type`` is that of values
    which are shown in readable cells.
    """

    name: str
    role: str
    form: str
    columns: tuple[str, ...]
    kind: str | None = None
    order: tuple[Any, ...] | None = None
    taxonomy: Mapping[str, Any] | None = None
    tight: bool | None = None
    type: str | None = None

    def __repr__(self) -> str:
        """Without order and taxonomy, which may be long."""
        return f"PublishedColumn({self.name!r}, {self.role}, {self.form})"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of release.json; ``types`` are the Arrow types of the tables' columns.

    ``rows`` are those that are published; ``suppressed`` ones were left out. ``external`` says
    where the external rows of a join release are from. ``seed`` is None, or says that whoever has
    the files can find the seed by trying. ``search`` is what the algorithm tells its owner about
    its search (how long, how near the optimum): it depends on rows that nobody else sees, so it is
    in no file. ``version`` and ``files`` (names and checksums) are those of the folder that it was
    read from; they are given anew when a release is written, and are no part of what it says.
    """

    kind: str
    promise: tuple[dict[str, Any], ...]
    algorithm: dict[str, Any]
    rows: int = 0
    groups: int = 0
    columns: tuple[PublishedColumn, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    metrics: dict[str, Any] = field(default_factory=dict)
    suppressed: int = 0
    external: dict[str, Any] | None = None
    seed: str | None = None
    made_by: str = MAKER
    search: Mapping[str, Any] = field(default_factory=dict)
    version: int = field(default=VERSION, compare=False)
    files: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def of_tables(self, columns: tuple[PublishedColumn, ...], *tables: pa.Table) -> Manifest:
        """The same with the columns of these tables."""
        plain = (plain_table(one.schema.empty_table()).schema for one in tables)
        return replace(self, columns=columns, types=column_types(plain))

    def of_role(self, role: str) -> tuple[PublishedColumn, ...]:
        """The columns that play a role."""
        return tuple(column for column in self.columns if column.role == role)

    @property
    def quasi_columns(self) -> list[str]:
        """The published columns that show quasi-identifiers."""
        return [name for column in self.of_role(Role.QUASI) for name in column.columns]

    def to_json(self) -> str:
        """The text of release.json."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _ASIDE}
        stated = {"format": FORMAT, "version": self.version, **own, "types": dict(self.types)}
        for name in ("external", "seed"):
            if stated[name] is None:
                del stated[name]
        stated["columns"] = [
            {key: value for key, value in asdict(column).items() if value is not None}
            for column in self.columns
        ]
        if self.version != WITHOUT_CHECKSUMS:
            stated["files"] = dict(self.files)
            stated[CHECKSUM] = own_checksum(stated)
        return json.dumps(stated, indent=2, ensure_ascii=False, default=str) + "\n"

    def __repr__(self) -> str:
        """A summary in one line; ``to_json`` has the rest."""
        promised = " & ".join(str(part.get("model")) for part in self.promise)
        return (
            f"Manifest({self.kind}, {self.rows:,} rows in {self.groups:,} groups, {promised}, "
            f"made by {self.algorithm.get('name')})"
        )


def own_checksum(stated: Mapping[str, Any]) -> str:
    """The checksum of what release.json states: of all but the checksum, in its one writing."""
    rest = {name: value for name, value in stated.items() if name != CHECKSUM}
    text = json.dumps(rest, indent=2, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def describe_column(
    attribute: Attribute,
    role: Role,
    form: str,
    columns: tuple[str, ...] | None = None,
    *,
    tight: bool | None = None,
) -> PublishedColumn:
    """Describe an attribute that is published under these columns (its own name by default)."""
    declared = attribute.kind is Kind.CATEGORICAL and attribute.ordered
    tree = attribute.taxonomy
    return PublishedColumn(
        name=attribute.name,
        role=role,
        form=form,
        columns=columns or (attribute.name,),
        kind=attribute.kind,
        order=tuple(python_values(attribute.values)) if declared and tree is None else None,
        taxonomy=tree.to_nested() if tree is not None else None,
        tight=tight,
        type=type_text(attribute.values.type) if form == "text" else None,
    )


def encoded(column: PublishedColumn, values: pa.ChunkedArray) -> tuple[Attribute, Ints]:
    """Codes of published values, in the order that release.json states."""
    return encode(
        column.name,
        values,
        kind=Kind(column.kind) if column.kind else None,
        order=column.order,
        taxonomy=Taxonomy.from_nested(column.taxonomy) if column.taxonomy else None,
    )


def column_types(schemas: Iterable[pa.Schema]) -> tuple[tuple[str, str], ...]:
    """The Arrow type of every published column, each once."""
    return tuple(
        {field.name: type_text(field.type) for schema in schemas for field in schema}.items()
    )
