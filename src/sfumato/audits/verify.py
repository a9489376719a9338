"""Verify a release from its published files alone, as anyone who receives it could.

The groups are read off the tables (see evidence), and every promised model is computed again on
them. Nothing of the owner's is needed or used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.audits.evidence import evidence_of, evidence_on, evidence_within
from sfumato.core.histograms import Histograms
from sfumato.errors import ParameterError, PromiseBroken, SchemaError, SfumatoError
from sfumato.models.base import Model
from sfumato.models.registry import model_from_dict
from sfumato.releases.joined import SENSITIVE_GROUP, JoinRelease
from sfumato.releases.load import Release, load
from sfumato.releases.manifest import FILE
from sfumato.releases.perturbed import MODEL as PERTURBATION
from sfumato.releases.perturbed import PerturbedTable

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of release.json and whether the files bear it out."""

    statement: str
    kept: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks of a release."""

    path: Path
    rows: int
    groups: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every statement is kept."""
        return all(check.kept for check in self.checks)

    def require(self) -> Verification:
        """Raise PromiseBroken unless every statement is kept."""
        broken = [check for check in self.checks if not check.kept]
        if broken:
            raise PromiseBroken(
                f"{self.path} breaks its promise: "
                + "; ".join(f"{check.statement}: {check.detail}" for check in broken),
                failures=broken,
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "path": str(self.path),
            "ok": self.ok,
            "rows": self.rows,
            "groups": self.groups,
            "checks": [
                {"statement": check.statement, "kept": check.kept, "detail": check.detail}
                for check in self.checks
            ],
        }

    def __repr__(self) -> str:
        """A summary in one line; ``checks`` has the rest."""
        kept = sum(check.kept for check in self.checks)
        return (
            f"Verification({str(self.path)!r}, {self.rows:,} rows in {self.groups:,} groups, "
            f"{kept} of {len(self.checks)} checks kept)"
        )


def verify(path: str | Path, *, models: Sequence[Model] = ()) -> Verification:
    """Compute every promise of a release folder again from its files.

    ``models`` are a user's own models that the release was made with, recognized by class name.
    """
    release = load(path)
    evidence = evidence_of(release)
    flaw = next(chain(_strangers(release, Path(path)), evidence.flaws()), None)
    statement = "tables as stated"
    if flaw is not None:
        return Verification(Path(path), evidence.rows, 0, (Check(statement, False, flaw),))
    own = {type(model).__name__: model for model in models}
    promises = (
        _check_retention(release, stated)
        if isinstance(release, PerturbedTable) and stated.get("model") == PERTURBATION
        else _check(release, stated, own)
        for stated in release.manifest.promise
    )
    checks = (Check(statement, True), *promises)
    return Verification(Path(path), evidence.rows, len(evidence.sizes), checks)


def _strangers(release: Release, folder: Path) -> Iterator[str]:
    """Files that are published with the release and belong to nothing it states."""
    if not release.manifest.promise:
        yield "release.json promises nothing"
    for path in sorted(folder.iterdir()):
        if path.name != FILE and path.stem not in release.stems:
            yield f"file {path.name!r} is not part of the release"
    for stem in release.stems:
        if sum(path.stem == stem for path in folder.iterdir()) > 1:
            yield f"table {stem!r} is there twice"


def _check(release: Release, stated: dict[str, Any], own: dict[str, Model]) -> Check:
    """Compute one promise again."""
    on, within, said = stated.get("on"), stated.get("within"), ""
    about_sizes = isinstance(release, JoinRelease) and on == SENSITIVE_GROUP
    aside = ("within", "on") if about_sizes else ("within",)
    try:
        model = _model({key: value for key, value in stated.items() if key not in aside}, own)
        evidence = evidence_on(release, on)
        if within is not None:
            evidence = evidence_within(release, within)
            said = f" within {', '.join(within)}"
        if about_sizes:
            said = " of sensitive groups"
        if (on is None or about_sizes) and getattr(model, "needs_sensitive", False):
            raise SchemaError("it does not say which sensitive column it is about")
        seen = evidence.histograms(on) if on else Histograms.of_sizes(evidence.sizes)
        failing = np.flatnonzero(~model.passes(seen))
    except SfumatoError as error:
        return Check(str(stated.get("class", stated.get("model"))), False, str(error))
    if not len(failing):
        return Check(f"{model}{said}", True)
    others = f", and {len(failing) - 1:,} other groups" if len(failing) > 1 else ""
    return Check(f"{model}{said}", False, evidence.name(int(failing[0])) + others)


def _check_retention(release: PerturbedTable, stated: dict[str, Any]) -> Check:
    """What p promises can be computed again; that values were kept so often cannot be seen."""
    on = str(stated.get("on"))
    try:
        kept, m = release.retention(on), float(stated["m"])
        size = int(stated["domain_size"])
    except (KeyError, TypeError, ValueError) as error:
        return Check(f"perturbation of {on}", False, f"release.json is damaged: {error!r}")
    statement = f"{m:g}-perturbation of {on}"
    if size != kept.size:
        return Check(statement, False, f"{size:,} values are stated, the domain has {kept.size:,}")
    if not 0 < kept.p < 1 or kept.m < m * (1 - _ROUNDING):
        return Check(statement, False, f"p = {kept.p:g} keeps a guess at 1/{kept.m:.4g} only")
    return Check(statement, True, f"p = {kept.p:.4g} is the publisher's word: files cannot show it")


def _model(stated: dict[str, Any], own: dict[str, Model]) -> Model:
    if not isinstance(stated.get("model"), str):
        raise ParameterError(f"{stated.get('model')!r} is no model's name", parameter="model")
    if stated["model"] != "custom":
        return model_from_dict(stated)
    if str(stated.get("class")) not in own:
        raise ParameterError(
            "a model of the publisher's own cannot be checked without it: verify(path, models=...)",
            parameter="models",
        )
    return own[str(stated["class"])]
