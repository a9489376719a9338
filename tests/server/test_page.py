"""The page in a real browser: asked by mouse, by keyboard and by address, against a real server."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

import sfumato as sf
from sfumato.client import connect
from sfumato.queries.json import from_line
from tests.server.kit import copied
from tests.support.browsing import Open, browser, contexts, needs_chromium, tab_to, visit
from tests.support.waiting import PATIENCE

__all__ = ["browser", "contexts", "visit"]  # fixtures

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def address(serve: Any, folder_of_people: Path) -> str:
    return str(serve(folder_of_people))


def question(**parts: Any) -> str:
    return "/#" + urlencode({"db": "people", **parts}, doseq=True)


def sentence(page: Page) -> str:
    page.wait_for_selector("#answer .sentence strong")
    return page.inner_text("#answer .sentence")


def bounds(answer: sf.core.answer.Answer) -> str:
    if answer.lo == answer.hi:
        return f"Exactly {answer.lo:,} "
    return f"Between {answer.lo:,} and {answer.hi:,} "


@pytest.fixture(scope="module")
def local(folder_of_people: Path) -> sf.StatDB:
    return sf.StatDB.open(folder_of_people)


# ----- asking


def test_a_question_is_picked_with_the_mouse(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    expect(page.locator("#lead")).to_contain_text("600 people")
    page.click("summary:has-text('disease')")
    page.get_by_label("flu").check()
    page.click("summary:has-text('age')")
    page.get_by_role("spinbutton", name="from").fill("30")
    page.get_by_role("spinbutton", name="to", exact=True).fill("50")
    page.get_by_role("button", name="Ask", exact=True).click()
    wanted = local.count("age BETWEEN 30 AND 50 AND disease = 'flu'")
    assert sentence(page).startswith(bounds(wanted))
    assert page.locator("#answer svg .range").count() == 1
    assert page.locator("#answer svg .estimate").count() == 0  # nobody vouches for it
    page.get_by_label("show where it would be if values were spread evenly").check()
    expect(page.locator("#answer svg")).to_contain_text(f"spread evenly: {wanted.estimate:.0f}")
    expect(page.locator("#answer .legend")).to_contain_text("nobody vouches for it")
    expect(page.locator("#live")).to_contain_text(bounds(wanted))
    expect(page.locator("#history")).to_contain_text(f"{wanted.lo} – {wanted.hi}")


def test_a_slider_has_two_handles(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.click("summary:has-text('age')")
    low, high = page.get_by_label("age, from"), page.get_by_label("age, to")
    low.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    high.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".attribute.set .state")).to_have_text("22 to 89")
    low.focus()
    page.keyboard.press("End")  # pushes the other handle along
    expect(page.locator(".attribute.set .state")).to_have_text("90 or more")
    page.get_by_role("button", name="Clear the condition on age").click()
    expect(page.locator(".attribute.set")).to_have_count(0)


def test_dates_unknown_values_and_odd_names(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.click("summary:has-text('since')")
    page.locator("input[type=date]").first.fill("2020-04-01")
    page.click("summary:has-text('age')")
    page.get_by_label("or unknown").check()
    page.click("summary:has-text('home town')")
    page.get_by_label('the "hill"').check()
    page.get_by_label("north, upper").check()
    page.click("summary:has-text('disease')")
    page.get_by_label("gout").check()
    page.click("#ask-button")
    wanted = local.count(
        "since >= DATE '2020-04-01' AND age IS NULL AND disease = 'gout' AND "
        "\"home town\" IN ('the \"hill\"', 'north, upper')"
    )
    assert sentence(page).startswith(bounds(wanted))
    again = visit(page.url)
    assert sentence(again) == sentence(page)
    expect(again.get_by_role("checkbox", name="north, upper")).to_be_checked()


def test_long_lists_can_be_searched(visit: Open, address: str) -> None:
    page = visit(address)
    page.click("summary:has-text('job')")
    page.get_by_placeholder("Search 10 values").fill("ud")
    expect(page.locator(".ticks.long .tick:visible")).to_have_text(["judge"])


def test_rare_kinds_of_attributes(visit: Open, address: str) -> None:
    usual = {"role": "quasi", "ordered": False, "has_missing": False, "size": 2}
    number = {"kind": "numerical", "ordered": True}
    rare: list[dict[str, Any]] = [
        {"name": "moment", **number, "min": "2020-01-01T00:00:00", "max": "2021-01-01T00:00:00"},
        {"name": "share", **number, "min": 0.125, "max": 0.875},
        {"name": "member", "kind": "categorical", "values": [False, True]},
        {"name": "village", "kind": "categorical", "size": 5000},
        *({"name": f"more {i}", "kind": "categorical", "values": [1, 2]} for i in range(8)),
    ]
    attributes = [{**usual, **one} for one in rare]
    schema = {"database": "people", "rows": 9, "m": 2, "framework": "anatomy"}
    page = visit(address + "/about")
    page.route(
        "**/v1/schema*", lambda route: route.fulfill(json={**schema, "attributes": attributes})
    )
    page.goto(address)
    page.get_by_label("Find an attribute").fill("more 7")
    expect(page.locator(".attribute:visible")).to_have_count(1)
    page.get_by_label("Find an attribute").fill("")
    for name in ("moment", "share", "member", "village"):
        page.locator("summary", has=page.get_by_text(name, exact=True)).click()
    page.locator("[data-name=moment] input").first.fill("2020-06-01T12:00:00")
    page.get_by_label("share, to").press("ArrowLeft")
    page.get_by_label("yes").check()
    page.get_by_label("Wanted values").fill("Lower End\n Upper End ")
    with page.expect_request("**/v1/query") as waiting:
        page.click("#ask-button")
    asked: Any = waiting.value.post_data_json
    assert asked["query"]["where"]["share"] == {"<=": 0.874}
    read = from_line(json.dumps(asked["query"])).where
    assert read["moment"] == sf.at_least(datetime(2020, 6, 1, 12))
    assert read["member"] == sf.one_of([True])
    assert read["village"] == sf.one_of(["Lower End", "Upper End"])


def test_a_question_is_written_in_sql(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.click("summary:has-text('disease')")
    page.get_by_label("cold").check()
    page.get_by_role("tab", name="SQL").click()
    # what was picked is a start
    written = " ".join(page.input_value("#sql").split())
    assert written == "SELECT COUNT(*) FROM t WHERE disease = 'cold'"
    page.fill("#sql", "SELECT COUNT(*) FROM t WHERE disease = 'cold' AND job = 'clerk'")
    page.press("#sql", "Control+Enter")
    assert sentence(page).startswith(bounds(local.count("disease = 'cold' AND job = 'clerk'")))


def test_groups_are_a_chart_and_a_table(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.select_option("#by-1", "home town")
    page.select_option("#by-2", "disease")
    expect(page.locator("#groups-note")).to_have_text("18 answers")
    page.click("#ask-button")
    expect(page.locator("#answer .chart .range")).to_have_count(18)
    both = '"home town", disease'
    result = local.query(f"SELECT {both}, COUNT(*) FROM t GROUP BY {both}")
    rows = page.locator("#answer tbody tr")
    expect(rows).to_have_count(18)
    for place, (town, disease, answer) in enumerate(result):
        cells = rows.nth(place).locator("th, td").all_inner_texts()
        assert cells[:4] == [town, disease, f"{answer.lo:,}", f"{answer.hi:,}"]
    page.get_by_label("largest first").check()
    first = next(iter(result))[0]
    there = (line for line in result if line[0] == first)
    largest = max(there, key=lambda one: one[2].lo + one[2].hi)
    expect(page.locator("#answer .chart .row-label").first).to_have_text(largest[1])


def test_many_groups_on_a_line(visit: Open, address: str) -> None:
    where = {"of": "count", "by": "age", "is.disease": "flu"}
    page = visit(address + question(**where))
    page.wait_for_selector("#answer .chart svg")
    expect(page.locator("#answer .chart")).to_have_count(1)
    # a column a year; those of unknown age have no place on the line
    assert page.locator("#answer .chart g").count() == len(set(range(18, 91)))
    expect(page.locator("#answer")).to_contain_text("Where age is unknown")
    # columns are not grey, so only what is certain of the highest and the lowest is said
    expect(page.locator("#answer .ranking")).to_have_text(re.compile("overlap.*\\.$"))
    expect(page.locator("#answer .ranking")).not_to_contain_text("grey")


def test_averages(visit: Open, serve: Any, folder_of_wages: Path) -> None:
    page = visit(serve(folder_of_wages))
    page.select_option("#measure", "avg:wage")
    page.click("summary:has-text('age')")
    page.get_by_role("spinbutton", name="from").fill("60")
    page.click("#ask-button")
    words = "Average wage of people with age from 60 to 65"
    assert sentence(page).startswith(f"{words}: between ")
    assert page.title().startswith(words)
    expect(page.locator("#answer svg")).to_have_attribute("aria-label", re.compile(f"^{words}: "))


# ----- the address


def test_the_address_is_the_question(visit: Open, address: str, local: sf.StatDB) -> None:
    parts = {"of": "count", "is.disease": ["flu", "cold"], "from.age": 40, "by": "sex"}
    page = visit(address + question(**parts))
    expect(page.locator("#answer tbody tr")).to_have_count(2)
    expect(page.locator(".attribute.set .state")).to_have_text(["40 or more", "cold or flu"])
    assert page.input_value("#by-1") == "sex"


def test_back_and_forward(visit: Open, address: str) -> None:
    page = visit(address)
    page.click("summary:has-text('disease')")
    seen: list[str] = []
    for value in ("flu", "cold"):
        page.get_by_label(value).check()
        page.click("#ask-button")
        expect(page.locator("#history li")).to_have_count(len(seen) + 1)
        seen.append(sentence(page))
    page.go_back()
    expect(page.locator("#answer .sentence")).to_have_text(seen[0])
    expect(page.get_by_label("cold")).not_to_be_checked()
    page.go_back()
    expect(page.locator("#answer .examples")).to_be_visible()
    page.go_forward()
    page.go_forward()
    expect(page.locator("#answer .sentence")).to_have_text(seen[1])
    page.locator("#history a").nth(1).click()
    expect(page.locator("#history li")).to_have_count(2)


def test_an_address_of_another_database_is_told(visit: Open, address: str) -> None:
    page = visit(address + question(of="count", **{"is.planet": "mars"}))
    expect(page.get_by_role("alert")).to_contain_text("planet")
    page = visit(address + "/#db=nowhere&of=count")
    expect(page.get_by_role("alert")).to_contain_text("There is no such database")
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#answer .examples")).to_be_visible()


def test_several_databases(
    visit: Open, serve: Any, folder_of_people: Path, folder_of_wages: Path, tmp_path: Path
) -> None:
    copies = [tmp_path / path.name for path in (folder_of_people, folder_of_wages)]
    for path, copy in zip((folder_of_people, folder_of_wages), copies, strict=True):
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("access*", "ledger*"))
    page = visit(serve(*copies))
    expect(page.locator("#lead")).to_contain_text("people")
    page.select_option("#database", "wages")
    expect(page.locator("#lead")).to_contain_text("400 people")
    expect(page.locator(".attribute")).to_have_count(3)
    assert "db=wages" in page.url
    page.go_back()
    expect(page.locator("#lead")).to_contain_text("600 people")


# ----- taking it along


def test_csv(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address + question(**{"of": "count", "by": "home town", "is.disease": "flu"}))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    name = "people-people-with-disease-flu-by-home-town.csv"
    assert waiting.value.suggested_filename == name
    lines = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text("utf-8"))))
    sql = 'SELECT "home town", COUNT(*) FROM t WHERE disease = \'flu\' GROUP BY "home town"'
    wanted = local.query(sql).table.to_pylist()
    assert [line["home town"] for line in lines] == [line["home town"] for line in wanted]
    for line, row in zip(lines, wanted, strict=True):
        for end in ("lo", "hi"):
            assert float(line[f"count_{end}"]) == row[f"count_{end}"]
        assert "count_estimate" not in line
        assert line["question"] == "people with disease flu, by home town"
        assert re.fullmatch(r"[0-9]+-[0-9a-f]{64}", line["receipt"])


def test_copies_work_elsewhere(
    visit: Open, address: str, local: sf.StatDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"of": "count", "is.home town": 'the "hill"', "is.disease": "flu"}
    page = visit(address + question(**parts), permissions=["clipboard-read", "clipboard-write"])
    sentence(page)
    copies = {}
    for name in ("Copy link", "Copy as SQL", "Copy as curl", "Copy as Python"):
        page.get_by_role("button", name=name, exact=True).click()
        copies[name] = str(page.evaluate("navigator.clipboard.readText()"))
    assert copies["Copy link"] == page.url
    wanted = local.query(copies["Copy as SQL"]).answer
    assert sentence(page).startswith(bounds(wanted))
    if shutil.which("curl"):
        done = subprocess.run(
            ["bash", "-c", copies["Copy as curl"]], capture_output=True, timeout=PATIENCE
        )
        assert json.loads(done.stdout)["rows"][0]["answers"]["count"]["hi"] == wanted.hi
    monkeypatch.setattr(sf, "connect", connect, raising=False)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names: dict[str, Any] = {}
        exec(copies["Copy as Python"], names)
        names["db"].close()
    assert re.search(rf"\b{wanted.lo}\s+{wanted.hi}\b", printed.getvalue())


# ----- for everybody


def test_the_keyboard_is_enough(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address)
    page.wait_for_selector(".attribute")

    tab_to(page, ".skip")
    page.keyboard.press("Enter")
    tab_to(page, "[data-name=job] summary")
    page.keyboard.press("Enter")
    tab_to(page, "input[type=checkbox]")
    page.keyboard.press("Space")
    tab_to(page, "[data-name=disease] summary")
    page.keyboard.press("Enter")
    tab_to(page, "input[type=checkbox]")
    page.keyboard.press("Space")
    tab_to(page, "#ask-button")
    page.keyboard.press("Enter")
    assert sentence(page).startswith(bounds(local.count("job = 'baker' AND disease = 'asthma'")))
    page.locator("#tab-pick").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="SQL")).to_be_focused()
    expect(page.locator("#sql")).to_be_visible()


def test_every_field_has_a_name(visit: Open, address: str) -> None:
    page = visit(address)
    page.wait_for_selector(".attribute")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    nameless = page.evaluate(
        """[...document.querySelectorAll('input, select, textarea, button')].filter((one) =>
        !one.getAttribute('aria-label') && !one.labels?.length && !one.textContent.trim())
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/about",
        question(**{"of": "count", "by": ["sex", "disease"], "from.age": 40}),
        question(**{"of": "count", "is.disease": "flu", "is.home town": "sea"}),
        question(sql="SELECT COUNT(*) FROM t WHERE " + "a_very_long_name_without_a_break" * 4),
    ],
    ids=["start", "about", "groups", "single", "error"],
)
def test_a_phone_scrolls_in_one_direction(visit: Open, address: str, path: str) -> None:
    page = visit(address + path, viewport={"width": 320, "height": 640}, color_scheme="dark")
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_light_and_dark(visit: Open, address: str) -> None:
    shades = [
        visit(address, color_scheme=scheme).evaluate("getComputedStyle(document.body).background")
        for scheme in ("light", "dark")
    ]
    assert shades[0] != shades[1]


