"""What the owner calls things: a table, its columns, the codes in them; no answer depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import SchemaError

_LONGEST = 2_000  # letters


@dataclass(frozen=True, slots=True)
class Words:
    """Title, description and source of a table; labels and units of columns, and names of values.

    ``names`` has the names of a column's values, by the value as a text.

    >>> words = sf.Words(labels={"edu": "education"}, names={"edu": {"21": "university"}})
    >>> words.label("edu"), words.name("edu", 21)
    ('education', 'university')
    """

    title: str = ""
    description: str = ""
    source: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is no text, or so long that nobody could show it."""
        for name in ("title", "description", "source"):
            _require_text(name, getattr(self, name))
        for name in ("labels", "units"):
            for column, text in getattr(self, name).items():
                _require_text(f"{name[:-1]} of {column!r}", text)
        for column, known in self.names.items():
            for value, text in known.items():
                _require_text(f"name of {value!r} in {column!r}", text)

    def label(self, column: str) -> str:
        """What a column is called."""
        return self.labels.get(column, column)

    def measured(self, column: str) -> str:
        """The same, with the unit in which it is measured."""
        unit = self.units.get(column)
        return f"{self.label(column)} in {unit}" if unit else self.label(column)

    def name(self, column: str, value: Any) -> str | None:
        """What a value is called; None if it has no other name."""
        known = self.names.get(column)
        return None if known is None else known.get(str(value))

    def columns(self) -> set[str]:
        """The columns that something is said about."""
        return {*self.labels, *self.units, *self.names}

    def to_dict(self) -> dict[str, Any]:
        """What is said, without what is not."""
        told = {
            "title": self.title,
            "description": self.description,
            "source": self.source,
            "labels": dict(self.labels),
            "units": dict(self.units),
            "names": {column: dict(known) for column, known in self.names.items()},
        }
        return {name: one for name, one in told.items() if one}


def _require_text(what: str, text: object) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise SchemaError(f"the {what} is a text of at most {_LONGEST:,} letters, not {text!r:.80}")
