"""What the Tab key completes beside commands and options: names of files.

An option or argument that takes a file says so by how it is shown in --help.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

_SHOWN = frozenset({"FILE", "FOLDER"})
_NAMED = frozenset({"source", "folder", "table"})


def completing(command: click.Command) -> click.Command:
    """The same command, with files completed where they are wanted."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            completing(below)
    for parameter in command.params:
        if parameter.metavar in _SHOWN or parameter.name in _NAMED:
            parameter._custom_shell_complete = _files
    return command


def _files(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]  # which the shell itself does
