"""The count of claims over all papers is that of their pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[2] / "docs" / "papers"
TOLD = (PAPERS / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"\| \[.*?\]\((.*?)\) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", TOLD)
OURS = re.compile(r"ours; not in the paper|\(weaker\)")


@pytest.mark.parametrize(("page", "yes", "no", "theirs", "ours"), ROWS)
def test_claims_are_counted_as_they_are_judged(
    page: str, yes: str, no: str, theirs: str, ours: str
) -> None:
    text = (PAPERS / page).read_text(encoding="utf-8")
    judged = re.findall(r"^- \*\*(yes|no)\*\*: (.*)$", text, re.MULTILINE)
    told = [words for verdict, words in judged if verdict == "no"]
    assert len(judged) - len(told) == int(yes)
    assert len(told) == int(no) == int(theirs) + int(ours)
    assert sum(bool(OURS.search(words)) for words in told) == int(ours)


def test_every_no_has_its_line() -> None:
    assert len(ROWS) == 4
    listed = [
        int(n) for n in re.findall(r"^\| [^|]+ \| (\d+) \| [^|]+ \| [^|]+ \|$", TOLD, re.MULTILINE)
    ]
    assert sum(listed) == sum(int(theirs) for *_, theirs, _ in ROWS)
