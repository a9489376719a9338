"""sfumato publish: read, partition, generalize, write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.algorithms.mondrian import Mondrian
from sfumato.cli import show
from sfumato.io.schema_files import read_schema
from sfumato.io.tables import read
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import Model
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from sfumato.models.registry import all_of
from sfumato.releases.generalized import GeneralizedTable
from sfumato.verbs import publish as publish_table


@click.command()
@click.argument("source")
@click.option(
    "-s",
    "--schema",
    "schema_path",
    required=True,
    metavar="FILE",
    help="Schema file (TOML): which column plays which role.",
)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Folder to write.")
@click.option("--method", type=click.Choice(["mondrian"]), default="mondrian", show_default=True)
@click.option("--k", type=int, help="k-anonymity: at least K rows in a group.")
@click.option("--l", type=float, help="l-diversity: no value more often than 1/L of a group.")
@click.option("--distinct-l", type=int, help="At least this many different values in a group.")
@click.option("--entropy-l", type=float, help="Entropy of a group's values at least log L.")
@click.option("--recursive", type=(float, int), metavar="C L", help="Recursive (c, l)-diversity.")
@click.option("--t", type=float, help="t-closeness: at most T away from the whole table.")
@click.option("--relaxed", is_flag=True, help="Let rows with equal values be divided.")
@click.option("--round-robin", is_flag=True, help="Cut dimensions in turn, not the widest first.")
@click.option(
    "--labels",
    is_flag=False,
    flag_value="text",
    default="ranges",
    show_default=True,
    type=click.Choice(["ranges", "sets", "taxonomy", "text"]),
    help="How boxes are shown; --labels alone writes one readable column each.",
)
@click.option("--means", is_flag=True, help="Add the group's mean of numerical columns.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["parquet", "csv"]),
    default="parquet",
    show_default=True,
    help="File format of the published table.",
)
@click.option("--query", metavar="SQL", help="Read the result of a query (files are table t).")
@click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that stands for a missing value in a CSV file; may be repeated.",
)
@click.option("--seed", type=int, help="Repeatable run; keep it secret, it undoes the shuffling.")
@click.option("--force", is_flag=True, help="Replace an earlier release in the output folder.")
@click.option("--json", "as_json", is_flag=True, help="Print release.json instead of a summary.")
def publish(
    source: str,
    schema_path: str,
    output: str,
    method: str,  # noqa: ARG001
    relaxed: bool,
    round_robin: bool,
    labels: Any,
    means: bool,
    file_format: Any,
    query: str | None,
    missing: tuple[str, ...],
    seed: int | None,
    force: bool,
    as_json: bool,
    **limits: Any,
) -> None:
    """Publish SOURCE (a file or a database URL) under one or more privacy models.

    \b
    sfumato publish patients.csv -s schema.toml --k 10 -o out/
    sfumato publish patients.csv -s schema.toml --k 5 --distinct-l 3 --labels -o out/
    """
    model = _model(**limits)
    algorithm = Mondrian(relaxed=relaxed, choose="round-robin" if round_robin else "widest")
    with show.stages(quiet=as_json) as tell:
        tell("reading", 0.0)
        table = read(source, read_schema(schema_path), query=query, missing=missing)
        release = publish_table(
            table, algorithm, model, labels=labels, means=means, seed=seed, progress=tell
        )
        tell("writing", 0.0)
        release.write(output, force=force, format=file_format)
    if as_json:
        click.echo(release.manifest.to_json(), nl=False)
    else:
        summarize(release, Path(output))


def _model(
    k: int | None,
    l: float | None,  # noqa: E741
    distinct_l: int | None,
    entropy_l: float | None,
    recursive: tuple[float, int] | None,
    t: float | None,
) -> Model:
    """All models that were asked for, together."""
    asked: list[Model] = []
    if k is not None:
        asked.append(KAnonymity(k))
    if l is not None:
        asked.append(LDiversity(l))
    if distinct_l is not None:
        asked.append(DistinctLDiversity(distinct_l))
    if entropy_l is not None:
        asked.append(EntropyLDiversity(entropy_l))
    if recursive is not None:
        asked.append(RecursiveLDiversity(*recursive))
    if t is not None:
        asked.append(TCloseness(t))
    if not asked:
        raise click.UsageError("say what to promise: --k, --l, --distinct-l, --entropy-l, --t, ...")
    return all_of(asked)


def summarize(release: GeneralizedTable, path: Path) -> None:
    """What was published, what it cost, what to do next."""
    manifest, figures, page = release.manifest, release.metrics, show.console()
    sizes = figures["group_sizes"]
    page.print(f"Published [bold]{manifest.rows:,}[/] rows in {manifest.groups:,} groups: {path}")
    for promise in manifest.promise:
        stated = ", ".join(
            f"{name} = {value}" for name, value in promise.items() if name != "model"
        )
        page.print(f"  promised: {promise['model']} ({stated})")
    lost = [
        ("group size", f"{sizes['smallest']} to {sizes['largest']:,}, mean {sizes['mean']:,.1f}"),
        ("C_DM (sum of squared sizes)", figures["discernibility"]),
        *_average(figures),
        ("NCP (0 exact, 1 nothing left)", figures["ncp"]),
        *((f"  {name}", value) for name, value in figures["ncp_by_attribute"].items()),
    ]
    page.print(show.table("What was lost", ("figure", "value"), lost))
    page.print(f"Check it as a receiver would: sfumato verify {path}")


def _average(figures: dict[str, Any]) -> list[tuple[str, float]]:
    found = figures.get("average_group_size")
    return [] if found is None else [("C_AVG (mean size / k)", found)]
