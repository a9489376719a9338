"""A real browser for tests of pages: fixtures that open pages, and what no page may do.

A test file takes ``browser``, ``contexts`` and ``visit`` by importing them.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.waiting import PATIENCE

expect.set_options(timeout=1000 * PATIENCE)  # a busy machine is slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium: apt-get install chromium"
)


Open: TypeAlias = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS, timeout=1000 * PATIENCE
        )
        yield browser
        browser.close()


@pytest.fixture
def contexts(browser: Browser) -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def visit(browser: Browser, contexts: contextlib.ExitStack) -> Iterator[Open]:
    """``visit(address, **options)`` opens a page; at the end no rule may have been broken."""
    asked: list[str] = []
    broken: list[str] = []
    hosts: set[str] = set()

    def watched(context: BrowserContext) -> BrowserContext:
        context.set_default_timeout(1000 * PATIENCE)
        context.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.blockedURI))"
        )
        return context

    def open_page(address: str, **options: Any) -> Page:
        context = watched(browser.new_context(reduced_motion="reduce", **options))
        contexts.callback(context.close)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("console", lambda told: _note(told.text, broken))
        hosts.add(urlsplit(address).netloc)
        page.goto(address)
        return page

    yield open_page
    assert broken == []
    assert {urlsplit(url).netloc for url in asked if not url.startswith("blob:")} <= hosts


def _note(text: str, broken: list[str]) -> None:
    """Browsers report refused requests as errors, too; those are shown on the page."""
    if "CSP" in text or "Content Security Policy" in text:
        broken.append(text)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something has the focus, and see that it shows it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            assert page.evaluate(
                """() => {
                  const here = document.activeElement, look = getComputedStyle(here);
                  const dot = here.matches(".dot") && look.strokeWidth === "4px";
                  return look.outlineStyle !== "none" || here.type === "range" || dot;
                }"""
            ), f"{selector} does not show that it has the focus"
            return
    raise AssertionError(f"{selector} is out of reach")


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong with a page as it is now."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes']]}"
        for one in found["violations"]
    ]
