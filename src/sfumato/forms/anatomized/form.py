"""The anatomized form, as the registry lists it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.answers.lines import BY_ROWS
from sfumato.core.histograms import Histograms
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.forms.anatomized.answers import grouped_tables
from sfumato.forms.anatomized.evidence import Anatomized
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables, anatomized_tables
from sfumato.forms.anatomized.slices import SLICES
from sfumato.forms.evidence import Evidence
from sfumato.forms.figures import anatomized_figures
from sfumato.forms.form import Form, Shown
from sfumato.forms.manifest import Manifest
from sfumato.metrics.reconstruction import reconstruction_error


def figures(release: Any, evidence: Evidence) -> dict[str, Any]:
    """Those of groups whose sensitive values are counted apart."""
    names = [column.name for column in release.manifest.of_role(Role.SENSITIVE)]
    errors = {name: reconstruction_error(evidence.histograms(name)) for name in names}
    return anatomized_figures(release.manifest.promise, evidence.sizes, errors)


def _build(
    shown: Shown, groups: Mapping[str, Histograms], stated: Manifest, _randomness: Randomness
) -> AnatomizedTables:
    qit, sts, columns = anatomized_tables(shown, groups)
    stated = with_figures(stated, shown, groups)
    return AnatomizedTables(qit, sts, stated.of_tables(columns, qit, *sts.values()))


def with_figures(stated: Manifest, shown: Shown, groups: Mapping[str, Histograms]) -> Manifest:
    """The same figures, of what is about to be published."""
    errors = {name: reconstruction_error(seen) for name, seen in groups.items()}
    figures = anatomized_figures(stated.promise, shown.partition.sizes, errors)
    return replace(stated, metrics=figures)


ANATOMIZED = Form(
    release=AnatomizedTables,
    answerer=grouped_tables,
    evidence=Anatomized,
    figures=figures,
    build=_build,
    blurs_relations=True,
    count_column=COUNT,
    group_column=GROUP,
    slices=SLICES,
    lines=BY_ROWS,
)