def test_the_guarantee_is_explained(visit: Open, address: str) -> None:
    page = visit(address)
    page.get_by_role("link", name="What the numbers mean").click()
    expect(page.locator(".promise")).to_contain_text("1 in 3")
    expect(page.locator("h2")).to_contain_text(["What it does not cover"])
    page.get_by_role("link", name="Ask a question").first.click()
    expect(page.locator("#lead")).to_contain_text("600 people")


# ----- when something is wrong


def test_the_place_of_an_error_is_marked(visit: Open, address: str) -> None:
    sql = "SELECT COUNT(*) FROM t\nWHERE 'é' = sex AND diseaze = 'flu'"
    page = visit(address + question(sql=sql.replace("'é' = sex AND ", "")))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("did you mean 'disease'")
    expect(alert.locator("mark")).to_have_text("diseaze")
    page.fill("#sql", "SELECT nonsense")
    page.click("#ask-button")
    expect(alert).not_to_contain_text("diseaze")
    expect(alert.locator("code")).not_to_be_empty()  # the number of the request
    page.fill("#sql", "")
    page.click("#ask-button")
    expect(alert).to_contain_text("There is no question yet")


def test_markup_in_a_question_stays_text(visit: Open, address: str) -> None:
    page = visit(address + question(sql="SELECT <img src=x onerror=alert(1)> FROM t"))
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.locator("#answer img").count() == 0


