"""The command line as a user meets it, with exit codes; now and then in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.support.commands import sfumato
from tests.support.waiting import PATIENCE

SCHEMA = """
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = "disease"
"""


PUBLISH = ("publish", "patients.csv", "-s", "schema.toml", "-o", "out")


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


def process(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def publish(place: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return sfumato(place, *PUBLISH, *more)


def refused(done: subprocess.CompletedProcess[str], place: Path, *words: str) -> None:
    """One line on standard error, exit code 2, nothing written."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (place / "out").exists()
    assert not [path for path in place.iterdir() if "out" in path.name]


def test_publish_then_verify(place: Path) -> None:
    done = process(place, *PUBLISH, "--k", "5")
    assert done.returncode == 0, done.stderr
    assert "100 rows" in done.stdout
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "generalized.parquet",
        "release.json",
    ]
    found = process(place, "verify", "out")
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
    machine = process(place, "verify", "out", "--json")
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


def test_anatomy(place: Path) -> None:
    done = publish(place, "--method", "anatomy", "--l", "2")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "qit.parquet",
        "release.json",
        "st.parquet",
    ]
    assert "RCE of disease" in done.stdout
    assert sfumato(place, "verify", "out").returncode == 0


def test_boxes_are_refined(place: Path) -> None:
    done = publish(place, "--k", "3", "--refine", "2", "--time-limit", "none")
    assert done.returncode == 0, done.stderr
    stated = json.loads((place / "out" / "release.json").read_text())["algorithm"]
    assert (stated["refine"], stated["time_limit"]) == (2, None)
    assert sfumato(place, "verify", "out").returncode == 0


def test_what_is_not_refined_has_no_limit(place: Path) -> None:
    refused(publish(place, "--k", "3", "--time-limit", "5"), place, "--refine")
    refused(publish(place, "--k", "3", "--refine", "-1"), place, "refine must be")
    refused(publish(place, "--method", "anatomy", "--l", "2", "--refine", "1"), place, "--refine")


def test_anatomy_has_no_boxes(place: Path) -> None:
    for more in (["--labels"], ["--means"], ["--relaxed"], ["--round-robin"]):
        refused(publish(place, "--method", "anatomy", "--l", "2", *more), place, more[0])
    refused(
        publish(place, "--method", "anatomy", "--k", "5"), place, "k-anonymity is not a promise"
    )


def test_inspect_writes_a_schema_that_publish_accepts(place: Path) -> None:
    done = sfumato(place, "inspect", "patients.csv", "-o", "guessed.toml")
    assert done.returncode == 0, done.stderr
    again = sfumato(
        place, "publish", "patients.csv", "-s", "guessed.toml", "--k", "3", "-o", "guessed"
    )
    assert again.returncode == 0, again.stderr
    refused(sfumato(place, "inspect", "patients.csv", "-o", "guessed.toml"), place, "guessed.toml")


