"""The desk in a real browser: from an upload to a verified download, by mouse and by keyboard."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

import sfumato as sf
from tests.server.studio_kit import PATIENTS, Running, served
from tests.support.browsing import (
    Open,
    browser,
    contexts,
    needs_chromium,
    tab_to,
    violations,
    visit,
)
from tests.support.commands import sfumato
from tests.support.waiting import PATIENCE

__all__ = ["browser", "contexts", "visit"]  # fixtures

pytestmark = needs_chromium


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Where the desk is started: beside a table."""
    (tmp_path / "patients.csv").write_bytes((PATIENTS / "patients.csv").read_bytes())
    with chdir(tmp_path):
        yield tmp_path


@pytest.fixture
def empty(place: Path) -> Iterator[Running]:
    with served() as running:
        yield running


@pytest.fixture
def desk(place: Path) -> Iterator[Running]:
    with served(Path("patients.csv")) as running:
        yield running


@pytest.fixture
def full(desk: Running) -> Running:
    """A desk on which everything was done once, so that every step has something to show."""
    from sfumato.exploring.grid import Setting
    from sfumato.studio.commands import Wish

    def done() -> None:
        assert desk.desk._job is not None
        desk.desk._job.wait(PATIENCE)
        assert desk.desk._job.state == "done", desk.desk._job.trouble

    desk.desk.explore(["mondrian", "anatomy"], {"k": [5, 20], "l": [2, 3]}, 1, None)
    done()
    for setting in (Setting("mondrian", k=5), Setting("anatomy", l=3)):
        desk.desk.publish(Wish(setting))
        done()
    return desk


def settled(page: Page) -> None:
    """Wait for the combinations, which come last."""
    expect(page.locator("#risk:not([aria-busy]) .combinations li").first).to_be_visible()


def command(page: Page, inside: str, language: str) -> str:
    box = page.locator(inside).locator("details.command").first
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    box.get_by_role("tab", name=language).click()
    return box.locator("code").inner_text()


def step(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name).click()


# ----- the whole way


def test_from_an_upload_to_a_verified_download(visit: Open, empty: Running, place: Path) -> None:
    page = visit(empty.address)
    expect(page.get_by_role("heading", name="Open a table")).to_be_visible()
    assert "token" not in page.url
    page.get_by_label("A file to upload").set_input_files(place / "patients.csv")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#columns > li")).to_have_count(7)
    settled(page)
    risk = sf.assess(sf.read("patients.csv", sf.guess_schema(sf.profile("patients.csv"))))
    expect(page.locator("#risk .tiles b").first).to_have_text(f"{risk.unique_rows:,}")
    expect(page.locator("#risk .said li")).to_have_text(list(risk.sentences))

    page.get_by_label("Role of zipcode").select_option("insensitive")
    without = sf.assess("patients.csv", sf.Schema(quasi=["age", "sex", "education", "job"]))
    expect(page.locator("#risk .tiles b").first).to_have_text(f"{without.unique_rows:,}")
    page.get_by_label("Role of zipcode").select_option("")
    settled(page)

    step(page, "Publish")
    page.get_by_label("k: at least so many alike").last.fill("5")
    page.get_by_label("l: no value above 1/l of a group").last.fill("2")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator(".release .verdict")).to_have_text("promise verified")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    with zipfile.ZipFile(waiting.value.path()) as archive:
        archive.extractall(place / "unpacked")
    assert sf.verify(place / "unpacked" / "out").ok
    release = sf.load(place / "unpacked" / "out")
    assert [column.name for column in release.manifest.columns] == [
        "age", "sex", "education", "job", "disease",
    ]  # fmt: skip

    page.get_by_label("Save release 1 in a folder").fill("mine")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".release .save")).to_contain_text(f"Saved in {place / 'mine'}")
    for file in (place / "unpacked" / "out").iterdir():
        assert (place / "mine" / file.name).read_bytes() == file.read_bytes()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".release .note")).to_contain_text("exists")
    before = (place / "mine" / "release.json").stat().st_ino
    page.get_by_role("button", name="Replace mine").click()
    expect(page.locator(".release .save")).to_contain_text("Saved in")
    assert (place / "mine" / "release.json").stat().st_ino != before


