"""The verbs: a table, an algorithm and a privacy model become a release.

(The module is not called publish: importing it would then hide the function of that name.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np
import pyarrow as pa

from sfumato.algorithms.anatomize import Anatomize, require_discrete
from sfumato.algorithms.base import Partitioner, Stages, describe, silent
from sfumato.algorithms.streaming.divide import divide_file, needs_streaming
from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError, PromiseBroken
from sfumato.io.folders import require_room
from sfumato.io.tables import Source, read
from sfumato.metrics import information_loss as loss
from sfumato.metrics.reconstruction import (
    generalized_reconstruction_error,
    reconstruction_error,
)
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn, Model
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement, requirements
from sfumato.releases.anatomized import AnatomizedTables, anatomized_tables
from sfumato.releases.anatomized_stream import write_divided
from sfumato.releases.columns import Labels, require_labels
from sfumato.releases.files import FileFormat
from sfumato.releases.generalized import (
    GeneralizedTable,
    boxes_of,
    published_rows,
    require_means,
)
from sfumato.releases.load import Release
from sfumato.releases.manifest import Manifest, PublishedColumn, column_types

Form: TypeAlias = Literal["generalized", "anatomized"]
Engine: TypeAlias = Literal["auto", "memory", "stream"]


@overload
def publish(  # type: ignore[overload-overlap]  # Anatomize is a Partitioner with another natural form
    table: Microdata,
    algorithm: Anatomize,
    model: Model,
    *,
    form: Literal["anatomized"] | None = None,
    seed: int | None = None,
    progress: Stages | None = None,
) -> AnatomizedTables: ...


@overload
def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Literal["anatomized"],
    seed: int | None = None,
    progress: Stages | None = None,
) -> AnatomizedTables: ...


@overload
def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Literal["generalized"] | None = None,
    labels: Labels = "ranges",
    means: bool | Sequence[str] = False,
    seed: int | None = None,
    progress: Stages | None = None,
) -> GeneralizedTable: ...


def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Form | None = None,
    labels: Labels = "ranges",
    means: bool | Sequence[str] = False,
    seed: int | None = None,
    progress: Stages | None = None,
) -> Release:
    """Make a release that keeps the model's promise.

    ``form`` is "generalized" (boxes instead of values) or "anatomized" (exact quasi-identifiers,
    sensitive values in a table of their own); any partition can be published in either, and an
    algorithm has a natural one. In a generalized release ``labels`` says how boxes are shown:
    "ranges" (two columns with the bounds; sets of values for unordered categories), "sets" (sets
    for all categories), "taxonomy" (labels of the tree where there is one) or "text" (one readable
    column each, with labels where there is a tree), and ``means`` adds the group's mean of
    numerical quasi-identifiers. A ``seed`` makes the run repeatable, and whoever knows it can undo
    the published order; without one, chance comes from the operating system. ``progress`` hears the
    stage and the share of it that is done.
    """
    shape: str = form if form is not None else algorithm.form
    needs = requirements(model, table.schema)
    _require_form(shape, labels, table, needs)
    averaged = require_means(table, means)
    tell = progress or silent
    randomness = Randomness(seed)
    partition = algorithm.partition(
        table, needs, randomness, lambda share: tell("partitioning", share)
    )
    left_out = partition.n_left_out
    if left_out:
        rows, partition = partition.kept()
        table = table.take(rows)
    partition = partition.relabelled(randomness)
    groups = {name: _seen(table, name, partition) for name in table.schema.sensitive}
    _require_kept(needs, groups, partition)
    tell("building tables", 0.0)

    def manifest(
        columns: tuple[PublishedColumn, ...], metrics: dict[str, Any], *tables: pa.Table
    ) -> Manifest:
        return Manifest(
            kind=shape,
            promise=tuple(_stated(need) for need in needs),
            algorithm=describe(algorithm),
            rows=partition.n_rows,
            groups=partition.n_groups,
            columns=columns,
            types=column_types(shown.schema for shown in tables),
            metrics={**_group_figures(needs, partition), **metrics},
            suppressed=left_out,
        )

    if shape == AnatomizedTables.kind:
        qit, sts, columns = anatomized_tables(table, partition, groups, randomness)
        figures = _anatomy_figures(groups)
        return AnatomizedTables(qit, sts, manifest(columns, figures, qit, *sts.values()))
    boxes = boxes_of(table, partition, labels)
    lines, group_of_row, others, columns = published_rows(
        table, partition, boxes, labels, averaged, randomness
    )
    stated = manifest(columns, _box_figures(partition, boxes, left_out), lines, others)
    return GeneralizedTable(lines, group_of_row, others, stated)


def publish_file(
    source: Source,
    schema: Schema,
    algorithm: Partitioner,
    model: Model,
    output: str | Path,
    *,
    engine: Engine = "auto",
    form: Form | None = None,
    labels: Labels = "ranges",
    means: bool | Sequence[str] = False,
    format: FileFormat = "parquet",
    query: str | None = None,
    missing: str | Collection[str] = (),
    force: bool = False,
    seed: int | None = None,
    memory_limit: int | None = None,
    progress: Stages | None = None,
) -> Manifest:
    """Read a table, publish it and write the release folder; see ``publish``.

    Anatomize can do so with a file that does not fit into memory. ``engine`` "auto" streams when
    the file seems too large, "stream" and "memory" insist; ``memory_limit`` is in bytes, half of
    what the machine offers by default.
    """
    if engine not in get_args(Engine):
        raise ParameterError(
            f"engine must be one of {', '.join(get_args(Engine))}, not {engine!r}",
            parameter="engine",
        )
    require_room(output, force)
    tell = progress or silent
    shape: Any = form or algorithm.form
    plain = shape == AnatomizedTables.kind and query is None and format == "parquet"
    streams = isinstance(algorithm, Anatomize) and plain
    if engine == "stream" and not streams:
        raise ParameterError(
            "streaming is for Anatomize, from files to Parquet and without a query; "
            "use the in-memory engine",
            parameter="engine",
        )
    if engine == "stream" or (engine == "auto" and streams and needs_streaming(source, schema)):
        randomness = Randomness(seed)
        return write_divided(
            output,
            schema,
            lambda scratch: divide_file(
                source, schema, model, scratch, randomness,
                missing=missing, memory_limit=memory_limit, progress=tell,
            ),
            describe(algorithm),
            randomness,
            force=force,
        )  # fmt: skip
    tell("reading", 0.0)
    table = read(source, schema, query=query, missing=missing)
    boxes: dict[str, Any] = {"labels": labels, "means": means}
    release: Release = publish(
        table,
        algorithm,
        model,
        form=shape,
        seed=seed,
        progress=tell,
        **({} if shape == AnatomizedTables.kind else boxes),
    )
    tell("writing", 0.0)
    release.write(output, force=force, format=format)
    return release.manifest


def _seen(table: Microdata, name: str, partition: Partition) -> Histograms:
    attribute, codes = table.attributes[name], table.codes[name]
    return Histograms.of_groups(attribute, codes, partition.groups, partition.n_groups)


def _require_kept(
    needs: tuple[Requirement, ...], groups: Mapping[str, Histograms], partition: Partition
) -> None:
    """An algorithm's word is not enough: look at every group once more before it leaves."""
    verdict = np.ones(partition.n_groups, np.bool_)
    for need in needs:
        sizes_only = need.attribute is None
        seen = Histograms.of_sizes(partition.sizes) if sizes_only else groups[str(need.attribute)]
        verdict &= need.model.passes(seen)
    failing = np.flatnonzero(~verdict)
    if len(failing):
        raise PromiseBroken(
            f"{len(failing)} of {partition.n_groups} groups break "
            f"{' & '.join(map(str, needs))}; nothing is published (this is a bug in the algorithm)",
            failures=failing.tolist(),
        )