def test_a_token_is_asked_for_and_kept_in_the_tab(
    visit: Open, serve: Any, folder_of_wages: Path, tmp_path: Path
) -> None:
    from sfumato.statdb.access.tokens import Tokens

    folder = tmp_path / "guarded.statdb"
    shutil.copytree(folder_of_wages, folder, ignore=shutil.ignore_patterns("access*", "ledger*"))
    _, secret = Tokens.open(folder).create("a test", "analyst")
    page = visit(serve(folder, require_tokens=True))
    expect(page.get_by_label("Token")).to_be_focused()
    page.get_by_label("Token").fill("sfu_wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#token-error")).not_to_be_empty()
    page.get_by_label("Token").fill(secret)
    page.keyboard.press("Enter")
    expect(page.locator("#lead")).to_contain_text("400 people")
    page.reload()
    expect(page.locator("#lead")).to_contain_text("400 people")
    assert secret not in page.url
    page.get_by_role("button", name="Forget my token").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])") == "[{},{}]"


def test_a_busy_server_and_a_lost_one(
    visit: Open, serve: Any, folder_of_wages: Path, tmp_path: Path
) -> None:
    from sfumato.server.limits import Limits

    folder = tmp_path / "busy.statdb"
    shutil.copytree(folder_of_wages, folder, ignore=shutil.ignore_patterns("access*", "ledger*"))
    page = visit(serve(folder, limits=Limits(rate=0.01, burst=3)))
    expect(page.locator("#lead")).to_contain_text("400 people")
    page.click("#ask-button")
    page.wait_for_selector("#answer .legend")
    page.click("#ask-button")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Too many questions in a short time")
    expect(alert.get_by_role("button", name="Try again")).to_be_visible()
    page.context.set_offline(True)
    alert.get_by_role("button", name="Try again").click()
    expect(alert).to_contain_text("The server cannot be reached")


