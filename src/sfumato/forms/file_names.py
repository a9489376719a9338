"""Names of files that are about one column each: distinct and legal wherever they are copied to.

Some systems take ``st_A`` and ``st_a`` for one file, or two ways of writing an accent; some refuse
colons and question marks; none takes names of any length. And a column may be called like a path
out of the folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

_STRANGE = re.compile(r'[%/\\<>:"|?*\x00-\x1f\x7f]')
_STRANGE_BEFORE = re.compile(r"[%/\\\0]")
_MOST = 150  # bytes, of the 255 that systems allow for a whole name


def stems_of(prefix: str, names: Sequence[str]) -> tuple[str, ...]:
    """A name for the file of each column, without its ending; the only one is called ``prefix``.

    Of names that some system takes for one, those after the first are numbered.
    """
    if len(names) <= 1:
        return (prefix,) * len(names)
    stems: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = stem = f"{prefix}_{_shortened(_escaped(_STRANGE, name))}"
        number = 1
        while _folded(stem) in taken:
            number += 1
            stem = f"{plain}~{number}"
        taken.add(_folded(stem))
        stems.append(stem)
    return tuple(stems)


def stems_found(prefix: str, names: Sequence[str], there: Callable[[str], bool]) -> tuple[str, ...]:
    """The same, or the names that such files had before where those are there instead."""
    before = [f"{prefix}_{_escaped(_STRANGE_BEFORE, name)}" for name in names]
    now = stems_of(prefix, names)
    if len(names) <= 1 or all(map(there, now)) or not all(map(there, before)):
        return now
    return tuple(before)


def _escaped(strange: re.Pattern[str], name: str) -> str:
    return strange.sub(lambda found: f"%{ord(found[0]):02X}", name)


def _shortened(name: str) -> str:
    return name.encode()[:_MOST].decode(errors="ignore")


def _folded(stem: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", stem).casefold())
