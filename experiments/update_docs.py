"""Run a paper's experiments and put the results into its page in docs/papers.

    python experiments/update_docs.py mondrian /path/to/data [figure ...]

A figure may be a number or one of its parts, such as 10a. Data and plots go to
docs/papers/<paper>/; on the page, what stands between the comments
``<!-- figure N -->`` and ``<!-- end -->`` is replaced.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sfumato_experiments.figure import Figure
from sfumato_experiments.paper import Options, find_paper
from sfumato_experiments.parts import chosen
from sfumato_experiments.plot import draw

PAGES = Path(__file__).parents[1] / "docs" / "papers"
# pages that are not called like their paper
_STEMS = {"kja": "k-join-anonymity", "statdb": "dynamic-anonymization"}


def main(name: str, data: str, *numbers: str) -> None:
    """Update the page of one paper: the named figures, or all of them."""
    paper, stem = find_paper(name), _STEMS.get(name, name)
    page, folder = PAGES / f"{stem}.md", PAGES / stem
    text = page.read_text(encoding="utf-8")
    folder.mkdir(exist_ok=True)
    for number in chosen(paper, numbers):
        figure = paper.run(number)(Options(data=Path(data)))
        figure.write_csv(folder / f"{figure.stem}.csv")
        draw(figure, folder / f"{figure.stem}.png")
        text = replaced(text, figure, stem)
    page.write_text(text, encoding="utf-8")


def replaced(text: str, figure: Figure, folder: str) -> str:
    """The page with this figure's part made anew."""
    begin = f"<!-- figure {figure.number} -->\n"
    part = f"{begin}{markdown(figure, folder)}<!-- end -->"
    text, found = re.subn(re.escape(begin) + r".*?<!-- end -->", lambda _: part, text, flags=re.S)
    if found != 1:
        raise SystemExit(f"the page has {found} places for figure {figure.number}, not one")
    return text


def markdown(figure: Figure, folder: str) -> str:
    """Plot, table, notes and claims."""
    header, lines = figure.rows()
    header = [name.replace("|", "\\|") for name in header]
    table = [
        f"| {' | '.join(header)} |",
        f"|{'---:|' * len(header)}",
        *(f"| {' | '.join(map(_cell, line))} |" for line in lines),
    ]
    claims = [f"- **{said}**: {claim.text} ({claim.where})" for claim, said in figure.verdicts()]
    notes = [f"{note[0].upper()}{note[1:]}." for note in figure.notes]
    blocks = [[f"![{figure.title}]({folder}/{figure.stem}.png)"], table, notes, claims]
    return "".join("\n" + "\n".join(block) + "\n" for block in blocks) + "\n"


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,g}" if value % 1 else f"{value:,.0f}"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