# ----- answers that stand alone


def test_a_wrong_value_is_told(visit: Open, address: str) -> None:
    page = visit(address + question(**{"of": "count", "is.sex": "femal", "is.disease": "flu"}))
    expect(page.locator("#answer .note")).to_have_text(
        "Sex has no value 'femal'; did you mean 'female'?"
    )
    page = visit(address + question(sql="SELECT COUNT(*) FROM t WHERE disease IN ('flu', 'flux')"))
    expect(page.locator("#answer .note")).to_contain_text("did you mean 'flu'?")
    page = visit(address + question(sql="SELECT COUNT(*) FROM t WHERE disease IN ('flu')"))
    sentence(page)
    expect(page.locator("#answer .note")).to_have_count(0)


def test_sql_typed_by_hand_survives_a_look_at_the_picker(visit: Open, address: str) -> None:
    page = visit(address)
    page.wait_for_selector(".attribute")

    def tab(name: str) -> None:
        page.get_by_role("tab", name=name).click()

    tab("SQL")
    assert page.input_value("#sql") == "SELECT COUNT(*)\nFROM t"
    tab("Pick")
    page.select_option("#by-1", "sex")
    tab("SQL")  # what was filled in, and not touched, follows the picker
    assert "GROUP BY sex" in page.input_value("#sql")
    page.fill("#sql", "SELECT COUNT(*) FROM t WHERE age < 30")
    tab("Pick")
    tab("SQL")
    assert page.input_value("#sql") == "SELECT COUNT(*) FROM t WHERE age < 30"


