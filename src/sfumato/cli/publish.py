"""sfumato publish: read, partition, build the tables, write."""

from __future__ import annotations

import shlex
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.algorithms.base import TIME_LIMIT, Stages
from sfumato.audits.defaults import QUICK_ROWS
from sfumato.cli import show
from sfumato.cli.attacked import tell_attacked, tell_joined
from sfumato.cli.choices import Choice
from sfumato.cli.methods import (
    JOINS,
    MASKS,
    METHODS,
    algorithm_of,
    join_of,
    mask_of,
    masks_options,
    names,
    require_default,
    seconds,
)
from sfumato.cli.models import MODELS, model_of
from sfumato.cli.persons import People, person_option
from sfumato.cli.qids import with_qids
from sfumato.cli.reading import address_options, table_options, taken
from sfumato.cli.seeds import chosen_seed, seed_options
from sfumato.cli.sizes import Bytes
from sfumato.cli.sources import source_argument
from sfumato.cli.summaries import summarize, tell_exposed, tell_found, tell_owner
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.engines.choice import CLUSTERS
from sfumato.engines.reading import read
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.forms.columns import Labels
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.load import load
from sfumato.forms.registry import FORMS, published_forms
from sfumato.io.folders import require_room
from sfumato.io.schema_files import read_schema
from sfumato.io.sources import label_of
from sfumato.io.tables import Source
from sfumato.verbs import mask, perturb, publish_file, publish_join

if TYPE_CHECKING:
    from sfumato.audits.audit import Audit

_FOR_JOINS = ("id_column", "rename", "join", "no_trim", "series")
_FOR_GROUPS = (
    "form", "k", "l", "distinct_l", "entropy_l", "recursive", "t", "relaxed", "round_robin",
    "qid", "workload", "target", "refine", "near", "size", "suppress", "time_limit", "labels",
    "means", "engine", "scheduler", "master", "memory",
)  # fmt: skip
_ABOUT_VALUES = ("l", "distinct_l", "entropy_l", "recursive", "t")
_FRONTIER = (
    "frontier takes people along an order and passes over those whose value a group has already: "
    "whoever knows the method, everybody's quasi-identifiers and the order can be sure of some "
    "people's values, 0.4 to 5.5 % of them where this was measured (docs/neighbours.md); anatomy "
    "and mondrian have no such order"
)


