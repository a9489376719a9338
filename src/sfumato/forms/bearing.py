"""Which promises a form of release can bear.

A promise about the sizes of groups hides a row among others that look alike. Where every row shows
its quasi-identifiers exactly, no two need look alike, and a group is just a number beside them:
there only a promise about the sensitive values means anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import SENSITIVE_GROUP, JoinRelease
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.release import MODEL as PERTURBATION
from sfumato.forms.perturbed.release import PerturbedTable
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.registry import MODELS

CUSTOM = "custom"
_OF_VALUES = {name for name, model in MODELS.items() if model.needs_sensitive}
_EXACT = (AnatomizedTables.kind, PermutedTable.kind)


def unbearable(kind: str, stated: Mapping[str, Any]) -> str | None:
    """Why a form cannot bear a promise as release.json states it; None if it can."""
    model, on = str(stated.get("model")), stated.get("on")
    if kind == PerturbedTable.kind:
        borne = model == PERTURBATION
        return None if borne else f"{model} is not a promise of this form: it has no groups"
    if model in _OF_VALUES or (model == CUSTOM and on is not None):
        return None
    if kind in _EXACT and (model == KAnonymity.name or model == CUSTOM):
        return (
            f"{model} is not a promise of this form: the {kind} form shows the quasi-identifiers "
            "of every row exactly, so the size of a group hides nobody"
        )
    sizes = {
        GeneralizedTable.kind: model in (KAnonymity.name, CUSTOM) and on is None,
        JoinRelease.kind: (model == KJoinAnonymity.name and on is None)
        or (model == KAnonymity.name and on == SENSITIVE_GROUP),
    }
    return None if sizes.get(kind) else f"{model} is not a promise of the {kind} form"
