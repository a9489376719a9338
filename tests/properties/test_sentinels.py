"""Answers about values at the ends of their types, against brute force in whole numbers.

Tables are made of sentinels: the ends of int64 and uint64, 2**53 and its neighbours, the largest
and the smallest doubles, decimals of 38 digits, the first and the last day, hours that summer time
repeats. Every form of release is asked; a bound must not exclude the truth, nor an estimate lie
outside of its bounds. Truths are computed from whole numbers, which Arrow made the values of.
"""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.askable import Askable
from sfumato.errors import QueryRefused, SfumatoError
from sfumato.statdb import Responder
from sfumato.verbs import perturb
from tests.support.tables import microdata

ROWS = 12
INT = [-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 3, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
FLOAT = [-1.7976931348623157e308, -5e-324, 0.0, 0.1, 2.0**53, 2.0**53 + 2, 1e300,
         1.7976931348623157e308]  # fmt: skip
DAY = 86_400
FIRST, LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970
HOUR = 1_729_987_200  # 2024-10-27 00:00 UTC; Berlin sets its clocks back an hour later
WHOLE = {
    pa.int64(): INT,
    pa.uint64(): [0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1],
    pa.int8(): [-128, -127, -1, 0, 126, 127],
    pa.decimal128(38, 4): [-(10**38) + 1, -(2**53) - 1, -1, 0, 1, 10_000, 10**38 - 2, 10**38 - 1],
    pa.decimal256(76, 2): [-(10**76) + 1, 0, 1, 10**75 + 1, 10**76 - 1],
    pa.date32(): [FIRST, FIRST + 1, 0, 1, 19_000, LAST - 1, LAST],
    pa.date64(): [day * DAY * 1_000 for day in (FIRST, 0, 1, 19_000, LAST)],
    pa.timestamp("s"): [FIRST * DAY, 0, 1, (LAST + 1) * DAY - 1],
    pa.timestamp("us", "Europe/Berlin"): [HOUR * 10**6 + 1_800 * 10**6 * i for i in range(7)],
    pa.timestamp("ns"): [-(2**63) + 1, 0, 1, 10**18, 10**18 + 1, 2**63 - 1],
    pa.timestamp("ns", "Europe/Berlin"): [HOUR * 10**9 + 1_800 * 10**9 * i + i for i in range(7)],
    pa.time64("us"): [0, 1, DAY * 10**6 - 1],
    pa.duration("ms"): [-(10**15), 0, 1, 10**15],
}
KINDS: list[pa.DataType] = [*WHOLE, pa.float64()]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "<>": operator.ne,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A column as whole numbers (or doubles, or None), and the table that holds it."""

    kind: pa.DataType
    numbers: list[Any]
    table: sf.Microdata

    def literal(self, number: Any) -> str:
        """A value as SQL writes it."""
        if pa.types.is_floating(self.kind):
            return f"{Decimal(number):f}"
        text = arrow([number], self.kind).cast(pa.string())[0].as_py()
        return f"'{text}'" if pa.types.is_temporal(self.kind) else format(Decimal(text), "f")


def arrow(numbers: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        cells = [None if one is None else Decimal(f"{one}E-{kind.scale}") for one in numbers]
        return pa.array(cells, kind)
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(numbers, width).cast(kind)
    return pa.array(numbers, kind)


def case(kind: pa.DataType, role: str, seed: int) -> Case:
    draw = random.Random(f"{kind} {role} {seed}")
    pool = FLOAT if kind == pa.float64() else WHOLE[kind]
    known = draw.sample(pool, min(len(pool), draw.randint(2, 6)))
    # every value as often as the others: anatomy needs it of a sensitive column
    numbers: list[Any] = [known[i % len(known)] for i in range(ROWS)]
    if draw.random() < 0.5:
        numbers[draw.randrange(ROWS)] = None
    draw.shuffle(numbers)
    roles: dict[str, list[str]] = {"quasi": ["age"], "sensitive": ["ill"], "insensitive": []}
    roles[role].append("it")
    if role == "sensitive":
        roles[role].remove("ill")
    columns = {
        "it": arrow(numbers, kind),
        "age": pa.array([draw.randint(20, 24) for _ in range(ROWS)]),
        "ill": pa.array(["flu", "cold", "gout"] * 4),
    }
    schema = sf.Schema(**roles)  # type: ignore[arg-type]
    return Case(kind, numbers, sf.Microdata.from_arrow(pa.table(columns), schema))


def two() -> Any:
    return sf.DistinctLDiversity(2)


FORMS: dict[str, Callable[[sf.Microdata], Askable]] = {
    "itself": lambda t: t,
    "ranges": lambda t: sf.publish(t, sf.Mondrian(), sf.KAnonymity(3)),
    "means": lambda t: sf.publish(t, sf.Mondrian(), sf.KAnonymity(3), means=True),
    "sets": lambda t: sf.publish(t, sf.Mondrian(), sf.KAnonymity(3), labels="sets"),
    "suppression": lambda t: sf.publish(t, sf.Mondrian(), sf.KAnonymity(4), labels="suppression"),
    "anatomized": lambda t: sf.publish(t, sf.Anatomize(), two()),
    "permuted": lambda t: sf.publish(t, sf.Mondrian(), two(), form="permuted"),
    "perturbed": lambda t: perturb(t, p=0.4),
}


def conditions(one: Case, draw: random.Random) -> list[tuple[str, Callable[[Any], bool]]]:
    """Texts of conditions, and what they mean."""
    known = sorted({number for number in one.numbers if number is not None})
    found: list[tuple[str, Callable[[Any], bool]]] = [
        ("it IS NULL", lambda v: v is None),
        ("it IS NOT NULL", lambda v: v is not None),
    ]
    if pa.types.is_duration(one.kind):
        return found  # SQL has no way to write one
    for value in draw.sample(known, min(2, len(known))):
        for sign, compare in OPERATORS.items():
            found.append((f"it {sign} {one.literal(value)}", partial(compares, compare, value)))
    low, high = sorted(draw.choices(known, k=2))
    text = f"it BETWEEN {one.literal(low)} AND {one.literal(high)}"
    found.append((text, partial(lies, low, high)))
    some = draw.sample(known, 2)
    found.append((f"it IN ({', '.join(map(one.literal, some))})", some.__contains__))
    return found


def compares(compare: Callable[[Any, Any], bool], other: Any, value: Any) -> bool:
    return value is not None and compare(value, other)


def lies(low: Any, high: Any, value: Any) -> bool:
    return value is not None and bool(low <= value <= high)


def unscaled(value: Any, kind: pa.DataType) -> Any:
    """What an answer tells as a whole number, or a fraction."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.astype(np.int64))
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array([value], kind).cast(width)[0].as_py()
    return Fraction(value)


def aggregate(function: str, numbers: Sequence[Any], kind: pa.DataType) -> Any:
    if function in ("MIN", "MAX"):
        found = min(numbers) if function == "MIN" else max(numbers)
    else:
        found = sum(map(Fraction, numbers))
        found = found / len(numbers) if function == "AVG" else found
    if pa.types.is_decimal(kind):
        return Fraction(found) / Fraction(10) ** kind.scale
    return found if pa.types.is_temporal(kind) else Fraction(found)


def check(answer: sf.Answer, true: Any, kind: pa.DataType, rounded: bool) -> None:
    lo, estimate, hi = (unscaled(one, kind) for one in (answer.lo, answer.estimate, answer.hi))
    assert lo <= estimate <= hi
    if rounded and answer.exact:
        true = Fraction(float(true))
    assert lo <= true <= hi


def ask_all(one: Case, release: Askable, seed: int) -> None:
    draw = random.Random(seed)
    for text, holds in conditions(one, draw):
        wanted = [number for number in one.numbers if holds(number)]
        check(release.count(text), len(wanted), pa.int64(), rounded=False)
        known = [number for number in wanted if number is not None]
        functions = ["MIN", "MAX"]
        if not pa.types.is_temporal(one.kind):
            functions += ["SUM", "AVG"]
        for function in functions:
            ask_one(one, release, f"SELECT {function}(it) FROM t WHERE {text}", function, known)


def answered(release: Askable | Responder, sql: str, but_for: str) -> sf.Result | None:
    """The answer; None where it is refused for a reason that is allowed."""
    try:
        return release.query(sql)
    except QueryRefused as refusal:
        if re.search(but_for, refusal.reason) is None:
            raise
        return None


def ask_one(one: Case, release: Askable, sql: str, function: str, known: list[Any]) -> None:
    result = answered(release, sql, "are suppressed|larger than any")
    if result is None:
        return
    answer = result.answer
    assert result.table.num_rows == 1
    if not known:
        assert answer.lo is None or answer.nullable
        return
    assert answer.lo is not None
    kind = pa.float64() if function == "AVG" else one.kind
    is_double = pa.types.is_floating(kind)
    if not is_double and not pa.types.is_temporal(kind):
        assert isinstance(answer.lo, Decimal if pa.types.is_decimal(kind) else int)
    check(answer, aggregate(function, known, one.kind), kind, rounded=is_double)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_no_bound_excludes_the_truth(form: str, kind: pa.DataType) -> None:
    asked = 0
    for role in ("quasi", "sensitive", "insensitive"):
        for seed in range(2 if kind in (pa.int64(), pa.float64()) else 1):
            one = case(kind, role, seed)
            try:
                release = FORMS[form](one.table)
            except SfumatoError:
                continue  # refused: a sensitive column of fractions, or too few values
            ask_all(one, release, seed)
            asked += 1
    assert asked


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nor_does_one_of_a_join(kind: pa.DataType) -> None:
    for seed in range(2):
        one = case(kind, "quasi", seed)
        table = pa.table(
            {
                "id": pa.array(range(ROWS)),
                "it": arrow(one.numbers, kind),
                "ill": pa.array(["flu", "cold", "gout"] * 4),
            }
        )
        external = pa.table(
            {"id": pa.array(range(4, ROWS + 8)), "it": table["it"].combine_chunks().take(
                pa.array([*range(4, ROWS), *[seed] * 8]))}
        )  # fmt: skip
        schema = sf.Schema(identifiers=["id"], quasi=["it"], sensitive=["ill"])
        owned = sf.Microdata.from_arrow(table, schema, id="id")
        try:
            release = sf.publish_join(
                owned, external, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(2)
            )
        except SfumatoError:
            continue
        ask_all(one, release, seed)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != pa.float64()], ids=str)
