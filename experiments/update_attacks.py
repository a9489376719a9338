"""Let attackers loose on every method, and put what they reach into the pages about promises.

    python experiments/update_attacks.py /path/to/data [rows]

On docs/guarantees.md, docs/statdb-guarantee.md and docs/joining.md, what stands between the
comments ``<!-- attackers -->`` and ``<!-- end -->`` is replaced.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sfumato_experiments.attacked import databases, joined, markdown, measured, releases, tables

DOCS = Path(__file__).parents[1] / "docs"
ROWS = 20_000


def main(data: str, rows: str = str(ROWS)) -> None:
    """Measure, table by table, and write both pages."""
    pages = {"guarantees.md": releases(), "statdb-guarantee.md": databases()}
    parts: dict[str, list[str]] = {page: [] for page in pages}
    for table in tables(Path(data), int(rows)):
        for page, methods in pages.items():
            lines = []
            for line in measured(table, methods):
                print(table.name, line.method, line.audit or "cannot keep the promise", flush=True)
                lines.append(line)
            parts[page].append(markdown(table, lines))
    parts["joining.md"] = [joined(Path(data))]
    for page, found in parts.items():
        path = DOCS / page
        path.write_text(replaced(path.read_text(encoding="utf-8"), found), encoding="utf-8")


def replaced(text: str, parts: list[str]) -> str:
    """The page with its tables made anew."""
    begin = "<!-- attackers -->\n"
    new = begin + "\n" + "\n\n".join(parts) + "\n\n<!-- end -->"
    text, found = re.subn(re.escape(begin) + r".*?<!-- end -->", lambda _: new, text, flags=re.S)
    if found != 1:
        raise SystemExit(f"the page has {found} places for attackers, not one")
    return text


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
