"""Exploring: every point is the release that its command makes; the one to take is explained."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser

import sfumato as sf
from sfumato.errors import Infeasible, ParameterError
from sfumato.exploring import Exploration, Point, Setting, results
from sfumato.exploring.page import drawable, render
from sfumato.exploring.results import _compared
from tests.support.browsing import browser, needs_chromium
from tests.support.waiting import PATIENCE

__all__ = ["browser"]  # a fixture

EVIL = "</script><b>&"


def people(n: int = 1200, *, sensitive: bool = True, **said: Any) -> sf.Microdata:
    draw = np.random.default_rng(2)
    age, sex = draw.integers(20, 60, n), draw.integers(0, 2, n)
    job = np.where(draw.random(n) < 0.9, (age - 20) // 10 + 4 * sex, draw.integers(0, 8, n))
    columns = {"age": age, "sex": [("f", EVIL)[one] for one in sex], "job": job}
    schema = sf.Schema(quasi=["age", "sex"], sensitive=["job"] if sensitive else [], **said)
    return sf.Microdata.from_arrow(pa.table(columns), schema)


@pytest.fixture(scope="module")
def found() -> Exploration:
    return sf.explore(people(), seed=1)


def test_every_point_is_what_its_setting_makes(found: Exploration) -> None:
    table, one = people(), next(p for p in found.points if p.setting.method == "mondrian")
    assert one.setting.python == "sf.publish(table, sf.Mondrian(), sf.KAnonymity(5))"
    release = eval(one.setting.python, {"sf": sf, "table": table})
    risk = sf.assess(release)
    assert one.risk is not None
    assert one.risk.to_dict() == risk.to_dict()
    assert one.useful is not None
    assert one.useful.to_dict() == sf.usefulness(release, table).to_dict() | {
        key: value for key, value in one.useful.to_dict().items()
        if key in ("best", "conditionals", "sentences")
    }  # fmt: skip
    assert one.loss == release.manifest.metrics["ncp"]
    groups = np.repeat(np.arange(release.groups.num_rows), release.sizes)
    jobs = release.rows["job"].to_numpy()
    best = sum(np.bincount(jobs[groups == group]).max() for group in set(groups.tolist()))
    assert one.guess == pytest.approx(best / table.n_rows)


def test_the_frontier_is_what_nobody_beats(found: Exploration) -> None:
    some = [(one.guess, -one.usefulness) for one in found.feasible]
    best = {
        mine for mine in some
        if not any(a <= mine[0] and b <= mine[1] and (a, b) != mine for a, b in some)
    }  # fmt: skip
    assert {(one.guess, -one.usefulness) for one in found.frontier} == best
    assert [one.guess for one in found.frontier] == sorted(one.guess for one in found.frontier)


def test_the_recommended_one_keeps_most_and_is_safe(found: Exploration) -> None:
    one = found.recommended
    promising = [other for other in found.feasible if other.setting.about_values]
    enough = min(0.7, max(other.usefulness for other in promising)) - 0.05
    useful = [other for other in promising if other.usefulness >= enough]
    assert one in useful
    assert one.likely == min(other.likely for other in useful)
    assert found.reasons
    assert replace(found, source="my table.csv").command.startswith(
        "sfumato publish 'my table.csv'"
    )


def point(k: int, kept: float, exposed: int) -> Point:
    risk: Any = SimpleNamespace(attributes=[SimpleNamespace(exposed=exposed)])
    return Point(Setting("mondrian", k=k), risk=risk, guess=0.3, loss=1 - kept)


@pytest.mark.parametrize(
    ("safe", "taken"),
    [(0.67, 5), (0.64, 3)],  # three points of usefulness are no reason to expose people, six are
)
def test_nobody_is_exposed_for_a_few_points_of_usefulness(safe: float, taken: int) -> None:
    risk: Any = None
    found = Exploration(risk, (point(3, 0.71, 3500), point(5, safe, 0)))
    assert found.recommended.setting.k == taken


def _promised(kept: float, exposed: int, **setting: float) -> Point:
    """A point of a table of a hundred people, whose guesses are as good as it is useful."""
    said: Any = SimpleNamespace(exposed=exposed, people=100, common=False)
    risk: Any = SimpleNamespace(attributes=[said])
    return Point(Setting("mondrian", **setting), risk=risk, guess=kept / 2, loss=1 - kept)  # type: ignore[arg-type]


def test_k_alone_is_recommended_only_where_nothing_else_is_feasible() -> None:
    nothing: Any = None
    none: Any = SimpleNamespace(attributes=[])
    alone, safe = _promised(0.9, 0, k=5), _promised(0.4, 0, k=5, l=2.0)
    assert Exploration(nothing, (alone, safe)).recommended is safe
    assert Exploration(nothing, (alone,)).recommended is alone
    bare = replace(safe, risk=none)
    assert Exploration(nothing, (alone, bare)).recommended is alone


def test_the_recommended_one_is_shown_though_another_beats_it() -> None:
    nothing: Any = None
    safe, taken = _promised(0.4, 0, k=5, l=3.0), replace(_promised(0.5, 0, l=2.0), guess=0.3)
    better = _promised(0.55, 0, k=5)
    found = Exploration(nothing, (safe, taken, better))
    assert found.recommended is taken
    assert found.frontier == (safe, better)
    assert found.shown == (safe, better, taken)
    assert Exploration(nothing, (safe,)).shown == (safe,)


@pytest.mark.parametrize(
    ("exposed", "safest", "said"),
    [
        (80, 70, "No release that was tried is good: .* 70 at least"),
        (80, 0, "It is not good, .* mondrian with l = 4 keeps 20.0%, and exposes nobody"),
    ],
)
def test_a_recommendation_that_exposes_many_is_called_so(
    exposed: int, safest: int, said: str
) -> None:
    some = (_promised(0.7, exposed, l=2.0), _promised(0.2, safest, l=4.0))
    assert re.match(said, results._poor(some[0], some))
    assert results._poor(_promised(0.7, 10, l=2.0), some) == ""


@pytest.mark.parametrize(
    ("setting", "options", "python"),
    [
        (Setting("mondrian", k=1_000_000), "--k 1000000", "sf.KAnonymity(1000000)"),
        (Setting("anatomy", l=2.3456789), "--l 2.3456789", "sf.LDiversity(2.3456789)"),
        (Setting("mondrian", k=5, t=0.15), "--k 5 --t 0.15", "sf.TCloseness(0.15)"),
        (Setting("perturb", m=1.2345678), "--m 1.2345678", "m=1.2345678"),
    ],
)
def test_commands_ask_for_what_was_tried(setting: Setting, options: str, python: str) -> None:
    assert f" {options} " in setting.command()
    assert python in setting.python


def test_columns_that_are_lost_for_want_of_a_taxonomy_are_named() -> None:
    found = sf.explore(people(), methods=["mondrian", "full-domain"], k=[100], seed=1)
    (hint,) = found.hints
    assert hint.startswith("full-domain left nothing of age ")
    assert hint in render(found)
    assert found.to_dict()["hints"] == [hint]
    ages = sf.interval_taxonomy(0, 100, widths=(10, 50))
    known = people(taxonomies={"age": ages})
    assert sf.explore(known, methods=["full-domain"], k=[100], seed=1).hints == ()


def test_many_rare_values_are_no_class_that_is_drawn() -> None:
    draw = np.random.default_rng(4)
    age = draw.integers(20, 60, 2000)
    rare, common = draw.integers(3, 90, 2000), draw.integers(0, 3, 2000)
    job = np.where(draw.random(2000) < age / 60, rare, common)
    columns = {"age": age, "job": [f"job {one}" for one in job]}
    table = sf.Microdata.from_arrow(pa.table(columns), sf.Schema(quasi=["age"], sensitive="job"))
    found = sf.explore(table, methods=["mondrian"], k=[5], seed=1)
    useful = found.points[0].useful
    assert useful is not None
    assert useful.conditionals[0].classes[-1].endswith(" others")  # in which ages differ most
    (drawn,) = drawable(found)["questions"]
    assert re.fullmatch(r"job job [012] by age", drawn["title"])


def test_every_sensitive_column_counts_and_what_everybody_knows_exposes_nobody() -> None:
    draw = np.random.default_rng(3)
    columns = {
        "age": draw.integers(20, 60, 900), "ill": draw.random(900) < 0.7,
        "job": draw.integers(0, 8, 900),
    }  # fmt: skip
    schema = sf.Schema(quasi=["age"], sensitive=["ill", "job"])
    table = sf.Microdata.from_arrow(pa.table(columns), schema)
    found = sf.explore(table, methods=["mondrian", "anatomy"], seed=1)
    (anatomy,) = (one for one in found.points if one.setting.method == "anatomy")
    assert "'ill'" in str(anatomy.refused)  # the column that is in the way
    one = found.points[0]
    assert one.risk is not None
    ill, job = one.risk.attributes
    assert ill.likely == 900
    assert one.likely == max(ill.guesses[-1], job.likely) < 900
    groups = sf.publish(table, sf.Mondrian(), one.setting.model)
    means = [groups.rows[name].to_numpy(zero_copy_only=False) for name in ("ill", "job")]
    each = np.repeat(np.arange(groups.groups.num_rows), groups.sizes)
    best = [
        sum(np.bincount(values[each == at].astype(int)).max() for at in set(each.tolist())) / 900
        for values in means
    ]
    assert one.guess == pytest.approx(sum(best) / 2)
    assert any("ill at 90% or more, as " in reason for reason in found.reasons)


def test_a_seed_repeats_the_points() -> None:
    options: dict[str, Any] = {"methods": ["mondrian", "anatomy"], "k": [5], "l": [2, 3], "seed": 7}
    first, second = (sf.explore(people(), **options).to_dict() for _ in range(2))
    for stated in (first, second):
        for point in stated["points"]:
            assert point.pop("seconds") >= 0
    assert first == second
    words = [(point["method"], point.get("k"), point["l"]) for point in first["points"]]
    assert words == [("mondrian", 5, 2), ("anatomy", None, 2), ("mondrian", 5, 3),
                     ("anatomy", None, 3)]  # fmt: skip


def test_what_is_not_feasible_is_said_and_the_rest_stands() -> None:
    found = sf.explore(people(), methods=["anatomy"], l=[2, 100], seed=1)
    refused = [one for one in found.points if one.refused is not None]
    assert [one.setting.l for one in refused] == [100]
    assert "largest" in str(refused[0].refused)
    assert refused[0].to_dict()["refused"] == refused[0].refused
    assert "100" in render(found)


def test_a_grid_with_nothing_feasible_names_the_promise_and_the_largest() -> None:
    with pytest.raises(Infeasible, match=r"nothing in this grid.*l = 90 is out of reach") as caught:
        sf.explore(people(), methods=["anatomy"], l=[90, 100])
    largest = sf.assess(people()).sensitive[0].largest_l
    assert str(largest) in str(caught.value)
    assert caught.value.largest == largest
    with pytest.raises(Infeasible, match=r"largest possible k is 1200"):
        sf.explore(people(), methods=["mondrian"], k=[5000])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ["magic"]}, "one of mondrian"),
        ({"methods": ["anatomy"], "k": [5]}, "anatomy l and t"),
        ({"time_limit": 0}, "time_limit"),
        ({"methods": ["mondrian"], "k": [0]}, "k"),
        ({"time_limit": "10"}, "time_limit is a number of seconds above 0, not '10'"),
        ({"methods": sf.Mondrian()}, "methods is one value or a list of them"),
        ({"methods": "mondrian", "k": 5, "seed": -1}, r"^seed must be 0 or more"),
        ({"methods": "mondrian", "k": 5, "seed": "abc"}, r"^seed has 3 characters"),
    ],
)
def test_bad_grids_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        sf.explore(people(), **options)


def test_one_is_a_list_of_one_and_a_frame_is_no_table() -> None:
    (point,) = sf.explore(people(), methods="mondrian", k=5, seed=1).points
    assert point.setting == Setting("mondrian", k=5)
    same = sf.explore(people(), methods="mondrian", k=np.int64(5), l=None, seed=1)  # type: ignore[arg-type]
    assert [one.setting for one in same.points] == [point.setting]
    json.dumps(same.to_dict())
    for wrong in (pa.table({"age": [1]}), "people.csv"):
        with pytest.raises(ParameterError, match=r"table must be a table.*sf.read"):
            sf.explore(wrong)  # type: ignore[arg-type]


def test_a_table_without_sensitive_columns_is_explored_by_its_detail() -> None:
    found = sf.explore(people(sensitive=False), methods=["mondrian", "anatomy"], seed=1)
    assert {one.setting.method for one in found.points} == {"mondrian"}
    for one in found.points:
        assert one.loss is not None
        assert one.usefulness == 1 - one.loss
        assert one.guess == pytest.approx(one.groups / 1200)
    json.dumps(found.to_dict(), allow_nan=False)
    assert len(render(found)) > 1000


def test_noise_is_explored_by_what_it_states() -> None:
    found = sf.explore(people(), methods=["perturb"], m=[2, 4], seed=1)
    assert [one.guess for one in found.points] == [0.5, 0.25]
    kept = [one.usefulness for one in found.points]
    assert kept[0] > kept[1]
    assert found.points[0].setting.python == "sf.perturb(table, m=2)"


def test_when_time_is_up_what_is_done_is_kept() -> None:
    found = sf.explore(people(), seed=1, time_limit=1e-6)
    assert found.points
    assert found.left
    everything = sf.explore(people(), seed=1)
    assert len(found.points) + len(found.left) == len(everything.points)


def test_ctrl_c_keeps_what_is_done() -> None:
    def stop(stage: str, share: float) -> None:
        if stage == "exploring" and share > 0:
            raise KeyboardInterrupt

    found = sf.explore(people(), seed=1, progress=stop)
    assert found.points
    assert found.left

    def at_once(stage: str, _share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.explore(people(), progress=at_once)


def test_figures_are_plain_and_texts_short(found: Exploration) -> None:
    json.dumps(found.to_dict(), allow_nan=False)
    assert len(repr(found)) < 300
    assert all(len(repr(one)) < 150 for one in found.points)
    best = Point(Setting("mondrian", k=2), guess=0.1, loss=0.1)
    worse = Point(Setting("mondrian", k=3), guess=0.2, loss=0.1)
    assert best.beats(worse)
    assert not worse.beats(best)
    assert not best.beats(best)
    assert math.isclose(best.usefulness, 0.9)


def test_the_page_fetches_nothing_and_is_small(found: Exploration, tmp_path: Path) -> None:
    page = found.write_html(tmp_path / "explore.html").read_text(encoding="utf-8")
    assert len(page) < 500_000
    assert EVIL not in page
    assert not re.findall(r"(?:src|href)=", page)
    assert "http://www.w3.org/2000/svg" in page
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "script-src 'sha256-" in page
    assert page.count("<circle") == len(found.feasible)


@needs_chromium
@pytest.mark.slow
def test_the_page_tells_selects_and_sorts(
    found: Exploration, browser: Browser, tmp_path: Path
) -> None:
    path = found.write_html(tmp_path / "explore.html")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_default_timeout(1000 * PATIENCE)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url))
    page.goto(path.as_uri())
    assert heard == [path.as_uri()]
    chosen = found.recommended.setting
    assert page.locator("#name").inner_text() == f"{chosen.method}, {chosen.words}"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    last = found.feasible[-1].setting
    page.locator(".dot").last.hover()
    assert f"{last.method}, {last.words}" in page.locator("#tip").inner_text()
    page.locator(".dot").last.focus()
    page.keyboard.press("Enter")
    assert page.locator("#name").inner_text() == f"{last.method}, {last.words}"
    assert page.locator("#shell").inner_text() == last.command()
    assert page.locator("#multiples svg").count() == 2
    kept = page.locator("#points th button").nth(6)
    for way in (1, -1):
        kept.click()
        cells = page.locator("#points tbody tr td:nth-child(7)")
        values = [float(one) for one in cells.evaluate_all("all => all.map(e => e.dataset.value)")]
        assert values == sorted(values, reverse=way < 0)
    assert heard == [path.as_uri()]


def test_every_release_stands_beside_its_attacker(found: Exploration) -> None:
    for one in found.feasible:
        assert one.attacked is not None
        (attack,) = one.attacked.findings
        assert one.learned == attack.outcome.attacker.right
        assert one.learned > 0.15
        assert one.to_dict()["attacked"]["right"] == {attack.name: one.learned}
    assert any(one.startswith("Attacked: ") for one in found.reasons)
    assert f"{100 * found.recommended.learned:.0f}" in render(found)  # type: ignore[operator]
    few = sf.explore(people(60), methods=["mondrian"], k=[5], seed=1)
    assert few.points[0].attacked is None
    assert few.points[0].learned is None


def test_how_the_recommended_point_compares_is_one_plain_sentence() -> None:
    assert _compared(1, 6) == "Of the 6 feasible points 1 would let more people be guessed so."
    assert _compared(0, 6) == ""