def test_examples_show_intervals(visit: Open, address: str) -> None:
    for place in range(3):
        page = visit(address)
        page.locator("#answer .examples button").nth(place).click()
        sentence_ = page.locator("#answer .sentence")
        expect(sentence_).to_be_visible()
        expect(page.locator("#answer svg .range").first).to_be_visible()


def test_examples_say_the_whole_question(
    visit: Open, serve: Any, folder_of_wages: Path, tmp_path: Path
) -> None:
    url = serve(copied(folder_of_wages, tmp_path, "wages"))
    for place in range(3):
        page = visit(url)
        button = page.locator("#answer .examples button").nth(place)
        words = str(button.text_content())
        button.click()
        page.wait_for_selector("#answer .sentence")
        told = page.inner_text("#answer .sentence")
        for column in ("age", "sex", "wage"):
            named = [bool(re.search(rf"\b{column}\b", text)) for text in (words, told)]
            assert named[0] == named[1], (words, told)


def test_what_is_printed_has_no_controls(visit: Open, address: str) -> None:
    page = visit(address + question(of="count", by="job", **{"is.disease": "flu"}))
    page.wait_for_selector("#answer .chart svg")
    page.emulate_media(media="print")
    assert page.locator("#answer input:visible, #answer button:visible").count() == 0


