"""sfumato query: ask a release from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.asking.folded import open_release
from sfumato.asking.sharpening import sharpen as sharpened
from sfumato.asking.unseen import unseen
from sfumato.cli import show
from sfumato.cli.reading import engine_options, table_options
from sfumato.cli.results import FORMATS, print_result
from sfumato.core.askable import Askable
from sfumato.engines.choice import address_of
from sfumato.engines.reading import read
from sfumato.errors import shortened
from sfumato.forms.load import load
from sfumato.io.dialects import POINT
from sfumato.io.schema_files import read_schema


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
@table_options
@engine_options("memory", "stream")
@click.option(
    "--sharpen",
    is_flag=True,
    help="Anatomized or permuted: learn from all groups what goes with what, for estimates of "
    "COUNT that are mostly nearer to the truth. Bounds stay.",
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
    source: str,
    sql: str,
    schema_path: str | None,
    sharpen: bool,
    form: str,
    engine: str,
    scheduler: str | None,
    master: str | None,
    **reading: Any,
) -> None:
    """Answer a SELECT about the release in folder SOURCE.

    \b
    sfumato query out/ "SELECT COUNT(*) FROM t WHERE age <= 30 AND disease = 'flu'"
    sfumato query out/ "SELECT sex, COUNT(*), AVG(age) FROM t GROUP BY sex" --format csv
    sfumato query patients.csv -s schema.toml "SELECT COUNT(*) FROM t WHERE age <= 30"
    sfumato query postgresql://db/clinic --query patients -s schema.toml "SELECT COUNT(*) FROM t"

    Every aggregate comes with an estimate, which assumes that values inside a group are spread
    evenly (or learns from all groups how they are, with --sharpen), and with bounds lo and hi,
    between which the truth lies whatever the values are. A value that no row can have, perhaps a
    typing error, is noted on standard error.

    With --engine stream, dask or spark counts are found where the files lie, piece by piece; the
    release may then be larger than memory.
    """
    address_of(engine, scheduler, master)
    if sharpen and (engine != "memory" or schema_path is not None):
        raise click.UsageError("--sharpen learns from a release that is in memory")
    if engine != "memory":
        _require_release(source, schema_path, reading)
        with open_release(source, engine=engine, scheduler=scheduler, master=master) as opened:
            print_result(opened.query(sql), form)
        return
    asked = _source(source, schema_path, sharpen, reading)
    print_result(asked.query(sql), form)
    for sentence in unseen(asked, sql):
        # beside the answer, which may be piped on
        said = show.visible(show.one_line(sentence)).plain
        click.echo(f"sfumato: note: {shortened(said)}", err=True)


def _source(
    source: str, schema_path: str | None, sharpen: bool, reading: dict[str, Any]
) -> Askable:
    if schema_path is not None:
        return read(source, read_schema(schema_path), **reading)
    _require_release(source, None, reading)
    release = load(source)
    return sharpened(release) if sharpen else release


def _require_release(source: str, schema_path: str | None, reading: dict[str, Any]) -> None:
    """Raise unless it is a release that is asked."""
    if schema_path is not None:
        raise click.UsageError("--engine is for a release; a table is asked in memory")
    given = next((name for name, value in reading.items() if value and value != POINT), None)
    if given is not None:
        typed = given.replace("_", "-")
        raise click.UsageError(f"--{typed} is for a table: add its schema, -s FILE")
    if Path(source).is_file():
        raise click.UsageError(f"{source} is a file: name a release folder, or add -s SCHEMA")
