"""A SELECT cut into its clauses, and a list into items, by tokens alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sfumato.server.wire.errors import NOT_SUPPORTED, SYNTAX, WireError
from sfumato.server.wire.tokens import Token, depths

Clauses = Mapping[str, Sequence[Token]]

# in this order, each at most once
_ORDER = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH")
_TWO_WORDS = {"GROUP": "BY", "ORDER": "BY"}
_FOREIGN = {
    **dict.fromkeys(("UNION", "INTERSECT", "EXCEPT"), "ask each SELECT as a question of its own"),
    **dict.fromkeys(
        ("JOIN", "CROSS", "NATURAL", "LATERAL", "TABLESAMPLE"), "a question is about one table"
    ),
    **dict.fromkeys(("WINDOW", "OVER"), "use GROUP BY"),
    "INTO": "an answer is not stored",
    "FOR": "a question locks nothing",
    "HAVING": "choose among the groups of the answer",
    "FILTER": "put its condition into WHERE",
}


def cut(tokens: Sequence[Token]) -> Clauses:
    """The tokens of every clause, without the words that it begins with."""
    found: dict[str, list[Token]] = {}
    skip, inside = False, depths(tokens)
    for place, (token, depth) in enumerate(zip(tokens, inside, strict=True)):
        if skip:
            skip = False
            continue
        if depth == 0 and token.word in _FOREIGN:
            raise _unsupported(token)
        if depth == 0 and token.word in _ORDER and _begins(tokens, place):
            if not _may_follow(token.word, found):
                message = f"{token.word} stands too late"
                raise WireError(SYNTAX, message, at=token.start + 1)
            found[token.word] = []
            skip = token.word in _TWO_WORDS
        elif not found:
            raise WireError(SYNTAX, f"{token.text!r} is not understood here", at=token.start + 1)
        else:
            found[next(reversed(found))].append(token)
    for word, inside_it in found.items():
        if not inside_it:
            raise WireError(SYNTAX, f"nothing stands behind {word}", at=_end(tokens))
    return found


def _end(tokens: Sequence[Token]) -> int:
    return tokens[-1].start + len(tokens[-1].text)


def _may_follow(word: str, found: Clauses) -> bool:
    if word == "LIMIT" and "LIMIT" not in found and next(reversed([*found]), "") == "OFFSET":
        return True  # they come in any order
    return all(_ORDER.index(one) < _ORDER.index(word) for one in found)


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word begins a clause: a column may be called like one, after a dot."""
    word = tokens[place].word
    if place and tokens[place - 1].text == ".":
        return False
    second = _TWO_WORDS.get(word)
    return second is None or (place + 1 < len(tokens) and tokens[place + 1].word == second)


class Listed(NamedTuple):
    """An item of SELECT: an expression, and the name that it is given, if any."""

    tokens: Sequence[Token]
    alias: str | None


def listed(tokens: Sequence[Token]) -> Listed:
    """An item with or without AS."""
    if not tokens:
        raise WireError(SYNTAX, "nothing stands before a comma")
    if len(tokens) > 2 and tokens[-2].word == "AS" and tokens[-1].is_name:
        return Listed(tokens[:-2], folded(tokens[-1]))
    # COUNT(*) n and sex s: the name stands right behind
    if len(tokens) > 1 and tokens[-1].is_name and tokens[-2].text != ".":
        return Listed(tokens[:-1], folded(tokens[-1]))
    return Listed(tokens, None)


def folded(token: Token) -> str:
    """A name as PostgreSQL keeps it: in small letters, unless it is quoted."""
    return token.name if token.kind == "name" else token.name.lower()


def number(tokens: Sequence[Token], clause: str) -> int | None:
    """How many rows LIMIT or OFFSET wants; None for all."""
    if not tokens:
        raise WireError(SYNTAX, f"{clause} takes a number")
    first, others = tokens[0], [one.word for one in tokens[1:]]
    if len(tokens) > 2 and tokens[1].text == "::":  # drivers say that it is a number
        others = others[2:]
    if others not in ([], ["ROWS"], ["ROW"]):
        raise WireError(SYNTAX, f"{clause} takes a number", at=first.start + 1)
    if first.word in ("ALL", "NULL"):
        return None
    if first.kind != "number" or not first.text.isdecimal() or len(first.text) > 18:
        raise WireError(SYNTAX, f"{clause} takes a whole number", at=first.start + 1)
    return int(first.text)


def fetched(tokens: Sequence[Token]) -> int:
    """FETCH FIRST 10 ROWS ONLY."""
    words = [one.word for one in tokens]
    if words[:1] not in (["FIRST"], ["NEXT"]) or words[-1:] != ["ONLY"]:
        raise WireError(SYNTAX, "write FETCH FIRST 10 ROWS ONLY")
    count = number(tokens[1:-1], "FETCH") if len(tokens) > 3 else 1
    return 1 if count is None else count


def _unsupported(token: Token) -> WireError:
    return WireError(
        NOT_SUPPORTED, f"{token.word} is not supported", _FOREIGN[token.word], at=token.start + 1
    )
