"""--person: several rows may be one person's, and promises count rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from sfumato.audits.risk import Risk
from sfumato.audits.risk.persons import PeopleInGroups, RowsPerPerson
from sfumato.errors import SfumatoWarning
from sfumato.io.tables import Source
from sfumato.verbs.publishing import OwnGroups


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
    if person is not None:
        _warn(RowsPerPerson.of(source, person, **reading).warning(k))


@dataclass(slots=True)
class People:
    """The people of a table that is published; ``hear`` is told who is in which group."""

    rows: RowsPerPerson
    groups: PeopleInGroups | None = field(default=None, init=False)

    @classmethod
    def of(cls, source: Source, person: str | None, reading: dict[str, Any]) -> People | None:
        """Those whom a column names, if one is named."""
        return None if person is None else cls(RowsPerPerson.of(source, person, **reading))

    def hear(self, own: OwnGroups) -> None:
        """Count the people of every group."""
        self.groups = PeopleInGroups.of(own, self.rows.who)

    def warn(self, k: int | None) -> None:
        """Say how many people groups have, or at least, where nothing is heard of groups."""
        found = self.groups
        _warn(self.rows.warning(k) if found is None else self.rows.warning_of(found, k))

    def risk(self, kind: str) -> Risk | None:
        """What is left of it in a release of this kind; None where rows are people."""
        found = None if self.rows.most == 1 else self.groups
        return None if found is None else found.risk(kind)


def _warn(said: str | None) -> None:
    if said is not None:
        warnings.warn(said, SfumatoWarning, stacklevel=1)
