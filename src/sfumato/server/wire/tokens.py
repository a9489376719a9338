"""SQL cut into tokens, as PostgreSQL does: comments go, places in the text stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sfumato.server.caching import Cache
from sfumato.server.wire.errors import NOT_SUPPORTED, SYNTAX, WireError


class Token(NamedTuple):
    """A piece of a text, and where it begins. ``word`` is in capitals, and empty if quoted."""

    kind: str  # word, name (in double quotes), text, number, parameter, sign
    text: str
    start: int
    word: str

    @property
    def name(self) -> str:
        """The name that it spells; PostgreSQL makes small letters of those without quotes."""
        return self.text[1:-1].replace('""', '"') if self.kind == "name" else self.text

    @property
    def is_name(self) -> bool:
        """Whether it can be the name of something."""
        return self.kind in ("word", "name")


# possessive by hand: each alternative either matches as a whole or fails at once
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*[^*/]*(?:(?:\*(?!/)|/(?!\*))[^*/]*)*\*/)
      | (?P<text>'[^']*(?:''[^']*)*')
      | (?P<name>"[^"]+(?:""[^"]*)*")
      | (?P<word>[^\W\d][\w$]*)
      | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<parameter>\$\d+)
      | (?P<sign>::|<=|>=|<>|!=|!~~\*|!~~|!~\*|!~|~~\*|~~|~\*|\|\||->>|->
            |[-+*/%^<>=~!@#&|?,.;:()\[\]])
    """,
    re.VERBOSE,
)


def tokens_of(text: str) -> list[Token]:
    """All tokens of a text."""
    found: list[Token] = []
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() != at:
            break
        at = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            piece = match.group()
            word = piece.upper() if kind == "word" else ""
            if kind == "text" and found and _is_prefix(found[-1], match.start()):
                found.append(_prefixed(found.pop(), piece))
            else:
                found.append(Token(kind, piece, match.start(), word))
    if at != len(text):
        raise WireError(SYNTAX, f"the sign {text[at]!r} is not understood", at=at + 1)
    return found


def statements_of(text: str) -> Sequence[Sequence[Token]]:
    """The tokens of every statement of a text; none is empty. Tools repeat themselves."""
    found = _READ.get(text)
    if found is None:
        found = list(_statements(tokens_of(text)))
        _READ.put(text, found, _SIZE * (1 + sum(map(len, found))))
    return found


_READ: Cache[Sequence[Sequence[Token]]] = Cache(2**23)
_SIZE = 300  # bytes of a token, about


def _statements(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.text == ";" and token.kind == "sign":
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def depths(tokens: Sequence[Token]) -> list[int]:
    """In how many parentheses each token stands; a parenthesis stands outside of itself."""
    found, depth = [], 0
    for token in tokens:
        if token.text == ")" and token.kind == "sign":
            depth -= 1
            if depth < 0:
                raise WireError(SYNTAX, "this ) closes nothing", at=token.start + 1)
        found.append(depth)
        if token.text == "(" and token.kind == "sign":
            depth += 1
    if depth:
        raise WireError(SYNTAX, "a ( is never closed", at=tokens[-1].start + 1)
    return found


def split(tokens: Sequence[Token]) -> list[list[Token]]:
    """What stands between the commas outside of parentheses."""
    parts: list[list[Token]] = [[]]
    for token, depth in zip(tokens, depths(tokens), strict=True):
        if token.text == "," and token.kind == "sign" and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _is_prefix(before: Token, start: int) -> bool:
    return before.kind == "word" and before.start + len(before.text) == start


def _prefixed(prefix: Token, text: str) -> Token:
    """E'...', whose backslashes mean something, as a plain text."""
    if prefix.word != "E" or _ESCAPED.search(text.replace("\\\\", "")):
        raise WireError(
            NOT_SUPPORTED,
            f"texts like {prefix.text}'...' are not supported",
            "write 'text' with quotes doubled",
            at=prefix.start + 1,
        )
    plain = _ESCAPE.sub(lambda found: _ESCAPES[found[1]], text)
    return Token("text", plain, prefix.start, "")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_ESCAPE = re.compile(r"\\([ntr\\])")
_ESCAPED = re.compile(r"\\[^ntr]")