@click.command()
@source_argument
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
    type=Choice([*METHODS, "perturb", *MASKS]),
    default="mondrian",
    show_default=True,
    help="mondrian: boxes, group by group; topdown: the same by clusters; frontier: smaller boxes "
    "where sensitive values must differ (--l), whose order gives a few people's values away "
    "(docs/neighbours.md); local, branches: labels of taxonomies, group by group; "
    "full-domain, subtree, sibling: labels alike for all rows; single-dimensional: intervals alike "
    "for all; anatomy: exact values apart from sensitive ones; perturb: sensitive ones with noise; "
    "microaggregate: averages of K rows; noise: numbers with noise added; "
    "swap: values of neighbours exchanged; synthesize: rows drawn from a model.",
)
@click.option(
    "--form",
    type=Choice(published_forms()),
    help="Publish the method's groups in another form.",
)
@click.option("--k", type=int, help="k-anonymity: at least K rows in a group.")
@click.option("--l", type=float, help="l-diversity: no value more often than 1/L of a group.")
@click.option("--distinct-l", type=int, help="At least this many different values in a group.")
@click.option("--entropy-l", type=float, help="Entropy of a group's values at least log L.")
@click.option("--recursive", type=(float, int), metavar="C L", help="Recursive (c, l)-diversity.")
@click.option("--t", type=float, help="t-closeness: at most T away from the whole table.")
@click.option("--m", type=float, help="perturb: a guess of the shown value is right at 1/M.")
@click.option("--p", type=float, help="perturb: keep a value with probability P.")
@click.option(
    "--amount",
    type=float,
    default=0.5,
    show_default=True,
    help="noise: how wide it is, in standard deviations of the values.",
)
@click.option("--correlated", is_flag=True, help="noise: leave correlations as they are.")
@click.option(
    "--reach",
    type=float,
    default=0.1,
    show_default=True,
    help="swap: with rows up to this share of all ranks away.",
)
@click.option(
    "--inside",
    type=names,
    default="",
    metavar="NAMES",
    help="swap: only between rows that are equal on these columns.",
)
@click.option(
    "--least",
    type=int,
    default=5,
    show_default=True,
    metavar="ROWS",
    help="synthesize: how many rows share whatever the model knows.",
)
@click.option(
    "--bins",
    type=int,
    default=0,
    show_default=True,
    help="synthesize: cells of a number at most; 0: as many as can be filled.",
)
@click.option(
    "--columns",
    type=names,
    default="",
    metavar="NAMES",
    help="noise, swap, synthesize: columns to mask, with commas between; by default all it can.",
)
@click.option(
    "--qid",
    multiple=True,
    metavar="COLUMNS[:k=K,...]",
    help="Promise it for each of several sets of columns alone; may be repeated, and after a colon "
    "stands what is promised there instead: --qid age,sex --qid zipcode,job:k=20.",
)
@click.option("--relaxed", is_flag=True, help="Let rows with equal values be divided.")
@click.option("--round-robin", is_flag=True, help="Cut dimensions in turn, not the widest first.")
@click.option("--workload", metavar="FILE", help="mondrian: serve the queries in a file first.")
@click.option(
    "--target", metavar="COLUMN", help="mondrian: cut where it tells most about a sensitive column."
)
@click.option(
    "--refine",
    type=int,
    default=0,
    show_default=True,
    metavar="PASSES",
    help="mondrian, topdown, frontier: then look for smaller boxes this many times; 1 finds most.",
)
@click.option(
    "--near/--no-near",
    default=True,
    show_default=True,
    help="anatomy: groups of neighbours, which keep associations; or of anybody, as in the paper.",
)
@click.option(
    "--size",
    type=int,
    metavar="ROWS",
    help="anatomy, frontier: at least this many rows in a group; by default 5 L for anatomy, and "
    "as few as L and K allow for frontier.",
)
@click.option(
    "--suppress",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="full-domain, subtree, sibling: leave out up to this share of the rows.",
)
@click.option(
    "--time-limit",
    type=seconds,
    default=TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="local, full-domain, subtree, sibling, single-dimensional, and --refine: then the best "
    "found so far is taken; none: no limit.",
)
@click.option(
    "--labels",
    is_flag=False,
    flag_value="text",
    type=Choice(["ranges", "sets", "taxonomy", "suppression", "text"]),
    help="How boxes are shown if not as the method does; --labels alone: one readable column each.",
)
@click.option("--means", is_flag=True, help="Add the group's mean of numerical columns.")
@click.option(
    "--format",
    "file_format",
    type=Choice(["parquet", "csv"]),
    default="parquet",
    show_default=True,
    help="File format of the published table.",
)
@click.option(
    "--engine",
    type=Choice(["auto", "memory", "stream", *CLUSTERS]),
    default="auto",
    show_default=True,
    help="stream: read a file that does not fit into memory part by part; dask, spark: the same by "
    "the workers of a cluster.",
)
@address_options
@click.option(
    "--memory",
    type=Bytes(),
    metavar="SIZE",
    help="How much memory streaming, or each worker, may take, such as 2GB or 500MiB; by default "
    "half of what is free.",
)
@click.option(
    "--external",
    metavar="FILE",
    help="k-join-anonymity: a table of people that everybody has, with the quasi-identifiers.",
)
@click.option("--id", "id_column", metavar="COLUMN", help="--external: the identifier to join on.")
@click.option(
    "--rename",
    multiple=True,
    metavar="OURS=THEIRS",
    help="--external: what a column is called there; may be repeated.",
)
@click.option(
    "--join",
    type=Choice([*JOINS]),
    default="refinement",
    show_default=True,
    help="--external: divide the groups of the table further, or everyone at once (direct: "
    "sensitive columns are not published).",
)
@click.option(
    "--no-trim",
    is_flag=True,
    help="--external: keep external rows that a group does not need. Boxes are wider, and their "
    "edges give away fewer people.",
)
@click.option(
    "--series",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="--external: make one of several releases of a table and a list that grow. The folder, "
    "yours alone, remembers who was published; newcomers are shown beside them, or wait.",
)
@click.option(
    "--audit/--no-audit",
    "attacked",
    default=True,
    show_default=True,
    help=f"Let a learner attack the release, if it has at most {QUICK_ROWS:,} rows, and say "
    "what it guesses.",
)
@person_option
@table_options
@seed_options
@click.option("--force", is_flag=True, help="Replace an earlier release in the output folder.")
@click.option("--json", "as_json", is_flag=True, help="Print release.json instead of a summary.")
def publish(
    source: str | list[str],
    schema_path: str,
    output: str,
    method: str,
    form: Any,
    labels: Any,
    means: bool,
    file_format: Any,
    seed: str | None,
    experiment: bool,
    force: bool,
    attacked: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Publish SOURCE under one or more privacy models.

    SOURCE is a file, several files or a folder of them, an address (https://, s3://), the URL of a
    database, or - for standard input.

    \b
    sfumato publish patients.csv -s schema.toml --k 10 -o out/
    sfumato publish patients.csv -s schema.toml --k 5 --distinct-l 3 --labels -o out/
    sfumato publish patients.csv -s schema.toml --method anatomy --l 5 -o out/
    sfumato publish patients.csv -s schema.toml --k 5 --qid age,sex --qid zipcode,job:k=20 -o out/
    sfumato publish patients.csv -s schema.toml --method perturb --m 5 -o out/
    sfumato publish patients.csv -s schema.toml --method microaggregate --k 5 -o out/
    sfumato publish patients.csv -s schema.toml --method noise --amount 0.3 -o out/
    sfumato publish patients.csv -s schema.toml --method swap --reach 0.05 -o out/
    sfumato publish patients.csv -s schema.toml --method synthesize -o out/
    sfumato publish patients.csv -s schema.toml --k 10 --external voters.csv --id ssn -o out/
    """
    reading, person = taken(given), given.pop("person")
    writing: dict[str, Any] = {"format": file_format, "force": force, "experiment": experiment}
    if method not in MASKS:
        require_default(masks_options(), f"the method {method} does not take it: it is for masks")
    seed = chosen_seed(seed, given.pop("seed_file"), experiment=experiment)
    schema = read_schema(schema_path)
    if given["external"] is None:
        require_default(_FOR_JOINS, "only with --external")
    people = People.of(source, person, reading)
    tell_more = None
    if method == "perturb":
        makes_none = "the method perturb does not take it: it adds noise, and makes no groups"
        require_default((*_FOR_GROUPS, "external"), makes_none)
        require_room(output, force)
        noisy = perturb(read(source, schema, **reading), p=given["p"], m=given["m"], seed=seed)
        noisy.write(output, **writing)
        manifest = noisy.manifest
    elif method in MASKS:
        made = mask_of(method, given, (*_FOR_GROUPS, "external", "m", "p"))
        require_room(output, force)
        table = read(source, schema, **reading)
        masked = mask(table, made, seed=seed)
        masked.write(output, **writing)
        manifest, tell_more = masked.manifest, partial(tell_found, masked, table)
    elif given["external"] is not None:
        require_default(("m", "p", "form", "means", "qid"), "not with --external")
        require_room(output, force)
        with show.stages(quiet=as_json) as tell:
            tell("reading", 0.0)
            table = read(source, schema, id=_required_id(given), **reading)
            listing = {name: reading[name] for name in ("missing", "header")}
            joined, exposed = _join(table, method, given, listing, labels, seed, tell)
            tell("writing", 0.0)
            joined.write(output, **writing)
        manifest, tell_more = joined.manifest, partial(tell_owner, joined.own, exposed)
    else:
        require_default(("m", "p"), f"the method {method} does not take it; it is for perturb")
        plain = algorithm_of(method, given)
        form = form or plain.form
        algorithm, one = with_qids(plain, given)
        model = one if one is not None and not _asks(given) else model_of(given)
        if not FORMS[form].boxes and (labels is not None or means):
            raise click.UsageError("--labels and --means are for boxes; this form has none")
        if method == "frontier" and any(given[name] is not None for name in _ABOUT_VALUES):
            warnings.warn(_FRONTIER, SfumatoWarning, stacklevel=1)
        with show.stages(quiet=as_json) as tell:
            manifest = publish_file(
                source, schema, algorithm, model, output,
                engine=given["engine"], scheduler=given["scheduler"], master=given["master"],
                form=form, labels=labels, means=means, seed=seed, memory_limit=given["memory"],
                progress=tell, owner=None if people is None else people.hear, **reading, **writing,
            )  # fmt: skip
    if people is not None:
        people.warn(given["k"])
    if as_json:
        click.echo(manifest.to_json(), nl=False)
        return
    summarize(manifest, Path(output))
    tell_exposed(Path(output), None if people is None else people.risk(manifest.kind))
    if tell_more is not None:
        tell_more()
    whole = ["sfumato", "audit", output, "--truth", label_of(source), "-s", schema_path]
    if attacked and given["external"] is not None:
        tell_joined(None if given["rename"] else shlex.join([*whole, "--list", given["external"]]))
    elif attacked:
        tell_attacked(
            lambda: _attack(output, source, schema, reading), manifest.rows, shlex.join(whole)
        )


def _asks(given: dict[str, Any]) -> bool:
    return any(given[name] is not None for name in MODELS)


def _attack(output: str, source: Source, schema: Schema, reading: dict[str, Any]) -> Audit | None:
    from sfumato.audits.audit.quick import quick

    return quick(load(output), read(source, schema, **reading))


def _join(
    table: Microdata,
    method: str,
    given: dict[str, Any],
    listing: dict[str, Any],
    labels: Labels | None,
    seed: str | None,
    tell: Stages,
) -> tuple[JoinRelease, int | None]:
    """The release, and how many people its edges give away; None if that cannot be told."""
    from sfumato.audits.join_risk import edge_attack

    external, renamed = given["external"], _renames(given["rename"])
    where = {name: given[name] for name in ("engine", "scheduler", "master")}
    joined = publish_join(
        table, external, join_of(method, given), model_of(given, external=True),
        memory_limit=given["memory"], columns=renamed, labels=labels, seed=seed, progress=tell,
        series=given["series"],
        **listing, **where,
    )  # fmt: skip
    alone = "stream" if given["engine"] in CLUSTERS else given["engine"]
    within = {"engine": alone, "memory_limit": given["memory"]}
    tell("attacking", 0.0)
    try:
        return joined, len(edge_attack(joined, external, renamed, **listing, **within))
    except SfumatoError:
        return joined, None  # an empty list, or boxes made for reading


def _required_id(given: dict[str, Any]) -> str:
    if given["id_column"] is None:
        raise click.UsageError("--external: name the identifier to join on with --id")
    return str(given["id_column"])


def _renames(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in given]
    for ours, _, theirs in pairs:
        if not ours or not theirs:
            raise click.UsageError("--rename wants OURS=THEIRS, such as zipcode=zip")
    return {ours: theirs for ours, _, theirs in pairs}
