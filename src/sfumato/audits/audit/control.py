"""The control of an audit: the same release of a table in which nothing goes with anything.

The sensitive columns of the true table are shuffled, and it is published once more as release.json
says: by the same algorithm, under the same promises. Attackers have to come out at what is promised
there. One that does better sees something that it must not see, and its figures prove nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.qids import SeveralQIDs
from sfumato.audits.attacks.results import shuffled
from sfumato.audits.stated_algorithms import ALGORITHMS, BESIDE, made
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import FORMS, Release
from sfumato.models.base import Model, all_of
from sfumato.models.registry import model_from_dict
from sfumato.verbs.checks import Form
from sfumato.verbs.publishing import publish


def control_of(manifest: Manifest, truth: Microdata, seed: int) -> tuple[Release, Microdata] | None:
    """A release of the shuffled table, and that table; None where it cannot be made again."""
    algorithm, form = remade(manifest.algorithm), FORMS[manifest.kind]
    if algorithm is None or form.build is None:
        return None
    mixed, kind = shuffled(truth, seed), cast(Form, manifest.kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)  # said of the release itself
            algorithm, model = _promising(guided(algorithm, manifest), manifest)
            return publish(mixed, algorithm, model, form=kind), mixed
    except SfumatoError:
        return None  # promises of the owner's own, or boxes that need what is not stated


def remade(stated: dict[str, Any]) -> Partitioner | None:
    """The algorithm that is stated, without what is only counted there; None if it is unknown."""
    options = {**stated}
    name = options.pop("name", None)
    if name not in ALGORITHMS:
        return None
    for counted in BESIDE.get(name, {}):
        options.pop(counted, None)
    try:
        return made(ALGORITHMS[name], options)
    except (SfumatoError, TypeError, ValueError):
        return None


def guided(algorithm: Partitioner, manifest: Manifest) -> Partitioner:
    """With cuts for a sensitive column, if it is stated that there were, and can only be one."""
    names = [column.name for column in manifest.of_role(Role.SENSITIVE)]
    if isinstance(algorithm, Mondrian) and manifest.algorithm.get("target") and len(names) == 1:
        return replace(algorithm, target=names[0])
    return algorithm


def promised(promise: Iterable[Mapping[str, Any]]) -> Model:
    """What release.json promises, as a model."""
    stated = [{k: v for k, v in one.items() if k != "within"} for one in promise]
    single = [one for i, one in enumerate(stated) if one not in stated[:i]]
    return all_of([model_from_dict(one) for one in single])


def _promising(algorithm: Partitioner, manifest: Manifest) -> tuple[Partitioner, Model]:
    """What is promised; each QID under its own promises, if they are not the same for all."""
    if not isinstance(algorithm, SeveralQIDs):
        return algorithm, promised(manifest.promise)
    own = [
        promised([one for one in manifest.promise if one.get("within") == list(qid)])
        for qid in algorithm.qids
    ]
    return algorithm.under(own), own[0]
