"""Times at the edges: an hour that occurs twice, nanoseconds, the ends of the calendar."""

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.predicates import Compare
from sfumato.core.query import Query
from sfumato.errors import DataError, QueryRefused
from sfumato.statdb import Responder

ZONE = "Europe/Berlin"
# from 00:00 to 02:30 UTC: 02:00 and 02:30 in Berlin come twice
TIMES = [datetime(2024, 10, 27, tzinfo=UTC) + timedelta(minutes=30 * i) for i in range(6)]


def table(role: str, times: pa.Array) -> sf.Microdata:
    n = len(times)
    roles: dict[str, list[str]] = {"quasi": ["age"], "sensitive": ["ill"]}
    roles["sensitive"] = ["at"] if role == "sensitive" else ["ill"]
    roles["quasi"] = ["age", "at"] if role == "quasi" else ["age"]
    columns = {"age": [20 + i % 3 for i in range(n)], "ill": list("abc") * (n // 3), "at": times}
    return sf.Microdata.from_arrow(pa.table(columns), sf.Schema(**roles))  # type: ignore[arg-type]


def berlin(unit: str, times: int = 6) -> pa.Array:
    return pa.array(TIMES * times, pa.timestamp(unit, ZONE))


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_the_hour_that_summer_time_repeats_is_two(role: str, unit: str) -> None:
    made = table(role, berlin(unit))
    for source in (
        made,
        Responder.create(made, m=2, seed=1),
        sf.publish(made, sf.Anatomize(), sf.DistinctLDiversity(2)),
    ):
        for time in TIMES:
            assert 6 in source.count(f"at = '{time.isoformat()}'")
            assert 6 in source.count(Query({"at": Compare("=", time)}))
        assert 6 in source.count("at = '2024-10-27 02:30+02:00'")
        assert 12 in source.count(
            "at BETWEEN '2024-10-27 02:30+02:00' AND '2024-10-27 02:00+01:00'"
        )
        groups = source.query("SELECT at, COUNT(*) FROM t GROUP BY at")
        assert [key.astimezone(UTC) for (key,) in groups.keys] == TIMES
        assert len(set(groups.keys)) == 6
        assert groups.table["at"].to_pylist() == pa.array(TIMES, groups.types[0]).to_pylist()


def test_a_time_without_an_offset_is_refused_where_zones_matter() -> None:
    with pytest.raises(QueryRefused, match=r"such as '2020-12-31 23:59:59\+01:00'"):
        table("quasi", berlin("s")).count("at = '2024-10-27 02:30'")


def test_extremes_tell_their_offset() -> None:
    found = table("quasi", berlin("s")).query("SELECT MIN(at), MAX(at) FROM t").answers[0]
    assert str(found[0].lo) == "2024-10-27 02:00:00+02:00"
    assert str(found[1].hi) == "2024-10-27 03:30:00+01:00"


def test_nanoseconds_are_told_apart() -> None:
    fine = pa.array([10**18, 10**18 + 1, 10**18 + 2] * 4, pa.int64()).cast(pa.timestamp("ns"))
    made = table("quasi", fine)
    assert made.count("at = '2001-09-09 01:46:40.000000001'").lo == 4
    assert made.count("at < TIMESTAMP '2001-09-09 01:46:40.000000002'").lo == 8
    assert made.query("SELECT MAX(at) FROM t").answer.hi.nanosecond == 2


WITHOUT_PANDAS = """
import sys

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPandas())
import pyarrow as pa
import sfumato as sf
from sfumato.errors import QueryRefused
from sfumato.statdb import Responder

for kind in (pa.timestamp("ns"), pa.timestamp("ns", "Europe/Berlin"), pa.duration("ns")):
    for role in ("quasi", "sensitive"):
        at = pa.array([10**18, 10**18 + 1, 10**18 + 1000] * 4, pa.int64()).cast(kind)
        rows = pa.table({"age": [20, 21, 22, 23] * 3, "ill": ["a", "b"] * 6, "at": at})
        roles = {"quasi": ["age", "at"], "sensitive": ["ill"]}
        if role == "sensitive":
            roles = {"quasi": ["age"], "sensitive": ["at"]}
        table = sf.Microdata.from_arrow(rows, sf.Schema(**roles))
        model = sf.DistinctLDiversity(2)
        for source in (
            table,
            sf.publish(table, sf.Mondrian(), sf.KAnonymity(3)),
            sf.publish(table, sf.Mondrian(), sf.KAnonymity(3), labels="suppression"),
            sf.publish(table, sf.Anatomize(), model),
            sf.publish(table, sf.Mondrian(), model, form="permuted"),
            Responder.create(table, m=2, seed=1),
        ):
            assert 12 in source.count("at IS NOT NULL")
            asked = ["COUNT(*)"] if isinstance(source, Responder) and role == "quasi" else []
            for what in asked or ["COUNT(*)", "MIN(at), MAX(at)"]:
                try:
                    source.query(f"SELECT {what} FROM t").table
                except QueryRefused as refusal:
                    assert "suppressed" in refusal.reason
            if source is table:
                groups = source.query("SELECT at, COUNT(*) FROM t GROUP BY at")
                assert len(set(groups.keys)) == 3
                assert groups.table.num_rows == 3
print("answered")
"""


@pytest.mark.slow
def test_nanoseconds_need_no_pandas(tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(WITHOUT_PANDAS)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, timeout=600
    )
    assert ran.stdout == "answered\n", ran.stderr


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (pa.date32(), 2_932_897),
        (pa.date32(), -719_163),
        (pa.timestamp("s"), 2_932_897 * 86_400),
        (pa.duration("s"), 2**62),
    ],
)
def test_what_no_calendar_has_is_refused(kind: pa.DataType, number: int) -> None:
    width: Any = pa.int32() if kind.bit_width == 32 else pa.int64()
    times = pa.array([0, number, 0], width).cast(kind)
    with pytest.raises(DataError, match="'at' holds dates or times beyond"):
        table("quasi", times)


def test_the_first_and_the_last_day_are_days() -> None:
    days = [date.min, date.max, date(2020, 1, 1)] * 2
    release = sf.publish(table("quasi", pa.array(days)), sf.Mondrian(), sf.KAnonymity(2))
    for text, truth in (("at >= '9999-12-31'", 2), ("at > '9999-12-31'", 0),
                        ("at <= '0001-01-01'", 2), ("at < '0001-01-01'", 0)):  # fmt: skip
        assert truth in release.count(text)
