"""The generalized form, as the registry lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core.arrays import Words
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.forms.columns import Labels
from sfumato.forms.evidence import Evidence
from sfumato.forms.figures import generalized_figures, published_figures
from sfumato.forms.form import GROUPS, ROWS, Form, Hashes, Shown
from sfumato.forms.generalized.answers import Boxed
from sfumato.forms.generalized.blocks import arranged
from sfumato.forms.generalized.counted import CountedTable
from sfumato.forms.generalized.evidence import Generalized, within
from sfumato.forms.generalized.lines import BY_BOXES
from sfumato.forms.generalized.release import (
    GeneralizedTable,
    boxes_of,
    group_words,
    published_groups,
    published_rows,
)
from sfumato.forms.generalized.slices import SLICES
from sfumato.forms.manifest import CUSTOM, Manifest
from sfumato.models.anonymity import KAnonymity


def _show(
    table: Microdata,
    partition: Partition,
    labels: Labels,
    means: Sequence[str],
    randomness: Randomness,
) -> Shown:
    boxes = boxes_of(table, partition, labels)
    lines, columns = published_groups(table, partition, boxes, labels, means)
    words = group_words(boxes, lines, means, randomness.key(GROUPS))
    lines, partition = arranged(lines, words, partition)
    rows = partition.published_order(randomness.key(ROWS).half_words(np.arange(partition.n_rows)))
    return Shown(table, partition, rows, lines, columns)


def _build(
    shown: Shown, _groups: Mapping[str, Histograms], stated: Manifest, _randomness: Randomness
) -> GeneralizedTable:
    lines, partition = shown.lines, shown.partition
    rows, more = published_rows(shown.table, shown.rows, lines)
    figures = generalized_figures(
        stated.promise, shown.columns, lines, partition.sizes, stated.suppressed
    )
    stated = replace(stated, metrics=figures).of_tables((*shown.columns, *more), lines, rows)
    return GeneralizedTable(lines, partition.published_groups(), rows, stated)


def _bears(model: str, on: object) -> bool:
    return model in (KAnonymity.name, CUSTOM) and on is None


def _content(release: GeneralizedTable, hashes: Hashes) -> Iterator[Words]:
    # groups stand once: sets that are repeated in every row are hashed once
    others = hashes(release.rows) if release.rows.num_columns else np.uint64(0)
    yield hashes(release.groups)[release.group_of_row] + others


def _parts(release: GeneralizedTable) -> list[int]:
    return release.parts


def _figures(release: GeneralizedTable, evidence: Evidence) -> dict[str, Any]:
    return published_figures(release.manifest, release.groups, evidence.sizes)


GENERALIZED = Form(
    release=GeneralizedTable,
    answerer=Boxed.of_release,
    evidence=Generalized,
    figures=_figures,
    show=_show,
    build=_build,
    boxes=True,
    bears=_bears,
    evidence_within=within,
    content=_content,
    parts=_parts,
    fold=CountedTable.read,
    slices=SLICES,
    lines=BY_BOXES,
)
