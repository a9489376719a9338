"""Release format 2: checksums, readers beside writers, and releases of format 1."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.verify import Verification
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.forms import files as release_files
from sfumato.forms import load as loading
from sfumato.forms import settled
from sfumato.forms.checksums import file_checksum
from sfumato.forms.files import FileFormat
from sfumato.forms.registry import Release
from sfumato.forms.stated import read_manifest
from sfumato.io import folders
from tests.support.sealing import reseal
from tests.support.waiting import PATIENCE
from tests.tampering.releases import EVERY, MAKERS

FORMAT_1 = Path(__file__).parents[2] / "fixtures" / "format_1"
FORMATS: tuple[FileFormat, ...] = ("parquet", "csv")


def boxes(of: int) -> Release:
    """A release whose figures, rows and values all tell which one it is."""
    rows = pa.table({"age": [of * 100 + i for i in range(20 * of)], "ill": ["a", "b"] * 10 * of})
    table = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["age"], sensitive="ill"))
    return sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(2))


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("form", EVERY)
def test_every_table_has_its_checksum(form: str, file_format: FileFormat, tmp_path: Path) -> None:
    folder = MAKERS[form]().write(tmp_path / "out", format=file_format)
    stated = json.loads((folder / "release.json").read_text())
    assert stated["version"] == 2
    tables = sorted(path.name for path in folder.iterdir() if path.name != "release.json")
    assert stated["files"] == {name: file_checksum(folder / name) for name in tables}
    assert dict(read_manifest(folder).files) == stated["files"]


def damages(folder: Path, tries: int) -> Iterator[tuple[Path, int]]:
    """Bits all over the files of a folder, some in each."""
    for path in sorted(folder.iterdir()):
        bits = path.stat().st_size * 8
        for bit in range(0, bits, max(1, bits // tries) | 1):
            yield path, bit


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("form", ["ranges", "sets", "anatomized", "perturbed"])
def test_no_damaged_release_is_served_or_kept(
    form: str, file_format: FileFormat, tmp_path: Path
) -> None:
    folder = MAKERS[form]().write(tmp_path / "out", format=file_format)
    for path, bit in damages(folder, 40):
        flip(path, bit)
        try:
            kept = sf.verify(folder).ok
        except SfumatoError:
            kept = False
        assert not kept, (path.name, bit)
        with pytest.raises(ReleaseError):
            sf.load(folder)
        flip(path, bit)
    assert sf.verify(folder).ok


@pytest.mark.parametrize("name", sorted(path.name for path in FORMAT_1.iterdir()))
def test_releases_of_format_1_are_read_and_verified(name: str, tmp_path: Path) -> None:
    folder = FORMAT_1 / name
    release = sf.load(folder)
    assert release.manifest.version == 1
    assert release.manifest.to_json() == (folder / "release.json").read_text("utf-8")
    assert release.count("age < 40").estimate > 0
    found = sf.verify(folder)
    assert not any(check.statement == "files as written" for check in found.checks)
    broken = [check for check in found.checks if not check.kept]
    # another version of Arrow may write other bytes, and verify then asks for that one
    assert all("pip install pyarrow==" in check.detail for check in broken)
    # written again it is a release of today
    again = sf.load(release.write(tmp_path / "new"))
    assert again.manifest.version == 2
    assert again.manifest == release.manifest
    assert sf.verify(tmp_path / "new").ok


def test_format_1_is_still_looked_at(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FORMAT_1 / "anatomized-csv", tmp_path / "out"))
    assert sf.verify(folder).ok
    path = folder / "st.csv"
    path.write_text(path.read_text().replace(",1\n", ",2\n", 1))
    assert not sf.verify(folder).ok


def test_a_tamperer_who_computes_checksums_anew_is_left_to_the_other_checks(tmp_path: Path) -> None:
    folder = boxes(2).write(tmp_path / "out", format="csv")
    (folder / "st.csv").write_text((folder / "st.csv").read_text().replace(",1\n", ",2\n", 1))
    said = {check.statement: check.kept for check in sf.verify(folder).checks}
    assert not said["files as written"]
    assert not said["tables as stated"]
    reseal(folder)
    said = {check.statement: check.kept for check in sf.verify(folder).checks}
    assert said["files as written"]
    assert not said["tables as stated"]


WRITER = """
import sys
from pathlib import Path
import sfumato as sf
releases = [sf.load(path) for path in sys.argv[2:4]]
print("begun", flush=True)
for turn in range(int(sys.argv[4])):
    releases[turn % 2].write(sys.argv[1], force=True)
