"""sfumato demo: the main job on a bundled table of invented patients."""

from __future__ import annotations

import os
import shlex
from importlib import resources
from pathlib import Path

import click
import pyarrow as pa

from sfumato.algorithms.mondrian import Mondrian
from sfumato.audits.risk import assess
from sfumato.audits.verify import verify
from sfumato.cli import show
from sfumato.cli.summaries import summarize
from sfumato.engines.reading import read
from sfumato.errors import OutputExists
from sfumato.forms.remembering import forget
from sfumato.io.folders import require_room
from sfumato.io.paths import usable
from sfumato.io.schema_files import read_schema
from sfumato.io.tables import read_table
from sfumato.models.anonymity import KAnonymity
from sfumato.models.diversity import LDiversity
from sfumato.verbs import publish

K, L, SHOWN = 5, 3, 3
FOLDER = "sfumato-demo"
_DATA = resources.files("sfumato") / "data"
_FILES = ("patients.csv", "patients.toml")


@click.command()
@click.option(
    "-o",
    "--output",
    default=FOLDER,
    show_default=True,
    metavar="FOLDER",
    help="Folder for the demo release.",
)
@click.option("--force", is_flag=True, help="Replace an earlier release in that folder.")
@click.option(
    "--table",
    "home",
    metavar="FOLDER",
    help="Only write the table and its schema there, for the commands of the documentation.",
)
def demo(output: str, force: bool, home: str | None) -> None:
    """Read, assess, publish and verify a table of invented patients.

    An earlier demo in the default folder is replaced without asking.
    """
    if home is not None:
        _write_table(usable(home))
        return
    page = show.console()
    force = force or output == FOLDER
    require_room(output, force)
    with resources.as_file(_DATA) as folder:
        source, schema = folder / _FILES[0], read_schema(folder / _FILES[1])
        raw, table = read_table(source), read(source, schema)
    page.print(_sample("1. The table as the hospital has it (people invented)", raw))
    risk = assess(table)
    show.say(
        page,
        "Removing the names would not be enough: ",
        show.bold(f"{risk.unique_rows / risk.rows:.0%}"),
        f" of the patients are the only ones with their {', '.join(schema.quasi)}. Whoever has a "
        "voter list finds their row, and reads the disease.\n",
    )
    release = publish(table, Mondrian(), KAnonymity(K) & LDiversity(L), labels="text")
    page.print(_sample(f"2. Published with k = {K}, l = {L}", release.table))
    show.say(
        page,
        f"Every row now looks like at least {K - 1} others, and no disease makes up more than "
        f"1/{L} of such a group.\n",
    )
    forget(release)  # the people are invented, and every demo publishes them again
    path = release.write(output, force=force)
    summarize(release.manifest, path)
    _explain(path)


def _write_table(folder: Path) -> None:
    """Give the invented patients and their schema away, and replace nothing."""
    made = [folder / name for name in _FILES]
    for path in made:
        if os.path.lexists(path):
            raise OutputExists(f"{path} exists; choose another folder", path=path)
    folder.mkdir(parents=True, exist_ok=True)
    for path in made:
        path.write_bytes((_DATA / path.name).read_bytes())
    table, schema = map(str, made)
    first = shlex.join(
        ["sfumato", "publish", table, "-s", schema, "--k", str(K), "-o", str(folder / "out")]
    )
    page = show.console()
    show.say(page, f"Written: {table} and {schema} (the people are invented)", wrap=False)
    show.say(page, f"Publish it: {first}", wrap=False)


def _explain(path: Path) -> None:
    """Verify the files just written, and say what the promise means and does not mean."""
    page = show.console()
    found = verify(path).require()
    show.say(page, f"\n3. Verified from the files in {path}/ alone:")
    for check in found.checks:
        show.say(page, f"   kept: {check.statement}")
    show.say(
        page,
        f"\nWhat it means: an attacker who knows a person's age, sex and the rest narrows them "
        f"down to a group, and guesses the disease right with a chance of at most 1/{L}.\n"
        "What it does not mean: somebody who knows more than these columns, or who sees a second "
        "release of the same people, may learn more.",
    )
    files = ", ".join(sorted(entry.name for entry in path.iterdir()))
    show.say(page, f"\nThe result is in {path}/: {files}", wrap=False)


def _sample(title: str, rows: pa.Table) -> object:
    # a few rows from each third, so that several groups are seen
    thirds = [rows.slice(part * rows.num_rows // 3, SHOWN) for part in range(3)]
    shown = [
        [_cell(value) for value in row.values()] for third in thirds for row in third.to_pylist()
    ]
    return show.table(title, rows.column_names, shown)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
