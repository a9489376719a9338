"""Releases that somebody has changed: verify refuses every one of them, and says why."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

import sfumato as sf
from sfumato.cli.main import _run
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.forms.files import FileFormat
from tests.support.sealing import reseal
from tests.tampering.files import CONTENTS, CSV, FOLDERS, PARQUET
from tests.tampering.releases import MAKERS
from tests.tampering.stated import STATED, Tampering

FORMATS: tuple[FileFormat, ...] = ("parquet", "csv")
KINDS: dict[FileFormat, dict[str, Tampering]] = {
    "parquet": {**STATED, **FOLDERS, **PARQUET, **CONTENTS},
    "csv": {**STATED, **FOLDERS, **CSV},
}
CASES = [
    pytest.param(file_format, kind, form, id=f"{kind}-{form}-{file_format}")
    for file_format, kinds in KINDS.items()
    for kind, (forms, _, _) in kinds.items()
    for form in forms
]

# Those that change a table, and are read by nobody who looks at checksums only.
ALTERED = [
    pytest.param(file_format, kind, form, id=f"{kind}-{form}-{file_format}")
    for file_format, kinds in {"parquet": CONTENTS, "csv": CSV}.items()
    for kind, (forms, tamper, _) in kinds.items()
    for form in forms
]


@cache
def honest(form: str, file_format: FileFormat) -> Path:
    return MAKERS[form]().write(Path(mkdtemp()) / "release", format=file_format)


def copied(form: str, file_format: FileFormat, to: Path) -> Path:
    return Path(shutil.copytree(honest(form, file_format), to / "release"))


def refusal(folder: Path) -> str:
    """Why verify refuses a release; nothing if it does not."""
    try:
        found = sf.verify(folder)
    except SfumatoError as error:
        return str(error)
    return "\n".join(
        f"{check.statement}: {check.detail}" for check in found.checks if not check.kept
    )


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("form", MAKERS)
def test_honest_releases_pass(form: str, file_format: FileFormat) -> None:
    assert refusal(honest(form, file_format)) == ""


@pytest.mark.parametrize(("file_format", "kind", "form"), CASES)
def test_tampered_releases_are_refused(
    file_format: FileFormat, kind: str, form: str, tmp_path: Path
) -> None:
    folder = copied(form, file_format, tmp_path)
    _, tamper, words = KINDS[file_format][kind]
    tamper(folder)
    said = refusal(reseal(folder))
    assert said, "passed"
    assert re.search(words, said), said


@pytest.mark.parametrize(
    ("kind", "form"), [("a row less", "ranges"), ("a column twice", "anatomized")]
)
def test_the_command_says_so_with_its_exit_code(kind: str, form: str, tmp_path: Path) -> None:
    folder = copied(form, "parquet", tmp_path)
    assert _run(["verify", str(folder)]) == 0
    KINDS["parquet"][kind][1](folder)
    assert _run(["verify", str(reseal(folder))]) == 1


@pytest.mark.parametrize(("file_format", "kind", "form"), ALTERED)
def test_nothing_that_was_altered_is_loaded(
    file_format: FileFormat, kind: str, form: str, tmp_path: Path
) -> None:
    """Whoever does not compute the checksums anew is found by them, before anything is read."""
    folder = copied(form, file_format, tmp_path)
    sf.load(folder)
    KINDS[file_format][kind][1](folder)
    with pytest.raises(ReleaseError, match="damaged"):
        sf.load(folder)
    assert "changed after" in refusal(folder)


def test_there_are_many_kinds() -> None:
    assert len({kind for kinds in KINDS.values() for kind in kinds}) >= 80
