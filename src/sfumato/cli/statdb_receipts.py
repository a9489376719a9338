"""sfumato statdb log head and check: what holds a ledger to what it has said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from sfumato.cli import show
from sfumato.cli.ledgers import ledger_option
from sfumato.statdb.access.chains import verified
from sfumato.statdb.access.heads import read_head, stated_head
from sfumato.statdb.access.ledger_records import Head
from sfumato.statdb.access.places import Place
from sfumato.statdb.access.receipts import matching


@click.command()
@click.argument("folder")
@click.option(
    "--key", metavar="FILE", help="Sign it with the Ed25519 private key in FILE (PEM, no password)."
)
@ledger_option
def head(folder: str, key: str | None, ledger: str | None) -> None:
    """Print the end of the ledger of the database in FOLDER, to publish it or to note it.

    \b
    openssl genpkey -algorithm ed25519 -out owner.pem
    sfumato statdb log head patients.statdb --key owner.pem >> heads.jsonl
    """
    with Place.of(folder, ledger).ledger(read_only=True) as book:
        show.print_json(stated_head(book, key))


@click.command()
@click.argument("place", metavar="FOLDER|URL")
@click.argument("receipt")
@click.option("--database", help="Of a server that has several.")
@click.option(
    "--signed-by", "public_key", metavar="KEY", help="Public key of the owner, as in the head."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@ledger_option
def check(
    place: str,
    receipt: str,
    database: str | None,
    public_key: str | None,
    as_json: bool,
    ledger: str | None,
) -> int:
    """Look whether the ledger still holds what RECEIPT is for.

    RECEIPT stands in every answer, a number and a digest (17-9f86d0...); the file of a head that
    was published will do, too. Ask the server, with the token in SFUMATO_TOKEN, or the FOLDER.
    Compare the answer that is printed with yours: the digest was computed from it. Exits with 1
    if there is no such record.
    """
    file = Path(receipt)
    text = file.read_text("utf-8") if len(receipt) < 4_096 and file.is_file() else receipt
    wanted = read_head(text, public_key)
    found = (
        _asked(place, wanted, database)
        if "://" in place
        else _read(Place.of(place, ledger), wanted)
    )
    if as_json:
        show.print_json(found)
    else:
        _print(found, wanted)
    return 0 if found["ok"] else 1


def _read(place: Place, wanted: Head) -> dict[str, Any]:
    with place.ledger(read_only=True) as ledger:
        told = matching(ledger, wanted)
        if told is None:
            return {"ok": False, "problem": "there is no such record"}
        chain = verified(ledger, wanted)
        return {**told, "ok": chain.ok, "problem": chain.problem}


def _asked(url: str, wanted: Head, database: str | None) -> dict[str, Any]:
    from sfumato.client import connect

    with connect(url, token=os.environ.get("SFUMATO_TOKEN"), database=database) as server:
        told = server.check(str(wanted))
    problem = "" if told else "the server has no such record, or shows another one"
    return {**(told or {}), "ok": told is not None, "problem": problem}


def _print(found: dict[str, Any], wanted: Head) -> None:
    page = show.console()
    if not found["ok"]:
        show.say(page, f"BROKEN record {wanted.number:,}: {found['problem']}")
        return
    record = found.get("record")
    show.say(
        page, f"kept   record {wanted.number:,} is in the ledger, which ends with:", wrap=False
    )
    show.say(page, f"       {found['head']}", wrap=False)
    if record is not None:
        show.say(page, f"       {record['time']}  {record['question']}", wrap=False)
        show.say(page, f"       {found.get('answer') or ''}", wrap=False)
