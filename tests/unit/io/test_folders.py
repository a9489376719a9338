"""A folder appears whole or not at all, whatever happens while it is written."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.errors import OutputExists, ReleaseError
from sfumato.forms import manifest
from sfumato.io import folders, unfinished
from sfumato.io.exchange import exchanged
from sfumato.io.folders import FORMAT, MANIFEST, RELEASE_FILES, new_folder, require_room
from sfumato.io.owner_state import private_file
from tests.support.waiting import PATIENCE


def fill(folder: Path, text: str = "new") -> None:
    (folder / "release.json").write_text('{"format": "sfumato-release"}')
    (folder / "generalized.csv").write_text(text)


def release(path: Path, text: str = "old") -> Path:
    path.mkdir()
    fill(path, text)
    return path


def content(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_it_appears_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "out"
    with new_folder(str(target)) as folder:
        fill(folder)
        assert folder.parent == target.parent
        assert not target.exists()
    assert (target / "generalized.csv").read_text() == "new"
    assert content(target.parent) == ["out"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        with new_folder(tmp_path / "out") as folder:
            fill(folder)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "out" / "generalized.csv").stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_nothing_remains_of_a_failure(tmp_path: Path, error: type[BaseException]) -> None:
    def attempt() -> None:
        with new_folder(tmp_path / "a" / "out") as folder:
            fill(folder)
            (folder / "sub").mkdir()
            raise error

    with pytest.raises(error):
        attempt()
    assert content(tmp_path) == []


def test_a_failure_keeps_the_former_release(tmp_path: Path) -> None:
    target = release(tmp_path / "out")

    def attempt() -> None:
        with new_folder(target, force=True) as folder:
            fill(folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt()
    assert (target / "generalized.csv").read_text() == "old"
    assert content(tmp_path) == ["out"]


def test_an_existing_folder_is_in_the_way(tmp_path: Path) -> None:
    target = release(tmp_path / "out")
    with pytest.raises(OutputExists, match="force=True") as caught, new_folder(target):
        raise AssertionError("must not get here")
    assert caught.value.path == target
    assert (target / "generalized.csv").read_text() == "old"


def test_force_replaces_a_release_or_an_empty_folder(tmp_path: Path) -> None:
    release(tmp_path / "release")
    (tmp_path / "empty").mkdir()
    for name in ("release", "empty"):
        with new_folder(tmp_path / name, force=True) as folder:
            fill(folder)
        assert (tmp_path / name / "generalized.csv").read_text() == "new"
    assert content(tmp_path) == ["empty", "release"]


def test_a_link_to_a_release_stays_a_link(tmp_path: Path) -> None:
    release(tmp_path / "2020")
    (tmp_path / "latest").symlink_to("2020")
    with new_folder(tmp_path / "latest", force=True) as folder:
        fill(folder)
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "2020" / "generalized.csv").read_text() == "new"


def make_file(path: Path) -> None:
    path.write_text("mine")


def make_foreign(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("mine")


def make_project(path: Path) -> None:
    release(path)
    (path / "src").mkdir()


def make_linked(path: Path) -> None:
    release(path)
    (path / "home").symlink_to(path.parent)


def make_noted(path: Path) -> None:
    release(path)
    (path / "notes.txt").write_text("mine")


def make_other_program(path: Path) -> None:
    path.mkdir()
    (path / "release.json").write_text('{"version": 3}')


def make_damaged(path: Path) -> None:
    path.mkdir()
    (path / "release.json").write_text("{")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_file, "is a file"),
        (make_noted, "holds 'notes.txt'"),
        (make_other_program, "holds a release.json that is not ours"),
        (make_damaged, "holds a release.json that is not ours"),
        (make_foreign, "no release.json"),
        (make_project, "holds 'src'"),
        (make_linked, "holds 'home'"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_release_is_never_replaced(
    tmp_path: Path, make: object, said: str, force: bool
) -> None:
    target = tmp_path / "out"
    make(target)  # type: ignore[operator]
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OutputExists, match=said), new_folder(target, force=force):
        raise AssertionError("must not get here")
    with pytest.raises(OutputExists, match=said):
        require_room(target, force)
    assert sorted(tmp_path.rglob("*")) == before


def test_room_is_asked_for_without_a_trace(tmp_path: Path) -> None:
    require_room(tmp_path / "a" / "out", False)
    assert content(tmp_path) == []
    target = release(tmp_path / "out")
    require_room(target, True)
    with pytest.raises(OutputExists, match="force=True"):
        require_room(str(target), False)
    assert content(target) == ["generalized.csv", "release.json"]


def test_every_file_of_a_release_has_a_known_name() -> None:
    assert manifest.FORMAT == FORMAT
    assert manifest.FILE == MANIFEST
    for name in ("release.json", "qit.csv", "st.parquet", "st_[bold] x.csv", "joined.parquet"):
        assert RELEASE_FILES.fullmatch(name)
    for name in ("release.json.bak", "st_.csv", "generalized.xlsx", "data.csv", ".qit.csv"):
        assert not RELEASE_FILES.fullmatch(name)


def test_what_appears_in_the_meantime_is_kept(tmp_path: Path) -> None:
    def attempt() -> None:
        with new_folder(tmp_path / "out") as folder:
            fill(folder)
            release(tmp_path / "out", "somebody else's")

    with pytest.raises(OutputExists):
        attempt()
    assert (tmp_path / "out" / "generalized.csv").read_text() == "somebody else's"
    assert content(tmp_path) == ["out"]


def test_the_former_release_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = release(tmp_path / "out")
    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if self.suffix == ".new":
            raise OSError(5, "Input/output error")
        return rename(self, to)

    def attempt() -> None:
        with new_folder(target, force=True) as folder:
            fill(folder)

    monkeypatch.setattr(folders, "exchanged", lambda *_: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ReleaseError, match="Input/output error"):
        attempt()
    assert (target / "generalized.csv").read_text() == "old"
    assert content(tmp_path) == ["out"]


KILLED = """
import os, signal, sys
from sfumato.io.folders import new_folder
with new_folder(sys.argv[1]) as folder:
    (folder / "generalized.csv").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_BETWEEN_RENAMES = """
import os, signal, sys
from pathlib import Path
from sfumato.io import folders
from sfumato.io.folders import new_folder
folders.exchanged = lambda *_: False
rename = Path.rename
def kill_after(self, to):
    rename(self, to)
    os.kill(os.getpid(), signal.SIGKILL)
Path.rename = kill_after
with new_folder(sys.argv[1], force=True) as folder:
    (folder / "generalized.csv").write_text("half")
"""


