"""Microdata and an external table as one table in which nobody is twice.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010,
section 3.1: the full outer join on an identifier. Who is in both tables has one row, with the
microdata's values; the identifier itself is gone once rows are matched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Flags, Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.microdata import Ids, Microdata
from sfumato.core.schema import Declaration, Schema
from sfumato.errors import DataError, SchemaError


@dataclass(frozen=True, slots=True)
class Matching:
    """How the two tables fit together; for the owner only.

    ``shared`` people are in both. Of them, ``disagreements`` says how many have another value in
    the external table, column by column, and ``incomplete`` how many lack one there. ``skipped``
    are external rows about others that lack a quasi-identifier.
    """

    microdata: int
    external: int
    shared: int
    skipped: int
    incomplete: int
    disagreements: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """``everyone``: all rows, those of the microdata first, with quasi-identifiers only.

    ``microdata`` is the table itself, its quasi-identifiers in the codes of the joined domains.
    """

    everyone: Microdata
    microdata: Microdata
    matching: Matching

    @property
    def n_inside(self) -> int:
        """How many rows are of the microdata."""
        return self.microdata.n_rows

    @property
    def inside(self) -> Flags:
        """Which rows are of the microdata."""
        return np.arange(self.everyone.n_rows) < self.n_inside

    def __repr__(self) -> str:
        """Sizes only."""
        return (
            f"Joined({self.microdata.n_rows:,} rows of the microdata, "
            f"{self.everyone.n_rows - self.microdata.n_rows:,} others)"
        )


def join(table: Microdata, external: pa.Table, columns: Mapping[str, str] | None = None) -> Joined:
    """Join a table, read with its ``id``, to an external one.

    ``columns`` gives the external names of columns that are called otherwise there.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive="disease")
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> sf.join(table, voters)
    Joined(200 rows of the microdata, 800 others)
    """
    if table.ids is None:
        raise SchemaError(
            "the table has no ids to join on: read it with id=... (--id), one of its identifiers"
        )
    _require_joinable(table)
    named = _renamed(external, (table.ids.name, *table.schema.quasi), columns or {})
    places = _places(table.ids, named.column(table.ids.name))
    own = {name: _own_values(table, name) for name in table.schema.quasi}
    theirs = {name: _alike(name, named.column(name), own[name].type) for name in own}
    complete = _complete(theirs)
    shared = complete & (places >= 0)
    added = pa.array(np.flatnonzero(complete & (places < 0)))
    encoded = {name: _encoded(table, name, own[name], theirs[name].take(added)) for name in own}
    codes = {name: found for name, (_, found) in encoded.items()}
    attributes = {name: attribute for name, (attribute, _) in encoded.items()}
    matching = Matching(
        microdata=table.n_rows,
        external=named.num_rows,
        shared=int((places >= 0).sum()),
        skipped=int((~complete & (places < 0)).sum()),
        incomplete=int((~complete & (places >= 0)).sum()),
        disagreements=_disagreements(own, theirs, shared, places),
    )
    everyone = Microdata(
        schema=_quasi_only(table.schema),
        n_rows=table.n_rows + len(added),
        attributes=attributes,
        codes=codes,
        insensitive=table.insensitive.select([]),
    )
    inside = replace(
        table,
        attributes={**table.attributes, **attributes},
        codes={**table.codes, **{name: found[: table.n_rows] for name, found in codes.items()}},
        ids=None,
    )
    return Joined(everyone, inside, matching)


def _require_joinable(table: Microdata) -> None:
    for attribute in table.quasi:
        lacking = int((table.codes[attribute.name] == attribute.missing_code).sum())
        if lacking:
            raise DataError(
                f"column {attribute.name!r} of the microdata lacks {lacking:,} values; rows are "
                "joined by where they lie, so leave them out or give them a value",
                source=attribute.name,
            )
        if table.schema.declarations.get(attribute.name, Declaration()).bins is not None:
            raise SchemaError(
                f"quasi-identifier {attribute.name!r} has bins, which the external table does not "
                "know; join on its values",
                column=attribute.name,
            )
    if table.schema.insensitive:
        names = ", ".join(table.schema.insensitive)
        raise SchemaError(
            f"insensitive columns ({names}) would tell which rows are of the microdata, for "
            "external rows have none; leave them out of the schema",
            column=table.schema.insensitive[0],
        )


def _renamed(external: pa.Table, names: tuple[str, ...], columns: Mapping[str, str]) -> pa.Table:
    """The external table's columns under our names; others are ignored."""
    for name in columns:
        if name not in names:
            raise SchemaError(
                f"columns renames {name!r}, which is neither the id nor a quasi-identifier",
                column=name,
            )
    found = external.column_names
    for name in names:
        theirs = columns.get(name, name)
        if found.count(theirs) != 1:
            role = "the id" if name == names[0] else "a quasi-identifier"
            how = "has no" if theirs not in found else "has more than one"
            raise SchemaError(
                f"the external table {how} column {theirs!r} ({role}); it has {', '.join(found)}; "
                "columns={...} (--rename) tells what it is called there",
                column=name,
            )
    picked = [external.column(columns.get(name, name)) for name in names]
    return pa.table(picked, names=list(names))


