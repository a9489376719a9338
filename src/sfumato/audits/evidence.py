"""What a release's files say about its groups, whatever its form.

A generalized table shows groups as rows that are alike on every quasi-identifying column; an
anatomized release numbers them and counts their values in the STs, a permuted one shows them. A
join release has two kinds of groups: lines that are alike, and sensitive groups of microdata rows.
All come down to histograms. In a perturbed table every row stands for itself, and its own value is
not there to be counted.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.forms.anatomized.evidence import Anatomized
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.compact import number_lines
from sfumato.forms.evidence import Evidence
from sfumato.forms.generalized.evidence import Generalized
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.evidence import JoinedLines, SensitiveGroups
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.load import Release
from sfumato.forms.permuted.evidence import Permuted
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.evidence import Perturbed
from sfumato.forms.perturbed.release import PerturbedTable

__all__ = ["Evidence", "evidence_of", "evidence_on", "evidence_within"]


def evidence_of(release: Release) -> Evidence:
    """Read the groups of a release."""
    if isinstance(release, AnatomizedTables):
        return Anatomized(release)
    if isinstance(release, PermutedTable):
        return Permuted(release)
    if isinstance(release, PerturbedTable):
        return Perturbed(release)
    if isinstance(release, JoinRelease):
        return JoinedLines(release)
    return Generalized(release)


def evidence_on(release: Release, on: object) -> Evidence:
    """The groups that a promise about ``on`` is about: a join release's promises about sensitive
    values, or about sensitive groups, are about rows of the microdata.
    """
    if isinstance(release, JoinRelease) and on is not None:
        return SensitiveGroups(release)
    return evidence_of(release)


def evidence_within(release: Release, names: object) -> Evidence:
    """The same rows, grouped by some of the quasi-identifiers only, as release.json names them."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError("it does not name the columns that it is about")
    if not isinstance(release, GeneralizedTable):
        raise SchemaError("only a generalized release can promise something about some columns")
    columns = [one for one in release.manifest.of_role(Role.QUASI) if one.name in names]
    if not names or len(columns) < len(set(names)):
        raise SchemaError(f"it is about {', '.join(names)}, which are not all published")
    lines = release.groups.select([name for one in columns for name in one.columns])
    numbers, first = number_lines(lines)
    alike = lines.take(pa.array(first))
    grouped = replace(release, groups=alike, group_of_row=numbers[release.group_of_row])
    return Generalized(grouped)
