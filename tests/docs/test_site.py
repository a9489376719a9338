"""The site of docs/ is whole: every page and name is there, links lead on, nothing is fetched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import sfumato as sf
from tests.support.browsing import browser, needs_chromium
from tests.support.waiting import PATIENCE
from tools.site import pages, reference
from tools.site.examples import fenced

__all__ = ["browser"]  # a fixture

FETCHED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?https?:")


def built(*arguments: str, **told: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=pages.ROOT, env={**os.environ, **told},
        timeout=PATIENCE, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    made = built("tools.site", str(folder))
    assert made.returncode == 0, made.stderr
    return folder / "site"


def test_every_page_is_there_and_fetches_nothing(site: Path) -> None:
    found = {str(page.relative_to(site)): page.read_text("utf-8") for page in site.rglob("*.html")}
    assert {"index.html", "quickstart.html", "commands/publish.html", "benchmarks.html"} <= {*found}
    assert [name for name, text in found.items() if FETCHED.search(text)] == []
    assert (site / "files" / "deploy" / "nginx.conf").is_file()
    assert FETCHED.search('<link rel="stylesheet" href="https://fonts.example.com/a.css">')


def test_the_reference_has_every_name_with_its_example_as_code(site: Path) -> None:
    texts = {page: page.read_text("utf-8") for page in (site / "reference").glob("*.html")}
    shown = Counter(
        name
        for text in texts.values()
        for name in re.findall(r'<h2 id="sfumato\.([A-Za-z_]+)"', text)
    )
    assert shown == Counter(sf.__all__)
    assert not [page for page, text in texts.items() if "<blockquote>" in text]


def test_the_notebook_shows_what_its_cells_show(site: Path) -> None:
    page = (site / "notebook.html").read_text("utf-8")
    assert page.count('class="shown"') >= 8
    assert "1,000 rows" in page


def test_every_public_name_is_in_one_group() -> None:
    names = [name for _, some in reference.GROUPS.values() for name in some]
    assert sorted(names) == sorted(sf.__all__), "list new names in tools/site/reference.py"


@pytest.mark.parametrize(
    ("place", "link", "there"),
    [
        ("index.md", "docs/risk.md#people", "risk.md#people"),
        ("index.md", "CHANGELOG.md", "changelog.md"),
        ("risk.md", "../benchmarks/RESULTS.md", "benchmarks.md"),
        ("server.md", "../deploy/nginx.conf", "files/deploy/nginx.conf"),
        ("quickstart.md", "notebook.ipynb", "notebook.md"),
        ("benchmarks.md", "../docs/joining.md", "joining.md"),
        ("papers/anatomy.md", "anatomy/figure_4.png", "anatomy/figure_4.png"),
        ("risk.md", "https://example.com", "https://example.com"),
        ("risk.md", "#here", "#here"),
    ],
)
def test_links_lead_to_pages_of_the_site(place: str, link: str, there: str) -> None:
    code = f"```text\n[a]({link})\n```"
    assert pages.relinked(f"[a]({link})\n\n{code}", Path(place)) == f"[a]({there})\n\n{code}"


def test_examples_end_with_their_paragraph() -> None:
    text = "Say it.\n\n>>> 1 + 1\n2\n\nAnd more.\n\n>>> 3\n3"
    code = ("```pycon\n>>> 1 + 1\n2\n```", "```pycon\n>>> 3\n3\n```")
    assert fenced(text).split("\n\n") == ["Say it.", code[0], "And more.", f"{code[1]}\n"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""),
        ({"index.md": "[gone](gone.md)"}, "gone.md"),
        ({"index.md": "[gone](#gone)"}, "#gone"),
        ({"other.md": "# In no menu"}, "other.md"),
    ],
)
def test_what_is_broken_stops_the_build(more: dict[str, str], said: str, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    for name, content in {"index.md": "# Home", **more}.items():
        (tmp_path / "pages" / name).write_text(content, "utf-8")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {pages.ROOT}/mkdocs.yml\nplugins: []\nnav: [index.md]\n", "utf-8")
    made = built(
        "mkdocs", "build", "--strict", "-f", str(config),
        SITE_PAGES=str(tmp_path / "pages"), SITE_OUTPUT=str(tmp_path / "site"),
    )  # fmt: skip
    assert (made.returncode == 0) is not bool(said), made.stderr
    assert said in made.stderr


@needs_chromium
@pytest.mark.slow
def test_it_opens_from_its_folder_and_searches(site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_default_timeout(1000 * PATIENCE)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url))
    for name in ("index", "guarantees", "reference/publishing", "notebook", "commands/publish"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.locator("label[for=__search]").first.click()
    page.locator(".md-search__input").press_sequentially("t-closeness")
    results = page.locator(".md-search-result__link")
    results.first.wait_for()
    results.first.click()
    page.wait_for_url("**/*.html?h=*")
    assert "closeness" in page.locator("article").inner_text()
    assert [one for one in heard if not one.startswith((site.as_uri(), "data:", "about:"))] == []
