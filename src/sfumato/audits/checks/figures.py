"""Every count and figure of release.json, computed again from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from sfumato.audits.evidence import Evidence
from sfumato.core.arrays import Counts
from sfumato.core.schema import Role
from sfumato.forms.figures import anatomized_figures, generalized_figures, rounded
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.load import Release
from sfumato.forms.perturbed.release import PerturbedTable, perturbed_figures
from sfumato.forms.reading import strange_means

_ROUNDING = 1e-8  # the last of nine digits may hang on the order in which a sum was taken


def other_figures(release: Release, evidence: Evidence) -> Iterator[str]:
    """Counts and figures that the tables do not give."""
    stated, sizes = release.manifest, evidence.sizes
    if stated.groups != len(sizes):
        yield f"{stated.groups:,} groups are stated, the tables have {len(sizes):,}"
    yield from _others("metrics", stated.metrics, _computed(release, evidence, sizes))
    if isinstance(release, GeneralizedTable):
        yield from strange_means(stated.of_role(Role.QUASI), release.groups, sizes)


def _computed(release: Release, evidence: Evidence, sizes: Counts) -> dict[str, Any]:
    manifest = release.manifest
    if isinstance(release, PerturbedTable):
        return perturbed_figures({name: release.retention(name) for name in release.domains})
    if isinstance(release, GeneralizedTable | JoinRelease):
        return generalized_figures(
            manifest.promise,
            manifest.of_role(Role.QUASI),
            release.groups,
            sizes,
            manifest.suppressed,
        )
    names = [column.name for column in manifest.of_role(Role.SENSITIVE)]
    seen = {name: evidence.histograms(name) for name in names}
    return anatomized_figures(manifest.promise, sizes, seen)


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