def test_inspect_hints_at_many_columns_that_were_guessed(place: Path) -> None:
    names = [f"c{n}" for n in range(16)]
    lines = [",".join(str((row + n) % 3) for n in range(16)) for row in range(40)]
    (place / "wide.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    said = "16 columns are taken for known to others"
    shown = sfumato(place, "inspect", "wide.csv", "-o", "wide.toml").stdout
    assert said in " ".join(shown.split())
    # an owner who wrote the roles down has thought about them
    again = sfumato(place, "inspect", "wide.csv", "-s", "wide.toml").stdout
    assert said not in " ".join(again.split())


def test_inspect_says_who_is_exposed(place: Path) -> None:
    shown = " ".join(sfumato(place, "inspect", "patients.csv", "-s", "schema.toml").stdout.split())
    assert "stand alone on age and sex: whoever knows these finds the row." in shown
    assert "people's disease is certain to whoever knows their age and sex" in shown
    done = sfumato(
        place, "inspect", "patients.csv", "-s", "schema.toml", "--json", "--person", "name",
        "--population", "patients.csv",
    )  # fmt: skip
    risk = json.loads(done.stdout)["risk"]
    assert (risk["people"], risk["population"]["size"]) == (100, 100)
    assert risk["sets"]["columns"][0]["column"] == "age"
    assert "1 / f" in sfumato(place, "inspect", "patients.csv", "--formulas").stdout


def test_publish_says_what_is_left_and_what_k_promises_of_people(place: Path) -> None:
    done = publish(place, "--k", "6", "--person", "age", "--seed", "7", "--experiment")
    assert "rows are of" in done.stderr
    assert "promises 6 people" in done.stderr
    fewest = done.stderr.split("the smallest ")[1].split()[0]  # people, who are fewer than rows
    assert 1 < int(fewest) < 6
    alone = f"- Nobody stands alone on age and sex: everybody is one of {fewest} at least"
    assert alone in done.stdout
    assert "- Whoever looks for everybody finds about" in done.stdout


def test_a_mistyped_command_or_method_is_asked_about(place: Path) -> None:
    done = sfumato(place, "publsh")
    assert done.returncode == 2
    assert "did you mean 'publish'?" in done.stderr
    for command in (PUBLISH, ("explore", "patients.csv", "-s", "schema.toml")):
        done = sfumato(place, *command, "--k", "5", "--method", "mondrain")
        refused(done, place, "did you mean 'mondrian'?")
    assert "did you mean" not in sfumato(place, "frobnicate").stderr


def test_refusals_name_options_and_nothing_of_python(place: Path) -> None:
    assert publish(place, "--k", "5").returncode == 0
    again = publish(place, "--k", "5")
    assert again.returncode == 2
    assert "or replace it with --force\n" in again.stderr
    (place / "bare.csv").write_text("12,f,flu\n13,m,cold\n")
    bare = sfumato(place, "inspect", "bare.csv")
    assert "say --header; " in bare.stderr
    assert "with --names, " in bare.stderr
    assert "=" not in bare.stderr


def test_a_wrong_command_or_option_is_bad_use(place: Path) -> None:
    for arguments in (["publsh"], ["publish"], ["verify", "out", "--frobnicate"]):
        done = process(place, *arguments)
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
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, timeout=PATIENCE
    )
    refused(done, place, "File too large")


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")],
)
def test_progress_is_shown_and_ending_it_in_the_middle_leaves_nothing(
    place: Path, sent: signal.Signals, code: int, said: bytes
) -> None:
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
    try:
        while b"partitioning" not in seen:
            seen += os.read(ours, 4096)
        process.send_signal(sent)
        with contextlib.suppress(OSError):  # a terminal whose other end is closed
            while chunk := os.read(ours, 4096):
                seen += chunk
        assert process.wait(timeout=PATIENCE) == code
    finally:
        process.kill()
    assert said + b"; nothing half-written is left" in seen
    assert not [path for path in place.iterdir() if "out" in path.name]


def test_the_reconstruction_error_has_a_scale(place: Path) -> None:
    assert "RCE (0 exact, below 100)" in publish(place, "--k", "5", "--no-audit").stdout
    apart = publish(place, "--method", "anatomy", "--l", "2", "--no-audit", "--force")
    assert "RCE of disease (0 exact, below 100)" in apart.stdout


def test_demo_explains_itself(place: Path) -> None:
    done = sfumato(place, "demo")
    assert done.returncode == 0, done.stderr
    assert "What it means" in done.stdout
    assert (place / "sfumato-demo" / "release.json").is_file()
    assert sfumato(place, "demo").returncode == 0


def test_demo_keeps_other_folders(place: Path) -> None:
    assert sfumato(place, "demo", "-o", "mine").returncode == 0
    before = (place / "mine" / "release.json").stat().st_mtime_ns
    done = sfumato(place, "demo", "-o", "mine")
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert (place / "mine" / "release.json").stat().st_mtime_ns == before
    assert sfumato(place, "demo", "-o", "mine", "--force").returncode == 0


def test_demo_gives_its_table_away_and_replaces_nothing(place: Path) -> None:
    done = sfumato(place, "demo", "--table", "new/tried")
    assert done.returncode == 0, done.stderr
    advised = done.stdout.split("Publish it: ")[1]
    published = sfumato(place, *shlex.split(advised)[1:])
    assert published.returncode == 0, published.stderr
    mine = (place / "patients.csv").read_bytes()
    refused(sfumato(place, "demo", "--table", "."), place, "patients.csv exists")
    assert (place / "patients.csv").read_bytes() == mine
    assert not (place / "patients.toml").exists()


ODD_NAMES = [
    "[bold]",
    "[/x]",
    "[red]a[/red]",
    'it\'s "so"',
    "two\nlines",
    "größe 中",
    "a b",
    ":smile:",
]


def odd_table(place: Path) -> None:
    generator = np.random.default_rng(3)
    columns = {name: generator.choice(["[/y]", "[i]x[/i]"], 60) for name in ODD_NAMES}
    columns["[disease]"] = generator.choice(["[/flu]", "[bold]gout", ":cat:"], 60)
    pq.write_table(pa.table(columns), place / "odd [x].parquet")


