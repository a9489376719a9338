"""Numbers that doubles do not have, one by one; tests/properties/test_sentinels.py mixes them."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.exact import means_by_group, total
from sfumato.errors import DataError, QueryRefused, SchemaError
from sfumato.statdb import Responder
from tests.support.tables import microdata

MOST = 2**63 - 1
LARGEST = 1.7976931348623157e308


def people(income: Any, **described: Any) -> sf.Microdata:
    n = len(income)
    columns = {"income": income, "ill": (list("abc") * n)[:n]}
    return microdata(columns, quasi=["income"], sensitive=["ill"], **described)


@pytest.mark.parametrize("value", [MOST, -MOST - 1])
def test_a_sentinel_at_the_end_of_int64_is_counted(value: int) -> None:
    release = sf.publish(people([value] * 3 + [1, 2, 3]), sf.Mondrian(), sf.KAnonymity(3))
    beyond = f"income {'>' if value > 0 else '<'} {value}"
    for text, truth in (
        (f"income = {value}", 3), (f"income >= {value}", 3 if value > 0 else 6),
        (f"income <= {value}", 6 if value > 0 else 3), ("income IS NOT NULL", 6), (beyond, 0),
        (f"income <> {value}", 3), (f"income > {10**30}", 0), (f"income < {10**30}", 6),
    ):  # fmt: skip
        answer = release.count(text)
        assert (answer.lo, answer.hi) == (truth, truth), text


def test_unsigned_numbers_above_2_63_are_counted_and_listed() -> None:
    top = 2**64 - 1
    table = people(pa.array([top] * 3 + [top - 9] * 3, pa.uint64()))
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(3))
    assert release.count(f"income = {top}").lo == 3
    assert release.count(f"income > {2**63}").lo == 6
    found = release.query("SELECT income, COUNT(*) FROM t GROUP BY income")
    assert found.keys == ((top - 9,), (top,))
    assert release.query("SELECT SUM(income) FROM t").answer.lo == 3 * top + 3 * (top - 9)


def test_sums_of_whole_numbers_are_whole_numbers() -> None:
    table = people([MOST, MOST - 1, 2**53 + 1] * 2)
    found = table.query("SELECT SUM(income) AS s, MIN(income) AS a, MAX(income) AS b FROM t")
    truths = (4 * MOST + 2**54, 2**53 + 1, MOST)
    for answer, truth in zip(found.answers[0], truths, strict=True):
        assert answer.lo == answer.hi == answer.estimate == truth
        assert isinstance(answer.lo, int)
    shown = found.table.to_pylist()[0]
    assert shown["s_lo"] == shown["s_estimate"] == truths[0]
    assert shown["a_estimate"] == 2**53 + 1


def test_sums_by_means_are_whole_numbers_too() -> None:
    table = people([0] * 3 + [126] * 3)
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(3), means=True)
    answer = release.query("SELECT SUM(income) FROM t").answer
    assert answer.lo == answer.hi == 378
    assert isinstance(answer.lo, int)


def test_a_database_tells_whole_numbers_too() -> None:
    pay = [2**53 + 1, 2**53 + 3, MOST, -MOST - 1] * 5
    table = microdata({"age": [30, 40] * 10, "pay": pay}, quasi=["age"], sensitive=["pay"])
    responder = Responder.create(table, m=2, seed=1)
    found = responder.query("SELECT SUM(pay), MIN(pay), MAX(pay) FROM t").answers[0]
    assert [one.lo for one in found] == [sum(pay), min(pay), max(pay)] == [one.hi for one in found]
    assert found[0].estimate == sum(pay)
    assert responder.count(f"pay = {2**53 + 1}").lo == 5


def test_decimals_stay_decimals() -> None:
    pay = [Decimal("99999999999999999999999999999999.999999")] * 3 + [Decimal("-0.000001")] * 3
    table = people(pa.array(pay, pa.decimal128(38, 6)))
    found = table.query("SELECT SUM(income) AS s, MAX(income) AS b FROM t")
    assert found.answers[0][0].lo == Decimal("299999999999999999999999999999999.999994")
    assert found.answers[0][1].hi == pay[0]
    assert pa.types.is_decimal(found.table.schema.field("s_lo").type)
    assert table.count("income = -0.000001").lo == 3


def test_a_mean_of_the_largest_doubles_is_finite_and_verified(tmp_path: Path) -> None:
    table = people([LARGEST] * 3 + [-LARGEST] * 3 + [1.0, 1.0, float(np.nextafter(1.0, 2))])
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(3), means=True)
    assert np.isfinite(release.table["income_mean"].to_numpy()).all()
    release.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    average = release.query("SELECT AVG(income) FROM t").answer
    assert average.lo <= 1 / 3 <= average.hi
    with pytest.raises(QueryRefused, match="larger than any double"):
        people([LARGEST] * 3).query("SELECT SUM(income) FROM t")


def test_a_mean_that_is_no_number_is_not_used() -> None:
    """Older releases hold such means; asking for an average never ended."""
    table = people([LARGEST] * 3 + [1.0] * 3)
    made = sf.publish(table, sf.Mondrian(), sf.KAnonymity(3), means=True)
    place = made.groups.column_names.index("income_mean")
    means = pa.array([float("inf")] * made.groups.num_rows)
    spoiled = made.groups.set_column(place, "income_mean", means)
    release = sf.GeneralizedTable(spoiled, made.group_of_row, made.rows, made.manifest)
    average = release.query("SELECT AVG(income) FROM t WHERE ill = 'a'").answer
    assert average.lo <= average.estimate <= average.hi <= LARGEST


def test_sums_are_exact_whatever_their_parts() -> None:
    numbers = np.array([1e308, -1e308, 5e-324, 0.1, 2.0**53, 1.0])
    counts = np.array([3, 3, 2, 10, 1, 1])
    pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
    assert total(numbers, counts) == sum(Fraction(value) * count for value, count in pairs)


def test_means_of_decimals_are_in_their_own_unit() -> None:
    means, counts = means_by_group(
        np.array([10, 20, 10**30], np.object_), np.array([0, 0, 2], np.int32), 3, 1
    )
    assert means.tolist() == [1.5, 0.0, 1e29]
    assert counts.tolist() == [2, 0, 1]


def test_infinite_numbers_are_refused_and_nan_is_missing() -> None:
    with pytest.raises(DataError, match="infinite"):
        people([1.0, float("inf"), 2.0])
    table = people([1.0, float("nan"), 2.0])
    assert table.count("income IS NULL").lo == 1
    assert table.query("SELECT SUM(income) FROM t").answer.lo == 3


def test_an_insensitive_column_with_infinite_numbers_is_not_asked_about() -> None:
    rows = {"age": [1, 2, 3, 4], "ill": list("abab"), "x": [1.0, float("inf"), 2.0, 3.0]}
    table = microdata(rows, quasi=["age"], sensitive=["ill"], insensitive=["x"])
    for source in (table, sf.publish(table, sf.Mondrian(), sf.KAnonymity(2))):
        assert source.count("ill = 'a'").lo == 2
        with pytest.raises(QueryRefused, match="'x' holds infinite numbers"):
            source.count("x > 0")


FAR: dict[str, tuple[pa.DataType, tuple[int, int]]] = {
    "unsigned": (pa.uint64(), (20, 22)),
    "most unsigned": (pa.uint64(), (2**64 - 1, 2**64 - 2)),
    "middle of unsigned": (pa.uint64(), (2**63 - 1, 2**63 + 1)),
    "most": (pa.int64(), (MOST, MOST - 2)),
    "least": (pa.int64(), (-MOST - 1, -MOST + 1)),
    "first that no double is": (pa.int64(), (2**53, 2**53 + 1)),
    "below zero": (pa.int64(), (-(2**53) - 1, -(2**53))),
}


@pytest.fixture(params=FAR)
def far(request: pytest.FixtureRequest) -> tuple[sf.Microdata, list[int]]:
    kind, pair = FAR[request.param]
    table = people(pa.array([*pair] * 6, kind))
    return table, list(range(min(pair), max(pair) + 1))


@pytest.fixture(params=["made", "loaded"])
def one_box(
    request: pytest.FixtureRequest, far: tuple[sf.Microdata, list[int]], tmp_path: Path
) -> Any:
    made = sf.publish(far[0], sf.Mondrian(), sf.KAnonymity(12))
    if request.param == "made":
        return made
    made.write(tmp_path / "out")
    return sf.load(tmp_path / "out")


@pytest.mark.parametrize(("where", "rows"), [("", 12), ("WHERE ill = 'a'", 4)])
def test_a_range_of_neighbours_is_not_taken_for_one_value(
    far: tuple[sf.Microdata, list[int]], one_box: Any, where: str, rows: int
) -> None:
    """Doubles have neither of its ends; the rows of the range were given to each of its values."""
    _, values = far
    found = one_box.query(f"SELECT income, COUNT(*) FROM t {where} GROUP BY income")
    assert found.keys == tuple((value,) for value in values)
    for (answer,) in found.answers:
        assert (answer.lo, answer.hi) == (0, rows)
        assert answer.estimate == pytest.approx(rows / len(values))


def test_a_value_among_neighbours_has_its_share(
    far: tuple[sf.Microdata, list[int]], one_box: Any
) -> None:
    _, values = far
    for value in values:
        for asked, share in (("=", 1), ("<>", len(values) - 1)):
            answer = one_box.count(f"income {asked} {value}")
            assert (answer.lo, answer.hi) == (0, 12)
            assert answer.estimate == pytest.approx(12 * share / len(values))


def test_a_sum_of_small_unsigned_numbers_is_expected_in_the_middle() -> None:
    """Their places begin at -2**63, where doubles lie 1,024 apart."""
    table = people(pa.array([20, 30] * 6, pa.uint64()))
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(12))
    asked = {"": 25, "WHERE income <> 20": 25.5, "WHERE income IN (21, 24)": 22.5}
    for text, middle in asked.items():
        answer = release.query(f"SELECT AVG(income) FROM t {text}").answer
        assert answer.estimate == pytest.approx(middle)
    assert release.query("SELECT SUM(income) FROM t").answer.estimate == pytest.approx(300)


def test_a_range_that_may_be_missing_holds_more_than_its_one_value() -> None:
    table = people(pa.array([7, 7, 7, None], pa.uint64()))
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(4))
    found = release.query("SELECT income, COUNT(*) FROM t GROUP BY income")
    assert found.keys == ((7,), (None,))
    assert [(line[0].lo, line[0].hi) for line in found.answers] == [(0, 4), (0, 4)]


@pytest.mark.parametrize("kept", ["made", "loaded"])
@pytest.mark.parametrize(
    ("kind", "leaves"),
    [
        (pa.uint64(), [2**63 + 1, 2**63 + 3, 2**63 + 5]),
        (pa.int64(), [2**53, 2**53 + 1, 2**53 + 3]),
        (pa.decimal128(30, 1), [Decimal(10**19) + Decimal(tenth) / 10 for tenth in (1, 2, 3)]),
        (pa.decimal128(5, 2), [Decimal("0.10"), Decimal("0.20"), Decimal("0.70")]),
    ],
    ids=str,
)
def test_labels_stand_for_numbers_as_they_are(
    kind: pa.DataType, leaves: list[Any], kept: str, tmp_path: Path
) -> None:
    """Leaves of a tree were read as doubles, which made neighbours one value."""
    tree = sf.Taxonomy.from_nested({"all": {"some": leaves[:2], "other": leaves[2:]}})
    values = leaves * 2
    table = people(pa.array(values, kind), taxonomies={"income": tree})
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(6), labels="taxonomy")
    if kept == "loaded":
        release.write(tmp_path / "out")
        release = sf.load(tmp_path / "out")  # type: ignore[assignment]
    for leaf in leaves:
        for sign, truth in (("=", 2), (">", sum(value > leaf for value in values))):
            answer = release.count(f"income {sign} {leaf}")
            assert (answer.lo, answer.hi) == (0, 6 if truth else 0)
    found = release.query("SELECT SUM(income), MIN(income), MAX(income) FROM t").answers[0]
    assert (found[0].lo, found[0].hi) == (6 * leaves[0], 6 * leaves[2])
    for answer in found[1:]:
        assert (answer.lo, answer.hi) == (leaves[0], leaves[2])
    groups = release.query("SELECT income, COUNT(*) FROM t GROUP BY income")
    assert groups.keys == tuple((leaf,) for leaf in leaves)


def test_an_order_of_numbers_beyond_int64_is_declared() -> None:
    order = [2**64 - 1, 2**63]
    table = people(pa.array([*order] * 2, pa.uint64()), orders={"income": order})
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(4))
    assert release.count(f"income = {2**63}").hi == 4
    with pytest.raises(SchemaError, match="other values, such as -1"):
        people(pa.array([2**64 - 1] * 2, pa.uint64()), orders={"income": [2**64 - 1, -1]})


SUMS_TOO_LARGE: dict[str, list[float]] = {
    "both ends": [LARGEST, -LARGEST, 1.0, -1.0],
    "the upper end": [LARGEST, 1.0, 0.0, 0.0],
    "the lower end": [-LARGEST, -1.0, 0.0, 0.0],
}


@pytest.mark.parametrize("values", SUMS_TOO_LARGE.values(), ids=SUMS_TOO_LARGE)
def test_a_sum_whose_end_is_rounded_beyond_the_doubles_is_refused(values: list[float]) -> None:
    """The exact end is nearest to the largest double, and a bound is rounded outwards from it."""
    table = microdata({"a": [1, 2, 3, 4], "x": values}, quasi=["a"], sensitive=["x"])
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(4))
    with pytest.raises(QueryRefused, match="larger than any double"):
        release.query("SELECT SUM(x) FROM t WHERE a >= 2")
    average = release.query("SELECT AVG(x) FROM t WHERE a >= 2").answer
    assert -LARGEST <= average.lo <= average.hi <= LARGEST
