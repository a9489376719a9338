"""What somebody asks, as a Query: texts are read, queries are taken as they are.

Everything else is refused here, by its type: further on it would be an error of Python's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfumato.core.query import Query
from sfumato.errors import ParameterError
from sfumato.queries.sql import parse, parse_condition


def question_of(query: str | Query) -> Query:
    """The query that is asked."""
    if isinstance(query, Query):
        return query
    if isinstance(query, str):
        return parse(query)
    raise _no_question("a question", query, "SELECT COUNT(*) FROM t WHERE age <= 30", "query")


def condition_of(where: str | Query) -> Query:
    """The query that counts what satisfies a condition."""
    if isinstance(where, Query):
        return where
    if isinstance(where, str):
        return parse_condition(where)
    raise _no_question("a condition", where, "age <= 30 AND sex = 'F'", "where")


def questions_of(queries: Iterable[str | Query]) -> Iterator[Query]:
    """The queries of a workload."""
    return map(question_of, several(queries))


def several(queries: Iterable[str | Query]) -> Iterable[str | Query]:
    """A workload as it is; a single text is none, though its letters could be read."""
    if isinstance(queries, str | bytes | Query) or not isinstance(queries, Iterable):
        raise ParameterError(
            f"queries must be a list of texts or of Query objects, not {_kind(queries)}",
            parameter="queries",
        )
    return queries


def _no_question(what: str, found: object, example: str, parameter: str) -> ParameterError:
    return ParameterError(
        f"{what} is a text or a Query, not {_kind(found)}; write "
        f'"{example}" or Query({{"age": [30, 31]}})',
        parameter=parameter,
    )


def _kind(found: object) -> str:
    return "None" if found is None else f"a value of type {type(found).__name__}"
