"""Seeds on the command line: typed for experiments, in a file for everything else.

What is typed stays in the shell's history, and other users of the machine see it in the list of
processes. A file belongs to its owner, as a private key does, and is made when it is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sfumato.core.seeds import require_written, stated_seed
from sfumato.io.seed_files import seed_in

_Function = TypeVar("_Function", bound=Callable[..., Any])


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
        seed, made = seed_in(Path(path))
        if made:
            click.echo(f"Made a seed: {path}; keep it like a key", err=True)
    require_written(stated_seed(seed), experiment=experiment)
    return seed
