"""The models that ship, by the name they have in files."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ParameterError
from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)

MODELS: dict[str, type[BuiltIn]] = {
    model.name: model
    for model in (
        KAnonymity,
        KJoinAnonymity,
        LDiversity,
        DistinctLDiversity,
        EntropyLDiversity,
        RecursiveLDiversity,
        TCloseness,
    )
}


def model_from_dict(stated: dict[str, Any]) -> BuiltIn:
    """The model that release.json states."""
    name = stated.get("model")
    if name not in MODELS:
        raise ParameterError(
            f"unknown model {name!r}; known: {', '.join(MODELS)}", parameter="model"
        )
    try:
        return MODELS[name].from_dict(stated)
    except TypeError as error:
        raise ParameterError(f"{name}: {error}", parameter="model") from error
