"""One column's domain, and the way between its values and its codes.

A code is a value's position in the domain. A missing value is a value of its own: it takes the
code after the last value and lies one whole domain width beyond it, so that a group mixing it with
others is as wide as the domain and is cut there first.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts, Floats, Ints
from sfumato.core.moments import calendar_limits, python_values
from sfumato.core.spelling import folded
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import DataError, SchemaError

# What Arrow and Python raise where values are not of a type.
UNLIKE = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    OverflowError,  # a number beyond the type
    UnicodeError,  # half of a character
)
_DIGITS_OF_128, _DIGITS_OF_256 = 38, 76
_CLOSE = 2**16 - 1  # integers within such a range are counted by marking
_PART = 2**15  # of them at a time


class Kind(StrEnum):
    """Whether distances between values mean something."""

    NUMERICAL = "numerical"
    CATEGORICAL = "categorical"


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A named domain. ``values`` are distinct, without nulls, in the order of their codes.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> patients.attributes["sex"].values.to_pylist()
    ['F', 'M']
    """

    name: str
    kind: Kind
    values: pa.Array
    ordered: bool
    has_missing: bool = False
    taxonomy: Taxonomy | None = None

    @property
    def size(self) -> int:
        """Number of codes, the missing value's included."""
        return len(self.values) + self.has_missing

    @property
    def missing_code(self) -> int:
        """The code a missing value has (or would have)."""
        return len(self.values)

    @property
    def positions(self) -> Floats:
        """Where each value lies on its axis: its number, or its rank in a categorical order."""
        if self.kind is Kind.CATEGORICAL:
            return np.arange(len(self.values), dtype=np.float64)
        return as_floats(self.values)

    @property
    def coordinates(self) -> Floats:
        """Positions scaled so that the domain spans 0 to 1; a missing value lies at 2."""
        places = self.positions / 2  # halves, so that no two doubles are too far apart
        span = places[-1] - places[0] if len(places) else 0.0
        scaled = (places - places[0]) / span if span > 0 else np.zeros(len(places))
        return np.append(scaled, 2.0) if self.has_missing else scaled

    @property
    def places(self) -> Floats:
        """Where each value stands when values are counted: whole numbers and days count all that
        lie between them, occurring or not; values of a list, and fractions, go by rank.
        """
        kind = self.values.type
        whole = pa.types.is_integer(kind) or pa.types.is_date32(kind)
        if self.kind is Kind.NUMERICAL and whole and self.taxonomy is None:
            return self.positions
        return np.arange(len(self.values), dtype=np.float64)

    def decode(self, codes: Ints) -> pa.Array:
        """The values behind the codes; the missing code becomes null."""
        domain = self.values
        if self.has_missing:
            domain = pa.concat_arrays([domain, pa.nulls(1, domain.type)])
        return domain.take(pa.array(codes))

    def __repr__(self) -> str:
        """Not the values, which may be a person's."""
        words = [self.kind.value, f"{len(self.values):,} values"]
        words += ["ordered"] * self.ordered + ["some missing"] * self.has_missing
        words += ["a taxonomy"] * (self.taxonomy is not None)
        return f"Attribute({self.name!r}: {', '.join(words)})"


def encode(
    name: str,
    column: pa.ChunkedArray,
    *,
    kind: Kind | None = None,
    order: Sequence[Any] | None = None,
    taxonomy: Taxonomy | None = None,
) -> tuple[Attribute, Ints]:
    """Find a column's domain and replace its values by codes of the narrowest integer type."""
    column = _plain(name, column)
    if kind is Kind.NUMERICAL and not _has_distances(column.type):
        raise SchemaError(
            f"column {name!r} holds {column.type} values, which cannot be numerical", column=name
        )
    if order is None and taxonomy is not None:
        order = taxonomy.leaves
    found, places = _found_values(column.combine_chunks())
    has_missing = bool(len(places)) and int(places.max()) == len(found)
    domain, codes_of = _ordered_domain(name, found, order)
    if taxonomy is not None and order is taxonomy.leaves:
        # leaves come from files as texts; labels and domain must agree on what a value is
        taxonomy = taxonomy.with_leaves(python_values(domain))
    kind = _kind(name, domain, kind)
    attribute = Attribute(
        name=name,
        kind=kind,
        values=domain,
        ordered=kind is Kind.NUMERICAL or order is not None,
        has_missing=has_missing,
        taxonomy=taxonomy,
    )
    narrow = narrowest(attribute.size)
    if np.array_equal(codes_of, np.arange(attribute.size)):
        return attribute, places.astype(narrow, copy=False)  # found in order, none is missing
    return attribute, np.append(codes_of, attribute.missing_code).astype(narrow)[places]


