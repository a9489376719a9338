"""publish: partition, check, build. (A module called publish would hide the function.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import pyarrow as pa

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner, Stages, describe, silent
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import Seed
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.requirements import requirements
from sfumato.releases.anatomized import AnatomizedTables, anatomized_tables
from sfumato.releases.columns import Labels
from sfumato.releases.generalized import (
    GeneralizedTable,
    boxes_of,
    published_rows,
    require_means,
)
from sfumato.releases.load import Release
from sfumato.releases.manifest import Manifest, PublishedColumn, column_types
from sfumato.releases.permuted import PermutedTable, permuted_table
from sfumato.verbs.figures import anatomy_figures, box_figures, group_figures
from sfumato.verbs.promises import (
    Form,
    require_form,
    require_kept,
    require_kept_by_each,
    stated_promises,
)


@overload
def publish(  # type: ignore[overload-overlap]  # Anatomize is a Partitioner with another natural form
    table: Microdata,
    algorithm: Anatomize,
    model: Model,
    *,
    form: Literal["anatomized"] | None = None,
    seed: Seed | None = None,
    progress: Stages | None = None,
) -> AnatomizedTables: ...


@overload
def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Literal["anatomized"],
    seed: Seed | None = None,
    progress: Stages | None = None,
) -> AnatomizedTables: ...


@overload
def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Literal["permuted"],
    seed: Seed | None = None,
    progress: Stages | None = None,
) -> PermutedTable: ...


@overload
def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Literal["generalized"] | None = None,
    labels: Labels | None = None,
    means: bool | Sequence[str] = False,
    seed: Seed | None = None,
    progress: Stages | None = None,
) -> GeneralizedTable: ...


def publish(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    *,
    form: Form | None = None,
    labels: Labels | None = None,
    means: bool | Sequence[str] = False,
    seed: Seed | None = None,
    progress: Stages | None = None,
) -> Release:
    """Make a release that keeps the model's promise.

    ``form`` is "generalized" (boxes instead of values), "anatomized" (exact quasi-identifiers,
    sensitive values in a table of their own) or "permuted" (one table, sensitive values shuffled
    inside each group); any partition can be published in each, and an algorithm has a natural one.
    In a generalized release ``labels`` says how boxes are shown:
    "ranges" (two columns with the bounds; sets of values for unordered categories), "sets" (sets
    for all categories), "taxonomy" (labels of the tree where there is one), "suppression" (the
    value where all rows of a group share it, else nothing) or "text" (one readable column each,
    with labels where there is a tree); here, too, an algorithm has a natural way. ``means`` adds
    the group's mean of numerical quasi-identifiers. A ``seed`` makes the run repeatable, and
    whoever knows or finds it can undo the published order: keep one of ``new_seed`` like a key. A
    short one is for experiments. Without a seed, chance comes from the operating system.
    ``progress`` hears the stage and the share of it that is done.
    """
    shape: str = form if form is not None else algorithm.form
    shown: Labels = labels if labels is not None else getattr(algorithm, "labels", "ranges")
    needs = requirements(model, table.schema)
    require_form(shape, shown, table, needs)
    averaged = require_means(table, means)
    tell = progress or silent
    qids: Sequence[Sequence[str]] = getattr(algorithm, "qids", ())
    promise = stated_promises(needs, qids)
    randomness = Randomness(seed)
    randomness.bind((shape, shown, averaged, describe(algorithm), promise), table.digest)
    partition = algorithm.partition(
        table, needs, randomness, lambda share: tell("partitioning", share)
    )
    left_out = partition.n_left_out
    if left_out:
        rows, partition = partition.kept()
        table = table.take(rows)
    partition = partition.relabelled(randomness)
    groups = {name: _seen(table, name, partition) for name in table.schema.sensitive}
    if not qids:
        require_kept(needs, groups, partition)
    elif shape != GeneralizedTable.kind:
        raise ParameterError("several QIDs are promised by generalized releases", parameter="form")
    tell("building tables", 0.0)

    def manifest(
        columns: tuple[PublishedColumn, ...], metrics: dict[str, Any], *tables: pa.Table
    ) -> Manifest:
        return Manifest(
            kind=shape,
            promise=promise,
            algorithm={**describe(algorithm), **partition.notes},
            rows=partition.n_rows,
            groups=partition.n_groups,
            columns=columns,
            types=column_types(one.schema for one in tables),
            metrics={**group_figures(needs, partition), **metrics},
            suppressed=left_out,
            seed=randomness.stated_seed,
        )

    if shape == AnatomizedTables.kind:
        qit, sts, columns = anatomized_tables(table, partition, groups, randomness)
        figures = anatomy_figures(groups)
        return AnatomizedTables(qit, sts, manifest(columns, figures, qit, *sts.values()))
    if shape == PermutedTable.kind:
        shuffled, columns = permuted_table(table, partition, randomness)
        return PermutedTable(shuffled, manifest(columns, anatomy_figures(groups), shuffled))
    boxes = boxes_of(table, partition, shown)
    lines, group_of_row, others, columns = published_rows(
        table, partition, boxes, shown, averaged, randomness
    )
    require_kept_by_each(needs, table, partition, lines, columns, qids)
    stated = manifest(columns, box_figures(partition, boxes, left_out), lines, others)
    return GeneralizedTable(lines, group_of_row, others, stated)


def _seen(table: Microdata, name: str, partition: Partition) -> Histograms:
    attribute, codes = table.attributes[name], table.codes[name]
    return Histograms.of_groups(attribute, codes, partition.groups, partition.n_groups)
