"""The map of a point, in a real browser against a real server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

import sfumato as sf
from tests.server.test_page import bounds, question, sentence
from tests.support.browsing import Open, browser, contexts, needs_chromium, visit
from tests.support.seeds import long_seed

__all__ = ["browser", "contexts", "visit"]  # fixtures

pytestmark = needs_chromium
ASKED = "ST_DWithin(home, ST_Point(40, 60), 20)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = np.random.default_rng(5)
    rows = 800
    x, y = (np.clip(chance.normal(at, 20, rows).round(), 0, 100) for at in (40, 60))
    x[:2], y[:2] = (0, 100), (0, 100)
    table = pa.table({
        "x": x,
        "y": y,
        "age": chance.integers(18, 80, rows),
        "disease": pa.array(chance.choice(["flu", "cold", "gout"], rows), pa.string()),
    })  # fmt: skip
    schema = sf.Schema(quasi=["x", "y", "age"], sensitive="disease", points={"home": ["x", "y"]})
    path = tmp_path_factory.mktemp("maps") / "people.statdb"
    sf.StatDB.create(path, sf.Microdata.from_arrow(table, schema), m=2, size=12, seed=long_seed(1))
    return path


@pytest.fixture(scope="module")
def address(serve: Any, folder: Path) -> str:
    return str(serve(folder))


@pytest.fixture(scope="module")
def local(folder: Path) -> sf.StatDB:
    return sf.StatDB.open(folder)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """From one value to another on the map."""
    ground = page.locator("svg.plane .ground")
    ground.scroll_into_view_if_needed()
    box = ground.bounding_box()
    assert box is not None
    for place, act in ((start, page.mouse.down), (end, page.mouse.up)):
        across = box["x"] + box["width"] * place[0] / 100
        page.mouse.move(across, box["y"] + box["height"] * (1 - place[1] / 100))
        act()


def circle_of(page: Page) -> list[float]:
    found = re.search(
        r"at most ([\d.]+) away from \(([\d.]+), ([\d.]+)\)",
        page.inner_text(".attribute.set .state"),
    )
    assert found is not None
    radius, x, y = map(float, found.groups())
    return [x, y, radius]


def test_a_circle_is_drawn_and_asked(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.click("summary:has-text('home')")
    drag(page, (40, 60), (60, 60))
    x, y, radius = circle_of(page)
    assert (x, y, radius) == pytest.approx((40, 60, 20), abs=1.5)
    page.click("#ask-button")
    wanted = local.count(f"ST_DWithin(home, ST_Point({x}, {y}), {radius})")
    assert sentence(page).startswith(bounds(wanted))
    again = visit(page.url)
    assert sentence(again) == sentence(page)
    assert circle_of(again) == [x, y, radius]


def test_a_circle_is_typed_and_written_as_sql(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.click("summary:has-text('home')")
    for name, value in (("middle, x", "40"), ("middle, y", "60"), ("how far", "20")):
        page.get_by_label(name, exact=True).fill(value)
    expect(page.locator("svg.plane ellipse")).to_have_count(1)
    page.click("#tab-sql")
    expect(page.locator("#sql")).to_have_value(re.compile(re.escape(ASKED)))
    page.click("#ask-button")
    assert sentence(page).startswith(bounds(local.count(ASKED)))
    expect(page.locator("#answer")).to_contain_text("at most 20 away from (40, 60)")


def test_a_rectangle_is_a_range_of_each_column(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.click("summary:has-text('home')")
    page.get_by_label("Draw a rectangle").check()
    drag(page, (20, 80), (60, 30))
    states = page.locator(".attribute.set .state").all_inner_texts()
    ends = [[float(one) for one in re.findall(r"[\d.]+", state)] for state in states]
    assert ends == [pytest.approx([20, 60], abs=1.5), pytest.approx([30, 80], abs=1.5)]
    page.click("#ask-button")
    (a, b), (c, d) = ends
    wanted = local.count(f"x BETWEEN {a} AND {b} AND y BETWEEN {c} AND {d}")
    assert sentence(page).startswith(bounds(wanted))


def test_cells_are_answers_of_their_own(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address + question(of="count", **{"is.disease": "flu"}))
    page.click("summary:has-text('home')")
    page.get_by_role("button", name="Count the cells").click()
    expect(page.locator("svg.plane .cell")).to_have_count(144)
    shown = page.locator("svg.plane .cell").evaluate_all(
        "all => all.map(one => [one.dataset.lo, one.dataset.hi].map(Number))"
    )
    low, high = 100 / 12 * 4, 100 / 12 * 5
    one = local.count(
        f"x >= {low} AND x < {high} AND y >= {low} AND y < {high} AND disease = 'flu'"
    )
    assert shown[4 * 12 + 4] == [one.lo, one.hi]
    expect(page.locator(".map [role=status]")).to_contain_text("the darkest has about")


def test_an_address_with_no_circle_is_told(visit: Open, address: str) -> None:
    page = visit(address + question(of="count", **{"within.home": "1 2"}))
    expect(page.locator("#answer")).to_contain_text("circle around “home” that is none")
