"""--qid of sfumato publish: columns, and what is promised of them if not what is of all."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import click

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.cli.models import MODELS, model_of
from sfumato.errors import ParameterError
from sfumato.models.base import Model

_NUMBERS = {"k": int, "l": float, "distinct-l": int, "entropy-l": float, "t": float}


def with_qids(algorithm: Partitioner, given: Mapping[str, Any]) -> tuple[Partitioner, Model | None]:
    """The algorithm under the QIDs that were given, and a model that one of them has."""
    pairs = [_parsed(text) for text in given["qid"]]
    models = [model for _, model in pairs if model is not None]
    if not pairs:
        return algorithm, None
    if isinstance(algorithm, sf.FullDomain) and not models:
        # which also finds levels for QIDs that share columns
        columns = [columns for columns, _ in pairs]
        return sf.FullDomain(
            algorithm.suppress, algorithm.cost, columns, algorithm.time_limit
        ), None
    qids = [columns if model is None else (columns, model) for columns, model in pairs]
    all_own = models[0] if len(models) == len(pairs) else None
    return sf.SeveralQIDs(algorithm, qids), all_own


def _parsed(text: str) -> tuple[list[str], Model | None]:
    """``age,sex`` or ``age,sex:k=20,l=3``."""
    columns, _, promised = text.rpartition(":")
    if "=" not in promised:
        columns, promised = text, ""
    names = [name.strip() for name in next(csv.reader([columns]), [])]
    if not names or not all(names):
        raise ParameterError(
            f"--qid {text!r} names no column; name some, such as --qid age,sex", parameter="qid"
        )
    return names, _model(promised.split(",")) if promised else None


def _model(promised: Sequence[str]) -> Model:
    found: dict[str, Any] = dict.fromkeys(MODELS)
    for one in promised:
        name, _, number = one.strip().partition("=")
        try:
            found[name.replace("-", "_")] = _NUMBERS[name](number)
        except (KeyError, ValueError):
            known = ", ".join(f"{name}=..." for name in _NUMBERS)
            raise click.UsageError(
                f"--qid: {one!r} promises nothing that is known; after the colon stands {known}"
            ) from None
    return model_of(found)
