"""The text of a query before its grammar: characters, words, parentheses, commas.

What has no meaning here is refused before sqlglot sees it, for sqlglot reads far more than is
understood, and some of that in surprising ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, Tokenizer, TokenType
from sqlglot.errors import SqlglotError

from sfumato.errors import QueryRefused
from sfumato.queries.sql.words import FOREIGN_SIGNS, FOREIGN_WORDS

MAX_LENGTH = 65_536
# Parentheses inside parentheses; sqlglot needs some twenty frames of Python's stack for each.
MAX_NESTING = 25


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text that has nothing foreign in it; the last may be a semicolon."""
    _check_characters(text)
    try:
        tokens = Tokenizer().tokenize(text)
    except (SqlglotError, ValueError) as error:
        raise refused("the text cannot be cut into words", "text", 1) from error
    _check_words(tokens)
    _check_parentheses(tokens)
    _check_commas(tokens)
    return tokens


def refused(message: str, clause: str, position: int) -> QueryRefused:
    """A refusal at a place in the text, counted from 1."""
    return QueryRefused(message, clause=clause, position=position)


def shown(text: str) -> str:
    """A piece of the user's text, short enough for a message."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def word_of(token: Token) -> str:
    """The word in capitals; nothing if it is quoted."""
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if quoted else " ".join(token.text.upper().split())


def neighbours(tokens: Sequence[Token]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    """Each token between the one before and the one behind, None at the ends."""
    for (before, _), (token, after) in pairwise(pairwise([None, *tokens, None])):
        assert token is not None
        yield before, token, after


# Control characters, and halves of characters that no encoding can write.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# A quote must not follow a letter (E'..', X'..' change what it means), nor a dot stand alone (.5).
# One piece at a time: possessive repetition of all of them is broken in early releases of 3.11.
_PIECE = re.compile(
    r"""[ \t\r\n\w,;()<>=*+]+ | (?<=[\w"])\. | != | -(?![->])
      | (?<![\w'"])'(?:[^']|'')*'(?!') | (?<![\w'"])"(?:[^"]|"")*"(?!") """,
    re.VERBOSE,
)


def _check_characters(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise refused(
            f"the text has {len(text):,} characters; up to {MAX_LENGTH:,} are read",
            "text",
            MAX_LENGTH + 1,
        )
    if control := _CONTROL.search(text):
        raise refused("a control character is in the text", "text", control.start() + 1)
    start = 0
    while start < len(text):
        piece = _PIECE.match(text, start)
        if piece is None:
            raise _foreign_sign(text, start)
        start = piece.end()


def _foreign_sign(text: str, start: int) -> QueryRefused:
    if text[start] in "'\"" and start and (text[start - 1].isalnum() or text[start - 1] in "_'\""):
        message = "a quote stands directly behind another word; put a space between them"
        return refused(message, "text", start + 1)
    for sign, (clause, message) in FOREIGN_SIGNS.items():
        if text.startswith(sign, start):
            return refused(message, clause, start + 1)
    return refused(f"the sign {shown(text[start])} is not understood", "text", start + 1)


def _check_words(tokens: Sequence[Token]) -> None:
    for place, token in enumerate(tokens):
        word = word_of(token)
        if token.token_type is TokenType.SEMICOLON and token is not tokens[-1]:
            message = "one statement at a time; nothing can stand behind a ;"
            raise refused(message, "text", token.start + 1)
        if word == "SELECT" and place:
            raise refused(
                "a SELECT inside or behind another one is not supported; ask two questions",
                "SELECT",
                token.start + 1,
            )
        if word in FOREIGN_WORDS:
            clause, message = FOREIGN_WORDS[word]
            raise refused(message, clause, token.start + 1)


def _check_parentheses(tokens: Sequence[Token]) -> None:
    still_open: list[int] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            still_open.append(token.start + 1)
        elif token.token_type is TokenType.R_PAREN:
            if not still_open:
                raise refused("this ) closes nothing", "text", token.start + 1)
            still_open.pop()
        if len(still_open) > MAX_NESTING:
            message = f"parentheses are nested more than {MAX_NESTING} deep"
            raise refused(message, "text", still_open[-1])
    if still_open:
        raise refused("this ( is never closed", "text", still_open[-1])


_BEFORE_LIST = {TokenType.L_PAREN, TokenType.COMMA, TokenType.SELECT, TokenType.GROUP_BY}
_AFTER_LIST = {TokenType.R_PAREN, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY}


def _check_commas(tokens: Sequence[Token]) -> None:
    for before, token, after in neighbours(tokens):
        if token.token_type is not TokenType.COMMA:
            continue
        if before is None or before.token_type in _BEFORE_LIST:
            raise refused("nothing stands before this comma", "text", token.start + 1)
        if after is None or after.token_type in _AFTER_LIST:
            raise refused("nothing stands behind this comma", "text", token.start + 1)
