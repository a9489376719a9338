"""sfumato explore: what should I publish? Many releases side by side, as a page or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from sfumato.audits.report.text import percent
from sfumato.audits.report.writing import require_place
from sfumato.cli import show
from sfumato.cli.choices import Choice
from sfumato.cli.persons import person_option, warn_of_repeats
from sfumato.cli.reading import table_options, taken
from sfumato.cli.sources import source_argument, typed
from sfumato.engines.reading import read
from sfumato.exploring import Exploration, Point
from sfumato.exploring import explore as explore_table
from sfumato.exploring.grid import KNOWN, USUAL
from sfumato.io.schema_files import read_schema
from sfumato.io.spelled import as_options

_PAGE = "explore.html"
_REFUSED = 3  # said with their reasons
_KINDS: dict[Any, str] = {int: "whole numbers", float: "numbers"}


def _numbers(kind: Callable[[str], Any]) -> Callable[..., tuple[Any, ...]]:
    """Several numbers, with commas between them."""

    def taken_apart(_context: Any, option: click.Parameter, given: str | None) -> tuple[Any, ...]:
        try:
            return tuple(kind(part) for part in given.split(",")) if given else ()
        except ValueError as error:
            raise click.BadParameter(
                f"{given!r} is no list of {_KINDS[kind]}, such as 5,10,25", param=option
            ) from error

    return taken_apart


@click.command()
@source_argument
@click.option(
    "-s",
    "--schema",
    "schema_path",
    required=True,
    metavar="FILE",
    help="Schema file (TOML): which column plays which role.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=Choice(KNOWN),
    help=f"A method to try; may be repeated. By default {', '.join(USUAL)}.",
)
@click.option("--k", callback=_numbers(int), metavar="K,...", help="k-anonymity: try each.")
@click.option("--l", callback=_numbers(float), metavar="L,...", help="l-diversity: try each.")
@click.option("--t", callback=_numbers(float), metavar="T,...", help="t-closeness: try each.")
@click.option("--m", callback=_numbers(float), metavar="M,...", help="perturb: try each.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help=f"Page to write; {_PAGE} by default, none by default with --json.",
)
@click.option("--seed", type=int, help="Repeat the points of an earlier page.")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Begin no point after that.")
@person_option
@table_options
@click.option("--force", is_flag=True, help="Replace an earlier page.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
def explore(
    source: str | list[str],
    schema_path: str,
    methods: tuple[str, ...],
    output: str | None,
    seed: int | None,
    time_limit: float | None,
    person: str | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Try many releases of SOURCE and say which one to publish.

    SOURCE is a file, several files or a folder of them, an address, the URL of a database, or - for
    standard input.

    \b
    sfumato explore patients.csv -s schema.toml
    sfumato explore patients.csv -s schema.toml --method mondrian --method anatomy --l 2,3,4,5

    Each release stands with its risk, what it keeps and what it loses. Nothing is published. The
    page holds true figures of the table: keep it to yourself. Ctrl-C keeps what is done.
    """
    page = output if output is not None or as_json else _PAGE
    if page is not None:
        require_place(page, force=force)
    reading = taken(given)
    with show.stages(as_json) as tell:
        tell("reading", 0.0)
        table = read(source, read_schema(schema_path), **reading)
        found = explore_table(
            table, methods=methods, seed=seed, time_limit=time_limit, progress=tell, **given
        )
    words = [*as_options(**reading), *(() if person is None else ("--person", person))]
    found = replace(found, source=typed(source), schema=schema_path, reading=words)
    warn_of_repeats(source, person, found.recommended.setting.k, reading)
    if page is not None:
        found.write_html(page, force=force)
    if as_json:
        show.print_json(found.to_dict())
    else:
        _print(show.console(), found, page)


def _print(page: Console, found: Exploration, written: str | None) -> None:
    refused = [one for one in found.points if one.refused is not None]
    head = ("method", "promise", "guess", "attacked", "surest", "exposed", "kept", "NCP", "")
    rows = [_row(one, found) for one in found.shown]
    title = f"{len(found.frontier)} of {len(found.points)} releases are beaten by no other"
    show.print_whole(page, show.table(title, head, rows))
    for one in refused[:_REFUSED]:
        show.say(page, f"Not feasible: {one.setting.method}, {one.setting.words}: {one.refused}")
    if len(refused) > _REFUSED:
        show.say(page, f"{len(refused) - _REFUSED} more are not feasible; the page says why.")
    for hint in found.hints:
        show.say(page, Text("Hint: ", "yellow"), hint)
    if found.left:
        show.say(page, f"No time was left for {len(found.left)} more.")
    chosen = found.recommended.setting
    show.say(page, show.bold(f"Recommended: {chosen.method}, {chosen.words}"))
    for reason in found.reasons:
        show.say(page, f"- {reason}")
    show.say(page, found.command, wrap=False)
    if written is not None:
        show.say(page, f"{written} holds true figures: keep it to yourself.", wrap=False)


def _row(one: Point, found: Exploration) -> tuple[str, ...]:
    return (
        one.setting.method,
        one.setting.words,
        percent(one.guess),
        "–" if one.learned is None else percent(one.learned),
        percent(one.surest),
        f"{one.likely:,}",
        percent(one.usefulness),
        "exact" if one.loss is None else percent(one.loss),
        "recommended" if one is found.recommended else "",
    )
