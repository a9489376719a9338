"""What the commands share for showing things: tables, progress, numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import click
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from sfumato.algorithms.base import Stages, silent

_TEXT = 10  # letters: texts may be folded, to so many at least
_HEADER = 20  # letters of a name that is longer than all numbers under it


def console() -> Console:
    """The terminal, or a plain wide page when the output is read by a program."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=120, color_system=None)


def say(page: Console, *parts: str | Text, wrap: bool = True) -> None:
    """Print a line in which a column called [bold] is called [bold].

    Rich reads plain texts for markup and :emoji:, and names, values and paths are not ours. Only
    what is styled on purpose is a Text. Without ``wrap`` a long path or command stays in one piece.
    """
    page.print(Text.assemble(*(visible(part) for part in parts)), soft_wrap=not wrap)


def visible(part: str | Text) -> Text:
    """A text as it is; letters that would steer the terminal are spelled out."""
    if isinstance(part, Text):
        return part
    return Text("".join(
        letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in part
    ))  # fmt: skip


def one_line(text: str) -> str:
    """Somebody else's words, which must not look like lines of ours."""
    return text.replace("\n", "\\n")


def bold(text: str) -> Text:
    """A text that stands out."""
    return Text(text, "bold")


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    in_one_piece: bool = False,
) -> Table:
    """A table whose columns after the first are right-aligned when they hold numbers.

    Numbers ``in_one_piece`` are not folded where ``print_whole`` prints it.
    """
    drawn = Table(
        title=visible(title), title_justify="left", title_style="bold", header_style="bold"
    )
    lines = [tuple(cells) for cells in rows]
    for place, name in enumerate(columns):
        numbers = all(isinstance(cells[place], int | float | Decimal | None) for cells in lines)
        side: JustifyMethod = "right" if numbers and place else "left"
        header, width = visible(name), None
        if numbers and in_one_piece:
            longest = max((len(number(cells[place])) for cells in lines), default=0)
            width = max(longest, min(header.cell_len, _HEADER))
        drawn.add_column(header, justify=side, overflow="fold", width=width)
    for cells in lines:
        drawn.add_row(*(visible(number(cell)) for cell in cells))
    return drawn


def print_whole(page: Console, drawn: Table) -> None:
    """Print a table with its numbers in one piece, on a page that may be too narrow for them.

    Part of a number is another number; lines that are too long are the reader's to scroll.
    """
    needed = 1 + sum(3 + (column.width or _TEXT) for column in drawn.columns)
    if needed > page.width:
        drawn.width = needed
    page.print(drawn, crop=False)


def number(value: object) -> str:
    """Thousands separated, four digits at least, nothing for None, the rest as it is.

    Whole numbers and decimals are shown in full, and doubles up to where no page is wide enough.
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:,f}"
    if isinstance(value, int):
        return f"{value:,}"
    if 1000 <= abs(value) < 1e22:
        return f"{value:,.1f}" if abs(value) < 1e15 else f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 1e22 else repr(value)


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
