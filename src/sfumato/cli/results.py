"""Answers on standard output: for people, and for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv

from sfumato.cli import show
from sfumato.core.answer import Answer, Result, plain

FORMATS = ("table", "csv", "json", "arrow")


def print_result(result: Result, form: str) -> None:
    """Print an answer in one of the FORMATS; arrow is the IPC stream format."""
    if form == "json":
        show.print_json(_stated(result))
    elif form == "csv":
        pyarrow.csv.write_csv(result.table, sys.stdout.buffer)
    elif form == "arrow":
        _write_stream(result.table)
    else:
        _print(result)


def _write_stream(table: pa.Table) -> None:
    if sys.stdout.isatty():
        raise click.UsageError("Arrow is not for a terminal; send it to a file or a program")
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


def _stated(result: Result) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(result.by, key, strict=True)),
            **{name: _answer(answer) for name, answer in zip(result.names, answers, strict=True)},
        }
        for key, answers in zip(result.keys, result.answers, strict=True)
    ]


def _answer(answer: Answer) -> dict[str, Any]:
    stated = {
        "estimate": _number(answer.estimate),
        "lo": _number(answer.lo),
        "hi": _number(answer.hi),
        "nullable": answer.nullable,
    }
    return stated if answer.likely is None else {**stated, "likely": asdict(answer.likely)}


def _number(value: Any) -> Any:
    return plain(value) if isinstance(value, Decimal) else value


def _print(result: Result) -> None:
    page = show.console()
    answers = [answer for line in result.answers for answer in line]
    level = next((answer.likely.level for answer in answers if answer.likely), None)
    columns = [*result.by]
    for name in result.names:
        columns += [name, "lo", "hi", *(() if level is None else ("likely", "to"))]
    lines = [
        [*map(_key, key), *(cell for one in line for cell in _cells(one, level is not None))]
        for key, line in zip(result.keys, result.answers, strict=True)
    ]
    show.print_whole(page, show.table("", columns, lines, in_one_piece=True))
    if all(answer.exact for answer in answers):
        show.say(page, "These answers are exact." if len(answers) > 1 else "This answer is exact.")
        return
    show.say(page, "Each value is an estimate; the truth surely lies between its lo and hi.")
    if level is not None:
        show.say(page, f"With {level:.0%} confidence it lies between the likely ends.")
    if any(answer.nullable and answer.lo is not None for answer in answers):
        show.say(page, "Where possibly no row qualifies, the bounds hold if one does.")


def _key(value: Any) -> str:
    return "(missing)" if value is None else str(value)


def _cells(answer: Answer, likely: bool) -> Sequence[Any]:
    shown = [answer.estimate, answer.lo, answer.hi]
    if not likely:
        return shown
    return [*shown, *((answer.likely.lo, answer.likely.hi) if answer.likely else (None, None))]