def test_the_commands_of_every_step_do_the_same(visit: Open, desk: Running, place: Path) -> None:
    page = visit(desk.address)
    settled(page)
    page.get_by_label("Role of zipcode").select_option("insensitive")
    settled(page)
    shown = page.locator("#risk .said li").all_inner_texts()
    shell, python = (command(page, "#columns-command", name) for name in ("Shell", "Python"))
    assert shown[0] in " ".join(ran(shell, place).replace("- ", "").split())
    (place / "schema.toml").unlink()  # nothing is replaced without being asked
    assert shown == ran_python(python, place).splitlines()

    step(page, "Publish")
    page.get_by_label("k: at least so many alike").last.fill("10")
    page.locator("#publish-form summary").click()
    page.get_by_label("A file with a seed").fill("my.seed")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator(".release .verdict")).to_have_text("promise verified")
    made = {path.name: path.read_bytes() for path in (desk.desk.home / "releases" / "1").iterdir()}
    for language in ("Shell", "Python"):
        told = command(page, ".release", language)
        (ran if language == "Shell" else ran_python)(told, place)
        assert {path.name: path.read_bytes() for path in (place / "out").iterdir()} == made
        for path in (place / "out").iterdir():
            path.unlink()
        (place / "out").rmdir()


def test_the_commands_of_an_exploration_and_a_comparison(
    visit: Open, full: Running, place: Path
) -> None:
    page = visit(full.address)
    settled(page)
    page.get_by_label("Save the schema").fill("schema.toml")
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator("#schema-saved")).to_contain_text("Saved as")
    step(page, "Explore")
    best = page.locator("#recommended").inner_text().removeprefix("Recommended: ")
    printed = ran(command(page, "#explore-command", "Shell"), place)
    assert f"Recommended: {best}" in printed
    alone = visit((place / "explore.html").as_uri())  # which holds the same script
    expect(alone.locator("#name")).to_have_text(best)
    alone.locator("#points td button").first.click()
    name = " ".join(alone.locator("#points tr.chosen td").all_inner_texts()[:2])
    expect(alone.locator("#name")).to_have_text(name.replace(" ", ", ", 1))
    (place / "explore.html").unlink()
    reasons = page.locator("#reasons li").all_inner_texts()
    assert (
        reasons == ran_python(command(page, "#explore-command", "Python"), place).splitlines()[1:]
    )
    step(page, "Compare")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compared tbody tr").first).to_contain_text("yes")
    full.desk.save_release(1, "mine")
    full.desk.save_release(2, "out-2")  # as it is called until it is saved
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compared details.command")).to_have_count(1)
    full.desk.compare(1, 2)
    kept = [one.useful.kept for one in full.desk._made if one.useful is not None]
    printed = ran_python(command(page, "#compared", "Python"), place)
    assert [f"{share:.0%} of the association kept" in printed for share in kept] == [True, True]
    ran(command(page, "#compared", "Shell"), place)
    assert (place / "mine.html").is_file()


def ran(text: str, place: Path) -> str:
    """Commands as a shell takes them, but run in this process: to start one is slow."""
    printed = ""
    for line in unfolded(text, place):
        name, *words = shlex.split(line)
        assert name == "sfumato"
        done = sfumato(place, *words)
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    return printed


def unfolded(text: str, place: Path) -> list[str]:
    """What is left when a shell has written what is to be written."""
    found = re.match(r"cat > (\S+) <<'(\w+)'\n(.*?)\n\2\n", text, re.DOTALL)
    if found is None:
        return text.splitlines()
    writing = subprocess.run(
        ["bash", "-c", found[0]], cwd=place, capture_output=True, timeout=PATIENCE, check=True
    )
    assert writing.stderr == b""
    return text[found.end() :].splitlines()


def ran_python(text: str, place: Path) -> str:
    with chdir(place), redirect_stdout(io.StringIO()) as printed:
        exec(text, {})
    return printed.getvalue()


# ----- columns


def test_the_ways_to_read_a_column(visit: Open, desk: Running, place: Path) -> None:
    page = visit(desk.address)
    settled(page)

    def choose(column: str, how: str) -> None:
        card = page.locator(f"[data-name={column}]")
        if card.locator("details").get_attribute("open") is None:
            card.locator("summary").click()
        card.get_by_label(f"How values of {column} are read").select_option(label=how)

    choose("age", "in a tree of intervals")
    page.get_by_label("Widths, each a multiple of the one before").fill("10, 25")
    page.get_by_role("button", name="Use these intervals").click()
    expect(page.locator("#trouble")).to_contain_text("25")  # no multiple of 10
    page.get_by_label("Widths, each a multiple of the one before").fill("10, 30")
    page.get_by_role("button", name="Use these intervals").click()
    expect(page.locator("[data-name=age] details")).to_contain_text("30-59")
    expect(page.locator("#trouble")).to_be_empty()
    choose("job", "in a tree from a file")
    table = sf.read("patients.csv", sf.Schema(quasi=["job", "education"]))
    jobs = table.attributes["job"].values.to_pylist()
    lines = [
        f"{value};{'some work' if n % 2 else 'other work'};*\n" for n, value in enumerate(jobs)
    ]
    (place / "jobs.csv").write_text("".join(lines))
    page.get_by_label("A taxonomy: TOML").set_input_files(place / "jobs.csv")
    page.get_by_role("button", name="Use this file").click()
    expect(page.locator("[data-name=job] details")).to_contain_text("some work")
    choose("education", "in an order of mine")
    order = page.get_by_label("The values, the lowest first")
    values = order.input_value().split("\n")
    order.fill("\n".join(reversed(values)))
    page.get_by_role("button", name="Use this order").click()
    expect(page.locator("[data-name=education] summary")).to_contain_text("in an order of mine")
    schema = desk.desk._draft.schema
    assert schema.declarations["education"].order == tuple(reversed(values))
    assert set(schema.taxonomies) == {"age", "job"}
    choose("age", "in classes of numbers")
    page.get_by_label("How many classes").fill("0, 30, 60")
    page.get_by_role("button", name="Use these classes").click()
    expect(page.locator("[data-name=age] summary")).to_contain_text("in classes of numbers")
    settled(page)
    wanted = sf.assess("patients.csv", desk.desk._draft.schema)
    expect(page.locator("#risk .tiles b").first).to_have_text(f"{wanted.unique_rows:,}")
    assert shown_in(page, "#risk .said li") == list(wanted.sentences)


