"""The generalized form, as the registry lists it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.core.arrays import Words
from sfumato.forms.evidence import Evidence
from sfumato.forms.figures import published_figures
from sfumato.forms.form import Form, Hashes
from sfumato.forms.generalized.answers import Boxed
from sfumato.forms.generalized.evidence import Generalized, within
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import CUSTOM
from sfumato.models.anonymity import KAnonymity


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
    boxes=True,
    bears=_bears,
    evidence_within=within,
    content=_content,
    parts=_parts,
)
