"""Too little memory is one clear line and exit code 2, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.address_space import LEAST
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")

ROWS = 60_000
MB = 2**20
# Below what the libraries take; so little that some commands fail on the way; enough for most.
LIMITS = [LEAST // MB - 300, LEAST // MB, LEAST // MB + 300]
SCHEMA = ["-s", "s.toml"]
COMMANDS = {
    "publish": ["publish", "in.csv", *SCHEMA, "--k", "10", "-o", "out"],
    "publish a query": [
        "publish", "in.parquet", *SCHEMA, "--k", "10", "--query", "SELECT * FROM t", "-o", "out",
    ],
    "stream": [
        "publish", "in.csv", *SCHEMA, "--method", "anatomy", "--l", "5", "--engine", "stream",
        "-o", "out",
    ],
    "verify": ["verify", "release"],
    "query": ["query", "release", "SELECT ill, COUNT(*) FROM t WHERE age < 40 GROUP BY ill"],
    "evaluate": ["evaluate", "release", "--truth", "in.parquet", *SCHEMA, "-o", "page.html"],
    "inspect": ["inspect", "in.parquet"],
    "create": ["statdb", "create", "in.csv", *SCHEMA, "--m", "5", "-o", "out"],
    "apply": ["statdb", "apply", "db", "--insert", "more.csv"],
    "ask": ["statdb", "query", "db", "SELECT ill, COUNT(*) FROM t GROUP BY ill"],
}  # fmt: skip

LIMITED = """
import resource, runpy, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.argv[0] = "sfumato"
runpy.run_module("sfumato", run_name="__main__")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    chance = np.random.default_rng(3)
    rows = pa.table(
        {
            "age": chance.integers(18, 90, ROWS),
            "zip": chance.integers(10_000, 10_300, ROWS),
            "ill": chance.choice([f"ill {i}" for i in range(30)], ROWS),
        }
    )
    pyarrow.csv.write_csv(rows, place / "in.csv")
    pyarrow.csv.write_csv(rows.slice(0, 300), place / "more.csv")
    pq.write_table(rows, place / "in.parquet")
    (place / "s.toml").write_text('quasi = ["age", "zip"]\nsensitive = "ill"\n')
    table = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["age", "zip"], sensitive="ill"))
    sf.publish(table, sf.Mondrian(), sf.KAnonymity(10)).write(place / "release")
    sf.StatDB.create(place / "db", table, m=5)
    return place


def limited(place: Path, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", COMMANDS)
def test_it_works_or_says_so(name: str, limit: int, made: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(made, tmp_path / "place"))
    before = {path.name for path in place.iterdir()}
    done = limited(place, limit * MB, *COMMANDS[name])
    assert done.returncode in (0, 2), done.stderr
    if done.returncode == 0:
        assert limit >= LEAST // MB
        return
    said = done.stderr.splitlines()[-1]
    assert said.startswith("sfumato: ")
    assert "memory" in said
    assert len(said) < 1000
    assert {path.name for path in place.iterdir()} == before
    assert sf.StatDB.open(place / "db").count("").lo >= ROWS


def test_help_needs_no_memory(tmp_path: Path) -> None:
    done = limited(tmp_path, 200 * MB, "--help")
    assert done.returncode == 0
    assert "publish" in done.stdout


NATIVE = """
import os, resource, signal, sys, time
limit = 4 * 2**30
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from sfumato.cli.guarded import guarded
from sfumato.io.folders import new_folder

def wait():
    for _ in range(10_000):
        time.sleep(0.05)

def run():
    with new_folder(sys.argv[1]) as folder:
        (folder / "raw").write_text("rows as they are")
        ENDS

def refuse():
    print("refused", flush=True)
    return 2

sys.exit(guarded(run, refuse))
"""


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        ("os.abort()", 2, "refused\n"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 2, "refused\n"),
        ("os._exit(127)", 2, "refused\n"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + 9, ""),
        # not signal.pause(): the answer may come just before it waits, and wakes nobody then
        ("os.kill(os.getppid(), signal.SIGTERM); wait()", 128 + 15, ""),
        ("return 5", 5, ""),
    ],
)
def test_a_library_that_ends_the_process(ends: str, code: int, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NATIVE.replace("ENDS", ends), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (code, said), done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


ABOVE = """
import os, resource, sys
import sfumato as sf
from sfumato.errors import OutOfMemory

def read():
    return sf.read(sys.argv[1], sf.Schema(quasi=["age", "zip"], sensitive="ill"))

held = [read()]
size = next(int(one.split()[1]) for one in open("/proc/self/status") if one.startswith("VmSize"))
limit = size * 1024 + 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    while True:
        held.append(read())
except OutOfMemory:
    held.clear()
    print("ours", flush=True)
os._exit(0)
"""


def test_who_calls_from_python_gets_our_error(made: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABOVE, str(made / "in.csv")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    assert (done.returncode, done.stdout) == (0, "ours\n"), done.stderr
