"""The command line as a user meets it: in a process of its own, with exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCHEMA = """
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = "disease"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    generator = np.random.default_rng(2)
    lines = ["name,age,sex,disease"]
    for i in range(100):
        age, sex = generator.integers(20, 60), generator.choice(["f", "m"])
        lines.append(f"n{i},{age},{sex},{generator.choice(['flu', 'cold', 'gout'])}")
    (tmp_path / "patients.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def sfumato(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments], cwd=place, capture_output=True, text=True
    )


def publish(place: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return sfumato(place, "publish", "patients.csv", "-s", "schema.toml", "-o", "out", *more)


def refused(done: subprocess.CompletedProcess[str], place: Path, *words: str) -> None:
    """One line on standard error, exit code 2, nothing written."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (place / "out").exists()
    assert not [path for path in place.iterdir() if "out" in path.name]


def test_publish_then_verify(place: Path) -> None:
    done = publish(place, "--k", "5")
    assert done.returncode == 0, done.stderr
    assert "100 rows" in done.stdout
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "generalized.parquet",
        "release.json",
    ]
    found = sfumato(place, "verify", "out")
    assert found.returncode == 0, found.stderr
    assert "kept" in found.stdout


def test_verify_exits_1_when_a_promise_is_broken(place: Path) -> None:
    publish(place, "--k", "5")
    table = pq.read_table(place / "out" / "generalized.parquet")
    odd = table.slice(0, 1).set_column(0, "age_min", pa.array([1], table["age_min"].type))
    pq.write_table(pa.concat_tables([odd, table.slice(1)]), place / "out" / "generalized.parquet")
    done = sfumato(place, "verify", "out")
    assert done.returncode == 1
    assert "BROKEN" in done.stdout
    assert "age_min=1" in done.stdout
    machine = sfumato(place, "verify", "out", "--json")
    assert machine.returncode == 1
    assert json.loads(machine.stdout)["ok"] is False


def test_json_is_one_document(place: Path) -> None:
    stated = json.loads(publish(place, "--k", "5", "--l", "1.5", "--json").stdout)
    assert [part["model"] for part in stated["promise"]] == ["k-anonymity", "l-diversity"]
    looked = json.loads(sfumato(place, "inspect", "patients.csv", "--json").stdout)
    assert {column["name"]: column["role"] for column in looked["columns"]} == {
        "name": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "disease": "sensitive",
    }
    assert looked["risk"]["rows"] == 100


def test_labels_and_csv(place: Path) -> None:
    assert publish(place, "--k", "5", "--labels", "--format", "csv").returncode == 0
    header = (place / "out" / "generalized.csv").read_text().splitlines()[0]
    assert header.replace('"', "") == "age,sex,disease"
    assert sfumato(place, "verify", "out").returncode == 0


def test_inspect_writes_a_schema_that_publish_accepts(place: Path) -> None:
    done = sfumato(place, "inspect", "patients.csv", "-o", "guessed.toml")
    assert done.returncode == 0, done.stderr
    again = sfumato(
        place, "publish", "patients.csv", "-s", "guessed.toml", "--k", "3", "-o", "guessed"
    )
    assert again.returncode == 0, again.stderr
    refused(sfumato(place, "inspect", "patients.csv", "-o", "guessed.toml"), place, "guessed.toml")


def test_a_wrong_command_or_option_is_bad_use(place: Path) -> None:
    for arguments in (["publsh"], ["publish"], ["verify", "out", "--frobnicate"]):
        done = sfumato(place, *arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_nothing_promised(place: Path) -> None:
    refused(publish(place), place, "--k")


def test_missing_column(place: Path) -> None:
    (place / "schema.toml").write_text(SCHEMA.replace("age", "agee"))
    refused(publish(place, "--k", "5"), place, "agee", "did you mean 'age'?")


def test_empty_table(place: Path) -> None:
    (place / "patients.csv").write_text("name,age,sex,disease\n")
    refused(publish(place, "--k", "5"), place, "no rows")


def test_k_larger_than_n(place: Path) -> None:
    refused(publish(place, "--k", "101"), place, "largest possible k is 100")


def test_k_that_means_nothing(place: Path) -> None:
    refused(publish(place, "--k", "0"), place, "k must be")


def test_infeasible_l(place: Path) -> None:
    refused(publish(place, "--l", "50"), place, "largest feasible l is", "disease")


def test_a_file_that_is_not_what_its_name_says(place: Path) -> None:
    (place / "patients.csv").rename(place / "patients.parquet")
    done = sfumato(
        place, "publish", "patients.parquet", "-s", "schema.toml", "--k", "5", "-o", "out"
    )
    refused(done, place, "patients.parquet")


def test_ragged_rows(place: Path) -> None:
    with (place / "patients.csv").open("a") as file:
        file.write("too,few\n")
    refused(publish(place, "--k", "5"), place, "patients.csv", "102")


def test_a_missing_file(place: Path) -> None:
    (place / "patients.csv").rename(place / "patient.csv")
    refused(publish(place, "--k", "5"), place, "patients.csv")


def test_an_output_folder_that_exists(place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "mine.txt").write_text("keep me")
    for more in ([], ["--force"]):
        done = publish(place, "--k", "5", *more)
        assert done.returncode == 2
        assert "out" in done.stderr
        assert (place / "out" / "mine.txt").read_text() == "keep me"


def test_force_replaces_a_release(place: Path) -> None:
    assert publish(place, "--k", "5").returncode == 0
    assert publish(place, "--k", "7").returncode == 2
    assert publish(place, "--k", "7", "--force").returncode == 0
    stated = json.loads((place / "out" / "release.json").read_text())
    assert stated["promise"][0]["k"] == 7


def test_a_full_disk(place: Path) -> None:
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import sys; from sfumato.cli.main import main\n"
        "import sfumato.verbs, sfumato.cli.publish\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n"
        "main(['publish', 'patients.csv', '-s', 'schema.toml', '--k', '5', '-o', 'out'])\n"
    )
    # kernels must be on disk before the limit is set
    assert publish(place, "--k", "5").returncode == 0
    assert sfumato(place, "verify", "out").returncode == 0
    for path in (place / "out").iterdir():
        path.unlink()
    (place / "out").rmdir()
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True)
    refused(done, place, "File too large")


def test_progress_is_shown_and_ctrl_c_in_the_middle_leaves_nothing(place: Path) -> None:
    generator = np.random.default_rng(0)
    n = 2_000_000
    table = pa.table({name: generator.integers(0, 30_000, n) for name in "abcdef"})
    pq.write_table(table, place / "large.parquet")
    (place / "large.toml").write_text('quasi = ["a", "b", "c", "d", "e", "f"]\n')
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "publish", "large.parquet", "-s", "large.toml",
         "--k", "2", "-o", "out"],
        cwd=place, stderr=theirs, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"partitioning" not in seen:
        seen += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # a terminal whose other end is closed
        while chunk := os.read(ours, 4096):
            seen += chunk
    assert process.wait(timeout=60) == 130
    assert b"nothing half-written is left" in seen
    assert not [path for path in place.iterdir() if "out" in path.name]


def test_demo_explains_itself(place: Path) -> None:
    done = sfumato(place, "demo")
    assert done.returncode == 0, done.stderr
    assert "What it means" in done.stdout
    assert (place / "sfumato-demo" / "release.json").is_file()
    assert sfumato(place, "demo").returncode == 0


def test_version_and_help(place: Path) -> None:
    assert "0.1.0" in sfumato(place, "--version").stdout
    helped = sfumato(place, "--help").stdout
    for command in ("inspect", "publish", "verify", "demo", "reproduce"):
        assert command in helped
        assert sfumato(place, command, "--help").returncode == 0