def _stated(need: Requirement) -> dict[str, Any]:
    if not isinstance(need.model, BuiltIn):
        return {"model": "custom", "class": type(need.model).__name__, "on": need.attribute}
    stated = need.model.to_dict()
    return stated if need.attribute is None else {**stated, "on": need.attribute}


def _require_form(
    shape: str, labels: str, table: Microdata, needs: tuple[Requirement, ...]
) -> None:
    require_labels(labels)
    if shape not in get_args(Form):
        known = " or ".join(get_args(Form))
        raise ParameterError(f"form must be {known}, not {shape!r}", parameter="form")
    if shape == AnatomizedTables.kind:
        for attribute in table.sensitive:
            require_discrete(attribute)
        for need in needs:
            if isinstance(need.model, LDiversity) and need.model.l <= 1:
                raise ParameterError(
                    f"l = {need.model.l:g} would publish each person's own value; use 2 or more",
                    parameter="l",
                )
        if table.sensitive and all(need.attribute is None for need in needs):
            raise ParameterError(
                "an anatomized release shows quasi-identifiers exactly, so k-anonymity alone "
                "promises nothing; add a model of the sensitive values, such as l-diversity",
                parameter="model",
            )


def _group_figures(needs: tuple[Requirement, ...], partition: Partition) -> dict[str, Any]:
    """Figures of release.json that depend on the groups alone."""
    k = max((need.model.k for need in needs if isinstance(need.model, KAnonymity)), default=None)
    figures: dict[str, Any] = {"discernibility": loss.discernibility(partition)}
    if k is not None:
        figures["average_group_size"] = loss.average_group_size(partition, k)
    figures["group_sizes"] = {
        "smallest": int(partition.sizes.min()),
        "median": float(np.median(partition.sizes)),
        "mean": partition.n_rows / partition.n_groups,
        "largest": int(partition.sizes.max()),
        "histogram": {str(size): n for size, n in loss.group_sizes(partition).items()},
    }
    return figures


def _box_figures(partition: Partition, boxes: Boxes, left_out: int) -> dict[str, Any]:
    """Figures of release.json about boxes; a row that is left out counts as unknown."""
    return {
        "ncp": loss.ncp(boxes, partition.sizes, left_out),
        "ncp_by_attribute": loss.ncp_by_attribute(boxes, partition.sizes, left_out),
        "iloss": loss.iloss(boxes, partition.sizes),
        "reconstruction_error": generalized_reconstruction_error(boxes, partition.sizes),
    }


def _anatomy_figures(groups: Mapping[str, Histograms]) -> dict[str, Any]:
    """Figures of release.json about QIT and ST."""
    errors = {name: reconstruction_error(seen) for name, seen in groups.items()}
    return {"reconstruction_error": errors}
