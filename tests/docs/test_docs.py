"""Every code block of the documentation runs, page by page, beside the example table."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import resources
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Every block begins with nothing that another has named.
EACH_ALONE = "import sys\nfor body in sys.argv[1:]: exec(body, {'__name__': '__main__'})"
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, body) for kind, body in BLOCK.findall(page.read_text(encoding="utf-8"))]


def commands(page: Path) -> Iterator[list[str]]:
    """How the blocks are run, in their order; Python starts once for those that stand together."""
    runnable = [(kind, body) for kind, body in blocks(page) if kind != "toml"]
    for kind, some in groupby(runnable, key=itemgetter(0)):
        bodies = [body for _, body in some]
        if kind == "python":
            yield [sys.executable, "-c", EACH_ALONE, *bodies]
        else:
            shell = [
                body for body in bodies if not body.lstrip().startswith(("make", "pip", "git"))
            ]
            yield from (["bash", "-euc", body] for body in shell)


def run(command: list[str], folder: Path) -> int:
    """Run a block in a process group of its own, whose number is returned.

    What it prints goes to a file: a program that a block leaves behind may keep it open, and a
    pipe would then have no end.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    with (folder / ".printed").open("w+") as out, subprocess.Popen(
        command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True
    ) as started:  # fmt: skip
        try:
            code = started.wait(PATIENCE)
        except BaseException:
            stop(started.pid)
            raise
        out.seek(0)
        assert code == 0, f"{command[-1]}\n{out.read()}"
    return started.pid


def stop(group: int) -> None:
    """End what a block left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        for name in ("patients.csv", "patients.toml"):
            shutil.copy(bundled / name, tmp_path / name)
    for kind, body in blocks(page):
        if kind == "toml":
            tomllib.loads(body)
    groups = []
    try:
        for command in commands(page):
            groups.append(run(command, tmp_path))
    finally:
        for group in groups:
            stop(group)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_wait_with_an_end_and_take_free_ports(page: Path) -> None:
    for _, body in blocks(page):
        assert not re.search(r"--port[ =](?!0\b)", body), body
        assert not re.search(r"(localhost|127\.0\.0\.1|\[::1\]):\d", body), body
        for line in body.splitlines():
            if re.search(r"\b(until|while)\b.*\bdo\b", line):
                assert line.lstrip().startswith("timeout "), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_has_something_to_run() -> None:
    kinds = {kind for kind, _ in blocks(ROOT / "README.md")}
    assert {"python", "sh"} <= kinds
