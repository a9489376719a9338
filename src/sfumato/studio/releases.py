"""Releases on the desk: made as the command would make them, checked, measured and handed out.

Until its owner saves one, a release lies in the desk's own folder, and nothing is remembered of it.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.algorithms.base import Stages
from sfumato.audits.audit.quick import quick
from sfumato.audits.defaults import QUICK_ROWS
from sfumato.audits.risk import assess
from sfumato.audits.usefulness import Asked, Usefulness
from sfumato.audits.verify import Verification, verify
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.engines.parts import TableParts
from sfumato.engines.reading import read
from sfumato.errors import ParameterError, SfumatoError, SfumatoWarning
from sfumato.exploring.grid import METHODS, PERTURB
from sfumato.forms.registry import FORMS, Release
from sfumato.io.paths import at_home
from sfumato.io.schema_writing import schema_text
from sfumato.io.seed_files import seed_in
from sfumato.studio import described
from sfumato.studio.commands import OUT, Commands, Wish
from sfumato.studio.opened import Opened
from sfumato.verbs.noise import perturb
from sfumato.verbs.publishing import publish


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A release, the table that it was made from, its files, and what was found out about it."""

    number: int
    wish: Wish
    table: Microdata
    release: Release
    folder: Path
    commands: Commands
    warnings: tuple[str, ...]
    useful: Usefulness | None
    told: dict[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """As in ``mondrian, k = 5``."""
        return f"{self.wish.setting.method}, {self.wish.setting.words}"

    @property
    def schema(self) -> str:
        """The schema file that it was made with."""
        return schema_text(self.table.schema, {})

    def save(self, path: str, *, force: bool) -> tuple[Path, list[str]]:
        """Write it where its owner says, whole or not at all; and what there is to say about it."""
        target = at_home(path)
        with _heard() as said:
            written = self.release.write(target, force=force, format=self.wish.format)
        return written.resolve(), said

    def zipped(self) -> bytes:
        """Its folder in one file."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(self.folder.iterdir()):
                archive.write(file, f"{OUT}/{file.name}")
        return packed.getvalue()


def make(
    number: int, opened: Opened, schema: Schema, wish: Wish, commands: Commands, home: Path,
    tell: Stages,
) -> Made:  # fmt: skip
    """Read the table, publish it, write and verify its files, and measure what is left of it."""
    tell("reading", 0.0)
    table = read(opened.path, schema, **opened.reading)
    seed = None if wish.seed_file is None else seed_in(at_home(wish.seed_file))[0]
    with _heard() as said:
        release = _released(table, wish, seed, tell)
    tell("writing", 0.0)
    folder = replace(release).write(
        home / str(number), format=wish.format
    )  # a copy: not remembered
    tell("verifying", 0.0)
    checked = verify(folder)
    tell("measuring", 0.0)
    useful = _useful(table, release)
    found = _attacked(release, table, tell)
    told = _told(release, folder, checked, useful, found)
    return Made(number, wish, table, release, folder, commands, tuple(said), useful, told)


def summary(made: Made) -> dict[str, Any]:
    """What the page shows of it."""
    return {
        "number": made.number,
        "name": made.name,
        "method": made.wish.setting.method,
        "words": made.wish.setting.words,
        "labels": made.wish.labels,
        "format": made.wish.format,
        "warnings": list(made.warnings),
        "commands": made.commands.published(made.wish),
        **made.told,
    }


def _released(table: Microdata, wish: Wish, seed: str | None, tell: Stages) -> Release:
    setting = wish.setting
    if setting.method == PERTURB:
        if wish.labels is not None:
            raise ParameterError("labels are for boxes; perturb has none", parameter="labels")
        if setting.m is None:
            raise ParameterError("perturb promises by m; say how large", parameter="m")
        return perturb(table, m=setting.m, seed=seed)
    if setting.method not in METHODS:
        raise ParameterError(f"no method is called {setting.method!r}", parameter="method")
    algorithm = METHODS[setting.method]()
    if wish.labels is not None and not FORMS[algorithm.form].boxes:
        raise ParameterError(f"labels are for boxes; {setting.method} has none", parameter="labels")
    made: Any = publish
    release: Release = made(
        table, algorithm, setting.model, labels=wish.labels, seed=seed, progress=tell
    )
    return release


def _useful(table: Microdata, release: Release) -> Usefulness | None:
    if not table.schema.sensitive:
        return None
    try:
        return Asked.of(TableParts.of(table)).usefulness(release)
    except SfumatoError:
        return None


def _attacked(release: Release, table: Microdata, tell: Stages) -> str | None:
    """What a learner makes of it, in a line; none for large tables."""
    if table.n_rows > QUICK_ROWS:
        return None
    tell("attacking", 0.0)
    with _heard():
        try:
            found = quick(release, table)
        except SfumatoError:
            return None
    return None if found is None else found.summary


def _told(
    release: Release,
    folder: Path,
    checked: Verification,
    useful: Usefulness | None,
    attacked: str | None,
) -> dict[str, Any]:
    stated = release.manifest
    return {
        "rows": stated.rows,
        "groups": stated.groups,
        "left_out": stated.suppressed,
        "form": stated.kind,
        "loss": stated.metrics.get("ncp"),
        "kept": checked.ok,
        "checks": [
            {"statement": one.statement, "kept": one.kept, "detail": one.detail}
            for one in checked.checks
        ],
        "risk": described.released(assess(release)),
        "usefulness": None if useful is None else _said(useful),
        "attacked": attacked,
        "files": [
            {"name": one.name, "bytes": one.stat().st_size} for one in sorted(folder.iterdir())
        ],
    }


def _said(useful: Usefulness) -> dict[str, Any]:
    return {
        "verdict": useful.verdict,
        "kept": useful.kept,
        "distance": useful.distance,
        "marginals": useful.marginals,
        "sentences": list(useful.sentences),
    }


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Warnings for the owner, who sees a page and no terminal."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SfumatoWarning)
        yield said
    said += [str(one.message) for one in caught if issubclass(one.category, SfumatoWarning)]
