"""The page of every command is what --help says now; run tools/write_command_pages.py after."""

from __future__ import annotations

from tools.write_command_pages import FOLDER, pages


def test_pages_are_current() -> None:
    written = {page.name: page.read_text("utf-8") for page in FOLDER.glob("*.md")}
    assert written == pages(), "make commands writes them anew"


def test_every_command_has_a_page_and_help() -> None:
    found = pages()
    assert {"publish.md", "statdb-create.md", "inspect.md"} <= set(found)
    assert all("Options:" in page for name, page in found.items() if name != "README.md")
