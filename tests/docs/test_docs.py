"""Every code block of the documentation runs, page by page, beside the example table."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, body) for kind, body in BLOCK.findall(page.read_text(encoding="utf-8"))]


def run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        for name in ("patients.csv", "patients.toml"):
            shutil.copy(bundled / name, tmp_path / name)
    for kind, body in blocks(page):
        if kind == "toml":
            tomllib.loads(body)
        elif kind == "python":
            run([sys.executable, "-c", body], tmp_path)
        elif not body.lstrip().startswith(("make", "pip", "git")):
            run(["bash", "-euc", body], tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_has_something_to_run() -> None:
    kinds = {kind for kind, _ in blocks(ROOT / "README.md")}
    assert {"python", "sh"} <= kinds
