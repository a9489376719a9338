"""The option of all commands that read or write a ledger: where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])


def ledger_option(command: _Function) -> _Function:
    """``--ledger URL``, of a ledger and tokens in PostgreSQL instead of in the folder."""
    return click.option(
        "--ledger",
        metavar="URL",
        envvar="SFUMATO_LEDGER",
        help="PostgreSQL database with the ledger and the tokens that several servers share "
        "(postgresql://user@host/database), instead of files in FOLDER. SFUMATO_LEDGER says it, "
        "too, and does not show in lists of processes.",
    )(command)
