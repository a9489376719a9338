"""A condition as tools write it, in the words that questions have.

    ("public"."people"."since" >= CAST('2020-01-01' AS date)) AND 1 = 1
    ("since" >= DATE '2020-01-01')

Names lose what stands before their dots, literals with a cast become literals of that type. All
else stays as it is, for the reader of questions to take or to refuse; places are kept, so that it
refuses at the place in the tool's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sfumato.core.query import Query
from sfumato.queries.asked import condition_of
from sfumato.server.wire.errors import NO_TABLE, NOT_SUPPORTED, SYNTAX, WireError
from sfumato.server.wire.tokens import Token
from sfumato.statdb.count.plain_text import read_plain


@dataclass(slots=True)
class Pieces:
    """A text that is put together from pieces of another one, each in the place it had there."""

    parts: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, start: int) -> None:
        """Append a piece that stands for what begins at a place of the other text."""
        # what is written otherwise is never longer than it was
        blanks = " " * (start - self.length)
        self.parts += (blanks, text)
        self.length = start + len(text)

    @property
    def text(self) -> str:
        """All pieces, and blanks between them."""
        return "".join(self.parts)


def read(pieces: Pieces, *, placed: bool) -> Query:
    """The query that counts what satisfies a condition; ``placed`` to have all its places."""
    text = pieces.text
    found = None if placed else read_plain(text)
    return found or condition_of(text)


def condition(tokens: Sequence[Token], qualifiers: frozenset[tuple[str, ...]]) -> Pieces:
    """The pieces of a condition in the words of questions."""
    pieces, at = Pieces(), 0
    tokens = _without_truisms(tokens)
    while at < len(tokens):
        at = _next(tokens, at, pieces, qualifiers)
    return pieces


def column(
    tokens: Sequence[Token], qualifiers: frozenset[tuple[str, ...]]
) -> tuple[str, int] | None:
    """The name of a column with what may stand before it, and where; None for anything else."""
    if not tokens or not len(tokens) % 2 or not all(one.is_name for one in tokens[::2]):
        return None
    if any(one.text != "." for one in tokens[1::2]):
        return None
    before = tuple(one.name.lower() for one in tokens[:-1:2])
    if before and before not in qualifiers:
        raise _unknown_table(tokens[0], before)
    return tokens[-1].name, tokens[0].start


def _next(
    tokens: Sequence[Token], at: int, pieces: Pieces, qualifiers: frozenset[tuple[str, ...]]
) -> int:
    token = tokens[at]
    if token.is_name and _text(tokens, at + 1) == ".":
        end = at + 1
        while _text(tokens, end) == "." and end + 1 < len(tokens):
            end += 2
        found = column(tokens[at:end], qualifiers)
        if found is None:
            raise WireError(SYNTAX, "this is no name of a column", at=token.start + 1)
        pieces.add(tokens[end - 1].text, tokens[end - 1].start)
        return end
    if token.word == "CAST" and _text(tokens, at + 1) == "(":
        return _cast(tokens, at, pieces)
    if token.word in _READERS and _text(tokens, at + 1) == "(":
        return _read_by_format(tokens, at, pieces)
    if token.kind in ("text", "number") or token.word in _CONSTANTS:
        return _literal(tokens, at, pieces)
    if token.word in _MOMENTS and (end := _typed(tokens, at, pieces)):
        return end
    if token.text == "::":
        raise _no_cast(token)
    pieces.add(token.text, token.start)
    return at + 1


def _literal(tokens: Sequence[Token], at: int, pieces: Pieces) -> int:
    """A literal, and all casts behind it."""
    return _add(tokens, at, at + 1, tokens[at].text, pieces)


def _add(tokens: Sequence[Token], at: int, end: int, written: str, pieces: Pieces) -> int:
    while _text(tokens, end) == "::":
        word, end = _type(tokens, end + 1)
        written = _converted(tokens[at], written, word)
    pieces.add(written, tokens[at].start)
    return end


def _cast(tokens: Sequence[Token], at: int, pieces: Pieces) -> int:
    """CAST('2020-01-01' AS date)."""
    value = tokens[at + 2] if at + 2 < len(tokens) else tokens[at]
    if value.kind not in ("text", "number") or _word(tokens, at + 3) != "AS":
        raise _no_cast(tokens[at])
    word, end = _type(tokens, at + 4)
    if _text(tokens, end) != ")":
        raise _no_cast(tokens[at])
    pieces.add(_converted(value, value.text, word), value.start)
    return end + 1


def _read_by_format(tokens: Sequence[Token], at: int, pieces: Pieces) -> int:
    """TO_DATE('2020-01-01', 'YYYY-MM-DD'), whose text is in ISO form already."""
    shape = [(one.kind, one.text) for one in tokens[at + 2 : at + 6]]
    token = tokens[at]
    if len(shape) == 4 and shape[0][0] == "text" and shape[1][1] == "," and shape[3][1] == ")":
        for form, word in _READERS[token.word].items():
            if shape[2][1].upper() == f"'{form}'":
                pieces.add(f"{word} {shape[0][1]}", tokens[at + 2].start)
                return at + 6
    raise WireError(
        NOT_SUPPORTED,
        f"this use of {token.word} is not supported",
        "write DATE '2020-12-31'",
        at=token.start + 1,
    )


_READERS = {
    "TO_DATE": {"YYYY-MM-DD": "DATE"},
    "TO_TIMESTAMP": {
        "YYYY-MM-DD HH24:MI:SS.US": "TIMESTAMP",
        "YYYY-MM-DD HH24:MI:SS.MS": "TIMESTAMP",
        "YYYY-MM-DD HH24:MI:SS": "TIMESTAMP",
    },
}


def _typed(tokens: Sequence[Token], at: int, pieces: Pieces) -> int:
    """TIMESTAMP WITH TIME ZONE '...', of which the zone is in the text; 0 if it is none."""
    word, end = _type(tokens, at)
    if end < len(tokens) and tokens[end].kind == "text":
        return _add(tokens, at, end + 1, f"{_MOMENTS[word]} {tokens[end].text}", pieces)
    return 0


def _type(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The first word of a type, and where it ends: character varying(10), timestamp with ..."""
    if _word(tokens, at) == "PG_CATALOG" and _text(tokens, at + 1) == ".":
        at += 2
    word, end = _word(tokens, at), at + 1
    while _word(tokens, end) in ("VARYING", "PRECISION", "WITH", "WITHOUT", "TIME", "ZONE"):
        end += 1
    if _text(tokens, end) == "(" and _text(tokens, end + 2) == ")":
        end += 3
    return word, end


