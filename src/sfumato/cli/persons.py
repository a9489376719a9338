"""--person: several rows may be one person's, and promises count rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import click

from sfumato.audits.risk.persons import RowsPerPerson
from sfumato.errors import SfumatoWarning
from sfumato.io.tables import Source


def person_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --person, for what is published."""
    return click.option(
        "--person",
        metavar="COLUMN",
        help="Whose rows are whose: say what k rows promise of people.",
    )(command)


def warn_of_repeats(
    source: Source, person: str | None, k: int | None, reading: dict[str, Any]
) -> None:
    """Say what k rows promise of people, where that is less."""
    said = None if person is None else RowsPerPerson.of(source, person, **reading).warning(k)
    if said is not None:
        warnings.warn(said, SfumatoWarning, stacklevel=1)
