"""The image of deploy/Containerfile, really built and run: ``make image``, some minutes.

No registry is asked. The base is the image that SFUMATO_IMAGE_BASE names, if it is here, or a
Debian with Python that debootstrap makes; wheels come from the usual index and are handed in. Where
the machine lets podman run no container, as inside another one, the image's own files are run by
bubblewrap: read-only, without a network, as the image's user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
USER = 10_001
NEEDED = ("podman", "bwrap", "setpriv")
ASK = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000{}', timeout=60).read())"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "SFUMATO_IMAGE" not in os.environ, reason="takes minutes and a base image: make image"
    ),
    pytest.mark.skipif(
        not all(map(shutil.which, NEEDED)) or os.geteuid() != 0,
        reason="needs root, and apt-get install podman buildah bubblewrap debootstrap",
    ),
]


def done(*command: object, cwd: Path | None = None) -> str:
    found = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=3 * PATIENCE, cwd=cwd
    )
    assert found.returncode == 0, f"{command}: {found.stdout[-2000:]} {found.stderr[-4000:]}"
    printed: str = found.stdout
    return printed


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    named = os.environ.get("SFUMATO_IMAGE_BASE", "localhost/sfumato-base")
    if subprocess.run(["podman", "image", "exists", named], timeout=PATIENCE).returncode == 0:
        return named
    if shutil.which("debootstrap") is None:
        pytest.skip("no base image, and no debootstrap to make one")
    folder = tmp_path_factory.mktemp("base") / "root"
    parts = "python3,python3-venv,ca-certificates"
    done("debootstrap", "--variant=minbase", f"--include={parts}", "stable", folder)
    whole = folder.with_name("base.tar")
    with tarfile.open(whole, "w") as archive:
        archive.add(folder, ".")
    done("podman", "import", whole, named)
    return named


@pytest.fixture(scope="module")
def image(base: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image, from the wheel of these sources."""
    place, wheels = tmp_path_factory.mktemp("context"), tmp_path_factory.mktemp("wheels")
    done(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place / "dist", cwd=ROOT)
    (wheel,) = (place / "dist").glob("*.whl")
    mounted = Path(done("podman", "image", "mount", base).strip())
    version = done("chroot", mounted, "python3", "-c", "import sys; print(*sys.version_info[:2])")
    done("podman", "image", "unmount", base)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    wanted = [f"{wheel}[postgres,server]", "--python-version", ".".join(version.split())]
    done(*pip, *wanted, "-d", wheels)
    command = ["podman", "build", "--isolation=chroot", "-f", ROOT / "deploy" / "Containerfile"]
    given = ["--build-arg", f"BASE={base}", "--volume", f"{wheels}:/wheels:ro"]
    index = ["--env", "PIP_NO_INDEX=1", "--env", "PIP_FIND_LINKS=/wheels"]
    done(*command, *given, *index, "-t", "localhost/sfumato-test", place)
    return "localhost/sfumato-test"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the image's user."""
    folder = tmp_path_factory.mktemp("volume") / "data"
    folder.mkdir()
    rows = pa.table({"sex": ["f", "m"] * 50, "ill": ["flu", "gout", "cold", "none"] * 25})
    schema = sf.Schema(quasi=["sex"], sensitive="ill")
    sf.StatDB.create(folder / "patients.statdb", sf.Microdata.from_arrow(rows, schema), m=2)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)
    return folder


@dataclass
class Inside:
    """Runs the image's files as podman would."""

    root: Path
    data: Path

    def command(self, *arguments: str) -> list[str]:
        kept = ["--bind", str(self.data), "/data", "--tmpfs", "/tmp", "--chmod", "1777", "/tmp"]
        system = ["--proc", "/proc", "--dev", "/dev", "--unshare-net", "--die-with-parent"]
        settings = ["--clearenv", "--setenv", "PATH", "/opt/sfumato/bin:/usr/bin:/bin"]
        settings += ["--setenv", "NUMBA_CACHE_DIR", "/var/cache/sfumato"]
        who = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        jail = ["bwrap", "--ro-bind", str(self.root), "/", *kept, *system, *settings]
        return [*jail, *who, *arguments]

    def done(self, *arguments: str) -> str:
        return done(*self.command(*arguments))


@pytest.fixture(scope="module")
def inside(image: str, data: Path) -> Iterator[Inside]:
    root = Path(done("podman", "image", "mount", image).strip())
    try:
        yield Inside(root, data)
    finally:
        done("podman", "image", "unmount", image)


def test_the_image_says_what_it_does(image: str) -> None:
    shown = done("podman", "image", "inspect", image)
    for part in ('"User": "sfumato"', "/data", "8000/tcp", "SIGTERM"):
        assert part in shown


def test_it_serves_from_a_disk_that_cannot_be_written_without_compiling(inside: Inside) -> None:
    name = ["/data/patients.statdb", "--name", "alice"]
    secret = inside.done("sfumato", "statdb", "token", "create", *name).splitlines()[0]
    assert secret.startswith("sfu_")
    # no network reaches it, so it is asked from inside: one shell, two programs
    ask = ASK.format("/ready")
    script = (
        "sfumato statdb serve /data/patients.statdb --host 0.0.0.0 --port 8000 2>/tmp/log & "
        f'for i in $(seq 600); do python -c "{ask}" 2>/dev/null && break; sleep 0.2; done; '
        "kill -TERM $!; wait $!; echo ended $?; cat /tmp/log"
    )
    told = inside.done("sh", "-c", script)
    assert '"status":"ready"' in told
    assert "ended 0" in told
    assert "compil" not in told
    assert '"event": "stop"' in told


def test_without_what_was_compiled_it_compiles_in_memory(inside: Inside) -> None:
    script = "NUMBA_CACHE_DIR=/nowhere sfumato statdb serve /data/patients.statdb --get /ready 2>&1"
    told = inside.done("sh", "-c", script)
    assert '"status":"ready"' in told
    assert told.count("in memory") == 1
