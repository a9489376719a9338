"""What a command loads: nothing that it does not use, so that a small table is done at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from tests.support.commands import sfumato
from tests.support.waiting import PATIENCE

RUN = """
import sys
from sfumato.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
loaded = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print("LOADED", *sorted(name for name in loaded if not name.startswith("_")))
print("OURS", *sorted(name for name in sys.modules if name.startswith("sfumato.")))
print("COMPILER", "numba.np.arraymath" in sys.modules)
"""


def loaded(folder: Path, *arguments: str) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {words[0]: words[1:] for words in lines if words and words[0].isupper()}


def test_publishing_a_small_table_loads_what_it_uses(tmp_path: Path) -> None:
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        for name in ("patients.csv", "patients.toml"):
            shutil.copy(bundled / name, tmp_path)
    publish = ["publish", "patients.csv", "-s", "patients.toml", "--k", "5", "--force", "-o", "out"]
    publish.append("--no-audit")
    loaded(tmp_path, *publish)  # compiles where nothing is kept yet
    found = loaded(tmp_path, *publish)
    needed = {"click", "llvmlite", "numba", "numpy", "pyarrow", "rich", "sfumato"}
    of_these = {"cloudpickle", "cython_runtime", "dateutil", "markdown_it", "mdurl", "pygments"}
    assert set(found["LOADED"]) <= needed | of_these
    of_others = ("topdown", "recoding", "intervals", "join_risk", "breach", "statdb")
    assert not [name for name in found["OURS"] if any(other in name for other in of_others)]
    assert found["COMPILER"] == ["False"]


@pytest.mark.slow
def test_learning_finds_what_other_commands_do_without(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        for name in ("patients.csv", "patients.toml"):
            shutil.copy(bundled / name, tmp_path)
    table = ("patients.csv", "-s", "patients.toml")
    assert sfumato(tmp_path, "publish", *table, "--k", "5", "--no-audit", "-o", "out").stderr == ""
    asked = ["evaluate", "out", "--truth", *table, "--learn", "--queries", "20", "-o", "page.html"]
    found = loaded(tmp_path, *asked)
    assert "sklearn" in found["LOADED"]
    assert "learns disease" in (tmp_path / "page.html").read_text("utf-8")
