"""Lists of queries as files: JSON, one query per line, or a list of queries in SQL.

A ``.sql`` file is somebody's own list: queries end with a semicolon or, in a file without any, at
the end of their line. Empty lines and lines that start with ``--`` do not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sfumato.core.query import Query
from sfumato.errors import DataError, ParameterError, QueryRefused
from sfumato.queries.json import from_line, to_line

# Everything up to a semicolon that stands in no quoted text; a quote that never ends is left alone.
_STATEMENT = re.compile(r"""(?:[^;'"]+|'[^']*'|"[^"]*"|['"])+""")


def write_workload(queries: Iterable[Query], path: str | Path) -> Path:
    """Write queries, one line of JSON each; the file appears whole or not at all.

    >>> questions = [sf.Query({"age": sf.at_most(30)}), sf.Query({"disease": ["flu"]})]
    >>> path = sf.write_workload(questions, "questions.jsonl")
    >>> len(sf.read_workload(path))
    2
    """
    target = Path(path)
    if _is_sql(target):
        raise ParameterError(
            f"workloads are written as JSON; call the file {target.stem}.jsonl", parameter="path"
        )
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{to_line(query)}\n" for query in queries)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def read_workload(path: str | Path) -> tuple[Query, ...]:
    """Read queries from lines of JSON, or from SQL if the file is called ``.sql``.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> questions = sf.range_workload(patients, queries=3, seed=1)
    >>> sf.read_workload(sf.write_workload(questions, "questions.jsonl")) == questions
    True
    """
    source = Path(path)
    if not source.is_file():
        raise DataError(f"no workload file {source}", source=str(source))
    try:
        text = source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{source} is not text in UTF-8: {error}", source=str(source)) from error
    return tuple(_from_sql(text, source) if _is_sql(source) else _from_json(text, source))


def _is_sql(path: Path) -> bool:
    return path.suffix.lower() == ".sql"


def _from_json(text: str, source: Path) -> Iterator[Query]:
    for number, line in _lines(text):
        try:
            yield from_line(line)
        except DataError as error:
            raise DataError(f"{source}, line {number}: {error}", source=str(source)) from error


def _from_sql(text: str, source: Path) -> Iterator[Query]:
    from sfumato.queries.sql import parse  # the parser takes a while to load

    for number, statement in _statements(text):
        try:
            yield parse(statement)
        except QueryRefused as error:
            raise QueryRefused(f"{source}, line {number}: {error}", clause=error.clause) from error


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Queries with the numbers of the lines on which they start."""
    text = "\n".join("" if _is_remark(line) else line for line in text.split("\n"))
    found = list(_STATEMENT.finditer(text))
    if len(found) == 1 and found[0].end() == len(text):
        yield from _lines(text)
        return
    for match in found:
        statement = match.group()
        blank = len(statement) - len(statement.lstrip())
        if statement.strip():
            yield text.count("\n", 0, match.start() + blank) + 1, statement.strip()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # not splitlines: JSON may hold other signs that Unicode calls ends of lines
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.strip()


def _is_remark(line: str) -> bool:
    return line.lstrip().startswith("--")
