"""release.json: what a release promises and how to read its tables.

It states parameters, counts and metrics, and the orders and taxonomies that the owner declared. It
never holds another value that the tables do not show, nor the seed, which could undo the published
order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.schema import Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ReleaseError

FORMAT = "sfumato-release"
VERSION = 1
FILE = "release.json"


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """How one attribute of the microdata appears.

    ``form`` is range, set, label, cell or text for a generalized quasi-identifier and value for
    everything published as it is; ``columns`` are the names of its columns in the table. The ends
    of ``tight`` ranges are values of the group, not only around them.
    """

    name: str
    role: str
    form: str
    columns: tuple[str, ...]
    kind: str | None = None
    order: tuple[Any, ...] | None = None
    taxonomy: Mapping[str, Any] | None = None
    tight: bool | None = None

    def __repr__(self) -> str:
        """Without order and taxonomy, which may be long."""
        return f"PublishedColumn({self.name!r}, {self.role}, {self.form})"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of release.json; ``types`` are the Arrow types of the tables' columns.

    ``rows`` are those that are published; ``suppressed`` ones were left out. ``external`` says
    where the external rows of a join release are from.
    """

    kind: str
    promise: tuple[dict[str, Any], ...]
    algorithm: dict[str, Any]
    rows: int
    groups: int
    columns: tuple[PublishedColumn, ...]
    types: tuple[tuple[str, str], ...]
    metrics: dict[str, Any]
    suppressed: int = 0
    external: dict[str, Any] | None = None
    made_by: str = field(default="sfumato")

    def of_role(self, role: str) -> tuple[PublishedColumn, ...]:
        """The columns that play a role."""
        return tuple(column for column in self.columns if column.role == role)

    @property
    def quasi_columns(self) -> list[str]:
        """The published columns that show quasi-identifiers."""
        return [name for column in self.of_role(Role.QUASI) for name in column.columns]

    def to_json(self) -> str:
        """The text of release.json."""
        stated = {"format": FORMAT, "version": VERSION, **asdict(self)}
        stated["types"] = dict(self.types)
        if self.external is None:
            del stated["external"]
        stated["columns"] = [
            {key: value for key, value in column.items() if value is not None}
            for column in stated["columns"]
        ]
        return json.dumps(stated, indent=2, ensure_ascii=False, default=str) + "\n"

    def __repr__(self) -> str:
        """A summary in one line; ``to_json`` has the rest."""
        promised = " & ".join(str(part.get("model")) for part in self.promise)
        return (
            f"Manifest({self.kind}, {self.rows:,} rows in {self.groups:,} groups, {promised}, "
            f"made by {self.algorithm.get('name')})"
        )


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
        order=tuple(attribute.values.to_pylist()) if declared and tree is None else None,
        taxonomy=tree.to_nested() if tree is not None else None,
        tight=tight,
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
    return tuple({field.name: str(field.type) for schema in schemas for field in schema}.items())


def read_manifest(folder: Path) -> Manifest:
    """Read release.json, or say why this folder is not a release."""
    path = folder / FILE
    if not folder.exists():
        raise ReleaseError(f"{folder} does not exist", path=folder)
    if not path.is_file():
        raise ReleaseError(f"{folder} is not a release: it has no {FILE}", path=folder)
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
        _require_format(folder, stated)
        return _from_stated(stated)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ReleaseError(f"{path} is damaged: {error!r}", path=folder) from error


def _require_format(folder: Path, stated: Mapping[str, Any]) -> None:
    if stated.get("format") != FORMAT:
        raise ReleaseError(f"{folder / FILE} is not the manifest of a release", path=folder)
    if stated.get("version") != VERSION:
        raise ReleaseError(
            f"{folder} has release format {stated.get('version')!r}, this sfumato reads {VERSION}; "
            "use the version that wrote it, or a newer one",
            path=folder,
        )


def _from_stated(stated: Mapping[str, Any]) -> Manifest:
    return Manifest(
        kind=str(stated["kind"]),
        promise=tuple(dict(part) for part in stated["promise"]),
        algorithm=dict(stated["algorithm"]),
        rows=int(stated["rows"]),
        groups=int(stated["groups"]),
        columns=tuple(_column(column) for column in stated["columns"]),
        types=tuple((str(name), str(kind)) for name, kind in stated["types"].items()),
        metrics=dict(stated["metrics"]),
        suppressed=_count(stated.get("suppressed", 0)),
        external=None if stated.get("external") is None else dict(stated["external"]),
        made_by=str(stated["made_by"]),
    )


def _count(stated: object) -> int:
    if not isinstance(stated, int) or stated < 0:
        raise ValueError(f"a number of rows is {stated!r}")
    return stated


def _text(stated: object) -> str:
    if not isinstance(stated, str):
        raise ValueError(f"a column is called {stated!r}")
    return stated


def _column(stated: Mapping[str, Any]) -> PublishedColumn:
    def as_tuple(value: Sequence[Any] | None) -> tuple[Any, ...] | None:
        return None if value is None else tuple(value)

    return PublishedColumn(
        name=_text(stated["name"]),
        role=stated["role"],
        form=stated["form"],
        columns=tuple(stated["columns"]),
        kind=stated.get("kind"),
        order=as_tuple(stated.get("order")),
        taxonomy=stated.get("taxonomy"),
        tight=stated.get("tight"),
    )
