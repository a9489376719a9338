"""The forms of release. A new one is a folder beside the others, and a line here."""

from __future__ import annotations

from typing import Any, TypeAlias

from sfumato.core.expected import given
from sfumato.errors import ParameterError
from sfumato.forms.anatomized.form import ANATOMIZED
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.form import Form
from sfumato.forms.generalized.counted import CountedTable
from sfumato.forms.generalized.form import GENERALIZED
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.form import JOINED
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.masked.form import MASKED
from sfumato.forms.masked.release import MaskedTable
from sfumato.forms.permuted.form import PERMUTED
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.form import PERTURBED
from sfumato.forms.perturbed.release import PerturbedTable

Guessed: TypeAlias = GeneralizedTable | AnatomizedTables | CountedTable
Release: TypeAlias = (
    GeneralizedTable | AnatomizedTables | PermutedTable | PerturbedTable | MaskedTable | JoinRelease
)

FORMS: dict[str, Form] = {
    form.name: form for form in (GENERALIZED, ANATOMIZED, PERMUTED, PERTURBED, MASKED, JOINED)
}


def published_forms() -> list[str]:
    """The forms that ``publish`` makes."""
    return [name for name, form in FORMS.items() if form.build is not None]


def form_of(release: Any) -> Form:
    """The form of a release, by its class."""
    form = FORMS.get(getattr(release, "kind", ""))
    if form is None:
        raise ParameterError(
            f"release must be a release, not {given(release)}; sf.publish makes one, and sf.load "
            "reads one from its folder",
            parameter="release",
        )
    return form
