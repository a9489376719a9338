"""sfumato query: ask a release from the shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv

from sfumato.cli import show
from sfumato.core.answer import Answer, Result
from sfumato.core.askable import Askable
from sfumato.io.schema_files import read_schema
from sfumato.io.tables import read
from sfumato.releases.load import load

FORMATS = ("table", "csv", "json", "arrow")


@click.command()
@click.argument("source")
@click.argument("sql")
@click.option(
    "-s",
    "--schema",
    "schema_path",
    metavar="FILE",
    help="SOURCE is a table, not a release: answer exactly, for its owner.",
)
@click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that stands for a missing value in the table; may be repeated.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How answers are printed; arrow is the IPC stream format.",
)
def query(
    source: str, sql: str, schema_path: str | None, missing: tuple[str, ...], form: str
) -> None:  # fmt: skip
    """Answer a SELECT about the release in folder SOURCE.

    \b
    sfumato query out/ "SELECT COUNT(*) FROM t WHERE age <= 30 AND disease = 'flu'"
    sfumato query out/ "SELECT sex, COUNT(*), AVG(age) FROM t GROUP BY sex" --format csv
    sfumato query patients.csv -s schema.toml "SELECT COUNT(*) FROM t WHERE age <= 30"

    Every aggregate comes with an estimate, which assumes that values inside a group are spread
    evenly, and with bounds lo and hi, between which the truth lies whatever the values are.
    """
    result = _source(source, schema_path, missing).query(sql)
    if form == "json":
        show.print_json(_stated(result))
    elif form == "csv":
        pyarrow.csv.write_csv(result.table, sys.stdout.buffer)
    elif form == "arrow":
        _write_stream(result.table)
    else:
        _print(result)


def _source(source: str, schema_path: str | None, missing: tuple[str, ...]) -> Askable:
    if schema_path is not None:
        return read(source, read_schema(schema_path), missing=missing)
    if Path(source).is_file():
        raise click.UsageError(f"{source} is a file: name a release folder, or add -s SCHEMA")
    return load(source)


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
        "estimate": answer.estimate,
        "lo": answer.lo,
        "hi": answer.hi,
        "nullable": answer.nullable,
    }
    return stated if answer.likely is None else {**stated, "likely": asdict(answer.likely)}


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
    page.print(show.table("", columns, lines))
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
