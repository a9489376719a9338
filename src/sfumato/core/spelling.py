"""One spelling per value: what looks alike to people must not count as several values.

"flu", "flu " and "flu" with an invisible character in it are one disease. Counted as three they
would make a group look diverse that is not, so texts are folded before anything counts them:

- composed characters (Unicode NFC), so that "é" is one text however it was typed
- without characters that are not seen (Unicode category Cf: zero-width ones, soft hyphens, marks of
  direction and byte order)
- without blanks around; a text of nothing else is missing

Numbers that were read as texts ("20", "020", "20.0") cannot be folded: as codes they may differ.
Where they are sensitive and both occur, the owner has to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, SfumatoWarning

_UNSEEN = r"\p{Cf}"


def folded(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The texts in their one spelling; null where nothing is left."""
    if not pc.all(pc.string_is_ascii(texts), min_count=0).as_py():
        texts = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFC"), _UNSEEN, "")
        # what was removed may have stood between a letter and its accent
        texts = pc.utf8_normalize(texts, "NFC")
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def spelled(text: str) -> str:
    """A text that somebody states, as columns have it; of blanks alone nothing is left.

    Half of a character, which no column can hold, is left as it is.
    """
    if text.isascii() and (not text or (text[0] > " " and text[-1] > " ")):
        return text
    try:
        return folded(pa.array([text], pa.string()))[0].as_py() or ""
    except UnicodeEncodeError:
        return text


def require_one_spelling(name: str, values: Iterable[Any]) -> None:
    """Raise if two sensitive texts are one number; warn if two differ in capital letters only."""
    texts = [value for value in values if isinstance(value, str)]
    if twice := _alike(texts, _as_number):
        raise DataError(
            f"column {name!r} is sensitive and holds {twice[0]!r} and {twice[1]!r}: as numbers "
            "they are one value, counted they would be two. Write them alike (a --query can), or "
            "declare the order of the column if they are codes that differ",
            source=name,
        )
    if twice := _alike(texts, str.casefold):
        warnings.warn(
            f"column {name!r} is sensitive and holds {twice[0]!r} and {twice[1]!r}, which count as "
            "different values; write them alike if they are one",
            SfumatoWarning,
            stacklevel=3,
        )


def _alike(texts: list[str], read: Any) -> tuple[str, str] | None:
    """Two texts that read the same."""
    seen: dict[Any, str] = {}
    for text in texts:
        if (key := read(text)) is not None and seen.setdefault(key, text) != text:
            return seen[key], text
    return None


def _as_number(text: str) -> float | None:
    try:
        return float(text) if any(letter.isdigit() for letter in text) else None
    except ValueError:
        return None