@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
def test_nor_does_one_of_a_statistical_database(framework: Any, kind: pa.DataType) -> None:
    for role in ("quasi", "sensitive"):
        one = case(kind, role, 0)
        if len({number for number in one.numbers if number is not None}) < 2:
            continue
        try:
            responder = Responder.create(one.table, m=2, cohort=None, framework=framework, seed=1)
        except SfumatoError:
            continue
        ask_database(one, responder, role)


def ask_database(one: Case, responder: Responder, role: str) -> None:
    for text, holds in conditions(one, random.Random(1)):
        wanted = [number for number in one.numbers if holds(number)]
        counted = answered(responder, f"SELECT COUNT(*) FROM t WHERE {text}", "not neighbours")
        if counted is None:
            continue
        check(counted.answer, len(wanted), pa.int64(), rounded=False)
        if role == "quasi":
            continue
        known = [number for number in wanted if number is not None]
        temporal = pa.types.is_temporal(one.kind)
        for function in ("MIN", "MAX") if temporal else ("MIN", "MAX", "SUM", "AVG"):
            answer = responder.query(f"SELECT {function}(it) FROM t WHERE {text}").answer
            if not known:
                assert answer.lo is None or answer.nullable
                continue
            kind = pa.float64() if function == "AVG" else one.kind
            rounded = pa.types.is_floating(kind)
            check(answer, aggregate(function, known, one.kind), kind, rounded)


def test_the_largest_doubles_have_a_mean() -> None:
    """Their sum has none; asking for the average of such a release never ended."""
    largest = 1.7976931348623157e308
    table = microdata(
        {"x": [largest] * 3 + [-largest] * 3 + [1.0] * 3, "ill": ["a", "b", "c"] * 3},
        quasi=["x"], sensitive=["ill"],
    )  # fmt: skip
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(3), means=True)
    assert np.isfinite(release.table["x_mean"].to_numpy()).all()
    average = release.query("SELECT AVG(x) FROM t WHERE ill = 'a'").answer
    assert average.lo <= 1 / 3 <= average.hi
