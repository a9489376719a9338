"""sfumato inspect: look at a table before anything is promised."""

from __future__ import annotations

import click

from sfumato.audits.inspection import ColumnProfile, Risk, assess, guess_schema, profile
from sfumato.cli import show
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role, Schema
from sfumato.io.schema_files import read_schema, write_schema
from sfumato.io.tables import read_table


@click.command()
@click.argument("source")
@click.option(
    "-s",
    "--schema",
    "schema_path",
    metavar="FILE",
    help="Use this schema instead of guessing roles.",
)
@click.option("-o", "--output", metavar="FILE", help="Write a starting schema file.")
@click.option("--query", metavar="SQL", help="Read the result of a query (files are table t).")
@click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that stands for a missing value in a CSV file; may be repeated.",
)
@click.option("--force", is_flag=True, help="Replace an existing schema file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def inspect(
    source: str,
    schema_path: str | None,
    output: str | None,
    query: str | None,
    missing: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Show the columns of SOURCE, who could be found in it, and what could be promised.

    Roles are guesses on the safe side; look at each before you publish.
    """
    table = read_table(source, query=query, missing=missing)
    profiles = profile(table)
    schema = read_schema(schema_path) if schema_path else guess_schema(profiles)
    roles = schema.roles
    risk = assess(Microdata.from_arrow(table, schema))
    if output is not None:
        notes = {column.name: column.reason for column in profiles if column.name in roles}
        write_schema(output, schema, notes=notes, force=force)
    if as_json:
        show.print_json({
            "columns": [_column(column, roles) for column in profiles], "risk": risk.to_dict(),
        })  # fmt: skip
        return
    _print(source, profiles, schema, risk, guessed=schema_path is None)
    if output is not None:
        click.echo(
            f"Wrote {output}: look at every role, then: "
            f"sfumato publish {source} -s {output} --k 10 -o out/"
        )


def _column(column: ColumnProfile, roles: dict[str, Role]) -> dict[str, object]:
    return {
        "name": column.name,
        "type": column.type,
        "distinct": column.distinct,
        "missing": column.missing,
        "role": roles.get(column.name),
        "reason": column.reason,
    }


def _print(
    source: str, profiles: tuple[ColumnProfile, ...], schema: Schema, risk: Risk, guessed: bool
) -> None:
    page, roles = show.console(), schema.roles
    page.print(show.table(
        f"{source}: {risk.rows:,} rows",
        ("column", "type", "distinct", "missing", "role", "why" if guessed else ""),
        [
            (column.name, column.type, column.distinct, column.missing,
             roles.get(column.name, "(not read)"), column.reason if guessed else "")
            for column in profiles
        ],
    ))  # fmt: skip
    page.print(
        f"On {', '.join(schema.quasi)} together: [bold]{risk.unique_rows:,}[/] rows "
        f"({risk.unique_rows / risk.rows:.1%}) are the only ones of their kind, "
        f"{risk.rows_in_small_classes:,} ({risk.rows_in_small_classes / risk.rows:.1%}) share "
        f"their values with fewer than 4 others; as it stands the table is "
        f"{risk.smallest_class}-anonymous."
    )
    page.print(f"Largest feasible k: {risk.largest_k:,}.")
    if risk.sensitive:
        page.print(show.table(
            "What could be promised",
            ("sensitive", "most frequent", "largest l", "distinct l", "entropy l", "m"),
            [
                (found.name, f"{found.most_frequent_share:.1%}", found.largest_l,
                 found.largest_distinct_l, found.largest_entropy_l, found.largest_m)
                for found in risk.sensitive
            ],
        ))  # fmt: skip
    else:
        page.print("No sensitive column is named, so only k-anonymity can be promised.")
