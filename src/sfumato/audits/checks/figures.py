"""Every count and figure of release.json, computed again from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from sfumato.audits.checks.groups import other_groups
from sfumato.core.schema import Role
from sfumato.forms.evidence import Evidence
from sfumato.forms.figures import rounded
from sfumato.forms.reading import strange_means
from sfumato.forms.registry import Release, form_of

_ROUNDING = 1e-8  # the last of nine digits may hang on the order in which a sum was taken


def other_figures(release: Release, evidence: Evidence) -> Iterator[str]:
    """Counts and figures that the tables do not give."""
    form = form_of(release)
    stated, sizes = release.manifest, evidence.sizes
    if stated.groups != len(sizes):
        yield f"{stated.groups:,} groups are stated, the tables have {len(sizes):,}"
    yield from other_groups(release, evidence)
    yield from _others("metrics", stated.metrics, form.figures(release, evidence))
    if form.own_boxes:
        yield from strange_means(stated.of_role(Role.QUASI), release.tables[0], sizes)


def _others(where: str, stated: Any, computed: Any) -> Iterator[str]:
    """What differs between two nests of figures, names and their order included."""
    if isinstance(computed, Mapping):
        if not isinstance(stated, Mapping) or list(stated) != list(computed):
            told = ", ".join(stated) if isinstance(stated, Mapping) else repr(stated)
            yield f"{where} states {told}, not {', '.join(computed)}"
            return
        for name in computed:
            yield from _others(f"{where}.{name}", stated[name], computed[name])
    elif type(stated) is not type(computed) or not _close(stated, computed):
        yield f"{where} is stated as {stated!r}, the tables give {computed!r}"


def _close(stated: Any, computed: Any) -> bool:
    if not isinstance(stated, float):
        return bool(stated == computed)
    near = isclose(stated, computed, rel_tol=_ROUNDING, abs_tol=_ROUNDING**2)
    return near and rounded({"": stated})[""] == stated
