"""One spelling per value: what looks alike to people must not count as several values.

"flu", "flu " and "flu" with an invisible character in it are one disease. Counted as three they
would make a group look diverse that is not, so texts are folded before anything counts them:

- composed characters (Unicode NFC), so that "é" is one text however it was typed
- without characters that are not seen: Unicode category Cf (zero-width ones, soft hyphens, marks of
  direction and byte order), Default_Ignorable_Code_Point (variation selectors, fillers, joiners of
  graphemes), and controls that are no blanks
- without blanks around; a text of nothing else is missing

Other texts cannot be folded, for what is published would change: numbers that were read as texts
("20", "020", "20.0") may be codes that differ; a blank may be a line break, a wide letter a matter
of style. Where they are sensitive and both occur, the owner has to say. Letters of other alphabets
that look like Latin ones, such as Cyrillic vowels, are not looked for.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, SfumatoWarning

# what Default_Ignorable_Code_Point has beside Cf, for which RE2 knows no name, and controls but for
# tabs and line ends, which are blanks
_UNSEEN = (
    r"[\p{Cf}\x{034F}\x{115F}-\x{1160}\x{17B4}-\x{17B5}\x{180B}-\x{180F}\x{2060}-\x{206F}\x{3164}"
    r"\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFF8}\x{E0000}-\x{E0FFF}"
    r"\x00-\x08\x0E-\x1B\x7F-\x{84}\x{86}-\x{9F}]"
)
_BLANK_SIGN = "\u2800"  # Braille without dots, which Unicode counts among the symbols
# compatibility characters that do not look like what they stand for: "m²" is not "m2"
_APART = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")


def folded(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The texts in their one spelling; null where nothing is left."""
    if not pc.all(pc.ascii_is_printable(texts), min_count=0).as_py():
        texts = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFC"), _UNSEEN, "")
        # what was removed may have stood between a letter and its accent
        texts = pc.utf8_normalize(texts, "NFC")
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def spelled(text: str) -> str:
    """A text that somebody states, as columns have it; of blanks alone nothing is left.

    Half of a character, which no column can hold, is left as it is.
    """
    if text.isascii() and text.isprintable() and text[:1] != " " and text[-1:] != " ":
        return text
    try:
        return folded(pa.array([text], pa.string()))[0].as_py() or ""
    except UnicodeEncodeError:
        return text


def require_one_spelling(name: str, values: Iterable[Any]) -> None:
    """Raise if two sensitive texts are one number or look alike; warn if capital letters differ."""
    texts = [value for value in values if isinstance(value, str)]
    if twice := _alike(texts, _as_number):
        raise DataError(
            f"column {name!r} is sensitive and holds {twice[0]!r} and {twice[1]!r}: as numbers "
            "they are one value, counted they would be two. Write them alike (a --query can), or "
            "declare the order of the column if they are codes that differ",
            source=name,
        )
    if twice := _alike(texts, _as_seen):
        raise DataError(
            f"column {name!r} is sensitive and holds {twice[0]!r} and {twice[1]!r}: they look "
            "alike, counted they would be two values. Write them alike (a --query can), or declare "
            "the order of the column if they differ",
            source=name,
        )
    if twice := _alike(texts, lambda text: _as_seen(text).casefold()):
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


def _as_seen(text: str) -> str:
    """A text as people see it: letters without their width and font, blanks as one space."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFC", "".join(map(_plain_letter, text)))
    return " ".join(text.replace(_BLANK_SIGN, " ").split())


def _plain_letter(letter: str) -> str:
    if unicodedata.decomposition(letter).startswith(_APART):
        return letter
    return unicodedata.normalize("NFKC", letter)


def _as_number(text: str) -> float | None:
    try:
        return float(text) if any(letter.isdigit() for letter in text) else None
    except ValueError:
        return None
