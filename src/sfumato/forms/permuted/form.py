"""The permuted form, as the registry lists it: in all but its files, an anatomized one."""

from __future__ import annotations

from sfumato.answers.grouped import GroupedTables
from sfumato.forms.anatomized.answers import grouped_tables
from sfumato.forms.anatomized.form import figures
from sfumato.forms.form import Form
from sfumato.forms.permuted.evidence import Permuted
from sfumato.forms.permuted.release import PermutedTable


def _answerer(release: PermutedTable) -> GroupedTables:
    return grouped_tables(release.as_anatomized())


PERMUTED = Form(
    release=PermutedTable,
    answerer=_answerer,
    evidence=Permuted,
    figures=figures,
    guessed=PermutedTable.as_anatomized,
)
