"""publish_join: microdata, published with the help of a table that everybody has."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Stages, describe, require_algorithm, silent
from sfumato.algorithms.join.methods import JoinMethod, JoinPartition, merges
from sfumato.core.arrays import Codes, Ints
from sfumato.core.boxes import Boxes
from sfumato.core.fingerprint import digest
from sfumato.core.foreign import our_errors
from sfumato.core.histograms import Histograms
from sfumato.core.joined import Joined, Matching, join
from sfumato.core.microdata import Microdata, require_microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import Seed
from sfumato.engines.choice import CLUSTERS, Cluster, Engine, address_of, require_engine
from sfumato.engines.memory import memory_or_half
from sfumato.engines.opening import open_workers
from sfumato.engines.parts import Work
from sfumato.errors import ParameterError, SfumatoWarning
from sfumato.forms.columns import Labels, require_labels, side_for
from sfumato.forms.compact import number_lines
from sfumato.forms.figures import generalized_figures
from sfumato.forms.joined.release import (
    EMPTY_LIST,
    SENSITIVE_GROUP,
    JoinRelease,
    OwnFigures,
    joined_tables,
    sensitive_tables,
)
from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.remembering import made_from
from sfumato.io.tables import Source, markers, read_table
from sfumato.metrics import information_loss as loss
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import Model, all_of, as_model, parts
from sfumato.models.requirements import Requirement, requirements
from sfumato.verbs.checks import (
    require_kept,
    require_spelling,
    stated_promises,
    warn_of_exposed,
)
from sfumato.verbs.listing import Reading, is_streamed


@our_errors("publishing")
def publish_join(
    table: Microdata,
    external: Source,
    method: JoinMethod,
    model: Model | Sequence[Model],
    *,
    columns: Mapping[str, str] | None = None,
    source: str | None = None,
    labels: Labels | None = None,
    missing: str | Collection[str] = (),
    header: bool | None = None,
    seed: Seed | None = None,
    engine: Engine | Cluster = "auto",
    scheduler: str | None = None,
    master: str | None = None,
    memory_limit: int | None = None,
    progress: Stages | None = None,
) -> JoinRelease:
    """Publish a table with the help of an external one, such as a list of voters.

    The table must have been read with the ``id`` to join on. The external table needs that id and
    the quasi-identifiers, one row per person; ``columns`` gives the names it has for them where
    they differ from the table's. ``method`` is Direct or Refinement over an algorithm; the model
    is KJoinAnonymity, for Refinement also with models of the sensitive values. ``source`` says in
    release.json where the external table is from: by default a file's name and checksum.
    ``missing`` are texts that stand for a missing value in the external table, and ``header`` is
    about its first line, if it is a CSV file; see ``read``.

    The list may be a file that does not fit into memory; its different combinations of values have
    to. ``engine`` "auto" streams it when it seems too large, "stream" and "memory" insist;
    ``memory_limit`` is in bytes, half of what the machine offers by default. "dask" and "spark"
    have the list read by the workers of the cluster whose ``scheduler`` or ``master`` has this
    address (docs/cluster.md); what they exchange lies beside the list.

    External rows must be real people: with invented ones among them, whoever invented them can
    tell who is in the table.

    >>> import pyarrow.csv as csv
    >>> voters = csv.read_csv("patients.csv")
    >>> schema = sf.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive="disease")
    >>> table = sf.read(voters.slice(0, 200), schema, id="name")
    >>> method = sf.Refinement(sf.Mondrian())
    >>> release = sf.publish_join(table, voters, method, sf.KJoinAnonymity(10))
    >>> release.joined.num_rows >= 200
    True
    """
    require_microdata(table)
    require_algorithm(getattr(method, "algorithm", method))
    natural: Labels = getattr(method.algorithm, "labels", "ranges")
    shown = labels or natural
    require_engine(engine, memory_limit, CLUSTERS)
    address = address_of(engine, scheduler, master)
    require_labels(shown)
    tell = progress or silent
    k, others = _split(as_model(model))
    require_spelling(table)
    tell("reading", 0.0)
    joined = _joined(
        table, external, Reading(columns or {}, markers(missing), header),
        method, engine, address, memory_limit, tell,
    )  # fmt: skip
    _warn(joined.matching)
    randomness = Randomness(seed)
    needs = () if others is None else requirements(others, table.schema)
    purpose = (shown, method.name, method.trim, k, stated_promises(needs, ()))
    randomness.bind(
        (*purpose, describe(method.algorithm)),
        lambda: digest(table),
        lambda: digest(joined.everyone, joined.weights),
    )
    found = method.partition(
        joined,
        k,
        needs,
        randomness,
        lambda share: tell("partitioning", share),
    )
    if found.first is None and table.schema.sensitive:
        names = ", ".join(table.schema.sensitive)
        warnings.warn(
            f"Direct publishes no sensitive values: {names} stays at home; use Refinement",
            SfumatoWarning,
            stacklevel=3,
        )
    tell("building tables", 0.0)
    provenance = _provenance(external, source, joined, columns or {})
    release = _build(found, method, k, others, shown, provenance, randomness)
    made_from(release, table)
    return release


def _joined(
    table: Microdata,
    external: Source,
    reading: Reading,
    method: JoinMethod,
    engine: Engine | Cluster,
    address: str | None,
    memory_limit: int | None,
    tell: Stages,
) -> Joined:
    """The table and the list, in which people who are alike are one row if the method allows it."""
    merge = merges(method.algorithm)
    if engine in ("stream", *CLUSTERS) and not merge:
        raise ParameterError(
            "a list is streamed for algorithms that never tell equal people apart (TopDown, and "
            "Mondrian without relaxed cuts and without a workload); use the in-memory engine",
            parameter="engine",
        )
    if is_streamed(external, reading.names(table), engine if merge else "memory"):
        with open_workers(engine, address, memory_limit) as workers:
            memory = memory_or_half(memory_limit) if workers is None else workers.memory
            work = None if workers is None else Work(workers, Path(external))
            return reading.stream(table, external, memory, tell, work)
    listed = read_table(
        external, missing=reading.missing, header=reading.header, trim=True, empty=True
    )
    joined = join(table, listed, reading.columns)
    return joined.merged() if merge else joined


def _build(
    found: JoinPartition,
    method: JoinMethod,
    k: int,
    others: Model | None,
    labels: Labels,
    provenance: dict[str, Any],
    randomness: Randomness,
) -> JoinRelease:
    joined, sizes = found.joined, found.partition.loads(found.joined.weights)
    rows, partition = found.partition.kept()
    everyone = joined.everyone.take(rows)
    boxes = Boxes(
        tuple(
            side_for(attribute, everyone.codes[attribute.name], partition, labels)
            for attribute in everyone.quasi
        )
    )
    # numbers and order of groups are chance, both the JAT's and the SI's
    order = randomness.permutation(partition.n_groups)
    sizes = sizes[order]
    promise = (Requirement(KJoinAnonymity(k), None),)
    require_kept(promise, {}, Partition(_places_in(order)[partition.groups], sizes))
    stated = stated_promises(promise)
    apart = _apart(joined.microdata, found, k, others, randomness)
    sensitive = None if apart.sensitive is None else apart.sensitive[order]
    lines, columns = joined_tables(boxes.taken(order), sensitive, labels)
    # groups that look alike are one to everybody outside, and must not be told apart by the order
    numbers, first = number_lines(lines)
    lines, sizes = lines.take(pa.array(first)), np.bincount(numbers, sizes).astype(np.int64)
    manifest = Manifest(
        kind=JoinRelease.kind,
        promise=(*stated, *apart.promise),
        algorithm={
            "name": method.name,
            "algorithm": describe(method.algorithm),
            "trim": method.trim,
        },
        rows=int(sizes.sum()),
        groups=len(sizes),
        metrics=generalized_figures(stated, columns, lines, sizes),
        external=provenance,
        seed=randomness.stated_seed,
    ).of_tables((*columns, *apart.columns), lines, *apart.sis.values())
    figures = _own_figures(joined, found, boxes)
    groups = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return JoinRelease(lines, groups, apart.sis, manifest, figures)


class _Apart(NamedTuple):
    """What is published apart from the boxes: the sensitive group of each, the SI of each column,
    their description, and what is promised of them.
    """

    sensitive: Codes | None = None
    sis: dict[str, pa.Table] = {}  # noqa: RUF012  (never changed)
    columns: tuple[PublishedColumn, ...] = ()
    promise: tuple[dict[str, Any], ...] = ()


def _apart(
    table: Microdata,
    found: JoinPartition,
    k: int,
    others: Model | None,
    randomness: Randomness,
) -> _Apart:
    if found.first is None or found.sensitive is None:
        return _Apart()
    first = found.first
    numbers = _places_in(randomness.permutation(first.n_groups))
    first = Partition.of(numbers[first.groups])
    needs = (
        Requirement(KAnonymity(k), None),
        *(() if others is None else requirements(others, table.schema)),
    )
    seen = {
        name: Histograms.of_groups(
            table.attributes[name], table.codes[name], first.groups, first.n_groups
        )
        for name in table.schema.sensitive
    }
    require_kept(needs, seen, first)
    warn_of_exposed(needs, {name: one.largest for name, one in seen.items()}, first.sizes)
    sis, columns = sensitive_tables(first.sizes, seen)
    # a promise about sizes is about the sensitive groups', not about a column
    promise = (
        {**stated, "on": stated.get("on") or SENSITIVE_GROUP} for stated in stated_promises(needs)
    )
    return _Apart(numbers[found.sensitive], sis, columns, tuple(promise))


def _split(model: Model) -> tuple[int, Model | None]:
    """The k of the join, and what else is asked of the microdata."""
    joins = [part for part in parts(model) if isinstance(part, KJoinAnonymity)]
    others = [part for part in parts(model) if not isinstance(part, KJoinAnonymity)]
    if not joins:
        raise ParameterError(
            "a join promises k-join-anonymity: name KJoinAnonymity(k) (--k), alone or with other "
            "models",
            parameter="model",
        )
    return max(part.k for part in joins), all_of(others) if others else None


def _own_figures(joined: Joined, found: JoinPartition, boxes: Boxes) -> OwnFigures:
    try:
        perimeter: float | None = loss.perimeter(boxes, found.inside)
    except ParameterError:
        perimeter = None  # sets of unordered values have none
    return OwnFigures(
        matching=joined.matching,
        ncp=loss.ncp(boxes, found.inside),
        discernibility=int(np.square(found.inside).sum()),
        perimeter=perimeter,
    )


def _places_in(order: Ints) -> Codes:
    """From a group's old number to its place in an order."""
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