def test_names_and_values_are_never_markup(place: Path) -> None:
    odd_table(place)
    looked = sfumato(place, "inspect", "odd [x].parquet", "-o", "odd [y].toml")
    assert looked.returncode == 0, looked.stderr
    for name in (*ODD_NAMES[:4], *ODD_NAMES[5:]):
        assert name in looked.stdout
    assert "sfumato publish 'odd [x].parquet' -s 'odd [y].toml'" in looked.stdout
    done = sfumato(
        place, "publish", "odd [x].parquet", "-s", "odd [y].toml", "--k", "2", "--l", "1.2",
        "-o", "out [/z]",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for word in ("[bold]", "[/x]", ":smile:", "on = [disease]", "sfumato verify 'out [/z]'"):
        assert word in done.stdout
    table = pq.read_table(place / "out [/z]" / "generalized.parquet")
    found = sfumato(place, "verify", "out [/z]")
    assert found.returncode == 0, found.stderr
    assert "out [/z]: 60 rows" in found.stdout
    assert "[disease]" in found.stdout
    pq.write_table(table.slice(0, 59), place / "out [/z]" / "generalized.parquet")
    assert sfumato(place, "verify", "out [/z]").returncode == 1


def test_nested_columns_are_shown_and_not_used(place: Path) -> None:
    table = pa.table({"age": [30, 31] * 5, "where": [{"x": 1}] * 10, "tags": [["a"]] * 10})
    pq.write_table(table, place / "nested.parquet")
    looked = sfumato(place, "inspect", "nested.parquet", "-o", "nested.toml")
    assert looked.returncode == 0, looked.stderr
    assert looked.stdout.count("(not usable)") >= 2
    (place / "nested.toml").write_text('quasi = ["age"]\ninsensitive = ["where"]\n')
    start = ("publish", "nested.parquet", "-s", "nested.toml", "--k", "2", "-o", "out")
    refused(sfumato(place, *start, "--format", "csv"), place, "'where'", "CSV cannot hold")
    assert sfumato(place, *start).returncode == 0


@pytest.mark.parametrize(
    "limit", [["--l", "inf"], ["--l", "nan"], ["--recursive", "inf", "2"], ["--t", "nan"],
              ["--entropy-l", "inf"]],
)  # fmt: skip
def test_limits_are_finite(place: Path, limit: list[str]) -> None:
    refused(publish(place, *limit), place, "must be")


def test_a_bug_is_one_line_and_never_a_broken_promise(place: Path) -> None:
    code = (
        "import sfumato.cli.verify as command\n"
        "def broken(folder, **_): raise RuntimeError('first\\nsecond')\n"
        "command.verify_release = broken\n"
        "from sfumato.cli.main import main\n"
        "main(['verify', 'out'])\n"
    )
    for debug in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=place, capture_output=True, text=True,
            env={**os.environ, "SFUMATO_DEBUG": debug}, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 70
        said = done.stderr.splitlines()[-1]
        assert said.startswith("sfumato: internal error: RuntimeError: first; this is a bug")
        assert ("Traceback" in done.stderr) is (debug == "1")
        assert ("SFUMATO_DEBUG=1" in said) is (debug == "")


def test_an_output_in_the_way_is_found_before_the_table_is_read(place: Path) -> None:
    assert publish(place, "--k", "5").returncode == 0
    (place / "patients.csv").unlink()
    done = publish(place, "--k", "5")
    assert done.returncode == 2
    assert "out exists" in done.stderr


def test_suggestions_repeat_the_way_the_table_was_read(place: Path) -> None:
    query = "SELECT * FROM t WHERE age > 20"
    done = sfumato(
        place, "inspect", "patients.csv", "-o", "s.toml", "--query", query, "--missing", "?",
        "--missing", "n a",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    command = done.stdout[done.stdout.index("sfumato publish") :].strip()
    assert shlex.split(command)[2:9] == [
        "patients.csv", "-s", "s.toml", "--query", query, "--missing", "?",
    ]  # fmt: skip
    again = sfumato(place, *shlex.split(command)[1:])
    assert again.returncode == 0, again.stderr


def test_a_password_is_never_shown(place: Path, capsys: pytest.CaptureFixture[str],
                                   monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    import sfumato.audits.inspecting as module
    from sfumato.cli.main import _run

    table = pa.table({"age": [30, 31] * 5})
    monkeypatch.setattr(module, "read_table", lambda *_, **__: table)
    monkeypatch.chdir(place)
    url = "postgresql://ada:topsecret@host/db"
    assert _run(["inspect", url, "--query", "patients", "-o", "s.toml"]) == 0
    shown = capsys.readouterr().out
    assert "topsecret" not in shown
    assert shown.count("postgresql://ada:***@host/db") == 2


def test_inspect_warns_of_several_rows_per_person(place: Path) -> None:
    table = pa.table({"patient_nbr": [i // 2 for i in range(100)], "age": [30, 31] * 50})
    pq.write_table(table, place / "visits.parquet")
    said = "50 different patient_nbr in 100 rows: several rows per person"
    assert said in sfumato(place, "inspect", "visits.parquet").stdout
    stated = json.loads(sfumato(place, "inspect", "visits.parquet", "--json").stdout)
    (warning,) = stated["warnings"]
    assert (warning["name"], warning["distinct"], warning["rows"]) == ("patient_nbr", 50, 100)
    assert said in warning["warning"]


def test_inspect_takes_no_rows_for_people_in_silence(place: Path) -> None:
    table = pa.table({"patient_nbr": [i // 2 for i in range(100)], "age": [30, 31] * 50})
    pq.write_table(table, place / "visits.parquet")
    given = ("inspect", "visits.parquet", "-o", "s.toml", "--force")
    rows, people = sfumato(place, *given), sfumato(place, *given, "--person", "patient_nbr")
    assert "Who is exposed, every row taken for a person:" in rows.stdout
    assert "Who is exposed:" in people.stdout
    for done in (rows, people):
        command = done.stdout[done.stdout.index("sfumato publish") :]
        assert " --person patient_nbr " in command
    published = sfumato(place, *shlex.split(command)[1:], "--no-audit")
    assert published.returncode == 0, published.stderr
    assert "everybody is one of 50 at least" in " ".join(published.stdout.split())


def test_inspect_without_a_quasi_identifier(place: Path) -> None:
    pq.write_table(pa.table({"name": ["a", "b"], "disease": ["x", "y"]}), place / "few.parquet")
    done = sfumato(place, "inspect", "few.parquet")
    assert done.returncode == 0, done.stderr
    assert "identifier" in done.stdout
    assert "No column looks like a quasi-identifier" in done.stdout
    stated = json.loads(sfumato(place, "inspect", "few.parquet", "--json").stdout)
    assert stated["risk"] is None
    refused(
        sfumato(place, "inspect", "few.parquet", "-o", "s.toml"), place, "s.toml is not written"
    )
    assert not (place / "s.toml").exists()


def test_inspect_stays_readable(place: Path, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    import sfumato.cli.show as show
    from sfumato.cli.main import _run

    names = [f"a_rather_long_column_{i}" for i in range(42)]
    table = pa.table({name: pa.array([1, 2, 3], pa.timestamp("us", "UTC")) for name in names})
    pq.write_table(table, place / "wide.parquet")
    monkeypatch.chdir(place)
    monkeypatch.setattr(show, "console", lambda: Console(width=80, color_system=None))
    assert _run(["inspect", "wide.parquet"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    for word in (*names, "dates with time", "quasi"):
        assert word in shown
    assert "and 36 more:" in " ".join(shown.split())
    assert "Largest feasible k" not in shown


def test_version_and_help(place: Path) -> None:
    assert "0.1.0" in sfumato(place, "--version").stdout
    helped = sfumato(place, "--help").stdout
    for command in ("inspect", "publish", "verify", "demo", "reproduce"):
        assert command in helped
        assert sfumato(place, command, "--help").returncode == 0


@pytest.mark.parametrize(
    "method", ["local", "full-domain", "subtree", "sibling", "single-dimensional"]
)
@pytest.mark.parametrize(("given", "stated"), [("7.5", 7.5), ("none", None)])
def test_every_search_takes_a_time_limit(
    place: Path, method: str, given: str, stated: float | None
) -> None:
    done = publish(place, "--k", "5", "--method", method, "--time-limit", given)
    assert done.returncode == 0, done.stderr
    assert "cut short" in done.stdout
    release = json.loads((place / "out" / "release.json").read_text())
    assert release["algorithm"]["time_limit"] == stated


def test_a_time_limit_is_for_searches(place: Path) -> None:
    done = publish(place, "--k", "5", "--method", "branches", "--time-limit", "3")
    refused(done, place, "--time-limit", "sibling")
    done = publish(place, "--k", "5", "--method", "local", "--time-limit", "-3")
    refused(done, place, "time_limit", "-3")
    done = publish(place, "--k", "5", "--method", "local", "--time-limit", "soon")
    assert done.returncode == 2
    assert "soon" in done.stderr


def test_inspect_calls_types_as_people_do(place: Path) -> None:
    (place / "visits.csv").write_text("since,kind\n2020-01-03,a\n2021-02-04,b\n")
    shown = sfumato(place, "inspect", "visits.csv").stdout
    assert "dates" in shown
    assert "texts" in shown
    for foreign in ("date32", "string", "int64"):
        assert foreign not in shown
    told = json.loads(sfumato(place, "inspect", "visits.csv", "--json").stdout)
    assert told["columns"][0]["type"] == "date32[day]"
