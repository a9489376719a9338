"""sfumato statdb: make a statistical database, ask it, change it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, get_args

import click

from sfumato.audits.defaults import QUICK, QUICK_ROWS
from sfumato.cli import show
from sfumato.cli.attacked import tell_attacked
from sfumato.cli.ledgers import ledger_option
from sfumato.cli.reading import engine_options, file_options, table_options, taken
from sfumato.cli.results import FORMATS, print_result
from sfumato.cli.seeds import chosen_seed, seed_options
from sfumato.cli.sizes import Bytes
from sfumato.cli.sources import source_argument
from sfumato.cli.statdb_admin import log, token
from sfumato.cli.statdb_serve import serve
from sfumato.core.answer import Result
from sfumato.core.microdata import Microdata
from sfumato.core.query import COUNT, Query
from sfumato.core.schema import Schema
from sfumato.engines.choice import Cluster, Engine
from sfumato.engines.reading import read
from sfumato.io.schema_files import read_schema
from sfumato.queries.asked import question_of
from sfumato.statdb.accuracy import bands_of
from sfumato.statdb.database import StatDB
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.layout.making import Cohort, First
from sfumato.statdb.store import require_absent
from sfumato.statdb.updates import Update
from sfumato.statdb.updates.equal_rows import Twins


class _Cohort(click.ParamType):  # type: ignore[type-arg]
    """A number of groups, or all."""

    name = "number or all"

    def convert(self, value: Any, param: Any, ctx: Any) -> Cohort:
        if value == "default":
            return "default"
        if value == "all" or value is None:
            return None
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number of groups nor all", param, ctx)


@click.group()
def statdb() -> None:
    """A database that answers any number of counting questions with intervals.

    \b
    sfumato statdb create patients.csv -s schema.toml --m 5 -o patients.statdb
    sfumato statdb query patients.statdb "SELECT disease, COUNT(*) FROM t GROUP BY disease"
    """


for command in (serve, token, log):
    statdb.add_command(command)


@statdb.command()
@source_argument
@click.option(
    "-s", "--schema", "schema_path", required=True, metavar="FILE", help="Schema file (TOML)."
)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Folder to write.")
@click.option(
    "--m", type=int, default=10, show_default=True, help="Every row hides among M sensitive values."
)
@click.option(
    "--cohort",
    type=_Cohort(),
    default="default",
    help="Groups that are regrouped among each other, 8 by default; not for neighbours. Fewer tell "
    "less, more make shorter intervals; all: no limit and no regions, as in the paper.",
)
@click.option(
    "--framework",
    type=click.Choice(["anatomy", "generalization"]),
    default="anatomy",
    show_default=True,
    help="anatomy: quasi-identifiers are known anyway; generalization: they are not shown.",
)
@click.option(
    "--first",
    type=click.Choice(get_args(First)),
    help="neighbours: groups of neighbours that are never regrouped, the default unless there is a "
    "cohort. regions, signatures, anatomize: groups that are regrouped for every question, inside "
    "regions of neighbours (with a number as cohort the default) or in the whole table; anatomize "
    "has longer intervals.",
)
@click.option(
    "--size",
    type=int,
    metavar="N",
    help="Neighbours have groups of at least N rows; 5 times M by default.",
)
@engine_options("auto", "memory", "stream")
@click.option(
    "--memory",
    type=Bytes(),
    metavar="SIZE",
    help="How much memory the codes of the table may take, such as 2GB or 500MiB; by default half "
    "of what is free.",
)
@click.option(
    "--audit/--no-audit",
    "attacked",
    default=True,
    show_default=True,
    help=f"Let a learner attack the database, if it has at most {QUICK_ROWS:,} rows, and say "
    "what it guesses.",
)
@table_options
@seed_options
def create(
    source: str | list[str],
    schema_path: str,
    output: str,
    engine: Engine | Cluster,
    scheduler: str | None,
    master: str | None,
    memory: int | None,
    seed: str | None,
    seed_file: str | None,
    experiment: bool,
    attacked: bool,
    **options: Any,
) -> None:
    """Make a database of SOURCE in a new folder.

    SOURCE is a file, several files or a folder of them, an address (https://, s3://), the URL of a
    database, or - for standard input.

    The folder is the secret: whoever reads it knows everything, and without it no earlier answer
    can be given again. It is made for its owner only, and never replaced.
    """
    require_absent(output)
    seed = chosen_seed(seed, seed_file, experiment=experiment)
    schema = read_schema(schema_path)
    table = read(
        source, schema, engine=engine, scheduler=scheduler, master=master, memory_limit=memory,
        **taken(options),
    )  # fmt: skip
    made = StatDB.create(output, table, seed=seed, experiment=experiment, **options)
    page = show.console()
    rows = show.bold(f"{made.responder.n_rows:,}")
    kind, n = made.responder.stored.kinds
    show.say(page, "Stored ", rows, f" rows in {n:,} {kind}: {output}", wrap=False)
    show.say(page, f"  promised: {made.responder.m}-invariance of {made.responder.sensitive}")
    asked = shlex.join(["sfumato", "statdb", "query", output, "SELECT COUNT(*) FROM t"])
    whole = shlex.join(["sfumato", "audit", output])
    from sfumato.cli.summaries import tell_exposed  # what is asked or served does without

    tell_exposed(made)
    if isinstance(made.responder.stored, Layout) and made.responder.cohort != 1:
        show.say(
            page,
            "- That is from one answer. Groups are regrouped for every question: whoever compares "
            "answers finds out who shares a value with whom, and guesses better.",
        )
    if attacked:
        tell_attacked(lambda: made.audit(**QUICK), made.responder.n_rows, whole)
    show.say(page, f"Ask it: {asked}", wrap=False)


@statdb.command()
@click.argument("folder")
@click.argument("sql")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How answers are printed; arrow is the IPC stream format.",
)
def query(folder: str, sql: str, form: str) -> None:
    """Answer a SELECT about the database in FOLDER.

    Every aggregate comes as an interval from lo to hi that contains the truth; the value before
    it is an estimate. Asked again, or in other words, the answer is the same. Below the table
    stands how far estimates like these were off when the database was made, which is for you only.
    """
    database = StatDB.open(folder)
    result = database.query(sql)
    print_result(result, form)
    if form == "table":
        _tell_errors(database, question_of(sql), result)


def _tell_errors(database: StatDB, asked: Query, result: Result) -> None:
    """How far estimates of counts like these were off."""
    counts = [place for place, one in enumerate(asked.select) if one == COUNT]
    answers = [line[place] for line in result.answers for place in counts]
    estimates = [answer.estimate for answer in answers if not answer.exact]
    bands = bands_of(database.errors, estimates, database.responder.n_rows)
    if bands:
        page = show.console()
        show.say(page, "For you only: such estimates were off, when the database was made,")
        for band in bands:
            show.say(
                page,
                f"  of at most {band.share:.1%} of the rows: half of them by {band.half:.1%} or "
                f"less, 9 in 10 by {band.most:.1%} or less",
            )


@statdb.command()
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def info(folder: str, as_json: bool) -> None:
    """Check the database in FOLDER and show what everybody may know of it, and what only you may.

    Rows that wait are inserted rows that are held back, see: sfumato statdb apply --help
    """
    database = StatDB.open(folder)
    known = database.info()
    kind, n = database.responder.stored.kinds
    own = {
        kind: n,
        "counterfeits": database.counterfeits,
        "waiting": database.waiting.num_rows,
        "bytes": database.responder.stored.nbytes,
    }
    if as_json:
        errors = [band._asdict() for band in database.errors]
        show.print_json({**known, "for_you_only": {**own, "errors": errors}})
        return
    facts = [(name, known[name]) for name in ("rows", "m", "framework", "generation")]
    facts[2:2] = _made(known)
    if database.seed is not None:
        facts.append(("seed", database.seed))
    columns = [(f"{name} (quasi)", size) for name, size in known["quasi"].items()]
    columns += [(f"{name} (sensitive)", size) for name, size in known["sensitive"].items()]
    page = show.console()
    page.print(show.table("Database", ("fact", "value"), facts))
    page.print(show.table("Public domains", ("column", "values"), columns))
    own["rows that wait"] = own.pop("waiting")
    page.print(show.table("For you only", ("fact", "value"), list(own.items())))
    if database.errors:
        heads = ("questions that find at most", "asked", "half within", "9 in 10 within")
        bands = [
            (f"{one.share:.1%} of the rows", one.questions, f"{one.half:.1%}", f"{one.most:.1%}")
            for one in database.errors
        ]
        title = "Errors of estimated counts when it was made, for you only"
        page.print(show.table(title, heads, bands))


def _made(known: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """How a database was made, from what everybody may know."""
    if "size" in known:
        return [("made of", "neighbours, never regrouped"), ("rows in a group", known["size"])]
    cohort = ("cohort", known["cohort"] or "all")
    if "region" in known:
        made = ("made of", "groups that are regrouped in regions of neighbours")
        return [made, ("rows in a region", known["region"]), cohort]
    return [("made of", "groups that are regrouped"), cohort]


@statdb.command()
@click.argument("folder")
@click.option("--insert", metavar="FILE", help="Rows to insert.")
@click.option(
    "--delete",
    metavar="FILE",
    help="Rows to delete, by quasi-identifiers and sensitive value: identifiers are not kept, so "
    "of several equal rows any one goes.",
)
@file_options
@click.option(
    "--accept-exposure",
    is_flag=True,
    help="Let all rows that wait in now, each among m - 1 counterfeits. Who knows better than the "
    "frequencies in the database what newcomers have guesses right more often than 1/m.",
)
@click.option(
    "--accept-returns",
    is_flag=True,
    help="Insert rows with the quasi-identifiers of deleted ones, too: everybody sees two lists of "
    "such a person.",
)
@click.option(
    "--twins",
    type=click.Choice(get_args(Twins)),
    help="Whom a row to delete is about that is equal to one in the database and to one that waits "
    "or is inserted: the member of the database, or the newcomer (also if nothing has changed).",
)
@ledger_option
def apply(
    folder: str,
    insert: str | None,
    delete: str | None,
    accept_exposure: bool,
    accept_returns: bool,
    twins: Twins | None,
    ledger: str | None,
    **reading: Any,
) -> None:
    """Insert and delete rows of the database in FOLDER, all of them or none.

    Rows that stay keep their signatures: answers before and after together are m-invariant.

    Inserted rows wait until no sensitive value has more than 1/m of all that wait and, in a
    database of neighbours, until they are as many as a group has at least. Then all come in, and
    hide among each other; until then they are stored, and answered as if they were not
    there. Deleted rows go at once.

    Somebody who leaves and returns does not: the same person, deleted and inserted again, even
    with a corrected value, has a second signature, and the values in both may be a single one.
    A row that is in both files, equal in all columns, does not change with --twins newcomer.

    A sensitive value that the database does not know is refused: declare all values (order,
    taxonomy or bins in the schema) when you create it. A new value of a quasi-identifier becomes
    public. Columns with bins take numbers.
    """
    if insert is None and delete is None and not accept_exposure:
        raise click.UsageError("say what to change: --insert FILE, --delete FILE")
    database = StatDB.open(folder)
    done = database.apply(
        _rows(database, insert, reading),
        _rows(database, delete, reading),
        accept_exposure=accept_exposure,
        accept_returns=accept_returns,
        twins=twins,
        ledger=ledger,
    )
    page = show.console()
    show.say(
        page,
        f"{done.deleted:,} rows deleted, {done.inserted:,} inserted: {done.rows:,} rows, "
        f"{done.counterfeits:,} counterfeits",
    )
    if done.withdrawn:
        show.say(page, f"{done.withdrawn:,} rows deleted that were waiting")
    if done.waiting:
        show.say(
            page,
            f"{done.waiting:,} rows wait, and nobody is told of them: they come in {_when(done)}, "
            "or with --accept-exposure",
        )


@statdb.command()
@click.argument("folder")
def compact(folder: str) -> None:
    """Write the database in FOLDER anew, without what is left of deleted rows in its files.

    Deleting a row empties its place at once; what stood there stays in a file, unused, until all
    files are written again. That happens by itself when enough has changed, and here. All answers
    stay what they are.
    """
    StatDB.open(folder).compact()
    show.say(show.console(), f"Written anew: {folder}", wrap=False)


def _when(done: Update) -> str:
    if not done.lacking:
        return "with the next rows"
    return f"when at least {done.lacking:,} more rows have joined them"


def _rows(database: StatDB, source: str | None, reading: dict[str, Any]) -> Microdata | None:
    """Rows under the database's schema; identifiers need not be there, and bins are numbers."""
    if source is None:
        return None
    schema = database.responder.schema
    asked = Schema(
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        kinds={name: one.kind for name, one in schema.declarations.items() if one.kind},
    )
    return read(source, asked, **reading)