@pytest.mark.slow
def test_the_next_run_clears_up_after_a_killed_one(tmp_path: Path) -> None:
    assert run(KILLED, tmp_path / "out").returncode == -signal.SIGKILL
    (left,) = content(tmp_path)
    assert left.startswith(".out.sfumato-")
    # those of other hosts and running processes are not ours to remove
    parts = left.split("-")
    others = [
        "-".join([parts[0], "elsewhere", *parts[-2:]]),
        "-".join([*parts[:-2], str(os.getppid()), parts[-1]]),
        left.replace("sfumato-", "sfumato-x-"),
    ]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / left.replace(".out.", ".other.", 1)).mkdir()  # for any target
    with new_folder(tmp_path / "out") as folder:
        fill(folder)
    assert content(tmp_path) == sorted([*others, "out"])


@pytest.mark.parametrize("host", ["elsewhere", None])
def test_what_is_old_is_left_whatever_its_process(tmp_path: Path, host: str | None) -> None:
    """Another host's processes cannot be asked, and numbers of processes are given again."""
    name = unfinished.beside(tmp_path / "out", unfinished.NEW).name
    if host is not None:
        name = name.replace(unfinished._host(), host)
    left, young = tmp_path / name, tmp_path / name.replace(".out.", ".young.")
    for folder in (left, young):
        folder.mkdir()
        (folder / "rows").write_text("raw")
        os.utime(folder, (0, 0))
    os.utime(left / "rows", (0, 0))
    with new_folder(tmp_path / "new") as folder:
        fill(folder)
    assert content(tmp_path) == sorted(["new", young.name])