def test_what_ranges_tell_of_each_other(visit: Open, address: str, local: sf.StatDB) -> None:
    parts = {"of": "count", "by": "job", "is.disease": "flu"}
    page = visit(address + question(**parts))
    page.wait_for_selector("#answer .ranking")
    result = local.query("SELECT job, COUNT(*) FROM t WHERE disease = 'flu' GROUP BY job")
    ends = [(one.lo, one.hi) for (one,) in result.answers]
    alone = [
        all(lo > b or hi < a for other, (a, b) in enumerate(ends) if other != place)
        for place, (lo, hi) in enumerate(ends)
    ]
    assert page.locator("#answer .chart g.unsure").count() == alone.count(False)
    overlap = max(lo for lo, _ in ends) <= min(hi for _, hi in ends)
    told = "All ranges overlap" if overlap else "is certainly above"
    expect(page.locator("#answer .ranking")).to_contain_text(told)


def test_shares_hold_the_truth(visit: Open, address: str, local: sf.StatDB) -> None:
    page = visit(address + question(of="count", by=["sex", "disease"], **{"from.age": 40}))
    page.get_by_label("as shares of each sex").check()
    rows = page.locator("#answer tbody tr")
    expect(page.locator("#answer thead")).to_contain_text("at most")
    assert page.locator("#answer svg .estimate").count() == 0
    table = local.table()
    codes = {name: table.attributes[name].values.to_pylist() for name in ("age", "sex", "disease")}
    people = [
        tuple(
            codes[name][code] if code < len(codes[name]) else None
            for name, code in zip(codes, line, strict=True)
        )
        for line in zip(*(table.codes[name].tolist() for name in codes), strict=True)
    ]
    old = [(sex, disease) for age, sex, disease in people if age is not None and age >= 40]
    for place in range(rows.count()):
        sex, disease, lo, hi = rows.nth(place).locator("th, td").all_inner_texts()
        all_ = sum(one[0] == sex for one in old)
        share = 100 * old.count((sex, disease)) / all_
        assert float(lo) <= share <= float(hi)
        assert float(hi) - float(lo) < 100


def test_ordered_classes_have_a_slider(visit: Open, serve: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    order = ["none", "school", "college", "doctor"]
    rows = pa.table({"age": list(range(20, 60)) * 4, "level": order * 40})
    schema = sf.Schema(quasi=["age"], sensitive="level", orders={"level": order})
    path = tmp_path / "levels.statdb"
    db = sf.StatDB.create(path, sf.Microdata.from_arrow(rows, schema), m=2)
    page = visit(serve(path))
    page.click("summary:has-text('level')")
    page.get_by_label("level, from").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("level, to").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".attribute.set .state")).to_have_text("school or college")
    page.click("#ask-button")
    wanted = db.count("level IN ('school', 'college')")
    expect(page.locator("#answer .sentence")).to_contain_text(f"{wanted.lo:,} people with level")
    page.click("text=Tick single values")
    page.get_by_role("checkbox", name="doctor").check()
    page.get_by_role("checkbox", name="college").uncheck()
    expect(page.locator(".attribute.set .state")).to_have_text("school or doctor")


