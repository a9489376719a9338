"""Models by the options of sfumato publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from sfumato.models.anonymity import KAnonymity, KJoinAnonymity
from sfumato.models.base import Model, all_of
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)

MODELS: dict[str, Callable[[Any], Model]] = {
    "k": KAnonymity,
    "l": lambda l: LDiversity(int(l) if l.is_integer() else l),
    "distinct_l": DistinctLDiversity,
    "entropy_l": EntropyLDiversity,
    "recursive": lambda both: RecursiveLDiversity(*both),
    "t": TCloseness,
}


def model_of(given: Mapping[str, Any], *, external: bool = False) -> Model:
    """All models that were asked for, together."""
    asked = [make(given[name]) for name, make in MODELS.items() if given[name] is not None]
    if external and given["k"] is not None:
        asked[0] = KJoinAnonymity(given["k"])
    if not asked:
        raise click.UsageError("say what to promise: --k, --l, --distinct-l, --entropy-l, --t, ...")
    return all_of(asked)
