"""Checksums: what release.json says about the files beside it, and about itself.

They find damage: a bit that flipped on a disk, a file that was copied halfway or edited by mistake.
Somebody who changes a release on purpose computes them anew; what such a person can do is for
verify to find, by all its other checks.

A file's is the SHA-256 of its bytes. That of release.json is the SHA-256 of its content without the
checksum, in the one writing that a release has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sfumato.core.threads import in_threads
from sfumato.forms.manifest import FILE, VERSION, WITHOUT_CHECKSUMS, Manifest

_TABLES = (".parquet", ".csv")


def sealed(manifest: Manifest, folder: Path) -> Manifest:
    """The manifest with the checksums of the tables in a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix in _TABLES)
    sums = in_threads(lambda name: file_checksum(folder / name), names)
    return replace(manifest, version=VERSION, files=tuple(zip(names, sums, strict=True)))


def file_checksum(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def other_checksums(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Tables that are not the ones that release.json names; a release of format 1 names none."""
    if manifest.version == WITHOUT_CHECKSUMS:
        return
    stated = dict(manifest.files)
    found = {path.name for path in folder.iterdir() if path.suffix in _TABLES and path.is_file()}
    for name in sorted(found - set(stated)):
        yield f"{name} is not named in {FILE}"
    for name in sorted(set(stated) - found):
        yield f"{name} is named in {FILE} and not there"
    there = sorted(found & set(stated))
    sums = in_threads(lambda name: file_checksum(folder / name), there)
    for name, checksum in zip(there, sums, strict=True):
        if checksum != stated[name]:
            yield f"{name} was changed after it was written: its SHA-256 is not the stated one"
