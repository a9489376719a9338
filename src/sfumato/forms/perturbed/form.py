"""The perturbed form, as the registry lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

import pyarrow as pa

from sfumato.forms.evidence import Check, Evidence
from sfumato.forms.form import Form
from sfumato.forms.perturbed.answers import Perturbed as Answers
from sfumato.forms.perturbed.evidence import Perturbed as Rows
from sfumato.forms.perturbed.release import MODEL, PerturbedTable, perturbed_figures

_ROUNDING = 1e-9


def _bears(model: str, _on: object) -> bool:
    return model == MODEL


def _figures(release: PerturbedTable, _evidence: Evidence) -> dict[str, Any]:
    return perturbed_figures({name: release.retention(name) for name in release.domains})


def _typed(release: PerturbedTable) -> tuple[pa.Table, ...]:
    return (release.table,)


def _no_partitioner(_stated: Mapping[str, Any]) -> None:
    """Noise divides nothing."""


def _statements(release: PerturbedTable) -> Iterator[str]:
    promise = release.manifest.promise
    if len({one.get("on") for one in promise if isinstance(one.get("on"), str)}) < len(promise):
        yield "noise is stated of a column more than once"
    if release.manifest.algorithm != {"name": "perturb"}:
        yield "the algorithm of a perturbed table is called perturb, and has no options"


def _judged(release: PerturbedTable, stated: Mapping[str, Any]) -> Check:
    """What p promises can be computed again; that values were kept so often cannot be seen."""
    on = str(stated.get("on"))
    p, m, size = (stated.get(name, 0) for name in ("p", "m", "domain_size"))
    if list(stated) != ["model", "on", "p", "m", "domain_size"]:
        return Check(f"perturbation of {on}", False, "it is stated by on, p, m and domain_size")
    if type(p) is not float or type(m) not in (int, float) or type(size) is not int:
        return Check(f"perturbation of {on}", False, "p, m and domain_size are numbers")
    kept, statement = release.retention(on), f"{m:g}-perturbation of {on}"
    if size != kept.size:
        return Check(statement, False, f"{size:,} values are stated, the domain has {kept.size:,}")
    if not 0 < kept.p < 1 or kept.m < m * (1 - _ROUNDING):
        return Check(statement, False, f"p = {kept.p:g} keeps a guess at 1/{kept.m:.4g} only")
    if not m > 1 or not isclose(kept.m, m, rel_tol=_ROUNDING):
        return Check(statement, False, f"with p = {kept.p:g} m is {kept.m:.6g}, not {m:g}")
    return Check(statement, True, f"p = {kept.p:.4g} is the publisher's word: files cannot show it")


PERTURBED = Form(
    release=PerturbedTable,
    answerer=Answers.of_release,
    evidence=Rows,
    figures=_figures,
    grouped=False,
    bears=_bears,
    judged=_judged,
    typed=_typed,
    sensitive_as=("perturbed",),
    partitioner=_no_partitioner,
    statements=_statements,
    unguessable="a perturbed table has no groups to guess from; release.json states the chance 1/m "
    "with which the shown value is the true one",
)
