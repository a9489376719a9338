"""The command that opens a desk: its address, its port, its folder, and its end."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.support.commands import sfumato
from tests.support.waiting import PATIENCE, eventually

PATIENTS = Path(__file__).parents[2] / "src" / "sfumato" / "data" / "patients.csv"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shutil.copy(PATIENTS, tmp_path)
    (tmp_path / "tmp").mkdir()
    return tmp_path


@contextmanager
def started(place: Path, *words: str, name: str = "address") -> Iterator[subprocess.Popen[str]]:
    """A desk in a process of its own, which is ended at the end whatever happens."""
    command = [sys.executable, "-m", "sfumato", "studio", *words, "--no-browser"]
    with subprocess.Popen(
        [*command, "--address-file", name],
        cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "TMPDIR": str(place / "tmp"), "SFUMATO_STATE": str(place / "state")},
    ) as process:  # fmt: skip
        try:
            eventually(lambda: (place / name).exists() or process.poll() is not None)
            assert process.poll() is None, process.stdout and process.stdout.read()
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def said(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=PATIENCE)[0]


def homes(place: Path) -> list[Path]:
    return list((place / "tmp").glob(".desk.*"))


@pytest.mark.slow
def test_a_desk_begins_and_ends_in_good_order(place: Path) -> None:
    with started(place, "patients.csv", "--port", "0") as first:
        file = place / "address"
        address = file.read_text().strip()
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        (home,) = homes(place)
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        port = urlsplit(address).port
        with started(place, "--port", str(port), name="second") as second:
            other = (place / "second").read_text().strip()
            assert urlsplit(other).port != port
            assert urlopen(other, timeout=PATIENCE).status == 200
            second.send_signal(signal.SIGTERM)
            told = said(second)
            assert second.returncode == 0
            assert f"Somebody has port {port}; this desk takes a free one." in told
            assert other in told
        with urlopen(address, timeout=PATIENCE) as answer:
            assert b"refresh" in answer.read()
        first.send_signal(signal.SIGINT)
        told = said(first)
    assert first.returncode == 0, told
    assert address in told
    assert "cleared" in told
    assert "Traceback" not in told
    assert not file.exists()
    assert homes(place) == []


@pytest.mark.slow
def test_what_a_killed_desk_leaves_is_removed_by_the_next_command(place: Path) -> None:
    with started(place, "patients.csv", "--port", "0") as desk:
        (home,) = homes(place)
        (home / "rows.csv").write_text("Alice Smith,flu")
        desk.kill()
        said(desk)
    assert home.exists()
    state = {"SFUMATO_STATE": str(place / "state")}
    assert sfumato(place, "inspect", "patients.csv", **state).returncode == 0
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        (["patients.csv", "-s", "nothing.toml"], "nothing.toml"),
        (["https://example.org/t.csv"], "files of this machine"),
    ],
)
def test_what_cannot_be_opened_is_told_at_once(place: Path, words: list[str], told: str) -> None:
    done = sfumato(place, "studio", *words, "--no-browser", "--port", "0")
    assert done.returncode == 2
    assert told in done.stderr


def test_a_browser_is_led_by_a_file_that_only_its_owner_can_read(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program is started with can be seen by everybody on the machine."""
    from sfumato.server import serving

    opened = list[tuple[str, int, str]]()

    def browse(uri: str) -> bool:
        path = Path(urlsplit(uri).path)
        opened.append((uri, stat.S_IMODE(path.stat().st_mode), path.read_text()))
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr(serving, "running", lambda _server, _sock: None)
    done = sfumato(place, "studio", "patients.csv", "--port", "0")
    assert done.returncode == 0, done.stderr
    ((uri, mode, page),) = opened
    assert uri.startswith("file://")
    assert "token" not in uri
    assert mode == 0o600
    assert "/?token=" in page
    assert not Path(urlsplit(uri).path).exists()