def as_floats(values: pa.Array) -> Floats:
    """Numbers as they are; dates and times as how many of their units passed since 1970."""
    if pa.types.is_temporal(values.type):
        width = pa.int32() if values.type.bit_width == 32 else pa.int64()
        values = values.cast(width)
    # not safe: whole numbers beyond 2**53, such as nanoseconds, are rounded
    floats: Floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


def stated_values(values: Sequence[Any]) -> pa.Array:
    """Values that somebody states, in the type that they have by themselves.

    Arrow takes whole numbers for signed ones, and does not look further when one is too large.
    """
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array(values, pa.uint64())


def declared_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values that the owner wrote down, such as texts for dates, as those of a type."""
    try:
        return pa.array(values).cast(kind)
    except OverflowError:  # Arrow takes no guess at whole numbers beyond 64 bits with a sign
        return pa.array(values, kind)


def plain_decimal(kind: pa.DataType) -> pa.DataType:
    """A decimal type that has kernels and that files know: 128 bits or more, no negative scale."""
    digits, scale = kind.precision - min(kind.scale, 0), max(kind.scale, 0)
    if kind.bit_width <= 128 and digits <= _DIGITS_OF_128:
        return pa.decimal128(digits, scale)
    return pa.decimal256(min(digits, _DIGITS_OF_256), scale)


def _found_values(column: pa.Array) -> tuple[pa.Array, Ints]:
    """The different values of a column, and each row's place among them; nulls come last."""
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        numbers = column.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low <= _CLOSE:
            # close together: marking what occurs is several times faster than hashing
            found, places = _marked(numbers, low, high)
            return pa.array(found, column.type), places
    encoded = column.dictionary_encode()
    found, places = encoded.dictionary, encoded.indices.fill_null(len(encoded.dictionary))
    return _in_one_spelling(found, places.to_numpy())


def _marked(numbers: Ints, low: int, high: int) -> tuple[Ints, Ints]:
    """The different ones of integers from a short range, and each number's place among them.

    Some at a time: what NumPy makes of them to use them as indices stays in the cache.
    """
    parts = [slice(at, at + _PART) for at in range(0, len(numbers), _PART)]
    occurs = np.zeros(high - low + 1, np.bool_)
    for part in parts:
        occurs[_offsets(numbers[part], low)] = True
    found = np.flatnonzero(occurs)
    place = (np.cumsum(occurs) - 1).astype(narrowest(len(found)))
    places = np.empty_like(place, shape=len(numbers))
    for part in parts:
        # what is beyond either end cannot be; to look for it would take a copy
        place.take(_offsets(numbers[part], low), out=places[part], mode="clip")
    return found.astype(numbers.dtype) + numbers.dtype.type(low), places


def _offsets(numbers: Ints, low: int) -> Counts:
    """How far numbers are from the least; unsigned, as in narrow types a difference may not fit."""
    apart = (numbers - numbers.dtype.type(low)).view(f"u{numbers.dtype.itemsize}")
    return apart.astype(np.intp)


def _in_one_spelling(found: pa.Array, places: Ints) -> tuple[pa.Array, Ints]:
    """Texts that are spelled in several ways become one value."""
    if not pa.types.is_string(found.type):
        return found, places
    texts = folded(found)
    if texts.equals(found):
        return found, places
    again = texts.dictionary_encode()
    missing = len(again.dictionary)
    place = np.append(again.indices.fill_null(missing).to_numpy(), missing)
    return again.dictionary, place[places]


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in one of the types we order and decode; NaN is a missing value."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(name, column.cast(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_decimal(kind):
        return _plain_decimals(name, column)
    if pa.types.is_floating(kind):
        return _plain_floats(name, column.cast(pa.float64()))
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        _require_calendar(name, column)
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or _has_distances(kind):
        return column
    raise DataError(
        f"column {name!r} has type {kind}; use numbers, dates, booleans or text", source=name
    )


