"""sfumato statdb token, sfumato statdb log: who may ask a database, and what was asked."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, get_args

import click
from rich.text import Text

from sfumato.cli import show
from sfumato.cli.ledgers import ledger_option
from sfumato.cli.statdb_receipts import check, head
from sfumato.errors import OutputExists
from sfumato.statdb.access.books import KeptBook
from sfumato.statdb.access.ledger_checks import Check, check_log
from sfumato.statdb.access.ledger_records import ENTRY_FIELDS, referred
from sfumato.statdb.access.places import Place
from sfumato.statdb.access.tokens import Role

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")


class _Life(click.ParamType):  # type: ignore[type-arg]
    """So many hours, days or weeks, or never."""

    name = "90d, 12h, 4w or never"

    def convert(self, value: Any, param: Any, ctx: Any) -> timedelta | None:
        if value == "never" or value is None:
            return None
        match = re.fullmatch(r"([0-9]{1,6})([hdw])", str(value))
        if match is None:
            self.fail(f"{value!r} is no time from now: 90d, 12h, 4w or never", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


@click.group()
def token() -> None:
    """Who may ask a database through a server: make, list and revoke tokens."""


@token.command("create")
@click.argument("folder")
@click.option("--name", required=True, help="Whose token it is; shown in lists.")
@click.option(
    "--role",
    type=click.Choice(get_args(Role)),
    default="analyst",
    show_default=True,
    help="analyst: asks; auditor: also reads the ledger; owner: also lists tokens.",
)
@click.option(
    "--expires", type=_Life(), default="90d", show_default=True, help="When it stops working."
)
@click.option(
    "-o", "--output", metavar="FILE", help="New file for the secret, which only you can read."
)
@ledger_option
def create_token(
    folder: str,
    name: str,
    role: Role,
    expires: timedelta | None,
    output: str | None,
    ledger: str | None,
) -> None:
    """Make a token for the database in FOLDER.

    The secret is printed once, alone on standard output, or written to the FILE of -o; the database
    keeps a hash of it only.
    """
    with Place.of(folder, ledger).tokens() as tokens, _target(output) as file:
        # first the file: no token is made for whose secret there is no place
        made, secret = tokens.create(name, role, expires)
        click.echo(secret, file=file)
    until = "never expires" if made.expires is None else f"expires {_minute(made.expires)}"
    said = f"Token {made.id} for {name!r} ({role}) {until}. It cannot be shown again; to end it:"
    if output is not None:
        said = f"The secret is in {output}. {said}"
    command = shlex.join(["sfumato", "statdb", "token", "revoke", folder, made.id])
    click.echo(f"{said}\n  {command}", err=True)


@token.command("list")
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@ledger_option
def list_tokens(folder: str, as_json: bool, ledger: str | None) -> None:
    """List the tokens of the database in FOLDER, also those that expired or were revoked."""
    with Place.of(folder, ledger).tokens() as tokens:
        found = tokens.all()
    if as_json:
        show.print_json([one.to_dict() for one in found])
        return
    page = show.console()
    if not found:
        show.say(page, "There are no tokens.")
        return
    lines = [
        (one.id, one.name, one.role, one.state, _minute(one.created), _minute(one.expires))
        for one in found
    ]
    columns = ("id", "name", "role", "state", "created", "expires")
    page.print(show.table("Tokens", columns, lines))


@token.command("revoke")
@click.argument("folder")
@click.argument("token_id", metavar="ID")
@ledger_option
def revoke_token(folder: str, token_id: str, ledger: str | None) -> None:
    """End the token ID of the database in FOLDER, at once and for good."""
    with Place.of(folder, ledger).tokens() as tokens:
        ended = tokens.revoke(token_id)
    page = show.console()
    show.say(page, f"Token {ended.id} for {ended.name!r} is revoked.")


@click.group()
def log() -> None:
    """What was asked of a database through a server, and what was answered."""


for command in (head, check):
    log.add_command(command)


@log.command("export")
@click.argument("folder")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="jsonl is exact; csv is for spreadsheets, an apostrophe stands before what they would "
    "compute.",
)
@click.option("-o", "--output", metavar="FILE", help="File to write instead of standard output.")
@ledger_option
def export_log(folder: str, form: str, output: str | None, ledger: str | None) -> None:
    """Write all records of the ledger of the database in FOLDER.

    Records refer to long answers by their SHA-256; each of these stands once, on a line of its own
    before the first record that refers to it. In a CSV file they stand in the records.
    """
    with Place.of(folder, ledger).ledger(read_only=True) as book, _target(output) as file:
        if form == "csv":
            _write_csv(file, book)
        else:
            _write_lines(file, book)


@log.command("move")
@click.argument("folder")
@ledger_option
def move_log(folder: str, ledger: str | None) -> None:
    """Move the ledger and the tokens of the database in FOLDER to PostgreSQL.

    Several servers can share them there; receipts and heads stay good. No server may run meanwhile.
    Afterwards, all commands need --ledger, too.
    """
    from sfumato.statdb.access.moving import move_ledger

    if ledger is None:
        raise click.UsageError("say where to: --ledger postgresql://user@host/database")
    moved = move_ledger(folder, ledger)
    show.say(show.console(), f"{moved:,} records are in PostgreSQL, and go on there.")


@log.command("verify")
@click.argument("folder")
@click.option("--head", metavar="HEAD", help="A head noted earlier: the ledger must have it.")
@click.option(
    "--since", metavar="HEAD", help="The head of an earlier check: read only what came later."
)
@click.option(
    "--versions",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Make and check the versions behind so many questions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@ledger_option
def verify_log(
    folder: str,
    head: str | None,
    since: str | None,
    versions: int,
    as_json: bool,
    ledger: str | None,
) -> int:
    """Check the ledger of the database in FOLDER: its chain, and its answers against the store.

    Exits with 1 when something is wrong. Note the head that it prints in another place: only with
    --head can it find that records were cut off at the end. With --since it looks at what came
    after that head, in no time; now and then, check everything.
    """
    if head is not None and not re.fullmatch(r"\s*([0-9]+-)?[0-9a-fA-F]{64}\s*", head):
        raise click.UsageError("--head ends in 64 hexadecimal digits, as verify prints it")
    found = check_log(folder, head=head, since=since, versions=versions, ledger=ledger)
    if as_json:
        show.print_json(found.to_dict())
    else:
        _print(found)
    return 0 if found.ok else 1


def _print(found: Check) -> None:
    page = show.console()
    first, *_ = found.lines()
    show.say(page, first, wrap=False)
    for one in found.statements:
        mark = Text("kept  ", "green") if one.kept else Text("BROKEN", "red")
        show.say(page, "  ", mark, f" {one.statement}")
        if one.detail:
            show.say(page, f"         {one.detail}")
    for note in found.notes:
        show.say(page, note)


def _minute(time: datetime | None) -> str:
    return "never" if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


@contextmanager
def _target(output: str | None) -> Iterator[IO[str]]:
    """Standard output, or a new file for its owner only, which is there when it is whole."""
    if output is None:
        yield sys.stdout
        return
    path = Path(output)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    if os.path.lexists(path):
        raise OutputExists(f"{path} exists; choose another file", path=path)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _write_lines(file: IO[str], ledger: KeptBook) -> None:
    told: set[str] = set()
    for record in ledger.records():
        name = referred(record.entry.answer)
        if name is not None and name not in told:
            told.add(name)
            file.write(json.dumps({"sha256": name, "answer": ledger.answer(record.entry)}) + "\n")
        file.write(json.dumps(record.to_dict()) + "\n")


def _write_csv(file: IO[str], ledger: KeptBook) -> None:
    names = ("number", "time", *ENTRY_FIELDS, "previous", "digest")
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    for record in ledger.records():
        told = {**record.to_dict(), "answer": ledger.answer(record.entry)}
        writer.writerow({name: _cell(value) for name, value in told.items()})


def _cell(value: Any) -> Any:
    """Questions come from anybody, and must not become formulas of who opens the file."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_COMPUTED) else value
