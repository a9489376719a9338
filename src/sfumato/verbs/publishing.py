"""publish: partition, check, build. (A module called publish would hide the function.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, overload

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner, Stages, describe, silent
from sfumato.algorithms.qids import within
from sfumato.core.fingerprint import digest
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.seeds import Seed
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.columns import Labels
from sfumato.forms.generalized.release import GeneralizedTable, require_means
from sfumato.forms.manifest import Manifest
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.registry import FORMS, Release
from sfumato.forms.remembering import made_from
from sfumato.models.base import Model
from sfumato.models.requirements import requirements
from sfumato.verbs.checks import (
    Form,
    judged_groups,
    require_form,
    require_kept,
    stated_promises,
    warn_of_exposed,
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


@our_errors("publishing")
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

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> model = sf.KAnonymity(5) & sf.DistinctLDiversity(3)
    >>> release = sf.publish(patients, sf.Mondrian(), model)
    >>> folder = release.write("out")
    >>> sf.verify(folder).ok
    True
    """
    release = _release(table, algorithm, model, form, labels, means, seed, progress)
    made_from(release, table)
    return release


def _release(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    form: Form | None,
    labels: Labels | None,
    means: bool | Sequence[str],
    seed: Seed | None,
    progress: Stages | None,
) -> Release:
    shape: str = form if form is not None else algorithm.form
    shown: Labels = labels if labels is not None else getattr(algorithm, "labels", "ranges")
    needs = requirements(model, table.schema)
    qids = within(algorithm, needs, table.schema)
    averaged = require_means(table, means)
    require_form(shape, shown, table, needs, qids, averaged)
    tell = progress or silent
    promise = stated_promises(needs, qids)
    randomness = Randomness(seed)
    randomness.bind((shape, shown, averaged, describe(algorithm), promise), lambda: digest(table))
    partition = algorithm.partition(
        table, needs, randomness, lambda share: tell("partitioning", share)
    )
    left_out = partition.n_left_out
    if left_out:
        rows, partition = partition.kept()
        table = table.take(rows)
    tell("building tables", 0.0)
    stated = Manifest(
        kind=shape,
        promise=promise,
        algorithm=describe(algorithm),
        suppressed=left_out,
        seed=randomness.stated_seed,
        search=partition.notes,
    )
    made = FORMS[shape]
    assert made.build is not None
    seen = made.show(table, partition, shown, averaged, randomness)
    groups = seen.counted()
    for asked, counted, alike in judged_groups(needs, seen, groups, qids):
        require_kept(asked, counted, alike)
        largest = {name: counts.largest for name, counts in counted.items()}
        warn_of_exposed(asked, largest, alike.sizes)
    stated = replace(stated, rows=seen.partition.n_rows, groups=seen.partition.n_groups)
    release: Release = made.build(seen, groups, stated, randomness)
    return release
