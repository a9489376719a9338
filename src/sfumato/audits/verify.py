"""Verify a release from its published files alone, as anyone who receives it could.

The groups are read off the tables (see evidence), and every promised model is computed again on
them. Nothing of the owner's is needed or used, and nothing of the release is believed: see checks.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.audits.checks import (
    doubled_columns,
    other_figures,
    other_files,
    other_spellings,
    other_statements,
    strangers,
)
from sfumato.audits.evidence import evidence_of, evidence_on, evidence_within
from sfumato.core.foreign import is_memory, our_errors
from sfumato.core.histograms import Histograms
from sfumato.core.html import card, grid
from sfumato.engines.choice import CLUSTERS, address_of, require_engine
from sfumato.engines.opening import open_workers
from sfumato.engines.pieces import Job, Said
from sfumato.errors import ParameterError, PromiseBroken, SchemaError, SfumatoError
from sfumato.forms.bearing import unbearable
from sfumato.forms.checksums import other_checksums
from sfumato.forms.evidence import Check
from sfumato.forms.exposure import NEARLY, exposed
from sfumato.forms.files import Files
from sfumato.forms.load import read_release
from sfumato.forms.manifest import CUSTOM, WITHOUT_CHECKSUMS, Manifest
from sfumato.forms.registry import Release, form_of
from sfumato.forms.settled import settled
from sfumato.forms.stated import read_manifest
from sfumato.io.opened import one_line
from sfumato.io.paths import usable
from sfumato.models.base import BuiltIn, Model
from sfumato.models.registry import model_from_dict

_SEARCHABLE = Check(
    "a seed that nobody can find",
    False,
    "made with a short seed, for experiments: whoever has the files can find it by trying, and "
    "undo what chance was to hide; publish without a seed",
)


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

    def _repr_html_(self) -> str:
        """Every statement, and whether it is kept."""
        rows = [
            (one.statement, "kept" if one.kept else "broken", one.detail) for one in self.checks
        ]
        return card(repr(self), grid(("statement", "", ""), rows, left=3))

    def __repr__(self) -> str:
        """A summary in one line; ``checks`` has the rest."""
        kept = sum(check.kept for check in self.checks)
        return (
            f"Verification({str(self.path)!r}, {self.rows:,} rows in {self.groups:,} groups, "
            f"{kept} of {len(self.checks)} checks kept)"
        )


@our_errors("verifying")
def verify(
    path: str | Path,
    *,
    models: Sequence[Model] = (),
    engine: str = "memory",
    scheduler: str | None = None,
    master: str | None = None,
) -> Verification:
    """Compute every promise of a release folder again from its files.

    ``models`` are a user's own models that the release was made with, recognized by class name.
    With "dask" or "spark" one worker of a cluster reads the release (docs/cluster.md).

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> folder = sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10)).write("out")
    >>> sf.verify(folder).ok
    True
    """
    require_engine(engine, None, CLUSTERS)
    address = address_of(engine, scheduler, master)
    if engine in ("auto", "stream"):
        raise ParameterError(
            f"a release is verified as a whole, not by the engine {engine!r}; choose memory, or a "
            "cluster with a worker that has room for it",
            parameter="engine",
        )
    folder = usable(path)
    with open_workers(engine, address, None) as workers:
        if workers is None:
            return settled(folder, lambda: _verify(folder, models))
        job = _Verifying(Said(workers.dumps(tuple(models))), folder.resolve())
        (done,) = workers.run("verify", job, [folder])
    if done.error is not None:
        raise done.error
    found: Verification = done.result
    return found


class _Verifying(Job):
    """What a release promises, by one worker; it is told of models as it can read them."""

    __slots__ = ()

    def run(self, item: Path) -> tuple[Verification, int]:
        """With the name that the folder was asked by."""
        models: Sequence[Model] = pickle.loads(self.told())
        found = settled(self.folder, lambda: _verify(self.folder, models))
        return replace(found, path=item), 1


def _verify(folder: Path, models: Sequence[Model]) -> Verification:
    files = Files(folder, read_manifest(folder), kept={})
    whole = tuple(_whole(files))
    readable = _judged("tables as stated", doubled_columns(folder))
    if readable.kept:
        try:
            release = read_release(files)
        except Exception as error:
            _require_memory(error)
            readable = replace(readable, kept=False, detail=_told(error))
    if not readable.kept:
        return Verification(folder, files.manifest.rows, 0, (readable, *whole))
    own = {type(model).__name__: model for model in models}
    found = _verified(files, release, own)
    first, *rest = found.checks
    return replace(found, checks=(first, *whole, *rest))


def _whole(files: Files) -> Iterator[Check]:
    """A release of format 1 has no checksums."""
    if files.manifest.version != WITHOUT_CHECKSUMS:
        yield _judged("files as written", other_checksums(files.folder, files.manifest))


def _verified(files: Files, release: Release, own: dict[str, Model]) -> Verification:
    folder, manifest, evidence = files.folder, files.manifest, evidence_of(release)
    sound = (
        _judged("tables as stated", evidence.flaws()),
        _judged("release.json is sound", other_statements(release)),
    )
    if not all(check.kept for check in sound):
        unborne = (_bearing(manifest, stated) for stated in manifest.promise)
        return Verification(folder, evidence.rows, 0, (*sound, *filter(None, unborne)))
    exact = (
        _judged("no other files", strangers(folder, release.stems)),
        _judged("files hold their tables only", other_files(files, release)),
        _judged("one spelling per value", other_spellings(manifest, release.tables)),
        _judged("figures as stated", other_figures(release, evidence)),
    )
    promises = (
        *(_promise(release, stated, own) for stated in manifest.promise),
        *([_SEARCHABLE] if manifest.seed else []),
    )
    return Verification(folder, evidence.rows, len(evidence.sizes), (*sound, *exact, *promises))


def _judged(statement: str, flaws: Iterator[str]) -> Check:
    """A statement, kept unless there is a flaw.

    The maker of the release may have made it so that reading it fails in any way; that is a
    flaw like others.
    """
    try:
        flaw = next(flaws, None)
    except Exception as error:
        _require_memory(error)
        flaw = _told(error)
    return Check(statement, flaw is None, flaw or "")


def _require_memory(error: Exception) -> None:
    """That memory is short says nothing about a release."""
    if is_memory(error):
        raise error


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, SfumatoError) else f"cannot be read: {one_line(error)}"


def _bearing(manifest: Manifest, stated: Mapping[str, Any]) -> Check | None:
    """A promise that this form of release cannot make."""
    why = unbearable(manifest.kind, stated)
    return None if why is None else Check(str(stated.get("class", stated.get("model"))), False, why)


def _promise(release: Release, stated: dict[str, Any], own: dict[str, Model]) -> Check:
    """One promise, computed again."""
    if unborne := _bearing(release.manifest, stated):
        return unborne
    try:
        judged = form_of(release).judged
        return judged(release, stated) if judged else _check(release, stated, own)
    except Exception as error:
        _require_memory(error)
        return Check(str(stated.get("class", stated.get("model"))), False, _told(error))


def _check(release: Release, stated: dict[str, Any], own: dict[str, Model]) -> Check:
    """Compute one promise again."""
    on, within, said = stated.get("on"), stated.get("within"), ""
    about_sizes = on is not None and on == form_of(release).sizes_on
    aside = ("within", "on") if about_sizes else ("within",)
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
    told = model.statement(seen) if isinstance(model, BuiltIn) else str(model)
    if not len(failing):
        return Check(f"{told}{said}", True, _exposed(seen) if on and not about_sizes else "")
    others = f", and {len(failing) - 1:,} other groups" if len(failing) > 1 else ""
    return Check(f"{told}{said}", False, evidence.name(int(failing[0])) + others)


def _exposed(seen: Histograms) -> str:
    """How many people a kept promise leaves exposed; nothing if none."""
    certain, nearly = exposed(seen.largest, seen.sizes)
    if not nearly:
        return ""
    return (
        f"and yet {nearly:,} of {int(seen.sizes.sum()):,} people are in groups where one value has "
        f"more than {NEARLY:.0%} of the rows, {certain:,} where it has all"
    )


def _model(stated: dict[str, Any], own: dict[str, Model]) -> Model:
    if not isinstance(stated.get("model"), str):
        raise ParameterError(f"{stated.get('model')!r} is no model's name", parameter="model")
    if stated["model"] != CUSTOM:
        model = model_from_dict(stated)
        if json.dumps(model.to_dict()) != json.dumps(stated):
            raise ParameterError(f"{model} is stated in another way", parameter="model")
        return model
    name = stated.get("class")
    if list(stated) not in (["model", "class", "on"], ["model", "class"]) or name not in own:
        raise ParameterError(
            "a model of the publisher's own cannot be checked without it: verify(path, models=...)",
            parameter="models",
        )
    return own[str(name)]
