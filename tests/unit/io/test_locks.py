"""Locks: one holder, gone with its process; and what works where a system has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.io.locks import Busy, take_lock
from tests.support.waiting import PATIENCE

WITHOUT_FCNTL = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "pwd", "grp", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules.pop(name, None)

import numpy as np
import pyarrow as pa
import sfumato as sf
from sfumato.errors import StoreError
from sfumato.statdb.access.ledger import Ledger

n = 200
random = np.random.default_rng(1)
rows = pa.table({
    "age": random.integers(0, 90, n), "sex": random.integers(0, 2, n),
    "s": (["flu", "cold", "cough", "ache"] * n)[:n],
})
table = sf.read(rows, sf.Schema(quasi=["age", "sex"], sensitive="s"))
sf.publish(table, sf.Mondrian(), sf.KAnonymity(5) & sf.DistinctLDiversity(2)).write("boxes")
sf.verify("boxes").require()
print("boxes", sf.load("boxes").count("age < 40").estimate >= 0)
sf.publish(table, sf.Anatomize(), sf.LDiversity(3)).write("anatomized", format="csv")
sf.verify("anatomized").require()
db = sf.StatDB.create("people.statdb", table, m=3)
print("asked", sf.StatDB.open("people.statdb").count("age < 40").lo >= 0)
for work in (
    lambda: db.apply(deleted=table.take(np.arange(3))),
    lambda: db.compact(),
    lambda: Ledger.open("people.statdb"),
):
    try:
        work()
        print("done")
    except StoreError as error:
        print("refused:", error)
assert "fcntl" not in sys.modules
"""


@pytest.mark.slow
def test_publishing_and_asking_need_no_locks_and_changing_says_that_it_does(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FCNTL],
        cwd=tmp_path,
        env={**os.environ, "SFUMATO_STATE": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    boxes, asked, *refused = done.stdout.splitlines()
    assert (boxes, asked) == ("boxes True", "asked True")
    assert len(refused) == 3
    for line in refused:
        assert line.startswith(
            "refused: people.statdb: changing a statistical database, its ledger"
        )
        assert "POSIX" in line


def test_one_at_a_time(tmp_path: Path) -> None:
    first = take_lock(tmp_path / "lock")
    with pytest.raises(Busy):
        take_lock(tmp_path / "lock")
    os.close(first)
    os.close(take_lock(tmp_path / "lock"))
    assert (tmp_path / "lock").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_lock_goes_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from sfumato.io.locks import take_lock\n"
        "take_lock(Path(sys.argv[1]))\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "lock")]
    assert subprocess.run(command, timeout=PATIENCE, check=False).returncode < 0
    os.close(take_lock(tmp_path / "lock"))
