"""Seeds on the command line: typed for experiments, in a file for everything else.

What is typed stays in the shell's history, and other users of the machine see it in the list of
processes. A file belongs to its owner, as a private key does, and is made when it is not there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sfumato.core.seeds import new_seed, require_written, stated_seed
from sfumato.errors import DataError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LONGEST = 2**16  # characters


def seed_options(command: _Function) -> _Function:
    """Add --seed, --seed-file and --experiment."""
    for option in (
        click.option(
            "--experiment",
            is_flag=True,
            help="Allow a short seed. The result says so: whoever tries seeds can undo it.",
        ),
        click.option(
            "--seed-file",
            metavar="FILE",
            help="Repeatable run, with the seed in FILE; it is made if it is not there. Keep it "
            "like a key: it undoes the shuffling.",
        ),
        click.option(
            "--seed",
            metavar="SEED",
            help="Repeatable run: a number of 128 bits or more, a passphrase of 16 characters or "
            "more, or with --experiment any number. Others may see what is typed: rather use "
            "--seed-file.",
        ),
    ):
        command = option(command)
    return command


def chosen_seed(seed: str | None, path: str | None, *, experiment: bool) -> str | None:
    """The seed that was asked for, found fit for what will be written."""
    if seed is not None and path is not None:
        raise click.UsageError("give either --seed or --seed-file")
    if path is not None:
        seed = _read_or_make(Path(path))
    require_written(stated_seed(seed), experiment=experiment)
    return seed


def _read_or_make(path: Path) -> str:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError:
        return _read(path)
    seed = str(new_seed())
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{seed}\n")
    click.echo(f"Made a seed: {path}; keep it like a key", err=True)
    return seed


def _read(path: Path) -> str:
    """The text of a file that only its owner can read."""
    try:
        with path.open(encoding="utf-8") as file:
            open_to = os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            text = file.read(_LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the seed in {path} cannot be read: {error}", source=str(path)) from error
    if os.name == "posix" and open_to:
        raise DataError(
            f"the seed in {path} can be read by others than its owner, and undoes what it is used "
            f"for: chmod 600 {path}",
            source=str(path),
        )
    if not text:
        raise DataError(f"there is no seed in {path}, it is empty", source=str(path))
    return text
