"""What sqlglot makes of the tokens, and whether it used them all.

Now and then sqlglot skips a word without a trace (the ALL in ``COUNT(ALL age)``, the star in
``FROM t *``). So every token must be a word of the small grammar or the origin of a node in the
tree, and of the words of the grammar there must be as many as nodes that they stand for.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import Parser, Token, TokenType, exp
from sqlglot.errors import ParseError

from sfumato.errors import QueryRefused
from sfumato.queries.sql.text import MAX_LENGTH, neighbours, refused, shown, word_of
from sfumato.queries.sql.words import UNUSED_WORDS


def tree_of(tokens: list[Token], text: str, kind: type[exp.Expr], shape: str) -> exp.Expr:
    """What sqlglot reads in the tokens, none of which is left over.

    ``shape`` tells in refusals what would be understood.
    """
    try:
        with _silence():
            # So much context that the part before the error tells where it is.
            found = Parser(error_message_context=MAX_LENGTH).parse_into(kind, tokens, text)
    except ParseError as error:
        raise _misread(tokens, error, shape) from error
    except RecursionError as error:
        raise refused("this is nested too deeply", "text", tokens[0].start + 1) from error
    except Exception as error:  # whatever a parser of twenty dialects stumbles over
        raise refused(f"this is not understood; {shape}", "text", tokens[0].start + 1) from error
    if len(found) != 1 or found[0] is None:
        raise refused(f"this is not understood; {shape}", "text", tokens[0].start + 1)
    _check_all_used(tokens, found[0], shape)
    _place_keywords(tokens, found[0])
    return found[0]


def check_counts(tokens: Sequence[Token], tree: exp.Expr) -> None:
    """Refuse a tree that lacks a node for a word, or has one too many.

    This comes last: before it, foreign nodes have been refused in plainer words.
    """
    words = Counter(token.token_type for token in tokens)
    nodes = Counter(type(node) for node in tree.walk())
    for word, kinds in _COUNTED.items():
        if words[word] != sum(nodes[kind] for kind in kinds):
            token = next((token for token in tokens if token.token_type is word), tokens[0])
            message = f"this use of {token.text.upper()} is not understood"
            raise refused(message, "text", token.start + 1)


_COUNTED: dict[TokenType, tuple[type[exp.Expr], ...]] = {
    TokenType.NOT: (exp.Not,),
    TokenType.AND: (exp.And, exp.Between),
    TokenType.OR: (exp.Or,),
    TokenType.IN: (exp.In,),
    TokenType.BETWEEN: (exp.Between,),
    TokenType.IS: (exp.Is,),
    TokenType.NULL: (exp.Null,),
    TokenType.EQ: (exp.EQ,),
    TokenType.NEQ: (exp.NEQ,),
    TokenType.LT: (exp.LT,),
    TokenType.LTE: (exp.LTE,),
    TokenType.GT: (exp.GT,),
    TokenType.GTE: (exp.GTE,),
    TokenType.DASH: (exp.Neg,),
}


@contextmanager
def _silence() -> Iterator[None]:
    """Keep sqlglot from writing to the log what it thinks of a user's text."""
    logger = logging.getLogger("sqlglot")

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)


def _misread(tokens: Sequence[Token], error: ParseError, shape: str) -> QueryRefused:
    """A refusal where sqlglot gave up, or at the word before, if that must be the reason."""
    before = str(error.errors[0].get("start_context") or "") if error.errors else ""
    near = min(range(len(tokens)), key=lambda place: abs(tokens[place].start - len(before)))
    suspects = (
        token for token in tokens[max(near - 1, 0) : near] if word_of(token) in UNUSED_WORDS
    )
    return _unused(next(suspects, tokens[near]), shape)


_GRAMMAR = {
    TokenType.SELECT,
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.ALIAS,
    TokenType.AND,
    TokenType.OR,
    TokenType.NOT,
    TokenType.IN,
    TokenType.BETWEEN,
    TokenType.IS,
    TokenType.NULL,
    TokenType.TRUE,
    TokenType.FALSE,
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
    TokenType.PLUS,
    TokenType.DASH,
    TokenType.DOT,
    TokenType.COMMA,
    TokenType.L_PAREN,
    TokenType.R_PAREN,
}
_KEYWORDS = {TokenType.NULL, TokenType.TRUE, TokenType.FALSE}
_TYPES = {TokenType.DATE, TokenType.TIME, TokenType.TIMESTAMP}


def _check_all_used(tokens: Sequence[Token], tree: exp.Expr, shape: str) -> None:
    used = {node.meta.get("start") for node in tree.walk()}
    for _, token, after in neighbours(tokens):
        if token.token_type in _GRAMMAR:
            # Used, it would be a name; and neither "t AS" nor "age NOT IS NULL" is SQL.
            if token.start in used or _is_dangling(token, after):
                raise _unused(token, shape)
        elif token.start not in used and not _is_type(token, after):
            raise _unused(token, shape)


def _is_dangling(token: Token, after: Token | None) -> bool:
    if token.token_type is TokenType.ALIAS:
        return after is None or after.token_type in _GRAMMAR
    return token.token_type is TokenType.NOT and (after is None or after.token_type is TokenType.IS)


def _is_type(token: Token, after: Token | None) -> bool:
    """Whether this is the first word of DATE '2020-12-31'."""
    typed = after is not None and after.token_type is TokenType.STRING
    return typed and token.token_type in _TYPES


def _place_keywords(tokens: Sequence[Token], tree: exp.Expr) -> None:
    """Tell NULL, TRUE and FALSE where they stand; sqlglot does so for names and literals only."""
    nodes = [node for node in tree.dfs() if isinstance(node, exp.Null | exp.Boolean)]
    words = [token for token in tokens if token.token_type in _KEYWORDS]
    if len(nodes) == len(words):
        for node, word in zip(nodes, words, strict=True):
            node.meta["start"] = word.start


def _unused(token: Token, shape: str) -> QueryRefused:
    clause, message = UNUSED_WORDS.get(
        word_of(token), ("text", f"{shown(token.text)} is not understood here; {shape}")
    )
    return refused(message, clause, token.start + 1)
