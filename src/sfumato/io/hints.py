"""The nearest name that would have worked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

# At difflib's own 0.6 an extension does the rest: patients.csv would be a typo of events.csv.
_ALIKE = 0.75
# Comparing takes time in the length of both names; nobody mistypes a longer one.
_LONGEST = 200
_MOST = 10_000


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question naming the known name closest to a mistyped one; empty if none is close."""
    if len(name) > _LONGEST:
        return ""
    near = (other for other in known if len(other) <= _LONGEST)
    folded = {other.casefold(): other for other in islice(near, _MOST)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=_ALIKE)
    return f"did you mean {folded[close[0]]!r}?" if close else ""
