"""The report as a page: whole, harmless, readable, and put in place with care."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.evaluation import Evaluation, evaluate
from sfumato.audits.evaluation.distributions import Distribution
from sfumato.audits.evaluation.query_errors import Band
from sfumato.audits.report import charts
from sfumato.audits.report.cost import size_bins
from sfumato.audits.report.page import render
from sfumato.audits.report.svg import LETTER
from sfumato.audits.report.text import number, percent, safe
from sfumato.audits.report.usefulness import _question
from sfumato.audits.report.writing import write_page
from sfumato.audits.scales import decades, round_step, short, ticks
from sfumato.audits.usefulness import Conditional
from sfumato.errors import OutputExists, ReleaseError
from sfumato.forms.evidence import Check
from sfumato.forms.registry import Release
from tests.support.seeds import long_seed

EVIL = "</script><script>alert(1)</script>"
STEERING = "bell\x07 null\x00 line\nend \u202e turned \ud800"
LONG = "x" * 5000
HEADINGS = [
    "The promise",
    "Who is exposed",
    "What it costs",
    "What goes with what",
    "Distributions, original against published",
    "How well questions are answered",
    "What to do next",
]


def table(*, evil: bool = False) -> sf.Microdata:
    draw = np.random.default_rng(3)
    n = 120
    towns = [EVIL, "\" onload='x'", "a & b", LONG] if evil else ["north", "south"]
    ills = ["flu", "<b>cold</b>", "gout"] if evil else ["flu", "cold", "gout"]
    name = "town <img src=x>" if evil else "town"
    columns = {
        "age": draw.integers(18, 80, n),
        name: draw.choice(towns, n),
        "disease": draw.choice(ills, n),
    }
    return sf.Microdata.from_arrow(
        pa.table(columns), sf.Schema(quasi=["age", name], sensitive="disease")
    )


def releases(of: sf.Microdata) -> dict[str, Release]:
    return {
        "generalized": sf.publish(of, sf.Mondrian(), sf.KAnonymity(5), seed=long_seed(1)),
        "anatomized": sf.publish(of, sf.Anatomize(), sf.LDiversity(2), seed=long_seed(1)),
        "text": sf.publish(of, sf.Mondrian(), sf.KAnonymity(5), labels="text", seed=long_seed(1)),
    }


def page(form: str, *, evil: bool = False) -> str:
    return render(seen(form, evil=evil))


def seen(form: str, *, evil: bool = False) -> Evaluation:
    of = table(evil=evil)
    return evaluate(releases(of)[form], of, queries=40, seed=2)


class Elements(HTMLParser):
    """Everything that a browser would make of a page."""

    EMPTY = ("meta", "br", "rect", "line", "circle", "polyline")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("evil", [False, True])
@pytest.mark.parametrize("form", ["generalized", "anatomized", "text"])
def test_a_page_is_whole_and_needs_nothing_from_outside(form: str, evil: bool) -> None:
    text = page(form, evil=evil)
    found = Elements(text)
    assert found.open == []
    assert not {"script", "img", "link", "iframe", "b onload"} & set(found.seen)
    assert not {"src", "href", "onload"} & {name for name, _ in found.attributes}
    assert "http:" not in text
    assert "https:" not in text
    assert "nan" not in re.findall(r"[a-z]+", text)
    text.encode("utf-8")


@pytest.mark.parametrize("form", ["generalized", "anatomized", "text"])
def test_the_sections_stand_in_order(form: str) -> None:
    # of boxes made for reading nobody can ask what goes with what
    there = [one for one in HEADINGS if form != "text" or one != "What goes with what"]
    assert re.findall("<h2>(.*?)</h2>", page(form)) == there
    assert "Do not publish it" in page(form)


def test_drawings_are_sound_and_can_be_heard() -> None:
    for form in ("generalized", "anatomized"):
        drawn = re.findall("<svg.*?</svg>", page(form), re.DOTALL)
        assert len(drawn) >= 5
        for svg in drawn:
            root = ElementTree.fromstring(svg)
            assert root.get("role") == "img"
            assert root.get("aria-label")
            assert_inside(root)


def assert_inside(root: ElementTree.Element) -> None:
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    for part in root.iter():
        for name, limit in (("x", width), ("x2", width), ("y", height), ("y2", height)):
            assert -0.5 <= float(part.get(name, "0")) <= limit + 0.5, ElementTree.tostring(part)


def test_values_of_the_data_are_harmless() -> None:
    assert safe(EVIL) == "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    assert safe("a\"b'c") == "a&quot;b&#x27;c"
    shown = safe(STEERING)
    assert shown.isprintable()
    assert r"bell\x07 null\x00 line\nend \u202e turned \ud800" in shown
    assert safe(LONG, 10) == "xxxxxxxxx…"


def test_text_labels_are_explained() -> None:
    text = page("text")
    assert "2 columns cannot be asked about" in text
    assert "made for reading" in text
    assert "No query could be asked" in text


def test_a_broken_promise_is_loud() -> None:
    found = seen("generalized")
    broken = replace(found.verification, checks=(Check("k-anonymity (k = 9)", False, "group 3"),))
    text = render(replace(found, verification=broken))
    assert "The promise is BROKEN" in text
    assert '<span class="broken">BROKEN</span>' in text
    assert "Do not publish this release. Make it again" in text
    assert "BROKEN" not in render(found)


def test_bounds_that_do_not_hold_are_loud() -> None:
    found = seen("generalized")
    assert found.errors is not None
    wrong = replace(found.errors.comparison, hi=found.errors.comparison.lo - 1)
    text = render(replace(found, errors=replace(found.errors, comparison=wrong)))
    assert "40 answers with bounds that do not hold the truth" in text
    assert "do not hold the truth" not in render(found)


def test_true_zeros_alone_are_explained() -> None:
    of = table()
    none = ["SELECT COUNT(*) FROM t WHERE age > 500"]
    text = render(evaluate(releases(of)["generalized"], of, none))
    assert "Every true answer is 0" in text


def bars(truth: tuple[int, ...], hi: tuple[int, ...]) -> str:
    labels = tuple(f"value {place}" for place in range(len(truth)))
    estimate = tuple(map(float, truth))
    lo = (0,) * len(truth)
    return charts.compared(Distribution("x", None, labels, truth, estimate, lo, hi, 0.0))


@pytest.mark.parametrize("truth", [(0,), (5,), (0, 0), (1, 10**9), (3, 4, 5000, 2, 1)])
def test_bars_of_any_size_stay_inside(truth: tuple[int, ...]) -> None:
    drawn = bars(truth, tuple(10 * count + 1 for count in truth))
    assert_inside(ElementTree.fromstring(drawn))
    for width in re.findall(r'width="([\d.]+)"', drawn):
        assert float(width) <= 360


@pytest.mark.parametrize(
    "histogram", [{5: 6030, 6: 2}, {3: 1}, {n: n for n in range(2, 90)}, {2: 900, 3: 4, 80_000: 1}]
)
def test_group_sizes_are_few_columns_that_hold_every_group(histogram: dict[int, int]) -> None:
    labels, counts = size_bins(histogram)
    assert sum(counts) == sum(histogram.values())
    assert len(labels) == len(counts) <= 21
    assert_inside(ElementTree.fromstring(charts.sizes(labels, counts)))


def test_one_point_makes_a_curve() -> None:
    for points in ([(0.0, 1.0)], [(0.0, 0.5), (0.00001, 1.0)], [(123456.0, 1.0)]):
        assert_inside(ElementTree.fromstring(charts.cumulative(points)))


def test_the_figures_of_large_errors_stay_inside() -> None:
    drawing = charts.bands([Band("10 – 100", 5, 80.0, 99.0), Band("100 – 1k", 5, 0.1, 2000.0)])
    for mark in ElementTree.fromstring(drawing).iter("text"):
        if mark.get("text-anchor") == "end":
            assert float(mark.attrib["x"]) >= LETTER * len(mark.text or "")


def test_what_is_worse_than_the_marginals_keeps_none() -> None:
    one = Conditional(("age",), "ill", ("1",), ("a",), np.ones((1, 1)), np.ones((1, 1)),
                      distance=0.3, marginals=0.1, chance=0.01)  # fmt: skip
    assert "none: worse than the marginals" in _question(one, best=False)
    assert "50.0%" in _question(replace(one, distance=0.05), best=False)


def test_numbers_have_the_digits_that_readers_want() -> None:
    shown = [number(value) for value in (0, 3, 3.14159, 31.4159, 31415.9, math.nan)]
    assert shown == ["0", "3", "3.1", "31.4", "31,416", "–"]
    shares = [percent(share) for share in (0, 0.00001, 0.034, 0.5, 1, 12.34, math.nan, -0.2)]
    assert shares == ["0%", "< 0.1%", "3.4%", "50.0%", "100%", "1,234%", "–", "-20.0%"]


def test_axes_are_round() -> None:
    assert [round_step(least) for least in (1, 1.1, 3, 7, 0.03)] == [1, 2, 5, 10, 0.05]
    assert ticks(23, 4) == [0, 10, 20]
    assert ticks(0, 4) == [0]
    assert ticks(2, 4) == [0, 1, 2]
    assert decades(1, 1) == [1, 10]
    assert decades(0.002, 30) == pytest.approx([0.001, 0.01, 0.1, 1, 10, 100])
    assert [short(amount) for amount in (5, 1200, 3e6, 2e9)] == ["5", "1.2k", "3M", "2G"]


def test_a_report_is_never_in_the_way(tmp_path: Path) -> None:
    found = seen("generalized")
    path = found.write_html(tmp_path / "report.html")
    before = path.read_text(encoding="utf-8")
    with pytest.raises(OutputExists, match="--force"):
        found.write_html(path)
    seen("anatomized").write_html(path, force=True)
    assert path.read_text(encoding="utf-8") != before
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_report_is_never_replaced(tmp_path: Path) -> None:
    other = tmp_path / "patients.csv"
    other.write_text("age\n3\n")
    with pytest.raises(OutputExists, match="is no report"):
        write_page("", other, force=True)
    with pytest.raises(OutputExists, match="is a folder"):
        write_page("", tmp_path, force=True)
    with pytest.raises(ReleaseError, match="no folder"):
        write_page("", tmp_path / "nowhere" / "report.html")
    assert other.read_text() == "age\n3\n"


def test_a_report_is_never_published(tmp_path: Path) -> None:
    folder = releases(table())["generalized"].write(tmp_path / "out")
    with pytest.raises(ReleaseError, match="part of the release"):
        write_page("", folder / "report.html")
