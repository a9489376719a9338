"""A release answers alike in memory, from Parquet and from CSV, whatever types it holds."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.askable import Askable
from sfumato.core.predicates import Compare, Missing, OneOf, Predicate, between
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.errors import QueryRefused
from sfumato.forms.files import FileFormat
from sfumato.forms.registry import Release
from tests.conformance.test_round_trip import ALSO_INSENSITIVE, FORMS, TYPES, column, table

START = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)  # half an hour before an hour is repeated
MORE: dict[pa.DataType, Callable[[int], Any]] = {
    pa.decimal256(60, 3): lambda i: Decimal(f"1{i:049}.125"),
    pa.timestamp("ns", "Europe/Berlin"): lambda i: START + dt.timedelta(minutes=30 * i),
    pa.time32("ms"): lambda i: dt.time(1, 2, 3, 1_000 * i),
    pa.duration("us"): lambda i: dt.timedelta(microseconds=i),
}
FORMATS: tuple[FileFormat, ...] = ("parquet", "csv")
FUNCTIONS = ("sum", "avg", "min", "max")


def predicates(values: list[Any]) -> Iterator[Predicate]:
    low, middle = values[0], values[len(values) // 2]
    yield Compare("=", middle)
    yield Compare("<>", low)
    yield OneOf([low, middle])
    yield Missing()
    try:
        low, middle = sorted([low, middle])
    except TypeError:
        return
    yield Compare("<=", middle)
    yield Compare(">", low)
    yield between(low, middle)


def questions(kind: pa.DataType, values: list[Any]) -> Iterator[Query]:
    """Counts under every kind of condition, all values, and the four other functions."""
    yield Query({}, (COUNT,), ["it"])
    for function in FUNCTIONS:
        yield Query({}, [Aggregate(function, "it")])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or None in values:
        return
    for predicate in predicates(values):
        yield Query({"it": predicate})
    yield Query({"it": Compare("=", values[0])}, [Aggregate("count", "it")], ["age"])
    yield Query({"it": OneOf(values[:2])}, [Aggregate("max", "it"), Aggregate("sum", "age")])


def told(release: Askable, query: Query) -> Any:
    """The answer, or why there is none."""
    try:
        found = release.query(query)
    except QueryRefused as refusal:
        return refusal.reason
    return found.by, found.types, found.table.schema, list(found)


def alike(one: Any, other: Any) -> bool:
    """Equal; estimates as far as the order of groups does not matter."""
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, sf.Answer):
        ends = (one.lo, one.hi, one.nullable) == (other.lo, other.hi, other.nullable)
        return ends and type(one.lo) is type(other.lo) and alike(one.estimate, other.estimate)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(type(one) is type(other) and one == other)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
def test_every_type_answers_alike(role: str, form: str, tmp_path: Path) -> None:
    types = {**TYPES, **MORE, **(ALSO_INSENSITIVE if role == "insensitive" else {})}
    asked = 0
    for number, (kind, make) in enumerate(types.items()):
        continuous = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if form == "anatomized" and role == "sensitive" and continuous:
            continue  # refused: fractions hardly repeat, and want bins
        asked += _ask(FORMS[form](table(role, kind, make)), kind, make, tmp_path / str(number))
    assert asked > len(types)


def test_every_type_answers_alike_in_a_join(tmp_path: Path) -> None:
    for number, (kind, make) in enumerate({**TYPES, **MORE}.items()):
        rows = pa.table(
            {
                "id": pa.array(range(12)),
                "age": pa.array([i % 6 for i in range(12)]),
                "it": column(kind, make, 12).slice(12, 12),
                "ill": pa.array(["flu", "cold", "gout"] * 4),
            }
        )
        schema = sf.Schema(identifiers=["id"], quasi=["age", "it"], sensitive=["ill"])
        own = sf.Microdata.from_arrow(rows, schema, id="id")
        external = rows.select(["id", "age", "it"])
        made = sf.publish_join(own, external, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(3))
        assert _ask(made, kind, make, tmp_path / str(number))


def _ask(made: Release, kind: pa.DataType, make: Callable[[int], Any], folder: Path) -> int:
    """Ask before and after it was written; how often."""
    values = _values(make) if not pa.types.is_nested(kind) else [make(i) for i in range(4)]
    assert len(values) > 1 or pa.types.is_null(kind)
    answers = [told(made, query) for query in questions(kind, values)]
    for file_format in FORMATS:
        made.write(folder / file_format, format=file_format)
        back = sf.load(folder / file_format)
        for query, known in zip(questions(kind, values), answers, strict=True):
            assert alike(told(back, query), known), (kind, file_format, query)
    return len(answers)


def _values(make: Any) -> list[Any]:
    return list(dict.fromkeys(make(i) for i in range(4)))
