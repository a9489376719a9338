"""What every source of answers can do; each form of release does it in its ``answers`` module."""

from __future__ import annotations

from typing import Protocol

from sfumato.answers.group_bounds import Found
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts
from sfumato.answers.value_bounds import Choices
from sfumato.core.answer import Likely
from sfumato.queries.columns import Catalog


class Answerer(Protocol):
    """A release, or a table, prepared once and asked often."""

    @property
    def catalog(self) -> Catalog:
        """The columns that can be asked about."""
        ...

    def find(self, where: Where) -> Found:
        """Rows that satisfy all conditions, group by group."""
        ...

    def likely(self, where: Where) -> Likely | None:
        """Where their number lies by chance, if chance decides what is shown; None elsewhere."""
        ...

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """The same for every value of an attribute."""
        ...

    def choices(self, where: Where, name: str, function: str) -> Choices:
        """What is known, for a function's purpose, of the values of an attribute in the rows that
        satisfy all conditions. The condition that it is not missing is among them.
        """
        ...


class Certain:
    """What shows nothing by chance, so that bounds are all that can be said."""

    __slots__ = ()

    def likely(self, _where: Where) -> None:
        """There is no such interval."""