def _plain_decimals(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(plain_decimal(column.type))
    except pa.ArrowInvalid as error:
        raise DataError(
            f"column {name!r} has type {column.type} and numbers of more than 76 digits; divide "
            "them, or make them floating-point numbers",
            source=name,
        ) from error


def _plain_floats(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.any(pc.is_inf(column)).as_py():
        raise DataError(f"column {name!r} holds infinite numbers; make them missing", source=name)
    # adding 0.0 turns -0.0 into 0.0: equal numbers must have one code
    return pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), pc.add(column, 0.0))


def _require_calendar(name: str, column: pa.ChunkedArray) -> None:
    """Python's calendar has the years 1 to 9999; what lies outside could be neither shown nor asked
    for.
    """
    limits = calendar_limits(column.type)
    if limits is None or column.null_count == len(column):
        return
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    ends = pc.min_max(column.cast(width)).as_py()
    if ends["min"] < limits[0] or ends["max"] > limits[1]:
        raise DataError(
            f"column {name!r} holds dates or times beyond the years 1 to 9999, or nanoseconds that "
            "stand for no time; make them missing",
            source=name,
        )


def _has_distances(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
    )


def _kind(name: str, domain: pa.Array, declared: Kind | None) -> Kind:
    """The declared kind, or the natural one; numbers out of their order can only be categories."""
    if declared is Kind.CATEGORICAL or not _has_distances(domain.type):
        return Kind.CATEGORICAL
    if (np.diff(pc.sort_indices(domain).to_numpy().astype(np.int64)) == 1).all():
        return Kind.NUMERICAL
    if declared is Kind.NUMERICAL:
        raise SchemaError(
            f"column {name!r} is numerical, but its order or taxonomy does not follow the numbers; "
            "sort them, or make the column categorical",
            column=name,
        )
    return Kind.CATEGORICAL


def _ordered_domain(
    name: str, found: pa.Array, order: Sequence[Any] | None
) -> tuple[pa.Array, Codes]:
    """The domain in code order, and the code of every found value."""
    if order is None:
        ranks = pc.sort_indices(found).to_numpy()
        codes = np.empty(len(found), np.int32)
        codes[ranks] = np.arange(len(found), dtype=np.int32)
        return found.take(pa.array(ranks)), codes
    domain = _declared_domain(name, found.type, order)
    codes = pc.index_in(found, domain)
    if codes.null_count:
        stranger = found.filter(codes.is_null())[0].as_py()
        raise SchemaError(
            f"column {name!r} holds {stranger!r}, which its declared order or taxonomy lacks"
            f"{_nearest(stranger, domain)}",
            column=name,
        )
    return domain, codes.to_numpy().astype(np.int32)


def _nearest(stranger: Any, domain: pa.Array) -> str:
    """What to say about the declared value closest to a stranger; nothing if none is close."""
    if len(domain) and _has_distances(domain.type):
        gaps = np.abs(as_floats(domain) - as_floats(pa.array([stranger], domain.type)))
        return f"; the nearest is {domain[int(gaps.argmin())].as_py()!r}"
    known = {str(value): value for value in domain.to_pylist()}
    close = difflib.get_close_matches(str(stranger), known, n=1)
    return f"; did you mean {known[close[0]]!r}?" if close else ""


def _declared_domain(name: str, kind: pa.DataType, order: Sequence[Any]) -> pa.Array:
    try:
        domain = declared_values(order, kind)
        if pa.types.is_string(kind):
            domain = folded(domain)  # as in the column
        if pa.types.is_floating(kind):
            domain = pc.add(domain, 0.0)  # -0.0 is 0.0, as in the column
    except UNLIKE as error:
        culprit = next((value for value in order if not _castable(value, kind)), order[0])
        raise SchemaError(
            f"column {name!r} has type {kind}, its declared order or taxonomy has other values, "
            f"such as {culprit!r}",
            column=name,
        ) from error
    if pc.any(pc.is_null(domain, nan_is_null=True)).as_py():
        raise SchemaError(f"the declared order of {name!r} names a missing value", column=name)
    if len(pc.unique(domain)) < len(domain):
        raise SchemaError(f"the declared order of {name!r} names a value twice", column=name)
    return domain


def _castable(value: Any, kind: pa.DataType) -> bool:
    try:
        declared_values([value], kind)
    except UNLIKE:
        return False
    return True


def narrowest(size: int) -> type[np.signedinteger[Any]]:
    """The integer type for the codes of a domain of this size."""
    for integer in (np.int8, np.int16):
        if size <= np.iinfo(integer).max:
            return integer
    return np.int32
