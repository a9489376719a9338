"""sfumato breach: what somebody outside can make of one person, or of everybody."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
import pyarrow as pa
from rich.console import Console

from sfumato.audits.breach import QUANTILES, Belief, Breach, Persons, View, everybody
from sfumato.audits.join_risk import JoinRisk, join_risk
from sfumato.audits.report.text import plural
from sfumato.cli import show
from sfumato.cli.reading import (
    engine_options,
    memory_option,
    table_options,
    taken_engine,
    workers_of,
)
from sfumato.core.schema import Role
from sfumato.engines.memory import memory_or_half
from sfumato.engines.parts import open_parts, require_in_memory
from sfumato.engines.reading import read
from sfumato.forms.load import is_joined, load
from sfumato.io.schema_files import read_schema
from sfumato.io.tables import read_table

_SHOWN = 20


@click.command()
@click.argument("folder")
@click.option(
    "--person",
    "stated",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="What is known of the person: some or all quasi-identifiers; NAME= is a missing value.",
)
@click.option("--external", metavar="FILE", help="A public list of persons, such as a voter list.")
@click.option("--truth", metavar="FILE", help="The table that was published, for everybody's risk.")
@click.option("-s", "--schema", "schema_path", metavar="FILE", help="Schema of the true table.")
@click.option("--sensitive", metavar="NAME", help="Which sensitive column, if there are several.")
@table_options
@engine_options("auto")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def breach(
    folder: str,
    stated: tuple[str, ...],
    external: str | None,
    truth: str | None,
    schema_path: str | None,
    sensitive: str | None,
    memory: int | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """Show how surely a sensitive value can be named from the release in FOLDER.

    \b
    sfumato breach out/ --person age=65,sex=F,zipcode=25000
    sfumato breach out/ --person age=65,sex=F --external voters.csv
    sfumato breach out/ --person age=65 --person '"job=nurse, night"'
    sfumato breach out/ --truth patients.csv -s schema.toml
    sfumato breach out/ --truth postgresql://db/clinic --query patients -s schema.toml

    The person's values are compared with the published tables; nothing else is known to the
    adversary. That nobody fits is an answer, not an error; that a word occurs nowhere in the
    release is one. The true table must be the one that was published.

    For a release that was joined with a public list, --truth shows how surely people are found and
    known to be in the table.
    """
    if not stated and truth is None:
        raise click.UsageError("say who: --person age=65,..., or everybody: --truth FILE -s FILE")
    if truth is not None and schema_path is None:
        raise click.UsageError("the true table needs its schema: -s FILE")
    if truth is None and (reading["query"] or reading["names"]):
        raise click.UsageError("--query and --names are for the true table: --truth FILE -s FILE")
    asked_engine = taken_engine(reading, folder)
    if truth is None and asked_engine[0] != "auto":
        raise click.UsageError("--engine is for the true table: --truth FILE -s FILE")
    limit, schema = memory_or_half(memory), read_schema(schema_path) if schema_path else None
    listing = {"missing": reading["missing"], "header": reading["header"]}
    if truth is not None and schema is not None and is_joined(folder):
        require_in_memory(truth, schema, limit, "finding out who is in the table")
        table = read(truth, schema, **reading)
        return _print_join_risk(join_risk(load(folder), table, external, **listing), as_json)
    view, person = View.read(folder, sensitive, limit), _person(stated)
    names = _names(view) if truth is not None else [*person]
    listed = None if external is None else _list(external, names, listing)
    found = view.belief(Persons.known(view.release, person), listed) if stated else None
    levels: dict[str, Breach] = {}
    if truth is not None and schema is not None:
        with (
            workers_of(asked_engine, folder, memory) as work,
            open_parts(truth, schema, limit, work=work, **reading) as rows,
        ):
            levels["rows"], levels["persons"] = everybody(view, rows, listed, limit)
    if as_json:
        show.print_json(_stated(person, found, levels))
        return 0
    page = show.console()
    if found is not None:
        _print_person(page, ",".join(stated), found)
    if levels:
        _print_everybody(page, levels, with_list=listed is not None)
    return 0


def _print_join_risk(risk: JoinRisk, as_json: bool) -> int:
    if as_json:
        show.print_json(risk.to_dict())
    else:
        show.say(show.console(), str(risk))
    return 0 if risk.kept else 1


def _person(stated: Sequence[str]) -> dict[str, str | None]:
    """NAME=VALUE pairs; an empty value is a missing one."""
    person: dict[str, str | None] = {}
    for pair in _pairs(stated):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not name or not equals:
            raise click.UsageError(
                f"--person wants NAME=VALUE,..., not {pair!r}; a pair with a comma of its own "
                'stands in quotes: "NAME=VALUE, MORE"'
            )
        if name in person:
            raise click.UsageError(f"--person names {name!r} twice")
        person[name] = value or None
    return person


def _pairs(stated: Sequence[str]) -> Iterator[str]:
    for line in stated:
        try:
            yield from next(csv.reader([line], skipinitialspace=True, strict=True), [""])
        except csv.Error as error:
            raise click.UsageError(f"--person cannot be read: {error}") from error


def _names(view: View) -> list[str]:
    return [column.name for column in view.release.manifest.of_role(Role.QUASI)]


def _list(external: str, names: Sequence[str], listing: Mapping[str, Any]) -> pa.Table:
    # only the columns that are compared: a list's names and addresses are nobody's business here
    return read_table(external, columns=names, trim=True, **listing)


def _stated(
    person: dict[str, str | None], found: Belief | None, levels: dict[str, Breach]
) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    if found is not None:
        stated["person"] = {"known": person, **found.to_dict()}
    if levels:
        stated["everybody"] = {level: seen.to_dict() for level, seen in levels.items()}
    return stated


def _print_person(page: Console, known: str, found: Belief) -> None:
    if not found.rows:
        why = "each of these values occurs, but no published row can have all of them"
        if found.unseen:
            why = f"no published row can have this {' or this '.join(found.unseen)}; is it right?"
        show.say(
            page,
            f"Nobody fits {known}: {why}. If this is what is known, the release tells nothing "
            f"about the person's {found.sensitive}.",
        )
        return
    listed = found.listed is not None
    columns = ("value", "probability", *(["in the table and this value"] if listed else []))
    lines = [
        (_named(value), f"{chance:.1%}", *([f"{found.breach(value):.1%}"] if listed else []))
        for value, chance in list(found.probabilities.items())[:_SHOWN]
    ]
    show.say(page, show.bold(f"{found.sensitive} of a person with "), known)
    page.print(show.table("", columns, lines))
    if len(found.probabilities) > _SHOWN:
        show.say(page, f"... and {len(found.probabilities) - _SHOWN:,} less likely values.")
    show.say(page, _meaning(found))


def _meaning(found: Belief) -> str:
    likeliest, *_ = found.probabilities
    said = (
        f"{plural(found.rows, 'published row')} in {plural(found.groups, 'group')} "
        f"{'fits' if found.rows == 1 else 'fit'}. Somebody who knows this of a person, and that "
        f"the person is in the table, does best to guess {_named(likeliest)} and is right with "
        f"probability {found.largest:.1%}."
    )
    if found.listed is None:
        return said
    return (
        f"{said} On the list {plural(found.listed, 'person')} "
        f"{'fits' if found.listed == 1 else 'fit'}: if it names everybody in the table, this "
        f"person is in it with probability {found.present:.1%}, and the guess is right with "
        f"{found.breach(likeliest):.1%}."
    )


def _print_everybody(page: Console, levels: dict[str, Breach], *, with_list: bool) -> None:
    rows, persons = levels["rows"], levels["persons"]
    title = f"Probability that the real {rows.sensitive} is named"
    lines: list[tuple[str, str, str]] = [
        ("largest", f"{rows.largest:.1%}", f"{persons.largest:.1%}"),
        ("how many have the largest", f"{rows.at_largest:,}", f"{persons.at_largest:,}"),
        *((f"{share:.0%} of all have at most",
           f"{rows.quantile(share):.1%}", f"{persons.quantile(share):.1%}")
          for share in QUANTILES),
        ("mean", f"{rows.mean:.1%}", f"{persons.mean:.1%}"),
    ]  # fmt: skip
    if rows.bound is not None:
        counts = (f"{rows.at_bound:,}", f"{persons.at_bound:,}")
        lines.append((f"how many reach the promised {rows.bound:.1%}", *counts))
    known = "by quasi-identifiers and the list" if with_list else "by quasi-identifiers"
    page.print(show.table(title, ("", "of a row whose group is known", known), lines))
    show.say(
        page,
        f"Of {persons.rows:,} people in the table, by a reader who takes all ways to hand out a "
        "group's values for alike. Attackers who learn guess better: sfumato audit",
    )
    if persons.unmatched:
        show.say(
            page,
            f"{plural(persons.unmatched, 'row')} of them were left out of the release: no "
            "published row fits, and they count as 0%.",
        )


def _named(value: Any) -> str:
    return "(missing)" if value is None else str(value)
