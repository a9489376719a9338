"""What the commands share for showing things: tables, progress, numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sfumato.verbs import Stages, silent


def console() -> Console:
    """The terminal, or a plain wide page when the output is read by a program."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=120, color_system=None)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose columns after the first are right-aligned when they hold numbers."""
    drawn = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    lines = [tuple(cells) for cells in rows]
    for place, name in enumerate(columns):
        numbers = all(isinstance(cells[place], int | float) for cells in lines)
        drawn.add_column(name, justify="right" if numbers and place else "left", overflow="fold")
    for cells in lines:
        drawn.add_row(*(escape(number(cell)) for cell in cells))
    return drawn


def number(value: object) -> str:
    """Thousands separated, fractions to four places, the rest as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


@contextmanager
def stages(quiet: bool) -> Iterator[Stages]:
    """A progress bar on standard error, one line per stage; nothing when nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    columns = (TextColumn("{task.description:>14}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def tell(stage: str, share: float) -> None:
            bar.update(task, description=stage, completed=share)

        yield tell
