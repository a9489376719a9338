"""The example notebook, run: its cells, each with what it shows."""

from __future__ import annotations

import ast
import contextlib
import html
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def page(notebook: Path) -> str:
    """The notebook as Markdown; cells run in their order, in a folder of their own."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        return "\n\n".join(_parts(notebook))


def cells(notebook: Path) -> Iterator[tuple[str, str]]:
    """The kind of every cell, and what is written in it."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        yield cell["cell_type"], "".join(cell["source"])


def executed(source: str, names: dict[str, Any]) -> Any:
    """What a cell shows: the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "<cell>", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def _parts(notebook: Path) -> Iterator[str]:
    names: dict[str, Any] = {}
    for kind, source in cells(notebook):
        if kind == "markdown":
            yield source
        else:
            yield f"```python\n{source}\n```"
            yield _shown(executed(source, names))


def _shown(value: Any) -> str:
    told = getattr(value, "_repr_html_", None)
    content = f"<pre>{html.escape(repr(value))}</pre>" if told is None else told()
    # one line, as Markdown takes an empty one for the end of the block
    return f'<div class="shown">{" ".join(content.splitlines())}</div>'
