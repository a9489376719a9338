"""The page of every command is what --help says now; run tools/write_command_pages.py after."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE
from tools.write_command_pages import FOLDER, pages

# elsewhere, as click keeps the help of commands that were run in this process without the group
ELSEWHERE = "import json; from tools.write_command_pages import pages; print(json.dumps(pages()))"
ROOT = Path(__file__).parents[2]


def test_pages_are_current() -> None:
    said = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    written = {page.name: page.read_text("utf-8") for page in FOLDER.glob("*.md")}
    assert written == json.loads(said.stdout), "make commands writes them anew"


def test_every_command_has_a_page_and_help() -> None:
    found = pages()
    assert {"publish.md", "statdb-create.md", "inspect.md"} <= set(found)
    assert all("## Options" in page for name, page in found.items() if name != "README.md")
