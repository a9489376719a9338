"""The example notebook runs from top to bottom, and is stored without anything that it showed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.site.notebook import executed

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def cells() -> Iterator[dict[str, Any]]:
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    yield from content["cells"]


def test_the_cells_run_and_show_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [
        executed("".join(cell["source"]), names) for cell in cells() if cell["cell_type"] == "code"
    ]
    assert len(shown) >= 8
    for value in shown:
        assert value is not None
        html = getattr(value, "_repr_html_", None)
        assert html is None or html().startswith("<")


def test_nothing_that_was_shown_is_stored() -> None:
    for cell in cells():
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


def test_a_cell_that_fails_is_not_passed_over() -> None:
    with pytest.raises(ZeroDivisionError):
        executed("x = 1\nx / 0", {})
