"""What a release's files say about its groups, whatever its form.

A generalized table shows groups as rows that are alike on every quasi-identifying column; an
anatomized release numbers them and counts their values in the STs, a permuted one shows them. A
join release has two kinds of groups: lines that are alike, and sensitive groups of microdata rows.
All come down to histograms. In a perturbed table every row stands for itself, and its own value is
not there to be counted.
"""

from __future__ import annotations

from sfumato.errors import SchemaError
from sfumato.forms.evidence import Evidence
from sfumato.forms.registry import Release, form_of


def evidence_of(release: Release) -> Evidence:
    """Read the groups of a release."""
    return form_of(release).evidence(release)


def evidence_on(release: Release, on: object) -> Evidence:
    """The groups that a promise about ``on`` is about: a join release's promises about sensitive
    values, or about sensitive groups, are about rows of the microdata.
    """
    form = form_of(release)
    if form.evidence_on is None or on is None:
        return form.evidence(release)
    return form.evidence_on(release)


def evidence_within(release: Release, names: object) -> Evidence:
    """The same rows, grouped by some of the quasi-identifiers only, as release.json names them."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError("it does not name the columns that it is about")
    return form_of(release).evidence_within(release, names)