@pytest.mark.slow
def test_a_run_elsewhere_clears_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    assert run(KILLED, tmp_path / "here" / "out").returncode == -signal.SIGKILL
    assert content(tmp_path / "here") != []
    with new_folder(tmp_path / "there" / "out") as folder:
        assert content(tmp_path / "here") == []
        assert len(content(tmp_path / "state" / "unfinished")) == 1
        fill(folder)
    assert not (tmp_path / "state").exists()
    assert content(tmp_path / "there") == ["out"]


def test_notes_name_nothing_but_what_is_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a note says, only a folder with such a name is removed."""
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    precious = release(tmp_path / "precious")
    private_file(tmp_path / "state" / "unfinished" / "x", os.fsencode(precious))
    link = tmp_path / unfinished.beside(tmp_path / "out", "new").name.replace(
        f"-{os.getpid()}-", "-999999999-"
    )
    link.symlink_to(precious)
    unfinished.clear(tmp_path / "out")
    assert content(precious) == ["generalized.csv", "release.json"]


@pytest.mark.slow
def test_a_release_moved_aside_by_a_killed_run_comes_back(tmp_path: Path) -> None:
    target = release(tmp_path / "out")
    assert run(KILLED_BETWEEN_RENAMES, target).returncode == -signal.SIGKILL
    assert not target.exists()
    with pytest.raises(OutputExists), new_folder(target):
        raise AssertionError("must not get here")
    assert (target / "generalized.csv").read_text() == "old"
    assert content(tmp_path) == ["out"]


@pytest.mark.parametrize("able", [True, False])
def test_a_forced_writer_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    if not able:
        monkeypatch.setattr(folders, "exchanged", lambda *_: False)
    target = release(tmp_path / "out")
    with new_folder(target, force=True) as folder:
        fill(folder)
    assert (target / "generalized.csv").read_text() == "new"
    assert content(tmp_path) == ["out"]


@pytest.mark.skipif(sys.platform != "linux", reason="the call is Linux's")
def test_folders_change_places_in_one_step(tmp_path: Path) -> None:
    one, other = release(tmp_path / "one", "1"), release(tmp_path / "other", "2")
    if not exchanged(one, other):
        pytest.skip("not on this file system")
    assert (one / "generalized.csv").read_text() == "2"
    assert (other / "generalized.csv").read_text() == "1"
    with pytest.raises(FileNotFoundError):
        exchanged(one, tmp_path / "nowhere")


FULL = """
import resource, sys
import pyarrow as pa
from sfumato.errors import ReleaseError
from sfumato.io.folders import new_folder
from sfumato.io import writing
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
table = pa.table({"a": [str(hash(str(i))) for i in range(100_000)]})
try:
    with new_folder(sys.argv[1]) as folder:
        getattr(writing, sys.argv[2])(table, folder / "data")
except ReleaseError as error:
    sys.exit(str(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["write_parquet", "write_csv"])
def test_a_full_disk(tmp_path: Path, writer: str) -> None:
    done = run(FULL, tmp_path / "out", writer)
    assert done.returncode == 1
    assert done.stderr.startswith(f"cannot write {tmp_path / 'out'}: ")
    assert "choose another disk" in done.stderr
    assert done.stderr.count("\n") == 1
    assert content(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [(28, "free some space"), (13, "you may write to"), (30, "can be written to"), (5, "error$")],
)
def test_errors_of_the_system_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def failing(_: Path) -> None:
        raise OSError(number, os.strerror(number))

    def attempt() -> None:
        with new_folder(tmp_path / "out") as folder:
            fill(folder)

    monkeypatch.setattr(folders, "flush_entry", failing)
    with pytest.raises(ReleaseError, match=said):
        attempt()
    assert content(tmp_path) == []


def test_a_file_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ReleaseError, match="is a file"), new_folder(tmp_path / "file" / "out"):
        raise AssertionError("must not get here")


def test_everything_is_on_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    flush = folders.flush_entry

    def spy(path: Path) -> None:
        flushed.append(f"{path.name} {(tmp_path / 'out').exists()}")
        flush(path)

    monkeypatch.setattr(folders, "flush_entry", spy)
    with new_folder(tmp_path / "out") as folder:
        fill(folder)
    assert sorted(flushed[:2]) == ["generalized.csv False", "release.json False"]
    assert flushed[2:] == [f"{folder.name} False", f"{tmp_path.name} True"]
