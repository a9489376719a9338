"""sfumato query: ask a release from the shell."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.results import FORMATS, print_result
from sfumato.core.askable import Askable
from sfumato.io.schema_files import read_schema
from sfumato.io.tables import read
from sfumato.releases.load import load


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
    print_result(_source(source, schema_path, missing).query(sql), form)


def _source(source: str, schema_path: str | None, missing: tuple[str, ...]) -> Askable:
    if schema_path is not None:
        return read(source, read_schema(schema_path), missing=missing)
    if Path(source).is_file():
        raise click.UsageError(f"{source} is a file: name a release folder, or add -s SCHEMA")
    return load(source)
