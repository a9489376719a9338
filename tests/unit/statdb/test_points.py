"""Points and circles in statistical databases, against looking at every row."""

from __future__ import annotations

import warnings
from math import frexp
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, QueryRefused, SchemaError, SfumatoWarning
from sfumato.queries.json import from_line, to_line
from sfumato.queries.sql import parse_condition
from sfumato.queries.sql.writing import condition_of
from sfumato.statdb.count.neighbours import near_count_plain
from sfumato.statdb.count.points import region_of
from sfumato.statdb.responder import Responder

ROWS = 900
CHANCE = np.random.default_rng(6)
X = np.round(CHANCE.normal(0, 4, ROWS), 1)
Y = CHANCE.integers(-12, 13, ROWS)
AGE = CHANCE.integers(18, 80, ROWS)
ILL = CHANCE.choice(["flu", "cold", "gout", "pox", "ache"], ROWS)
POINTS = {"home": ["x", "y"]}


def table(**other: Any) -> sf.Microdata:
    missing = np.zeros(ROWS, bool)
    missing[:7] = True
    columns = {"age": AGE, "x": pa.array(X, mask=missing), "y": Y, "ill": ILL}
    schema = sf.Schema(quasi=["age", "x", "y"], sensitive="ill", points=POINTS, **other)
    return sf.Microdata.from_arrow(pa.table(columns), schema)


def made(**how: Any) -> Responder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return Responder.create(table(), m=3, seed=2, **how)


WAYS = {
    "neighbours": made(size=9),
    "boxes": made(size=9, framework="generalization"),
    "regions": made(first="regions"),
    "signatures": made(first="signatures"),
}
KNOWN = np.arange(ROWS) >= 7


def near(across: Any, along: Any, radius: float) -> Any:
    """In units near the radius: squares of small numbers would be 0, and near to everything."""
    unit = -frexp(radius)[1] if radius else 1000
    with np.errstate(over="ignore"):
        squares = [np.ldexp(one, unit) ** 2 for one in (across, along, float(radius))]
    return squares[0] + squares[1] <= squares[2]


def inside(x: float, y: float, radius: float) -> Any:
    return KNOWN & near(X - x, Y - y, radius)


circles = st.tuples(st.floats(-9, 9), st.floats(-14, 14), st.floats(0, 16)) | st.tuples(
    st.integers(-5, 5), st.integers(-9, 9), st.integers(0, 9)
)


@settings(max_examples=60, deadline=None)
@given(circles)
def test_a_circle_has_the_codes_of_the_points_that_lie_in_it(circle: Any) -> None:
    responder = WAYS["neighbours"]
    axis = responder.points["home"]
    runs = axis.runs(sf.within(*circle))
    low, high = region_of(runs, axis.x.size, axis.y.size)
    x, y, radius = map(float, circle)
    for code, at in enumerate(axis.x.shown):
        wanted = [i for i, b in enumerate(axis.y.shown) if near(at - x, float(b - y), radius)]
        assert list(range(low[code], high[code] + 1)) == wanted


@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=25, deadline=None)
@given(circle=circles, other=circles, low=st.integers(18, 70), wanted=st.sampled_from([*set(ILL)]))
def test_intervals_hold_the_truth(
    name: str, circle: Any, other: Any, low: int, wanted: str
) -> None:
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"home": sf.within(*circle)}, inside(*circle)),
        ({"home": sf.within(*circle) & sf.within(*other)}, inside(*circle) & inside(*other)),
        ({"home": sf.within(*circle), "age": sf.at_least(low)}, inside(*circle) & (low <= AGE)),
        ({"home": sf.within(*circle), "x": sf.at_most(1)}, inside(*circle) & KNOWN & (X <= 1)),
        ({"home": sf.within(*circle), "y": sf.between(-3, 5)}, inside(*circle) & (abs(Y - 1) <= 4)),
    ]
    for where, true in cases:
        for sick in (np.ones(ROWS, bool), wanted == ILL):
            asked: dict[str, Any] = where if np.all(sick) else {**where, "ill": [wanted]}
            answer = WAYS[name].count(sf.Query(asked))
            assert answer.lo <= (true & sick).sum() <= answer.hi
            assert answer.lo <= answer.estimate <= answer.hi


@settings(max_examples=25, deadline=None)
@given(circle=circles, wanted=st.sampled_from([*set(ILL)]))
def test_the_index_finds_what_looking_at_every_place_finds(circle: Any, wanted: str) -> None:
    responder = WAYS["neighbours"]
    stored, axis = responder.stored, responder.axes["ill"]
    places = stored.occupied()
    rows = responder.table()
    x, y = (np.append(rows.attributes[n].positions, np.nan)[rows.codes[n]] for n in ("x", "y"))
    satisfies = np.zeros(len(stored.codes["ill"]), bool)
    satisfies[places] = (x - circle[0]) ** 2 + (y - circle[1]) ** 2 <= float(circle[2]) ** 2
    values = stored.codes["ill"] == axis.codes[wanted]
    plain = near_count_plain(stored.groups.base, satisfies, values)  # type: ignore[union-attr]
    answer = responder.count(sf.Query({"home": sf.within(*circle), "ill": [wanted]}))
    assert (answer.lo, answer.hi) == plain[1:]
    assert answer.estimate == pytest.approx(plain[0])


