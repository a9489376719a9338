"""What is left of the risk in a release: from its tables alone.

A group of a release is people who cannot be told apart by what is published of them; a value is
guessed by its share in the group (Corollary 1 of "Anatomy"). Where quasi-identifiers are published
exactly, people are found as in a table, and only their values hide in groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.audits.evidence import evidence_of, evidence_on
from sfumato.audits.risk.classes import Tally, chances_of
from sfumato.audits.risk.population import LISTED
from sfumato.audits.risk.results import AttributeRisk, Population, Risk
from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role, Schema
from sfumato.errors import ParameterError
from sfumato.forms.evidence import require_sound
from sfumato.forms.files import Files
from sfumato.forms.load import form_in, load_with, read_release, require_loadable
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import Release, form_of
from sfumato.io.tables import Source, read_table


def of_folder(path: str | Path, memory: int, population: Source | None = None) -> Risk:
    """The risk of a release folder, of which no more is kept than is needed."""
    return load_with(path, lambda files: _of_files(files, memory, population))


def of_release(release: Release, population: Source | None = None) -> Risk:
    """The risk of a release in memory."""
    form, manifest = form_of(release), release.manifest
    if (why := form.stands_for_nobody(release)) is not None:
        raise ParameterError(why, parameter="release")
    quasi = _names(manifest, Role.QUASI)
    evidence = evidence_of(release)
    require_sound(evidence.flaws())
    # those of a join release stand apart from its lines, and in groups all the same
    grouped = form.unguessable is None or form.external
    values = _values(release) if grouped and form.counted(release) else {}
    risk = of_groups(quasi, evidence.sizes, values)
    if not form.boxes:
        table: pa.Table = release.tables[0]
        shown = table.select(list(quasi))
        risk = found_exactly(Microdata.from_arrow(shown, Schema(quasi=quasi)), risk)
    return risk if population is None else _among(release, population, risk)


def of_groups(
    quasi: Sequence[str], sizes: Counts, values: Mapping[str, Histograms], *, exact: bool = False
) -> Risk:
    """The risk of people who hide in groups of these sizes, with these values."""
    tally = Tally.of_groups(sizes, {})
    return Risk(
        quasi=tuple(quasi),
        rows=tally.people,
        people=tally.people,
        classes=tally.classes,
        unique_rows=tally.sizes.get(1, 0),
        rows_in_small_classes=tally.small,
        smallest_class=min(tally.sizes),
        largest_k=tally.people,
        prosecutor=tally.chances(np.repeat(1 / sizes, sizes)),
        marketer=tally.classes / tally.people,
        attributes=tuple(_learned(name, found) for name, found in values.items()),
        exact=exact,
    )


def found_exactly(shown: Microdata, hidden: Risk) -> Risk:
    """People are found by the exact values beside the groups; their values stay hidden."""
    tally = Tally.of_table(shown)
    return replace(
        hidden,
        classes=tally.classes,
        unique_rows=tally.sizes.get(1, 0),
        rows_in_small_classes=tally.small,
        smallest_class=min(tally.sizes),
        prosecutor=tally.chances(),
        marketer=tally.classes / tally.people,
        exact=False,
    )


def _of_files(files: Files, memory: int, population: Source | None) -> Risk:
    form, sensitive = form_in(files), _names(files.manifest, Role.SENSITIVE)
    if form.fold is None or not sensitive or population is not None:
        require_loadable(files.manifest, memory, "assessing the risk")
        return of_release(read_release(files), population)
    counted = {name: form.fold(files, name, memory) for name in sensitive}
    sizes = counted[sensitive[0]].sizes
    values = {name: one.values for name, one in counted.items()}
    return of_groups(_names(files.manifest, Role.QUASI), sizes, values)


def _names(manifest: Manifest, role: Role) -> tuple[str, ...]:
    return tuple(column.name for column in manifest.of_role(role))


def _values(release: Release) -> dict[str, Histograms]:
    return {
        name: evidence_on(release, name).histograms(name)
        for name in _names(release.manifest, Role.SENSITIVE)
    }


def _learned(name: str, values: Histograms) -> AttributeRisk:
    """Of groups of their own: those of a join release are not the groups in which people hide."""
    tally = Tally.of_groups(values.sizes, {name: values.largest})
    return tally.attribute(name, float(values.whole.max() / values.whole.sum()))


def _among(release: Release, population: Source, risk: Risk) -> Risk:
    """The same among the people of a list: a row is one of those who fit what it shows."""
    form = form_of(release)
    if form.unguessable is not None:
        raise ParameterError(
            "people of this release are not compared with a list; sf.join_risk does that for a "
            "release that was joined with one",
            parameter="population",
        )
    known = read_table(population, columns=risk.quasi, trim=True)
    from sfumato.audits.breach.view import listed_chances  # who has no list does without

    rows, people = listed_chances(form.guessed(release), known, risk.quasi)
    of_rows = 1 / np.maximum(np.maximum(people, rows), 1)
    each = np.repeat(of_rows, rows)
    alone = int(np.count_nonzero((people == 1) & (rows == 1)))
    chances = chances_of(each)
    return replace(
        risk,
        journalist=chances,
        marketer=chances.average,
        population=Population(float(known.num_rows), float(alone), LISTED),
    )
