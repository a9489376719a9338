"""sfumato verify: exit 0 when every promise is kept, 1 when one is broken."""

from __future__ import annotations

import click
from rich.text import Text

from sfumato.audits.report.text import plural
from sfumato.audits.verify import verify as verify_release
from sfumato.cli import show
from sfumato.cli.reading import engine_options


@click.command()
@click.argument("folder")
@engine_options("memory")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def verify(
    folder: str, engine: str, scheduler: str | None, master: str | None, as_json: bool
) -> int:
    """Compute every promise of the release in FOLDER again, from its files alone.

    Exits with 1 when a promise is broken and names the group that breaks it.
    """
    found = verify_release(folder, engine=engine, scheduler=scheduler, master=master)
    if as_json:
        show.print_json(found.to_dict())
    else:
        page = show.console()
        show.say(
            page, f"{found.path}: {plural(found.rows, 'row')}, {plural(found.groups, 'group')}"
        )
        for check in found.checks:
            mark = Text("kept  ", "green") if check.kept else Text("BROKEN", "red")
            show.say(page, "  ", mark, f" {show.one_line(check.statement)}")
            if check.detail:
                show.say(page, f"         {show.one_line(check.detail)}")
    return 0 if found.ok else 1
