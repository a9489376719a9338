"""sfumato audit: attack a release, and show what attackers reach beside the promise."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from sfumato.audits.audit import Audit, Finding
from sfumato.audits.audit import audit as audit_release
from sfumato.audits.audit.page import shares
from sfumato.audits.defaults import FAILING, KNOWN, TIME_LIMIT
from sfumato.audits.report.writing import require_place
from sfumato.cli import show
from sfumato.cli.methods import seconds
from sfumato.cli.reading import engine_options, table_options
from sfumato.engines.reading import read
from sfumato.io.schema_files import read_schema
from sfumato.statdb.database import StatDB
from sfumato.statdb.store import HEADER

_COLOURS = {
    "held": "green", "known anyway": "green", "not promised": "yellow",
    "beaten": "red", "invalid": "red",
}  # fmt: skip


@click.command()
@click.argument("folder")
@click.option("--truth", metavar="FILE", help="The table that was published (or its URL).")
@click.option("-s", "--schema", "schema_path", metavar="FILE", help="The table's schema.")
@click.option(
    "--others",
    metavar="FILE",
    help="People of the same population who are not in the table, for learners to study; half of "
    "the table by default.",
)
@click.option(
    "--release",
    "releases",
    multiple=True,
    metavar="FOLDER",
    help="Another release of the same table (or, of a database, another database), which an "
    "attacker has, too; may be repeated.",
)
@click.option(
    "--list",
    "listed",
    metavar="FILE",
    help="People who may be in a join release: who of them is in it for certain, and who is not.",
)
@click.option(
    "--known",
    type=float,
    multiple=True,
    default=(KNOWN,),
    show_default=True,
    metavar="SHARE",
    help="The share of people whose values an attacker knows; may be repeated.",
)
@click.option("--sensitive", metavar="NAME", help="Which sensitive column, if there are several.")
@click.option(
    "--attack", "attacks", multiple=True, metavar="NAME", help="This attack only; may be repeated."
)
@click.option(
    "--time-limit",
    default=str(TIME_LIMIT),
    show_default=True,
    metavar="SECONDS",
    callback=lambda _c, _p, given: seconds(given),
    help="Begin no further attack after so many seconds; none: no limit.",
)
@click.option(
    "--fail-above",
    type=float,
    default=FAILING,
    show_default=True,
    metavar="TIMES",
    callback=lambda _c, _p, given: _times(given),
    help="Exit with 1 if an attacker is right so many times as often as promised, or as a learner "
    "without the release.",
)
@click.option("--seed", type=int, help="Repeat an earlier audit.")
@click.option(
    "-o", "--output", metavar="FILE", help="Page to write, and beside it the same as JSON."
)
@table_options
@engine_options("auto", "memory", "stream")
@click.option("--force", is_flag=True, help="Replace an earlier report.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
def audit(
    folder: str,
    truth: str | None,
    schema_path: str | None,
    others: str | None,
    releases: tuple[str, ...],
    listed: str | None,
    known: tuple[float, ...],
    sensitive: str | None,
    attacks: tuple[str, ...],
    time_limit: float | None,
    fail_above: float,
    seed: int | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> int:
    """Attack the release or the database in FOLDER as somebody would who thinks.

    \b
    sfumato audit out/ --truth patients.csv -s schema.toml
    sfumato audit out/ --truth patients.csv -s schema.toml --others survey.csv -o audit.html
    sfumato audit patients.statdb/

    Every attack stands beside what is promised, beside a learner who has never seen the release,
    and beside a control: the same attack on the table with its sensitive column shuffled. The
    report is made with the true table: keep it to yourself. Exits with 1 when an attacker beats the
    promise by more than --fail-above, when a control fails, or when no attack was made. A database
    has its own true table.
    """
    pages = _pages(output)
    for page in pages:
        require_place(page, force=force)
    is_database = (Path(folder) / HEADER).exists()
    _require_table(truth, schema_path, others, is_database=is_database)
    if is_database and reading["engine"] != "auto":
        raise click.UsageError("--engine is for the true table; a database has its own")
    if is_database and (sensitive or listed):
        raise click.UsageError("--list and --sensitive are for releases; this is a database")
    for one in releases:
        if not is_database and (Path(one) / HEADER).exists():
            raise click.UsageError(
                f"{one} is a database; audit it, with --release for the release beside it"
            )
    wish: dict[str, Any] = {
        "known": known, "attacks": attacks or None, "time_limit": time_limit, "seed": seed,
    }  # fmt: skip
    with show.stages(as_json) as tell:
        tell("reading", 0.0)
        schema = read_schema(schema_path) if schema_path else None
        strangers = read(others, schema, **reading) if others and schema else None
        if is_database:
            found = StatDB.open(folder).audit(
                others=strangers, releases=releases, progress=tell, **wish
            )
        else:
            assert truth is not None
            assert schema is not None
            table = read(truth, schema, **reading)
            found = audit_release(
                folder, table,
                others=strangers, releases=releases, listed=listed, sensitive=sensitive,
                progress=tell, **wish,
            )  # fmt: skip
    for page, write in zip(pages, (found.write_html, found.write_json), strict=False):
        write(page, force=force)
    if as_json:
        show.print_json(found.to_dict())
    else:
        _print(show.console(), found, output)
    return 0 if found.findings and found.valid and not found.fails(fail_above) else 1


def _times(given: float) -> float:
    """A threshold that something can be above, and nothing is above by itself."""
    if not 0 <= given < inf:
        raise click.BadParameter(f"{given:g} is no number of times, from 0 up")
    return given


def _require_table(
    truth: str | None, schema_path: str | None, others: str | None, *, is_database: bool
) -> None:
    if is_database and truth is not None:
        raise click.UsageError("a database has its own true table; leave out --truth")
    if not is_database and (truth is None or schema_path is None):
        raise click.UsageError("say which table was published: --truth FILE -s FILE")
    if others is not None and schema_path is None:
        raise click.UsageError("--others needs the schema: -s FILE")


def _pages(output: str | None) -> tuple[Path, ...]:
    """The page, and the JSON beside it."""
    if output is None:
        return ()
    page = Path(output)
    if page.suffix == ".json":
        raise click.UsageError("-o names the page, such as audit.html; its JSON goes beside it")
    return page, page.with_suffix(".json")


def _print(page: Console, found: Audit, written: str | None) -> None:
    lines = [
        (one.name, *shares(one), Text(one.verdict, _COLOURS[one.verdict])) for one in found.findings
    ]
    promised = "promised" if found.promised else "a plain reader"
    title = "What is told of people"
    if found.sensitive is not None:
        title = f"How often {found.sensitive} is guessed right"
    columns = (
        "attack",
        "right",
        "surest 5%",
        "claimed",
        promised,
        "without the release",
        "control",
        "",
    )
    page.print(show.table(title, columns, lines))
    for one in found.findings:
        # of guesses that come to nothing the table has said all but who guesses
        said = one.who if one.guesses and one.verdict == "held" else f"{one.who}; {one.sentence}"
        show.say(page, show.bold(one.name), f"{_people(one)}: {said}.")
    for name, why in found.not_run.items():
        show.say(page, show.bold(name), f": not run, {why}.")
    summary = found.summary
    show.say(page, summary[:1].upper() + summary[1:] + ".")
    if written is not None:
        show.say(page, f"{written} was made with the true table: keep it to yourself.", wrap=False)


def _people(one: Finding) -> str:
    n = one.outcome.attacker.n
    # a search for a seed succeeds or does not, once, and is about nobody
    return f" ({n:,} people)" if one.fails is None and n > 1 else ""