def _places(ids: Ids, theirs: pa.ChunkedArray) -> Ints:
    """For each external row, the microdata's row about the same person, or -1."""
    own = _key(ids.values, "the microdata", ids.name)
    other = _key(theirs, "the external table", ids.name)
    if len(other) and own.type != other.type:
        raise SchemaError(
            f"ids are {ids.values.type} in the microdata and {theirs.type} in the external table; "
            "nobody would be found in both, so give them one type",
            column=ids.name,
        )
    if not len(other):
        return np.zeros(0, np.int32)
    places: Ints = pc.index_in(other, own).fill_null(-1).to_numpy()
    return places


def _key(ids: pa.ChunkedArray, where: str, name: str) -> pa.Array:
    """Ids in a type that can be compared; each must be there, once."""
    column = ids.combine_chunks()
    if column.null_count:
        raise DataError(
            f"{column.null_count:,} rows of {where} have no {name!r}: they might be counted twice",
            source=name,
        )
    if len(pc.unique(column)) < len(column):
        raise DataError(
            f"{name!r} is not unique in {where}: {len(column) - len(pc.unique(column)):,} rows "
            "repeat an id; keep one row per person",
            source=name,
        )
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    return column


def _own_values(table: Microdata, name: str) -> pa.Array:
    return table.attributes[name].decode(table.codes[name])


def _alike(name: str, theirs: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """External values in the microdata's type, or numbers with fractions where they must be."""
    column = theirs.combine_chunks()
    if not len(column):
        return pa.array([], kind)  # an empty file's types are guesses
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    numbers = [pa.types.is_integer(one) or pa.types.is_floating(one) for one in (column.type, kind)]
    if column.type != kind and not all(numbers) and not pa.types.is_null(column.type):
        raise SchemaError(
            f"column {name!r} holds {column.type} values in the external table and {kind} in the "
            "microdata; make them alike",
            column=name,
        )
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return column.cast(pa.float64())


def _complete(theirs: Mapping[str, pa.Array]) -> Flags:
    """External rows without missing quasi-identifiers."""
    flags = [column.is_valid().to_numpy(zero_copy_only=False) for column in theirs.values()]
    complete: Flags = np.logical_and.reduce(flags)
    return complete


def _encoded(
    table: Microdata, name: str, own: pa.Array, theirs: pa.Array
) -> tuple[Attribute, Ints]:
    declared = table.schema.declarations.get(name, Declaration())
    both = pa.chunked_array([own.cast(theirs.type), theirs])
    try:
        return encode(
            name,
            both,
            kind=declared.kind,
            order=declared.order,
            taxonomy=table.schema.taxonomies.get(name),
        )
    except SchemaError as error:
        raise SchemaError(f"in the external table, {error}", column=name) from error


def _disagreements(
    own: Mapping[str, pa.Array], theirs: Mapping[str, pa.Array], shared: Flags, places: Ints
) -> dict[str, int]:
    """How many people have another value in the external table, column by column."""
    there = pa.array(np.flatnonzero(shared))
    here = pa.array(places[shared])
    counts: dict[str, Any] = {
        name: pc.sum(
            pc.not_equal(own[name].take(here).cast(theirs[name].type), theirs[name].take(there))
        ).as_py()
        for name in own
    }
    return {name: int(count) for name, count in counts.items() if count}


def _quasi_only(schema: Schema) -> Schema:
    """The schema of a table that has the quasi-identifiers and nothing else."""
    declared = {
        name: schema.declarations[name] for name in schema.quasi if name in schema.declarations
    }
    return Schema(
        quasi=schema.quasi,
        kinds={name: one.kind for name, one in declared.items() if one.kind is not None},
        orders={name: one.order for name, one in declared.items() if one.order is not None},
        taxonomies={name: tree for name, tree in schema.taxonomies.items() if name in schema.quasi},
    )
