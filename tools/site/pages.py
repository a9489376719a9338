"""The folder that the site is built from: docs/, pages from elsewhere, and what they link to.

README.md and its like stay where readers of the repository look for them, and are pages here; files
that pages lead to are copied beside them. Nothing here knows what builds the site.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tools.site import notebook, reference

ROOT = Path(__file__).parents[2]
DOCS = "docs"
NOTEBOOK = "docs/notebook.ipynb"
# where files are that are pages (or part of the frame), and are not in docs/
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
}
FRAME = {
    "src/sfumato/server/static/icon.svg": "assets/icon.svg",
    "tools/site/iframe-worker.js": "assets/iframe-worker.js",
    "tools/site/site.css": "assets/site.css",
}
_PLACES = {**PAGES, NOTEBOOK: "notebook.md"}
_HOME = "---\nhide: [navigation]\n---\n\n"  # there is nothing beside it
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def write(folder: Path) -> None:
    """Write all of it into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / DOCS, folder, ignore=shutil.ignore_patterns("*.ipynb"))
    for name, place in {**PAGES, **FRAME}.items():
        _copy(name, folder / place)
    for page in [*folder.rglob("*.md")]:
        _relink(page, page.relative_to(folder), folder)
    home = folder / PAGES["README.md"]
    _write(home, _HOME + home.read_text("utf-8"))
    _write(folder / _PLACES[NOTEBOOK], notebook.page(ROOT / NOTEBOOK))
    for name, content in reference.pages().items():
        _write(folder / "reference" / name, content)


def relinked(content: str, place: Path) -> str:
    """A page with its links as they are on the site; code stays as it is."""

    def there(found: re.Match[str]) -> str:
        target = _place(_target(found[1], place))
        return f"{os.path.relpath(target, place.parent)}{found[2] or ''}"

    parts = _FENCED.split(content)
    return "".join(part if part.startswith("```") else _LINK.sub(there, part) for part in parts)


def _relink(page: Path, place: Path, folder: Path) -> None:
    content = page.read_text("utf-8")
    _write(page, relinked(content, place))
    for name in _outside(content, place):
        _copy(name, folder / _place(name))


def _target(link: str, place: Path) -> str:
    """The file of the repository that a link on a page leads to."""
    origins = {there: name for name, there in PAGES.items()}
    origin = Path(origins.get(str(place), f"{DOCS}/{place}"))
    return os.path.normpath(origin.parent / link)


def _place(target: str) -> str:
    """Where a file of the repository is on the site."""
    if target in _PLACES:
        return _PLACES[target]
    return target.removeprefix(f"{DOCS}/") if target.startswith(f"{DOCS}/") else f"files/{target}"


def _outside(content: str, place: Path) -> set[str]:
    """Files that are no pages, and that a page leads to."""
    targets = {_target(link, place) for link, _ in _LINK.findall(content)}
    return {name for name in targets
            if _place(name).startswith("files/") and (ROOT / name).is_file()}  # fmt: skip


def _copy(name: str, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / name, place)


def _write(page: Path, content: str) -> None:
    page.parent.mkdir(exist_ok=True)
    page.write_text(content, "utf-8")
