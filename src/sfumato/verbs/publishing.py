"""publish: partition, check, build. (A module called publish would hide the function.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Unpack, overload

import numpy as np

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.base import Partitioner, Stages, describe, require_algorithm, silent
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.qids import within
from sfumato.core.arrays import Codes, Ints
from sfumato.core.fingerprint import digest
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.core.seeds import Seed
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.columns import Labels
from sfumato.forms.generalized.release import GeneralizedTable, require_means
from sfumato.forms.identifying import different_in
from sfumato.forms.manifest import Manifest
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.registry import FORMS, Release
from sfumato.forms.remembering import made_from
from sfumato.io.tables import Source
from sfumato.models.base import Model
from sfumato.models.requirements import requirements
from sfumato.verbs.checks import (
    Form,
    judged_groups,
    require_form,
    require_kept,
    stated_promises,
    warn_of_exposed,
    warn_of_identifying,
    warn_of_lost,
)
from sfumato.verbs.shortcuts import Shortcuts, model_now, read_now


@overload
def publish(
    table: Source,
    algorithm: Anatomize,
    model: Model | Sequence[Model] | None = None,
    *,
    form: Literal["anatomized"] | None = None,
    seed: Seed | None = None,
    progress: Stages | None = None,
    **shortcuts: Unpack[Shortcuts],
) -> AnatomizedTables: ...


@overload
def publish(
    table: Source,
    algorithm: Partitioner | None = None,
    model: Model | Sequence[Model] | None = None,
    *,
    form: Literal["anatomized"],
    seed: Seed | None = None,
    progress: Stages | None = None,
    **shortcuts: Unpack[Shortcuts],
) -> AnatomizedTables: ...


@overload
def publish(
    table: Source,
    algorithm: Partitioner | None = None,
    model: Model | Sequence[Model] | None = None,
    *,
    form: Literal["permuted"],
    seed: Seed | None = None,
    progress: Stages | None = None,
    **shortcuts: Unpack[Shortcuts],
) -> PermutedTable: ...


@overload
def publish(
    table: Source,
    algorithm: Partitioner | None = None,
    model: Model | Sequence[Model] | None = None,
    *,
    form: Literal["generalized"] | None = None,
    labels: Labels | None = None,
    means: bool | Sequence[str] = False,
    seed: Seed | None = None,
    progress: Stages | None = None,
    **shortcuts: Unpack[Shortcuts],
) -> GeneralizedTable: ...


@our_errors("publishing")
def publish(
    table: Source,
    algorithm: Partitioner | None = None,
    model: Model | Sequence[Model] | None = None,
    *,
    form: Form | None = None,
    labels: Labels | None = None,
    means: bool | Sequence[str] = False,
    seed: Seed | None = None,
    progress: Stages | None = None,
    schema: Schema | str | Path | None = None,
    quasi: Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    identifiers: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    k: int | None = None,
    l: float | None = None,
    t: float | None = None,
) -> Release:
    """Make a release that keeps the model's promise; of a list of models, all of theirs.

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

    For the hurried: a ``table`` that is not read yet is read on the way, as ``read`` does, with a
    ``schema`` (or the path of one) or with the roles that Schema takes, ``quasi`` (needed),
    ``sensitive``, ``identifiers`` and ``insensitive``. Without an algorithm it is Mondrian. ``k``,
    ``l`` and ``t`` stand for KAnonymity(k), LDiversity(l) and TCloseness(t), all of which are then
    promised; they take the place of a model, and are not added to one.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> model = sf.KAnonymity(5) & sf.DistinctLDiversity(3)
    >>> release = sf.publish(patients, sf.Mondrian(), model)
    >>> folder = release.write("out")
    >>> sf.verify(folder).ok
    True
    >>> sf.publish("patients.csv", k=5, l=3, quasi=["age", "sex"], sensitive="disease")
    GeneralizedTable(1,000 rows in ... groups, k-anonymity & l-diversity)
    """
    if algorithm is not None:
        require_algorithm(algorithm)
    asked = model_now(model, k, l, t)
    read = read_now(
        table, schema,
        quasi=quasi, sensitive=sensitive, identifiers=identifiers, insensitive=insensitive,
    )  # fmt: skip
    chosen = Mondrian() if algorithm is None else algorithm
    return grouped_release(read, chosen, asked, form, labels, means, seed, progress)


@dataclass(frozen=True, slots=True, eq=False)
class OwnGroups:
    """Who is in which group of a release, which its owner alone may know.

    ``rows`` are the rows of the whole table that are published, ``table`` holds these, and
    ``groups`` the group of each.
    """

    table: Microdata
    groups: Codes
    rows: Ints


def grouped_release(
    table: Microdata,
    algorithm: Partitioner,
    model: Model,
    form: Form | None,
    labels: Labels | None,
    means: bool | Sequence[str],
    seed: Seed | None,
    progress: Stages | None,
    owner: Callable[[OwnGroups], None] | None = None,
) -> Release:
    """What ``publish`` does with a table that is read; the ``owner`` hears of the groups."""
    read = table
    shape: str = form if form is not None else algorithm.form
    shown: Labels = labels if labels is not None else getattr(algorithm, "labels", "ranges")
    needs = requirements(model, table.schema)
    qids = within(algorithm, needs, table.schema)
    averaged = require_means(table, means)
    require_form(shape, shown, table, needs, qids, averaged)
    warn_of_identifying(different_in(table.insensitive), table.n_rows, stacklevel=5)
    tell = progress or silent
    promise = stated_promises(needs, qids)
    randomness = Randomness(seed)
    randomness.bind((shape, shown, averaged, describe(algorithm), promise), lambda: digest(table))
    partition = algorithm.partition(
        table, needs, randomness, lambda share: tell("partitioning", share)
    )
    left_out, rows = partition.n_left_out, np.arange(table.n_rows)
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
    if owner is not None:
        owner(OwnGroups(table, seen.partition.groups, rows))
    for asked, counted, alike in judged_groups(needs, seen, groups, qids):
        require_kept(asked, counted, alike)
        largest = {name: counts.largest for name, counts in counted.items()}
        warn_of_exposed(asked, largest, alike.sizes)
    stated = replace(stated, rows=seen.partition.n_rows, groups=seen.partition.n_groups)
    release: Release = made.build(seen, groups, stated, randomness)
    warn_of_lost(algorithm, table.attributes, release.manifest.metrics)
    made_from(release, read)
    return release
