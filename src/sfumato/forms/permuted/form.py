"""The permuted form, as the registry lists it: in all but its files, an anatomized one."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.answers.grouped import GroupedTables
from sfumato.answers.lines import BY_ROWS
from sfumato.core.histograms import Histograms
from sfumato.core.randomness import Randomness
from sfumato.forms.anatomized.answers import grouped_tables
from sfumato.forms.anatomized.form import figures, with_figures
from sfumato.forms.form import Form, Shown
from sfumato.forms.manifest import Manifest
from sfumato.forms.permuted.evidence import Permuted
from sfumato.forms.permuted.release import PermutedTable, permuted_table
from sfumato.forms.permuted.slices import SLICES


def _answerer(release: PermutedTable) -> GroupedTables:
    return grouped_tables(release.as_anatomized())


def _build(
    shown: Shown, groups: Mapping[str, Histograms], stated: Manifest, randomness: Randomness
) -> PermutedTable:
    shuffled, columns = permuted_table(shown, randomness)
    stated = with_figures(stated, shown, groups)
    return PermutedTable(shuffled, stated.of_tables(columns, shuffled))


PERMUTED = Form(
    release=PermutedTable,
    answerer=_answerer,
    evidence=Permuted,
    figures=figures,
    build=_build,
    guessed=PermutedTable.as_anatomized,
    slices=SLICES,
    lines=BY_ROWS,
)