_CONSTANTS = frozenset(("TRUE", "FALSE", "NULL"))
_MOMENTS = {"DATE": "DATE", "TIME": "TIME", "TIMESTAMP": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP"}
_TEXTS = frozenset(("TEXT", "VARCHAR", "CHARACTER", "BPCHAR", "CHAR", "NAME", "UNKNOWN"))
_NUMBERS = frozenset(
    ("INT", "INTEGER", "INT2", "INT4", "INT8", "SMALLINT", "BIGINT", "NUMERIC", "DECIMAL", "REAL",
     "DOUBLE", "FLOAT", "FLOAT4", "FLOAT8")
)  # fmt: skip


def _converted(value: Token, written: str, word: str) -> str:
    """A literal under a cast, if the cast changes nothing but its type."""
    is_text = written.startswith("'")
    if written.upper() in _CONSTANTS:
        return written
    if word in _TEXTS and is_text:
        return written
    if word in _MOMENTS and "'" in written:
        return f"{_MOMENTS[word]} {written[written.index(chr(39)) :]}"
    if word in _NUMBERS:
        number = written.strip("'") if is_text else written
        if number.lstrip("-").replace(".", "", 1).isdecimal():
            return number
    if word in ("BOOL", "BOOLEAN") and written.strip("'").lower() in ("t", "true", "f", "false"):
        return "TRUE" if written.strip("'").lower().startswith("t") else "FALSE"
    raise _no_cast(value)


def _without_truisms(tokens: Sequence[Token]) -> Sequence[Token]:
    """Without the 1 = 1 AND and the TRUE AND that tools begin with."""
    while True:
        count = 3 if [one.text for one in tokens[:3]] == ["1", "=", "1"] else 0
        count = count or int(_word(tokens, 0) == "TRUE")
        if not count or (len(tokens) > count and _word(tokens, count) != "AND"):
            return tokens
        tokens = tokens[count + 1 :]


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if at < len(tokens) and tokens[at].kind == "sign" else ""


def _word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].word if at < len(tokens) else ""


def _no_cast(token: Token) -> WireError:
    return WireError(
        NOT_SUPPORTED,
        "casts are supported of literals only",
        "a value fits the type of its column by itself",
        at=token.start + 1,
    )


def _unknown_table(token: Token, before: Sequence[str]) -> WireError:
    return WireError(NO_TABLE, f"there is no table {'.'.join(before)!r} here", at=token.start + 1)