"""
ROUNDS = 60


def whole(found: Any) -> int:
    """The rows of a release, or of its verification, if all of it is of one release."""
    if isinstance(found, Verification):
        return found.require().rows
    assert found.manifest.rows == found.qit.num_rows == sum(found.st["count"].to_pylist())
    assert min(found.qit["age"].to_pylist()) == found.manifest.rows * 5
    return int(found.manifest.rows)


@pytest.mark.slow
@pytest.mark.parametrize("work", [sf.load, sf.verify], ids=["load", "verify"])
def test_a_reader_beside_a_forced_writer_never_mixes(
    work: Callable[[Path], Any], tmp_path: Path
) -> None:
    """Whatever is read is one of the two releases; both processes end by themselves."""
    for of in (1, 2):
        boxes(of).write(tmp_path / str(of))
    target = boxes(1).write(tmp_path / "out")
    script = [sys.executable, "-c", WRITER, str(target), str(tmp_path / "1"), str(tmp_path / "2")]
    seen: set[int] = set()
    reads = 0
    with subprocess.Popen([*script, str(ROUNDS)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        while writer.poll() is None:
            reads += 1
            try:
                seen.add(whole(work(target)))
            except ReleaseError as error:
                # a reader that is slower than the writer says so; it never mixes
                if "was replaced" not in str(error):
                    raise
        assert writer.wait(PATIENCE) == 0
    seen.add(whole(work(target)))
    assert reads
    assert seen <= {20, 40}


def swap_after(
    monkeypatch: pytest.MonkeyPatch, target: Path, releases: list[Release], tables: int
) -> None:
    """Let a writer replace the folder after so many tables were read, as often as it has others."""
    read = release_files.Files._read
    count = 0

    def reading(self: Any, stem: str) -> Iterator[pa.Table]:
        nonlocal count
        yield from list(read(self, stem))
        count += 1
        if count % tables == 0 and releases:
            releases.pop().write(target, force=True)

    monkeypatch.setattr(release_files.Files, "_read", reading)


@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("times", [1, 3])
def test_a_folder_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool, times: int
) -> None:
    if not able:
        monkeypatch.setattr(folders, "exchanged", lambda *_: False)
    target = boxes(1).write(tmp_path / "out")
    swap_after(monkeypatch, target, [boxes(2 + i) for i in range(times)], tables=1)
    found = sf.load(target)
    assert isinstance(found, sf.AnatomizedTables)
    assert found.manifest.rows == found.qit.num_rows == sum(found.st["count"].to_pylist())
    assert found.manifest.rows == 20 * 2


def test_verify_looks_at_one_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = boxes(1).write(tmp_path / "out")
    swap_after(monkeypatch, target, [boxes(2)], tables=1)
    found = sf.verify(target).require()
    assert found.rows == 40


def test_a_folder_that_never_settles_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = boxes(1).write(tmp_path / "out")
    many = [boxes(1) for _ in range(settled._TRIES + 5)]
    swap_after(monkeypatch, target, many, tables=2)
    with pytest.raises(ReleaseError, match="try again when it is left alone"):
        sf.load(target)
    assert len(many) >= 5


def test_a_folder_that_is_not_there_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def counted(folder: Path) -> Any:
        tries.append(folder)
        return read_manifest(folder)

    monkeypatch.setattr(loading, "read_manifest", counted)
    with pytest.raises(ReleaseError, match="does not exist"):
        sf.load(tmp_path / "nowhere")
    assert len(tries) == 1
