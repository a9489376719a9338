"""Persons as somebody outside knows them: values of quasi-identifiers, held as codes.

A person under attack, the persons of a public list, and the owner's own rows all come down to this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import UNLIKE, Attribute, declared_values
from sfumato.core.expected import given
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.core.spelling import folded
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.registry import Guessed
from sfumato.io.hints import did_you_mean


@dataclass(frozen=True, slots=True, eq=False)
class Persons:
    """Code i of a column is its ``values[i]``; the code after the last is a missing value."""

    values: Mapping[str, pa.Array]
    codes: Mapping[str, Ints]
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are known."""
        return tuple(self.values)

    def distinct(self) -> tuple[Persons, Codes, Counts]:
        """The different vectors, the vector of every person, and how many persons have each."""
        matrix = np.stack([self.codes[name] for name in self.names], axis=1, dtype=np.int32)
        sizes = np.array([len(self.values[name]) + 1 for name in self.names], np.int64)
        numbers, first, counts = number_rows(matrix, sizes)
        codes = {name: column[first] for name, column in self.codes.items()}
        return Persons(self.values, codes, len(first)), numbers, counts

    @classmethod
    def known(cls, release: Guessed, person: Mapping[str, Any]) -> Persons:
        """One person with some known values; None is a value known to be missing."""
        if not isinstance(person, Mapping):
            raise ParameterError(
                f'person must be a mapping such as {{"age": 29, "sex": "M"}}, not {given(person)}',
                parameter="person",
            )
        if not person:
            raise ParameterError("say at least one value of the person", parameter="person")
        columns = {name: quasi_column(release.manifest, name) for name in person}
        values = {
            name: _person_value(columns[name], published_type(release, columns[name]), value)
            for name, value in person.items()
        }
        return cls.of_arrays(values, 1)

    @classmethod
    def listed(cls, release: Guessed, external: pa.Table, names: Sequence[str]) -> Persons:
        """Everybody on an external list."""
        values = {}
        for name in names:
            if name not in external.column_names:
                hint = did_you_mean(name, external.column_names)
                found = hint or f"it has {', '.join(external.column_names)}"
                raise SchemaError(f"the external list has no column {name!r}; {found}", column=name)
            kind = published_type(release, quasi_column(release.manifest, name))
            column = external.column(name).combine_chunks()
            values[name] = _alike(f"{name!r} of the external list", name, column, kind)
        return cls.of_arrays(values, external.num_rows)

    @classmethod
    def true(cls, release: Guessed, truth: Microdata) -> Persons:
        """Everybody in the owner's table, known by all quasi-identifiers of the release."""
        values = {}
        for column in release.manifest.of_role(Role.QUASI):
            name = column.name
            if name not in truth.schema.quasi:
                raise SchemaError(
                    f"the release has the quasi-identifier {name!r}, the true table has "
                    f"{', '.join(truth.schema.quasi)}",
                    column=name,
                )
            domain, kind = truth.attributes[name].values, published_type(release, column)
            values[name] = _alike(f"{name!r} of the true table", name, domain, kind)
        return cls(values, {name: truth.codes[name] for name in values}, truth.n_rows)

    def knowing(self, names: Sequence[str] | None) -> Persons:
        """The same people to somebody who knows some of the columns only; None for all."""
        if names is None:
            return self
        values, codes = ({name: of[name] for name in names} for of in (self.values, self.codes))
        return Persons(values, codes, self.n_rows)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, pa.Array], n_rows: int) -> Persons:
        """Encode columns of values."""
        values, codes = {}, {}
        for name, array in arrays.items():
            encoded = _as_coded(array).dictionary_encode()
            values[name] = encoded.dictionary
            indices = encoded.indices.fill_null(len(encoded.dictionary))
            codes[name] = indices.to_numpy(zero_copy_only=False)
        return cls(values, codes, n_rows)


def quasi_column(manifest: Manifest, name: str) -> PublishedColumn:
    """How a quasi-identifier is published."""
    columns = {column.name: column for column in manifest.of_role(Role.QUASI)}
    if name not in columns:
        hint = did_you_mean(name, columns) or f"it has {', '.join(columns)}"
        raise SchemaError(f"the release has no quasi-identifier {name!r}; {hint}", column=name)
    return columns[name]


def published_type(release: Guessed, column: PublishedColumn) -> pa.DataType:
    """The type in which values of a quasi-identifier can be compared with what is published."""
    if column.form == "text":
        raise ParameterError(
            f"{column.name!r} is published as text for people to read, whose ranges and sets "
            "cannot be told apart for certain; publish with labels ranges, sets or taxonomy",
            parameter="labels",
        )
    if column.form == "label":
        return pa.string()
    kind = release.tables[0].schema.field(column.columns[0]).type
    return kind.value_type if pa.types.is_list(kind) else kind


def declared_domain(column: PublishedColumn, kind: pa.DataType) -> pa.Array | None:
    """All values in their order, where release.json states them."""
    if column.taxonomy is not None:
        tree = Taxonomy.from_nested(column.taxonomy)
        leaves = pa.array([tree.labels[node] for node in tree.leaf_nodes], pa.string())
        return leaves.cast(kind)
    return None if column.order is None else declared_values(column.order, kind)


def has_declared(column: PublishedColumn) -> bool:
    """Whether release.json states all values, and their order."""
    return column.order is not None or column.taxonomy is not None


def shared_domain(column: PublishedColumn, shown: Attribute, asked: pa.Array) -> pa.Array:
    """The values of a published attribute and those that are asked for, in their order.

    Where release.json states all values, no other has a place in a range or set; a suppressed cell
    may hide any.
    """
    if column.form != "cell" and has_declared(column):
        return shown.values
    both = pa.chunked_array([shown.values, asked.cast(shown.values.type)])
    found = pc.unique(both).drop_null()
    return found.take(pc.sort_indices(found))


def few(names: Sequence[str]) -> str:
    """The names, or the first and the last if they are many."""
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:7])}, ..., {names[-1]}"


def _person_value(column: PublishedColumn, kind: pa.DataType, value: Any) -> pa.Array:
    try:
        array = pa.nulls(1, kind) if value is None else declared_values([value], kind)
    except UNLIKE as error:
        raise ParameterError(
            f"{column.name} = {value!r} is impossible: the release has values of type {kind}",
            parameter=column.name,
        ) from error
    domain = declared_domain(column, kind)
    if domain is not None and not array.null_count and not pc.is_in(array, domain)[0].as_py():
        known = [str(possible) for possible in domain.to_pylist()]
        hint = did_you_mean(str(value), known) or f"possible are {few(known)}"
        raise ParameterError(
            f"{column.name} = {value!r} is impossible; {hint}", parameter=column.name
        )
    return array


def _alike(what: str, name: str, values: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return values.cast(kind)
    except UNLIKE as error:
        raise SchemaError(
            f"{what} holds {values.type} values, the release {kind}", column=name
        ) from error


def _as_coded(array: pa.Array) -> pa.Array:
    """Values as columns have them before they are encoded."""
    if pa.types.is_string(array.type):
        return folded(array)
    if not pa.types.is_floating(array.type):
        return array
    # adding 0.0 turns -0.0 into 0.0
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), pc.add(array, 0.0))