def test_boxes_that_a_circle_only_seems_to_touch_add_nothing() -> None:
    """The corners of the rectangle around a circle are no part of it."""
    x, y = np.repeat([0, 10], 50), np.repeat([0, 10], 50)
    rows = {"x": x, "y": y, "ill": np.tile(["a", "b"], 50)}
    schema = sf.Schema(quasi=["x", "y"], sensitive="ill", points=POINTS)
    small = sf.Microdata.from_arrow(pa.table(rows), schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        boxed = Responder.create(small, m=2, size=50, framework="generalization", seed=1)
    circle = boxed.count("ST_DWithin(home, ST_Point(0, 10), 10)")
    assert (circle.lo, circle.hi) == (100, 100)  # both lie on its edge
    assert boxed.count("ST_DWithin(home, ST_Point(0, 10), 9)").hi == 0
    corner = boxed.count("ST_DWithin(home, ST_Point(5, 5), 6)")
    assert (corner.lo, corner.hi) == (0, 0)


def test_a_circle_is_written_and_read_alike() -> None:
    text = "ST_DWithin(home, ST_Point(-3.25, 4), 2.5) AND age >= 30"
    query = parse_condition(text)
    assert query == sf.Query({"home": sf.within(-3.25, 4, 2.5), "age": sf.at_least(30)})
    assert parse_condition(condition_of(query)) == query
    assert from_line(to_line(query)) == query
    two = "ST_DWithin(home, ST_Point(0, 0), 3) AND st_dwithin(home, st_point(1, 0), 3)"
    assert parse_condition(condition_of(parse_condition(two))) == parse_condition(two)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("ST_DWithin(home, ST_Point(1, 2))", "a point, a middle, and how far away"),
        ("ST_DWithin(home, 1, 2)", "a point, a middle"),
        ("ST_DWithin(home, ST_Point('a', 2), 3)", "three numbers"),
        ("ST_DWithin(home, ST_Point(x, 2), 3)", "cannot stand here"),
        ("ST_DWithin(home, ST_Point(1, 2), -3)", "from 0 on"),
        ("ST_DWithin(home, ST_Point(1, 2, 3), 3)", "a point, a middle|not supported"),
        ("ST_DWithin(work, ST_Point(1, 2), 3)", "no column 'work'"),
        ("ST_DWithin(age, ST_Point(1, 2), 3)", "circles are about points"),
        ("NOT ST_DWithin(home, ST_Point(1, 2), 3)", "joined by AND only"),
        ("ST_DWithin(home, ST_Point(1, 2), 3) OR ST_DWithin(home, ST_Point(1, 3), 3)", "AND only"),
        ("home = 3", "is a point"),
        ("home IS NULL", "is a point"),
        ("ST_Intersects(home, ST_Point(1, 2))", "cannot stand here"),
    ],
)
def test_what_is_no_circle_is_refused(asked: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said):
        WAYS["neighbours"].count(asked)


def test_points_stand_for_no_column() -> None:
    for asked in ("SELECT COUNT(*) FROM t GROUP BY home", "SELECT MAX(home) FROM t"):
        with pytest.raises(QueryRefused, match="'home' is a point"):
            WAYS["neighbours"].query(asked)
    assert WAYS["neighbours"].count("ST_DWithin(HOME, ST_Point(0, 0), 99)").hi > 800
    boxes = Responder.create(table(), m=3, seed=2, first="regions", framework="generalization")
    with pytest.raises(QueryRefused, match="groups of neighbours"):
        boxes.count("ST_DWithin(home, ST_Point(0, 0), 5)")


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({"home": ["x"]}, "two quasi-identifiers"),
        ({"home": ["x", "ill"]}, "two quasi-identifiers"),
        ({"home": ["x", "x"]}, "twice"),
        ({"age": ["x", "y"]}, "a name of its own"),
        ({"home": "xy"}, "wants a list"),
    ],
)
def test_a_point_is_a_pair_of_quasi_identifiers(points: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        sf.Schema(quasi=["age", "x", "y"], sensitive="ill", points=points)


def test_a_point_is_made_of_numbers() -> None:
    binned = table(bins={"x": 5})
    with pytest.raises(SchemaError, match="needs numbers, and 'x' holds"):
        Responder.create(binned, m=3)
    with pytest.raises(ParameterError, match="radius"):
        sf.within(1, 2, "far")


def test_a_database_and_a_schema_file_keep_points(tmp_path: Path) -> None:
    sf.write_schema(tmp_path / "s.toml", table().schema)
    assert sf.read_schema(tmp_path / "s.toml") == table().schema
    made = sf.StatDB.create(tmp_path / "db", table(), m=3, size=9, seed=1, experiment=True)
    again = sf.StatDB.open(tmp_path / "db")
    asked = "ST_DWithin(home, ST_Point(0, 0), 4) AND ill = 'flu'"
    assert made.count(asked) == again.count(asked)
    assert again.table().schema.points == {"home": ("x", "y")}


@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1.0, 1e170, 1e307])
def test_circles_of_any_size(scale: float) -> None:
    """Squares of small distances are 0, and those of large ones no numbers."""
    x, y = CHANCE.integers(-9, 10, (2, 300)) * scale
    columns = {"x": x, "y": y, "ill": CHANCE.choice(ILL, 300)}
    schema = sf.Schema(quasi=["x", "y"], sensitive="ill", points=POINTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        people = sf.Microdata.from_arrow(pa.table(columns), schema)
        database = Responder.create(people, m=3, seed=0)
    apart = np.hypot(x / scale, y / scale)
    for radius in (0.0, 4.5, 8.5):
        found = database.count(f"ST_DWithin(home, ST_Point(0, 0), {radius * scale!r})")
        assert found.lo == found.hi == (apart <= radius).sum()
    everybody = database.count("ST_DWithin(home, ST_Point(0, 0), 1.7e308)")
    assert everybody.lo == everybody.hi == (300 if scale < 1e300 else (apart <= 17).sum())
