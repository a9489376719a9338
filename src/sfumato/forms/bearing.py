"""Which promises a form of release can bear.

A promise about the sizes of groups hides a row among others that look alike. Where every row shows
its quasi-identifiers exactly, no two need look alike, and a group is just a number beside them:
there only a promise about the sensitive values means anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.forms.manifest import CUSTOM
from sfumato.forms.registry import FORMS
from sfumato.models.anonymity import KAnonymity
from sfumato.models.registry import MODELS

_OF_VALUES = {name for name, model in MODELS.items() if model.needs_sensitive}


def unbearable(name: str, stated: Mapping[str, Any]) -> str | None:
    """Why a form cannot bear a promise as release.json states it; None if it can."""
    form, model, on = FORMS[name], str(stated.get("model")), stated.get("on")
    of_values = model in _OF_VALUES or (model == CUSTOM and on is not None)
    if form.bears(model, on) or (form.grouped and of_values):
        return None
    if not form.grouped:
        return f"{model} is not a promise of this form: it has no groups"
    if not form.boxes and model in (KAnonymity.name, CUSTOM):
        return (
            f"{model} is not a promise of this form: the {name} form shows the quasi-identifiers "
            "of every row exactly, so the size of a group hides nobody"
        )
    return f"{model} is not a promise of the {name} form"