def test_pictures_and_citations_stand_alone(visit: Open, address: str) -> None:
    parts = {"of": "count", "by": "sex", "is.disease": "flu"}
    page = visit(address + question(**parts), permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector("#answer .chart svg .range, #answer .chart svg .exact")
    words = "People with disease flu, by sex"
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Picture ({kind})").click()
        assert (
            waiting.value.suggested_filename
            == f"people-people-with-disease-flu-by-sex.{kind.lower()}"
        )
        content = Path(waiting.value.path()).read_bytes()
        assert content.startswith(start)
        if kind == "SVG":
            assert words in content.decode()
            assert "Receipt" in content.decode()
            assert "class=" not in content.decode()
        else:
            assert len(content) > 5_000
    page.get_by_role("button", name="Copy as citation").click()
    told = str(page.evaluate("navigator.clipboard.readText()"))
    assert told.startswith(f"{words}: 2 answers. Database “people”, generation 1")
    page.emulate_media(media="print")
    expect(page.locator(".printed")).to_contain_text(words)
    expect(page.locator(".share-actions")).to_be_hidden()


def test_a_question_can_be_cancelled(visit: Open, address: str) -> None:
    page = visit(address)
    page.wait_for_selector(".attribute")
    page.route("**/v1/query", lambda _: None)  # never answered
    page.click("#ask-button")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#answer")).to_contain_text("Cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.locator("#ask-button")).to_have_text("Ask")


def test_wide_ranges_are_said_to_be(visit: Open, address: str) -> None:
    parts = {"of": "count", "by": "age", "is.disease": "flu"}
    page = visit(address + question(**parts))
    expect(page.locator("#answer .wide-note")).to_contain_text("too wide to say much")


def test_letters_from_right_to_left_stay_in_their_place(
    visit: Open, serve: Any, tmp_path: Path
) -> None:
    import pyarrow as pa

    # marks in values are gone when a table is read; those of names are not
    name, values = "wh\u202eat", ["\u05d0\u05d1", "plain", "x", "y"]
    rows = pa.table({"age": list(range(20, 60)) * 4, name: values * 40})
    path = tmp_path / "turned.statdb"
    table = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["age"], sensitive=name))
    sf.StatDB.create(path, table, m=2)
    page = visit(f"{serve(path)}/#{urlencode({'db': 'turned', 'of': 'count', 'by': name})}")
    page.wait_for_selector("#answer tbody tr")
    assert page.inner_text("#answer .sentence") == "All people, by wh<U+202E>at: 4 answers."
    text = page.inner_text("#answer tbody")
    assert "\u2068\u05d0\u05d1\u2069" in text


def test_the_owners_words_are_shown(visit: Open, serve: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    rows = pa.table({
        "age": list(range(20, 60)) * 4,
        "edu": [1, 21] * 80,
        "wage": [100 * (i * i % 7) for i in range(160)],
    })  # fmt: skip
    words = sf.Words(
        title="Wages 2024",
        source="Statistics Office",
        labels={"edu": "education"},
        units={"wage": "euros"},
        names={"edu": {"1": "school", "21": "university"}},
    )
    kinds = {"edu": "categorical", "wage": "numerical"}
    schema = sf.Schema(quasi=["age", "edu"], sensitive="wage", kinds=kinds, words=words)
    path = tmp_path / "coded.statdb"
    sf.StatDB.create(path, sf.Microdata.from_arrow(rows, schema), m=3)
    parts = {"db": "coded", "of": "avg:wage", "by": "edu", "from.age": 30}
    page = visit(f"{serve(path)}/#{urlencode(parts)}")
    expect(page.locator("#answer .sentence")).to_have_text(
        "Average wage in euros of people with age from 30 to 59, by education: 2 answers."
    )
    expect(page.locator("#answer tbody th")).to_have_text(["school", "university"])
    expect(page.locator("#answer thead th").first).to_have_text("education")
    expect(page.locator("#lead")).to_contain_text("Wages 2024. Source: Statistics Office.")
    page.click("summary:has-text('education')")
    page.get_by_role("checkbox", name="university").check()
    expect(page.locator("[data-name=edu] .state")).to_have_text("university")
    page.click("#ask-button")
    expect(page.locator("#answer .sentence")).to_contain_text("and education university")
    expect(page.locator(".printed")).to_contain_text("Wages 2024 (Statistics Office)")
