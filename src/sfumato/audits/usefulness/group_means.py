"""The best that a release's own groups allow: everybody's quasi-identifiers known exactly.

Boxes blur where people are, and groups blur who of them has which value. Whoever knows the first
still has to take the group's values for a person's: that is what no other way of showing the same
groups improves on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.defaults import QUICK_ROWS
from sfumato.audits.usefulness.questions import Classes, Cross, bins_of_codes
from sfumato.core.arrays import Codes, Floats
from sfumato.core.microdata import Microdata
from sfumato.core.moments import comparable
from sfumato.engines.parts import TableParts
from sfumato.errors import SfumatoError
from sfumato.forms.registry import Release, form_of

Means = Callable[[Cross], Floats]


def group_means(release: Release, table: TableParts, classes: Classes) -> Means | None:
    """Cross tables by the means of groups; None where finding everybody's group is not cheap."""
    form = form_of(release)
    if table.engine is not None or table.n_rows > QUICK_ROWS or form.unguessable:
        return None
    if not form.boxes or form.external or release.manifest.suppressed:
        return None
    try:
        found = _chances(release, table.domain, classes)
    except SfumatoError:
        return None  # boxes made for reading
    return None if found is None else lambda cross: _crossed(table, cross, *found)


def _chances(release: Release, people: Microdata, classes: Classes) -> tuple[Floats, Codes] | None:
    """How many people of each point have each class, and the points; None if boxes overlap."""
    seen = candidates_of(release, people, sensitive=classes.name)
    assert seen.values.attribute is not None
    if len(seen.groups.items) > seen.n_claims:
        return None  # boxes overlap: nobody can tell whose group is whose
    values = comparable(seen.values.attribute.values)
    codes = np.array([classes.place.get(value, -1) for value in [*values, None]])
    of = np.where(codes >= 0, classes.of_code[codes], 0)
    groups, n_groups = seen.values.groups, seen.values.n_groups
    held = np.zeros((n_groups, len(classes.bins)))
    np.add.at(held, (groups, of[seen.values.values]), seen.values.counts)
    found = held[seen.groups.items]
    found *= (seen.totals / np.maximum(found.sum(axis=1), 1))[:, None]
    return found, seen.points[seen.members.items]


def _crossed(table: TableParts, cross: Cross, chances: Floats, points: Codes) -> Floats:
    names = table.schema.quasi
    line = np.zeros(len(points), np.int64)
    for name, bins in zip(cross.columns, cross.bins, strict=True):
        of = bins_of_codes(table, name, bins)
        line = line * len(bins) + of[points[:, names.index(name)]]
    cells = np.zeros((len(cross.labels), chances.shape[1]))
    np.add.at(cells, line, chances)
    return cells
