"""Who opens the files of a release folder with other programs than ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.audits.attacks.footers import told_beside
from sfumato.audits.attacks.results import Accuracy, Outcome
from sfumato.audits.audit.attackers import Probe
from sfumato.audits.checks import other_figures, other_files, other_spellings, strangers
from sfumato.audits.evidence import evidence_of
from sfumato.forms.files import Files
from sfumato.forms.load import read_release
from sfumato.forms.stated import read_manifest

_OURS = f"parquet-cpp-arrow version {pa.cpp_version}"


def file_probe(folder: Path) -> Probe:
    """Whether anything stands in the files that their tables do not say."""

    def made(_seed: int, _left: float) -> Outcome:
        found = any(True for _ in told_by_files(folder))
        return Outcome(Accuracy.of_certain(int(found), 1), None, 0.0, 0.0, 0.0)

    who = "looks at what stands in the files beside their tables, and at their stated figures"
    return Probe(
        "files", who, "finds more there than the tables say: sfumato verify names most of it",
        made, fails="finds nothing there that the tables do not say",
    )  # fmt: skip


def told_by_files(folder: Path) -> Iterator[str]:
    """What files tell that tables do not, in words."""
    parquet = sorted(folder.glob("*.parquet"))
    for path in parquet:
        yield from told_beside(path)
    files = Files(folder, read_manifest(folder), kept={})
    release = read_release(files)
    yield from strangers(folder, release.stems)
    # another version of Arrow writes the same table in another way
    if all(pq.read_metadata(path).created_by == _OURS for path in parquet):
        yield from other_files(files, release)
    yield from other_spellings(release.manifest, release.tables)
    yield from other_figures(release, evidence_of(release))
