"""The nearest name that would have worked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# At difflib's own 0.6 an extension does the rest: patients.csv would be a typo of events.csv.
_ALIKE = 0.75


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question naming the known name closest to a mistyped one; empty if none is close."""
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=_ALIKE)
    return f"did you mean {folded[close[0]]!r}?" if close else ""
