"""Microdata and an external table as one table in which nobody is twice.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010,
section 3.1: the full outer join on an identifier. Who is in both tables has one row, with the
microdata's values; the identifier itself is gone once rows are matched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Counts, Flags, Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.microdata import Ids, Microdata
from sfumato.core.schema import Declaration, Schema
from sfumato.errors import DataError, SchemaError

MICRODATA, EXTERNAL = "the microdata", "the external table"


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
    With ``weights`` a row that is not of the microdata stands for as many people as it says.
    ``listed`` tells which row of the external table each of the others is, where they are one each.
    """

    everyone: Microdata
    microdata: Microdata
    matching: Matching
    weights: Counts | None = None
    listed: Ints | None = None

    @property
    def n_inside(self) -> int:
        """How many rows are of the microdata."""
        return self.microdata.n_rows

    @property
    def inside(self) -> Flags:
        """Which rows are of the microdata."""
        return np.arange(self.everyone.n_rows) < self.n_inside

    @property
    def loads(self) -> Counts:
        """How many people each row stands for."""
        return np.ones(self.everyone.n_rows, np.int64) if self.weights is None else self.weights

    def merged(self) -> Joined:
        """The same people; those outside the microdata who are alike have one row together."""
        outside = self.everyone.quasi_codes()[self.n_inside :]
        numbers, first, _ = number_rows(outside, self.everyone.quasi_sizes())
        times = np.bincount(numbers, self.loads[self.n_inside :], len(first)).astype(np.int64)
        return self.with_outside(first, times)

    def with_outside(self, rows: Ints, times: Counts) -> Joined:
        """The microdata with other people outside: some of their rows, each so many times."""
        own = np.arange(self.n_inside)
        return replace(
            self,
            everyone=self.everyone.take(np.concatenate([own, self.n_inside + rows])),
            weights=np.concatenate([np.ones(self.n_inside, np.int64), times]),
            listed=None,
        )

    def without(self, left_out: Flags) -> Joined:
        """The same people but for some of the microdata, in the same domains."""
        inside = np.flatnonzero(~left_out)
        outside = np.arange(self.n_inside, self.everyone.n_rows)
        return replace(
            self,
            everyone=self.everyone.take(np.concatenate([inside, outside])),
            microdata=self.microdata.take(inside),
        )

    def __repr__(self) -> str:
        """Sizes only."""
        others = int(self.loads.sum()) - self.n_inside
        return f"Joined({self.n_inside:,} rows of the microdata, {others:,} others)"


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
    ids = require_joinable(table)
    named = _renamed(external, (ids.name, *table.schema.quasi), columns or {})
    places = _places(ids, named.column(ids.name))
    own = own_values(table)
    theirs = {name: alike(name, named.column(name), own[name].type) for name in own}
    complete = _complete(theirs)
    shared = complete & (places >= 0)
    added = np.flatnonzero(complete & (places < 0))
    matching = Matching(
        microdata=table.n_rows,
        external=named.num_rows,
        shared=int((places >= 0).sum()),
        skipped=int((~complete & (places < 0)).sum()),
        incomplete=int((~complete & (places >= 0)).sum()),
        disagreements=_disagreements(own, theirs, shared, places),
    )
    outside = {name: column.take(pa.array(added)) for name, column in theirs.items()}
    found = together(table, own, outside, np.arange(len(added)), matching)
    return replace(found, listed=added)


def together(
    table: Microdata,
    own: Mapping[str, pa.Array],
    values: Mapping[str, pa.Array],
    rows: Ints,
    matching: Matching,
) -> Joined:
    """The table and others below it; ``rows`` tells which values each of them has, by column or
    in all columns alike.
    """
    encoded = {name: _encoded(table, name, own[name], values[name]) for name in own}
    attributes = {name: attribute for name, (attribute, _) in encoded.items()}
    by_column = np.broadcast_to(rows.T, (len(own), len(rows)))
    codes = {
        name: np.concatenate([found[: table.n_rows], found[table.n_rows :][places]])
        for (name, (_, found)), places in zip(encoded.items(), by_column, strict=True)
    }
    everyone = Microdata(
        schema=_quasi_only(table.schema),
        n_rows=table.n_rows + len(rows),
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


def require_joinable(table: Microdata) -> Ids:
    """The ids to join on, of a table that can be joined at all."""
    if table.ids is None:
        raise SchemaError(
            "the table has no ids to join on: read it with id=... (--id), one of its identifiers"
        )
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
    return table.ids


def _renamed(external: pa.Table, names: tuple[str, ...], columns: Mapping[str, str]) -> pa.Table:
    """The external table's columns under our names; others are ignored."""
    called = names_there(external.column_names, names, columns)
    return pa.table([external.column(theirs) for theirs in called.values()], names=list(called))


def names_there(
    found: Sequence[str], names: tuple[str, ...], columns: Mapping[str, str]
) -> dict[str, str]:
    """What the id, which is the first of the names, and the others are called in another table."""
    for name in columns:
        if name not in names:
            raise SchemaError(
                f"columns renames {name!r}, which is neither the id nor a quasi-identifier",
                column=name,
            )
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
    return {name: columns.get(name, name) for name in names}


def _places(ids: Ids, theirs: pa.ChunkedArray) -> Ints:
    """For each external row, the microdata's row about the same person, or -1."""
    own = own_keys(ids)
    require_keys(theirs.null_count, len(theirs) - len(pc.unique(theirs)), EXTERNAL, ids.name)
    if not len(theirs):
        return np.zeros(0, np.int32)
    require_same_ids(ids, theirs.type)
    places: Ints = pc.index_in(keys(theirs.combine_chunks()), own).fill_null(-1).to_numpy()
    return places


def own_keys(ids: Ids) -> pa.Array:
    """The microdata's ids in a type that can be compared."""
    require_keys(
        ids.values.null_count, len(ids.values) - len(pc.unique(ids.values)), MICRODATA, ids.name
    )
    return keys(ids.values.combine_chunks())


def keys(ids: pa.Array) -> pa.Array:
    """Ids in a type that can be compared."""
    return ids.cast(_key_type(ids.type))


def _key_type(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_integer(kind) else kind


def require_keys(missing: int, repeated: int, where: str, name: str) -> None:
    """Raise unless each row has an id, and no other row has it."""
    if missing:
        raise DataError(
            f"{missing:,} rows of {where} have no {name!r}: they might be counted twice",
            source=name,
        )
    if repeated:
        raise DataError(
            f"{name!r} is not unique in {where}: {repeated:,} rows repeat an id; keep one row per "
            "person",
            source=name,
        )


def require_same_ids(ids: Ids, theirs: pa.DataType) -> None:
    """Raise unless ids can be compared."""
    if _key_type(ids.values.type) != _key_type(theirs):
        raise SchemaError(
            f"ids are {ids.values.type} in the microdata and {theirs} in the external table; "
            "nobody would be found in both, so give them one type",
            column=ids.name,
        )


def own_values(table: Microdata) -> dict[str, pa.Array]:
    """The microdata's quasi-identifiers."""
    return {one.name: one.decode(table.codes[one.name]) for one in table.quasi}


def alike(name: str, theirs: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
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
