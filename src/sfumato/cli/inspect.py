"""sfumato inspect: look at a table before anything is promised."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from sfumato.audits.inspecting import inspect_table
from sfumato.audits.inspection import ColumnProfile, Repeats, repeated_identifiers
from sfumato.audits.risk import Risk
from sfumato.audits.risk.wording import FORMULAS, listed
from sfumato.cli import show
from sfumato.cli.kinds import in_words
from sfumato.cli.reading import memory_option, table_options
from sfumato.cli.sources import source_argument, typed
from sfumato.core.schema import Role, Schema
from sfumato.errors import SchemaError
from sfumato.forms.identifying import identifying
from sfumato.io.schema_files import read_schema, write_schema
from sfumato.io.sources import label_of
from sfumato.io.spelled import as_options

_K, _L, _CLOSE = 10, 5, ("--t", "0.3")  # promises to start with
_NARROW = 100  # columns of a terminal in which the reasons would squeeze the names
_MANY = 15  # quasi-identifiers with which hardly any detail is left
_UNREAD = 12  # names of columns without a role


@click.command()
@source_argument
@click.option(
    "-s",
    "--schema",
    "schema_path",
    metavar="FILE",
    help="Use this schema instead of guessing roles.",
)
@click.option("-o", "--output", metavar="FILE", help="Write a starting schema file.")
@click.option("--person", metavar="COLUMN", help="Whose rows are whose: count people, not rows.")
@click.option(
    "--household", metavar="COLUMN", help="Who lives together: whoever finds one finds all."
)
@click.option(
    "--weight", metavar="COLUMN", help="Survey weights: for how many people each row stands."
)
@click.option(
    "--population", metavar="FILE", help="A list of everybody, with the quasi-identifying columns."
)
@click.option("--formulas", is_flag=True, help="Say how the figures of risk are computed.")
@table_options
@memory_option
@click.option("--force", is_flag=True, help="Replace an existing schema file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def inspect(
    source: str | list[str],
    schema_path: str | None,
    output: str | None,
    person: str | None,
    household: str | None,
    weight: str | None,
    population: str | None,
    formulas: bool,
    memory: int | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Show the columns of SOURCE, who could be found in it, and what could be promised.

    SOURCE is a file, several files or a folder of them, an address (https://, s3://), the URL of a
    database, or - for standard input.

    Roles are guesses on the safe side; look at each before you publish.
    """
    known = read_schema(schema_path) if schema_path else None
    seen = inspect_table(
        source, known, memory_limit=memory, **reading,
        person=person, household=household, weight=weight, population=population,
    )  # fmt: skip
    profiles, schema, risk = seen.profiles, seen.schema, seen.risk
    found = repeated_identifiers(profiles, _identifiers(profiles, schema), seen.rows)
    repeats = () if person else found
    if output is not None and schema is not None:
        notes = {column.name: column.reason for column in profiles if column.name in schema.roles}
        write_schema(output, schema, notes=notes, force=force)
    if as_json:
        show.print_json({
            "columns": [_column(column, schema) for column in profiles],
            "risk": risk.to_dict() if risk else None,
            "warnings": [one.to_dict() for one in found],
        })  # fmt: skip
    else:
        page = show.console()
        title = f"{label_of(typed(source))}: {seen.rows:,} rows"
        _print_columns(page, title, profiles, schema, guessed=schema_path is None)
        _print_hints(page, [one for one in profiles if _role(one, schema) is not None])
        if schema_path is None and schema is not None:
            _print_many(page, schema)
        _print_repeats(page, repeats)
        _print_identifying(page, profiles, schema, seen.rows)
        _print_risk(page, schema, risk, rows_are_people=not repeats)
        if formulas:
            page.print(show.table("Formulas", ("figure", "is"), list(FORMULAS.items())))
    if output is not None:
        whose = person or next((one.name for one in repeats), None)
        options = [*as_options(**reading), *(["--person", whose] if whose else [])]
        command = _publishing(source, output, options, risk)
        _tell_next(output, schema, command, quiet=as_json)


def _identifiers(profiles: Sequence[ColumnProfile], schema: Schema | None) -> tuple[str, ...]:
    if schema is not None:
        return schema.identifiers
    return tuple(column.name for column in profiles if column.role is Role.IDENTIFIER)


def _role(column: ColumnProfile, schema: Schema | None) -> Role | None:
    return column.role if schema is None else schema.roles.get(column.name)


def _column(column: ColumnProfile, schema: Schema | None) -> dict[str, object]:
    return {
        "name": column.name,
        "type": column.type,
        "distinct": column.distinct,
        "missing": column.missing,
        "role": _role(column, schema),
        "reason": column.reason,
        "hint": column.hint or None,
    }


