"""What the risk audit of a join release answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.audits.breach.results import QUANTILES
from sfumato.core.arrays import Counts, Floats

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class JoinRisk:
    """For every row of the microdata, what somebody outside can find out about the person.

    ``reidentification`` is the chance of picking the person's line, which ``bound`` = 1/k promises
    not to exceed. ``presence`` is the chance that somebody with these values is in the microdata,
    for an attacker who knows of nobody but the people behind the lines; ``listed_presence`` the
    same for one who has a list. Both are at least so high where ``known`` is False: a release made
    by Direct does not tell how many lines are of the microdata, so they may be as high as 1.

    With a list, ``exposed`` are the rows of it about people who are in the microdata for certain
    (the edge attack), if the list names everybody of the microdata and of the external table.
    ``lacking`` counts boxes for which it names fewer people than there are lines: there it does
    not, and nothing is claimed. ``absent`` counts people on the list who are in no box: they are
    certainly not in the microdata, if they have the values there that the list says. ``mistaken``
    counts exposed people who are not in the table after all, so that the list, which names
    ``listed`` people, cannot name everybody.
    """

    bound: float
    reidentification: Floats
    presence: Floats
    known: bool
    listed_presence: Floats | None = None
    exposed: Counts | None = None
    lacking: int | None = None
    absent: int | None = None
    mistaken: int | None = None
    listed: int | None = None

    @property
    def kept(self) -> bool:
        """Whether no person's line is picked with a higher chance than 1/k (Theorem 2)."""
        return float(self.reidentification.max()) <= self.bound + _TOLERANCE

    @property
    def exposed_share(self) -> float | None:
        """People who are surely in the microdata, per row of it."""
        return None if self.exposed is None else len(self.exposed) / len(self.presence)

    def to_dict(self) -> dict[str, Any]:
        """The summary, for machines."""
        return {
            "rows": len(self.presence),
            "bound": self.bound,
            "kept": self.kept,
            "reidentification": _summary(self.reidentification),
            "presence": _summary(self.presence),
            "presence_known": self.known,
            "listed_presence": None
            if self.listed_presence is None
            else _summary(self.listed_presence),
            "exposed": None if self.exposed is None else len(self.exposed),
            "exposed_share": self.exposed_share,
            "boxes_lacking_people": self.lacking,
            "absent": self.absent,
            "mistaken": self.mistaken,
            "listed": self.listed,
        }

    def __str__(self) -> str:
        """The summary, for people."""
        least = "" if self.known else "at least "
        told = [
            f"picking a person's line: {_words(self.reidentification)}"
            f" (promised: at most {self.bound:.3g})",
            f"being in the microdata: {least}{_words(self.presence)}",
        ]
        if self.listed_presence is not None:
            told.append(
                f"the same to somebody who has the list: {least}{_words(self.listed_presence)}"
            )
        if self.exposed is not None:
            told.append(
                "people whom the edges of boxes give away, if the list names everybody: "
                f"{len(self.exposed):,}"
            )
        if self.absent is not None:
            told.append(
                f"people of the list who are certainly not in the microdata: {self.absent:,}"
            )
        if self.lacking:
            told.append(f"boxes with more lines than listed people: {self.lacking:,}")
        return "\n".join(told)

    def __repr__(self) -> str:
        """A summary in one line; ``str`` has more."""
        return (
            f"JoinRisk({len(self.presence):,} rows, reidentification at most "
            f"{self.reidentification.max():.3g}, promised {self.bound:.3g}, presence at most "
            f"{self.presence.max():.3g})"
        )


def _summary(chances: Floats) -> dict[str, Any]:
    quantiles = np.quantile(chances, QUANTILES).tolist()
    return {
        "largest": float(chances.max()),
        "mean": float(chances.mean()),
        "quantiles": dict(zip(map(str, QUANTILES), quantiles, strict=True)),
    }


def _words(chances: Floats) -> str:
    return f"{chances.max():.3g} for the worst row, {chances.mean():.3g} on average"