def shown_in(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_inner_texts()


def test_every_change_of_a_role_is_in_the_log(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)
    changes = [("age", "insensitive"), ("sex", ""), ("age", "quasi"), ("disease", "insensitive")]
    for place, (column, wanted) in enumerate(changes, 1):
        page.get_by_label(f"Role of {column}").select_option(wanted)
        expect(page.locator("#log li[data-kind=role]")).to_have_count(place)
        settled(page)
    lines = page.locator("#log li[data-kind=role]")
    for place, (column, _) in enumerate(changes):
        assert f"role of {column}" in str(lines.nth(place).text_content())
        assert int(str(lines.nth(place).get_attribute("data-ms"))) >= 0
    # each is followed by its combinations, beside those of the start
    expect(page.locator("#log li[data-kind=combinations]")).to_have_count(len(changes) + 1)


def test_without_anybody_to_find_the_page_says_what_is_missing(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)
    for column in ("age", "sex", "zipcode", "education", "job"):
        page.get_by_label(f"Role of {column}").select_option("insensitive")
    expect(page.locator("#risk")).to_contain_text("give one that role")
    step(page, "Explore")
    page.get_by_role("button", name="Explore").click()
    expect(page.get_by_role("alert")).to_contain_text("give one that role")
    step(page, "Columns")
    page.get_by_label("Role of age").select_option("quasi")
    settled(page)


# ----- exploring


def test_an_exploration_can_be_watched_and_its_points_taken(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)
    step(page, "Explore")
    for name in ("topdown", "local", "full-domain"):
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    page.get_by_label("k: at least so many alike").first.fill("3, 5, 10")
    page.get_by_label("l: no value above 1/l of a group").first.fill("2")
    page.get_by_text("Time and chance").click()
    page.get_by_label("Seed, to repeat the points").fill("1")
    page.get_by_role("button", name="Explore", exact=True).click()
    expect(page.locator("#plot .dot")).to_have_count(4)
    dot = page.locator("#plot .dot[aria-label^='mondrian, k = 10']")
    dot.hover()
    expect(page.locator("#tip")).to_contain_text("mondrian, k = 10, l = 2: best guess right")
    dot.click()
    expect(page.locator("#chosen-name")).to_have_text("mondrian, k = 10, l = 2")
    expect(dot).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#multiples figure").first).to_be_visible()
    page.get_by_role("button", name="Take this one").click()
    expect(page.get_by_label("Method")).to_have_value("mondrian")
    expect(page.get_by_label("k: at least so many alike").last).to_have_value("10")
    step(page, "Columns")
    page.get_by_label("Role of sex").select_option("insensitive")
    settled(page)
    step(page, "Explore")
    expect(page.locator("#stale")).to_be_visible()


def test_an_exploration_can_be_stopped(visit: Open, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = pa.table({name: random.integers(0, 50, 5_000) for name in ("age", "job", "town")})
    pq.write_table(
        rows.append_column("wage", pa.array(random.integers(0, 9, 5_000))), tmp_path / "t.parquet"
    )
    with served(tmp_path / "t.parquet") as running:
        page = visit(running.address)
        settled(page)
        step(page, "Explore")
        page.get_by_role("button", name="Explore", exact=True).click()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#explore-progress")).to_be_empty()
        expect(page.get_by_role("button", name="Explore", exact=True)).not_to_have_attribute(
            "aria-disabled", "true"
        )
        assert running.desk.job()["job"]["state"] in ("stopped", "done")
        found = running.desk.exploration()
        assert found is None or found["left"] > 0


def test_nothing_feasible_is_told(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)
    step(page, "Publish")
    page.get_by_label("l: no value above 1/l of a group").last.fill("500")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("alert")).to_contain_text(re.compile("largest|at most"))
    expect(page.locator(".release")).to_have_count(0)


# ----- for everybody


def test_a_reload_shows_everything_again(visit: Open, full: Running) -> None:
    page = visit(full.address)
    settled(page)
    step(page, "Publish")
    expect(page.locator(".release")).to_have_count(2)
    page.reload()
    expect(page.locator(".release")).to_have_count(2)
    expect(page.locator("#publish-heading")).to_be_visible()
    step(page, "Explore")
    expect(page.locator("#plot .dot")).to_have_count(6)


def test_the_keyboard_is_enough(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)

    tab_to(page, ".skip")
    page.keyboard.press("Enter")
    tab_to(page, "[data-name=zipcode] select")
    page.keyboard.press("h")  # to harmless
    expect(page.locator("#log li[data-kind=role]")).to_have_count(1)
    settled(page)
    assert page.evaluate("document.activeElement.labels[0].textContent") == "Role of zipcode"
    page.get_by_role("link", name="Explore").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#explore-heading")).to_be_focused()
    tab_to(page, "#grid-k")
    page.keyboard.type("4,8")
    tab_to(page, "#grid-l")
    page.keyboard.type("2")
    tab_to(page, "#explore-button")
    page.keyboard.press("Enter")
    expect(page.locator("#plot .dot").first).to_be_visible()
    tab_to(page, "#plot .dot")
    expect(page.locator("#tip")).to_be_visible()
    page.keyboard.press("Enter")
    name = page.evaluate("document.activeElement.getAttribute('aria-label')")
    expect(page.locator("#chosen-name")).to_have_text(name)
    tab_to(page, "#take")
    page.keyboard.press("Enter")
    expect(page.locator("#publish-heading")).to_be_focused()
    tab_to(page, "#publish-button")
    page.keyboard.press("Enter")
    expect(page.locator(".release .verdict")).to_have_text("promise verified")
    tab_to(page, "[id$=-path]")
    page.keyboard.type("kept")
    page.keyboard.press("Enter")
    expect(page.locator(".release .save")).to_contain_text("Saved in")
    assert sf.verify("kept").ok


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_step_breaks_a_rule_of_accessibility(
    visit: Open, full: Running, scheme: str, width: int
) -> None:
    page = visit(full.address, color_scheme=scheme, viewport={"width": width, "height": 800})
    settled(page)
    for name in ("Open", "Columns", "Explore", "Publish", "Compare"):
        step(page, name)
        if name == "Compare":
            page.get_by_role("button", name="Compare").click()
            expect(page.locator("#compared table")).to_be_visible()
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_upload_that_is_no_table_says_so(visit: Open, empty: Running, place: Path) -> None:
    (place / "photo.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    page = visit(empty.address)
    page.get_by_label("A file to upload").set_input_files(place / "photo.csv")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_contain_text("photo.csv")
    page.get_by_label("A file to upload").set_input_files([])
    page.get_by_label("or its path on this machine").fill("nowhere.csv")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_contain_text("nowhere.csv")
    page.get_by_label("or its path on this machine").fill("patients.csv")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#columns > li")).to_have_count(7)
    settled(page)


def test_names_and_values_are_never_markup(visit: Open, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    rows = {
        evil: [evil, "b"] * 50,
        "age": list(range(100)),
        "disease": [f"{evil}{n % 5}" for n in range(100)],
    }
    pq.write_table(pa.table(rows), tmp_path / "evil.parquet")
    with served(tmp_path / "evil.parquet") as running:
        page = visit(running.address)
        settled(page)
        expect(page.locator("#columns > li h3").first).to_have_text(evil)
        step(page, "Explore")
        page.get_by_label("l: no value above 1/l of a group").first.fill("2")
        page.get_by_role("button", name="Explore", exact=True).click()
        expect(page.locator("#plot .dot").first).to_be_visible()
        assert page.locator("main img").count() == 0


def test_a_desk_that_is_gone_is_told(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)
    page.context.set_offline(True)
    page.get_by_label("Role of age").select_option("insensitive")
    expect(page.get_by_role("alert")).to_contain_text("Look whether sfumato studio still runs")
    expect(page.get_by_label("Role of age")).to_have_value("quasi")


def test_a_stranger_s_browser_sees_no_desk(visit: Open, desk: Running) -> None:
    page = visit(desk.address)
    settled(page)
    inside = page.url
    other = visit(desk.address)
    expect(other.locator("body")).to_contain_text("does not know this browser")
    other.goto(inside)
    expect(other.locator("body")).to_contain_text("does not know this browser")