def _print_columns(
    page: Console,
    title: str,
    profiles: Sequence[ColumnProfile],
    schema: Schema | None,
    guessed: bool,
) -> None:
    reasons = guessed and page.width >= _NARROW
    unread = [one.name for one in profiles if one.role and _role(one, schema) is None]
    lines = [
        (column.name, in_words(column.type), column.distinct, column.missing,
         _role(column, schema) or column.reason, *([column.reason] if reasons else []))
        for column in profiles if column.name not in unread
    ]  # fmt: skip
    headers = ("column", "type", "distinct", "missing", "role", *(["why"] if reasons else []))
    page.print(show.table(title, headers, lines))
    if unread:
        show.say(page, f"Not read, as the schema does not name them: {listed(unread, _UNREAD)}.")


def _print_hints(page: Console, profiles: Sequence[ColumnProfile]) -> None:
    for column in profiles:
        if column.hint:
            show.say(page, Text("Hint: ", "yellow"), f"{column.name} holds {column.hint}.")


def _print_many(page: Console, schema: Schema) -> None:
    """Guesses are on the safe side, and many of them together leave little to see."""
    if len(schema.quasi) > _MANY:
        show.say(
            page,
            Text("Hint: ", "yellow"),
            f"{len(schema.quasi)} columns are taken for known to others, and each blurs all of "
            "them: take out of the schema what readers do not need, and call sensitive what "
            "nobody outside could know.",
        )


def _print_repeats(page: Console, repeats: Sequence[Repeats]) -> None:
    for found in repeats:
        remedy = f"--person {shlex.quote(found.name)} counts people"
        show.say(page, Text("Warning: ", "yellow"), f"{found}; {remedy}.")


def _print_identifying(
    page: Console, profiles: Sequence[ColumnProfile], schema: Schema | None, rows: int
) -> None:
    """What schema files call insensitive; nothing is guessed to be."""
    for column in profiles:
        if _role(column, schema) is Role.INSENSITIVE:
            said = identifying(column.name, column.distinct or 0, rows)
            if said is not None:
                show.say(page, Text("Warning: ", "yellow"), f"{said}.")


def _print_risk(
    page: Console, schema: Schema | None, risk: Risk | None, *, rows_are_people: bool
) -> None:
    if schema is None or risk is None:
        show.say(
            page,
            "No column looks like a quasi-identifier, so nothing can be said about the risk. Name "
            "the columns that others may know in a schema file, and inspect again with -s.",
        )
        return
    said = "Who is exposed" if rows_are_people else "Who is exposed, every row taken for a person"
    show.say(page, show.bold(f"{said}:"))
    for sentence in risk.sentences:
        show.say(page, f"- {sentence}")
    show.say(page, f"As it stands the table is {risk.smallest_class:,}-anonymous.")
    if not risk.sensitive:
        show.say(page, "No sensitive column is named, so only k-anonymity can be promised.")
        return
    page.print(show.table(
        "What could be promised",
        ("sensitive", "most frequent", "largest l", "distinct l", "entropy l", "m"),
        [
            (found.name, f"{found.most_frequent_share:.1%}", found.largest_l,
             found.largest_distinct_l, found.largest_entropy_l, found.largest_m)
            for found in risk.sensitive
        ],
    ))  # fmt: skip


def _publishing(
    source: str | list[str], schema: str, reading: Sequence[str], risk: Risk | None
) -> str:
    """The command that comes next, ready for a shell, without the password of a database."""
    start = ("sfumato", "publish", *typed(source), "-s", schema)
    return shlex.join([*start, *reading, *_promises(risk), "-o", "out/"])


def _promises(risk: Risk | None) -> list[str]:
    """Promises to start with that can be kept: k-anonymity alone says nothing of sensitive values.

    An l close to the largest leaves little to see, and none is feasible where a value has half of
    the rows.
    """
    if risk is None:
        return ["--k", str(_K)]
    promises = ["--k", str(min(_K, risk.largest_k))]
    largest = min((found.largest_l for found in risk.sensitive), default=None)
    if largest is None:
        return promises
    return [*promises, *(("--l", str(min(_L, max(2, largest // 2)))) if largest > 1 else _CLOSE)]


def _tell_next(output: str, schema: Schema | None, command: str, quiet: bool) -> None:
    if schema is None:
        raise SchemaError(f"{output} is not written: a schema needs a quasi-identifying column")
    if not quiet:
        show.say(show.console(), f"Wrote {output}: look at every role, then: {command}", wrap=False)
