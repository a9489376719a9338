"""sfumato convert: the same release in another file format."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from sfumato.cli import show
from sfumato.forms.load import load
from sfumato.io.folders import require_room


@click.command()
@click.argument("folder")
@click.argument("output")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["parquet", "csv"]),
    required=True,
    help="File format of the new folder's tables.",
)
@click.option("--force", is_flag=True, help="Replace an earlier release in the output folder.")
def convert(folder: str, output: str, file_format: Any, force: bool) -> None:
    """Write the release in FOLDER once more, to OUTPUT, with its tables as Parquet or CSV.

    \b
    sfumato convert out/ tables/ --format csv

    Rows, groups and release.json stay the same. Publishing the table again would make other groups,
    and whoever has two releases of the same people can tell more than each of them promises.
    """
    if Path(folder).resolve() in Path(output).resolve().parents:
        raise click.UsageError("the new folder must not lie in the old one")
    require_room(output, force)
    path = load(folder).write(output, force=force, format=file_format)
    page = show.console()
    show.say(page, f"Wrote {folder} as {file_format}: {path}", wrap=False)
    command = shlex.join(["sfumato", "verify", str(path)])
    show.say(page, f"Check it as a receiver would: {command}", wrap=False)