def _provenance(
    external: Source, source: str | None, joined: Joined, columns: Mapping[str, str]
) -> dict[str, Any]:
    """Where the external rows are from, so that a receiver can look at the same table."""
    stated: dict[str, Any] = {"source": source, "rows": joined.matching.external}
    if isinstance(external, str | Path) and Path(external).is_file():
        path = Path(external)
        stated["source"] = source or path.name
        with path.open("rb") as file:
            stated["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    quasi = joined.everyone.schema.quasi
    stated["columns"] = {name: columns.get(name, name) for name in quasi}
    if not joined.matching.external:
        stated["note"] = EMPTY_LIST
    return stated


def _warn(matching: Matching) -> None:
    if not matching.external:
        warnings.warn(
            "the external table is empty: the release is no more than k-anonymous, with no help",
            SfumatoWarning,
            stacklevel=4,
        )
    elif not matching.shared:
        warnings.warn(
            "nobody of the microdata was found in the external table; if people are in both, "
            "their ids are written differently, and they count twice",
            SfumatoWarning,
            stacklevel=4,
        )
    if matching.incomplete:
        warnings.warn(
            f"{matching.incomplete:,} people of the microdata lack a value in the external table: "
            "who has it may see that a box holds more people than it names, and guess who they are",
            SfumatoWarning,
            stacklevel=4,
        )
    if matching.disagreements:
        told = ", ".join(f"{name}: {n:,}" for name, n in matching.disagreements.items())
        warnings.warn(
            f"people whose values differ in the external table ({told}); the microdata's are used",
            SfumatoWarning,
            stacklevel=4,
        )
