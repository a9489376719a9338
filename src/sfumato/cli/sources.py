"""The table of a command: files, a folder, a pattern, an address, or what is piped in.

Standard input can be read once and commands read a table several times, so it is kept in a file
that only its owner may open, for as long as the command runs.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from sfumato.io.databases import shown_source
from sfumato.io.files import name_for

_STDIN = "-"
_KEPT = "sfumato.stdin"  # where a command finds what was piped in
_BLOCK = 2**20


def source_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add SOURCE: one, or several files that are one table; - is standard input."""
    return click.argument("source", nargs=-1, required=True, callback=_source)(command)


def typed(source: str | list[str]) -> list[str]:
    """A source as it was typed, for a command to copy; without the password of a database."""
    files = [source] if isinstance(source, str) else source
    kept = click.get_current_context().meta.get(_KEPT)
    return [_STDIN if file == kept else shown_source(file) for file in files]


def _source(
    context: click.Context, _argument: click.Parameter, given: tuple[str, ...]
) -> str | list[str]:
    if _STDIN not in given:
        return given[0] if len(given) == 1 else list(given)
    if len(given) > 1:
        raise click.UsageError("- is standard input, and cannot be read together with files")
    kept = context.with_resource(ExitStack())
    path = str(_kept(Path(kept.enter_context(TemporaryDirectory(prefix="sfumato-")))))
    context.meta[_KEPT] = path
    return path


def _kept(folder: Path) -> Path:
    """All of standard input, in a file whose name tells its kind."""
    path = folder / "stdin"
    with path.open("xb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK)
    return path.rename(folder / name_for(path))
