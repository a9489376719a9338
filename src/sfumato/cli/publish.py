"""sfumato publish: read, partition, build the tables, write."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.mondrian import Mondrian
from sfumato.cli import show
from sfumato.io.schema_files import read_schema
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
from sfumato.releases.anatomized import AnatomizedTables
from sfumato.releases.manifest import Manifest
from sfumato.verbs import publish_file


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
@click.option(
    "--method",
    type=click.Choice(["mondrian", "anatomy"]),
    default="mondrian",
    show_default=True,
    help="mondrian publishes boxes, anatomy exact values apart from the sensitive ones.",
)
@click.option(
    "--form",
    type=click.Choice(["generalized", "anatomized"]),
    help="Publish the method's groups in the other form.",
)
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
@click.option(
    "--engine",
    type=click.Choice(["auto", "memory", "stream"]),
    default="auto",
    show_default=True,
    help="anatomy: stream a file that does not fit into memory.",
)
@click.option("--query", metavar="SQL", help="Read the result of a query (files are table t).")
@click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that stands for a missing value; may be repeated.",
)
@click.option("--seed", type=int, help="Repeatable run; keep it secret, it undoes the shuffling.")
@click.option("--force", is_flag=True, help="Replace an earlier release in the output folder.")
@click.option("--json", "as_json", is_flag=True, help="Print release.json instead of a summary.")
def publish(
    source: str,
    schema_path: str,
    output: str,
    method: str,
    form: Any,
    relaxed: bool,
    round_robin: bool,
    labels: Any,
    means: bool,
    file_format: Any,
    engine: Any,
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
    sfumato publish patients.csv -s schema.toml --method anatomy --l 5 -o out/
    """
    algorithm = _algorithm(method, relaxed, round_robin)
    if (form or algorithm.form) == "anatomized" and (labels != "ranges" or means):
        raise click.UsageError("--labels and --means are for boxes; an anatomized release has none")
    with show.stages(quiet=as_json) as tell:
        manifest = publish_file(
            source,
            read_schema(schema_path),
            algorithm,
            _model(**limits),
            output,
            engine=engine,
            form=form,
            labels=labels,
            means=means,
            format=file_format,
            query=query,
            missing=missing,
            force=force,
            seed=seed,
            progress=tell,
        )
    if as_json:
        click.echo(manifest.to_json(), nl=False)
    else:
        summarize(manifest, Path(output))


def _model(
    k: int | None,
    l: float | None,
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
        asked.append(LDiversity(int(l) if l.is_integer() else l))
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


def _algorithm(method: str, relaxed: bool, round_robin: bool) -> Partitioner:
    if method == "mondrian":
        return Mondrian(relaxed=relaxed, choose="round-robin" if round_robin else "widest")
    if relaxed or round_robin:
        raise click.UsageError("--relaxed and --round-robin are for the method mondrian")
    return Anatomize()


def summarize(manifest: Manifest, path: Path) -> None:
    """What was published, what it cost, what to do next."""
    page = show.console()
    rows, groups = show.bold(f"{manifest.rows:,}"), f"{manifest.groups:,}"
    show.say(page, "Published ", rows, f" rows in {groups} groups: {path}", wrap=False)
    for promise in manifest.promise:
        stated = ", ".join(
            f"{name} = {value}" for name, value in promise.items() if name != "model"
        )
        show.say(page, f"  promised: {promise['model']} ({stated})")
    page.print(show.table("What was lost", ("figure", "value"), _lost(manifest)))
    command = shlex.join(["sfumato", "verify", str(path)])
    show.say(page, f"Check it as a receiver would: {command}", wrap=False)


def _lost(manifest: Manifest) -> list[tuple[str, object]]:
    figures = manifest.metrics
    sizes, error = figures["group_sizes"], figures["reconstruction_error"]
    lost: list[tuple[str, object]] = [
        ("group size", f"{sizes['smallest']} to {sizes['largest']:,}, mean {sizes['mean']:,.1f}"),
        ("C_DM (sum of squared sizes)", figures["discernibility"]),
    ]
    if "average_group_size" in figures:
        lost.append(("C_AVG (mean size / k)", figures["average_group_size"]))
    if manifest.kind == AnatomizedTables.kind:
        return [*lost, *((f"RCE of {name} (0 exact)", value) for name, value in error.items())]
    by_attribute = figures["ncp_by_attribute"].items()
    return [
        *lost,
        ("RCE (0 exact)", error),
        ("NCP (0 exact, 1 nothing left)", figures["ncp"]),
        *((f"  {name}", value) for name, value in by_attribute),
    ]
