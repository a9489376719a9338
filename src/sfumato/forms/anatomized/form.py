"""The anatomized form, as the registry lists it."""

from __future__ import annotations

from typing import Any

from sfumato.core.schema import Role
from sfumato.forms.anatomized.answers import grouped_tables
from sfumato.forms.anatomized.evidence import Anatomized
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables
from sfumato.forms.evidence import Evidence
from sfumato.forms.figures import anatomized_figures
from sfumato.forms.form import Form


def figures(release: Any, evidence: Evidence) -> dict[str, Any]:
    """Those of groups whose sensitive values are counted apart."""
    names = [column.name for column in release.manifest.of_role(Role.SENSITIVE)]
    seen = {name: evidence.histograms(name) for name in names}
    return anatomized_figures(release.manifest.promise, evidence.sizes, seen)


ANATOMIZED = Form(
    release=AnatomizedTables,
    answerer=grouped_tables,
    evidence=Anatomized,
    figures=figures,
    blurs_relations=True,
    count_column=COUNT,
    group_column=GROUP,
    remedy="ask for a smaller l",
)
