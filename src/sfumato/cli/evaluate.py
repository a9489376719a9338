"""sfumato evaluate: what a release is still good for, as a page or as JSON."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.text import Text

from sfumato.audits.evaluation import Evaluation
from sfumato.audits.evaluation import evaluate as evaluate_release
from sfumato.audits.report.text import number, percent, plural
from sfumato.audits.report.writing import require_place
from sfumato.audits.risk.wording import MOST_IMPORTANT
from sfumato.cli import show
from sfumato.cli.reading import (
    engine_options,
    memory_option,
    table_options,
    taken_engine,
    workers_of,
)
from sfumato.core.query import Query
from sfumato.engines.memory import memory_or_half
from sfumato.engines.parts import open_parts, require_in_memory
from sfumato.forms.load import is_joined
from sfumato.io.schema_files import read_schema
from sfumato.queries.workload_files import read_workload

_REPORT = "report.html"


@click.command()
@click.argument("folder")
@click.option(
    "--truth", required=True, metavar="FILE", help="The table that was published (or its URL)."
)
@click.option(
    "-s", "--schema", "schema_path", required=True, metavar="FILE", help="The table's schema."
)
@click.option(
    "--workload", "workload_path", metavar="FILE", help="Queries to ask: .sql or lines of JSON."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help=f"Page to write; {_REPORT} by default, none by default with --json.",
)
@click.option(
    "--queries", type=int, help="How many random queries, without a workload; 600 or less."
)
@click.option(
    "--learn", is_flag=True, help="Train models on the release, too; takes sfumato[audit]."
)
@click.option("--seed", type=int, help="Repeat the random queries of an earlier report.")
@table_options
@engine_options("auto")
@memory_option
@click.option("--force", is_flag=True, help="Replace an earlier report.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
def evaluate(
    folder: str,
    truth: str,
    schema_path: str,
    workload_path: str | None,
    output: str | None,
    queries: int | None,
    learn: bool,
    seed: int | None,
    memory: int | None,
    force: bool,
    as_json: bool,
    **reading: Any,
) -> int:
    """Compare the release in FOLDER with the table that it was made from.

    \b
    sfumato evaluate out/ --truth patients.csv -s schema.toml
    sfumato evaluate out/ --truth patients.csv -s schema.toml --workload questions.sql -o mine.html

    The report holds true figures of the table: keep it to yourself. Exits with 1 when the release
    breaks its promise.
    """
    asked_engine = taken_engine(reading, folder)
    asked = _workload(workload_path, queries, seed)
    page = output if output is not None or as_json else _REPORT
    if page is not None:
        require_place(page, force=force)
    with show.stages(as_json) as tell:
        tell("reading", 0.0)
        schema, limit = read_schema(schema_path), memory_or_half(memory)
        if is_joined(folder):
            require_in_memory(truth, schema, limit, "finding out who is in the table")
        with (
            workers_of(asked_engine, folder, memory) as work,
            open_parts(truth, schema, limit, work=work, **reading) as table,
        ):
            found = evaluate_release(
                folder, table, asked,
                queries=queries, learn=learn, seed=seed, progress=tell, memory_limit=memory,
            )  # fmt: skip
    if page is not None:
        found.write_html(page, force=force)
    if as_json:
        show.print_json(found.to_dict())
    else:
        _print(show.console(), found, page)
    return 0 if found.verification.ok else 1


def _workload(path: str | None, queries: int | None, seed: int | None) -> tuple[Query, ...] | None:
    if path is None:
        return None
    if queries is not None or seed is not None:
        raise click.UsageError("--queries and --seed are for random queries, not for --workload")
    return read_workload(path)


def _print(page: Console, found: Evaluation, written: str | None) -> None:
    stated = found.manifest
    show.say(
        page,
        show.bold(found.name),
        f": {plural(stated.rows, 'row')}, {plural(stated.groups, 'group')}",
    )
    mark = Text("kept", "green") if found.verification.ok else Text("BROKEN", "red")
    show.say(page, "promise ", mark)
    for risk in filter(None, (found.after,)):
        for sentence in risk.sentences[:MOST_IMPORTANT]:
            show.say(page, f"- {sentence}")
    if found.attacked is not None:
        show.say(page, f"attacked: {found.attacked.summary}")
    if found.usefulness is not None:
        for sentence in found.usefulness.sentences:
            show.say(page, f"- {sentence}")
        if found.usefulness.unlearned is not None:
            show.say(page, f"- Nothing was learned from the release: {found.usefulness.unlearned}.")
    if found.distributions:
        worst = max(found.distributions, key=lambda one: one.distance)
        moved = f"{percent(worst.distance)} of the rows are elsewhere than estimated"
        show.say(page, f"worst distribution: {worst.attribute}, {moved}")
    for joint in found.joints:
        bits = f"{number(joint.divergence)} bits per person off (KL divergence)"
        alone = f"single columns alone: {number(joint.marginals)}"
        show.say(page, f"all columns with {joint.sensitive}: {bits}; {alone}")
    if found.errors is not None:
        _print_errors(page, found)
    for moment in found.moments:
        name = f"{moment.figure} of {', '.join(moment.columns)}"
        show.say(page, f"{name}: {number(moment.estimate)}, truly {number(moment.truth)}")
    for one in found.advice:
        show.say(page, "- ", one.text, f" ({one.figure})")
    if written is not None:
        show.say(page, f"{written} holds true figures: keep it to yourself.", wrap=False)


def _print_errors(page: Console, found: Evaluation) -> None:
    assert found.errors is not None
    seen = found.errors.comparison
    show.say(page, f"{found.errors.workload}:")
    errors = ", ".join(
        f"{percent(error)} in {share:.0%}" for share, error in seen.quantiles().items()
    )
    show.say(page, f"  relative error at most {errors} of them")
    if (alone := found.errors.without) is not None:
        show.say(page, f"  of the marginals alone {percent(alone.median)} in 50% of them")
    show.say(page, f"  bounds {number(seen.mean_width)} apart, right in {percent(seen.coverage)}")
