"""Seeds as an owner types them, or better does not."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

import sfumato as sf
from sfumato.cli.main import main
from sfumato.core.seeds import SHORT
from tests.support.seeds import long_seed

ROWS = "name,age,sex,disease\n" + "".join(
    f"n{i},{20 + i % 40},{'mf'[i % 2]},{('flu', 'cold', 'gout', 'ache')[i % 4]}\n"
    for i in range(80)
)
SCHEMA = 'identifiers = ["name"]\nquasi = ["age", "sex"]\nsensitive = ["disease"]\n'


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """A folder to work in."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place, self.capsys = place, capsys
        (place / "people.csv").write_text(ROWS)
        (place / "people.toml").write_text(SCHEMA)

    def run(self, *arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        shown = self.capsys.readouterr()
        return Ran(int(str(ended.value.code)), shown.out, shown.err)

    def make(self, command: tuple[str, ...], output: str, *options: str) -> Ran:
        source, schema = self.place / "people.csv", self.place / "people.toml"
        return self.run(
            *command, str(source), "-s", str(schema), "-o", str(self.place / output), *options
        )  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


COMMANDS = {
    "boxes": ("publish", "--k", "4"),
    "anatomy": ("publish", "--method", "anatomy", "--l", "3"),
    "stream": ("publish", "--method", "anatomy", "--l", "3", "--engine", "stream"),
    "perturb": ("publish", "--method", "perturb", "--m", "2"),
    "statdb": ("statdb", "create", "--m", "2"),
}
commands = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def tables(place: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in place.rglob("*")
        if path.suffix in (".parquet", ".npy")
    }


@commands
def test_a_short_seed_needs_the_word_experiment(shell: Shell, command: tuple[str, ...]) -> None:
    done = shell.make(command, "out", "--seed", "7")
    assert done.code == 2
    assert "--experiment" in done.err
    assert "--seed-file" in done.err
    assert not (shell.place / "out").exists()
    assert shell.make(command, "out", "--seed", "7", "--experiment").code == 0


@commands
def test_a_seed_file_is_made_for_its_owner_and_repeats_the_run(
    shell: Shell, command: tuple[str, ...]
) -> None:
    seed = shell.place / "people.seed"
    done = shell.make(command, "a", "--seed-file", str(seed))
    assert done.code == 0, done.err
    assert "keep it like a key" in done.err
    assert stat.S_IMODE(seed.stat().st_mode) == 0o600
    text = seed.read_text()
    assert int(text).bit_length() == 256
    again = shell.make(command, "b", "--seed-file", str(seed))
    assert again.code == 0
    assert "Made a seed" not in again.err
    assert seed.read_text() == text
    assert tables(shell.place / "a") == tables(shell.place / "b") != {}
    shell.make(command, "c", "--seed-file", str(shell.place / "other.seed"))
    assert tables(shell.place / "a") != tables(shell.place / "c")
    for path in (shell.place / "a").rglob("*"):
        assert path.is_dir() or text.strip().encode() not in path.read_bytes()


def test_a_join_goes_by_the_same_rule(shell: Shell) -> None:
    lines = ROWS.splitlines()
    (shell.place / "voters.csv").write_text(
        "\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n"
    )
    command = (
        "publish", "--k", "4", "--external", str(shell.place / "voters.csv"), "--id", "name"
    )  # fmt: skip
    assert shell.make(command, "out", "--seed", "7").code == 2
    assert shell.make(command, "out", "--seed", "7", "--experiment").code == 0
    assert sf.load(shell.place / "out").manifest.seed == SHORT
    assert shell.make(command, "long", "--seed", str(long_seed(7))).code == 0
    assert sf.load(shell.place / "long").manifest.seed is None


def test_an_experiment_says_so(shell: Shell) -> None:
    done = shell.make(COMMANDS["anatomy"], "out", "--seed", "7", "--experiment")
    assert SHORT in done.out
    assert json.loads((shell.place / "out" / "release.json").read_text())["seed"] == SHORT
    done = shell.make(COMMANDS["anatomy"], "other")
    assert SHORT not in done.out


def test_an_experimental_database_says_so(shell: Shell) -> None:
    shell.make(COMMANDS["statdb"], "db", "--seed", "7", "--experiment")
    shell.make(COMMANDS["statdb"], "long", "--seed", str(long_seed(7)))
    assert SHORT in shell.run("statdb", "info", str(shell.place / "db")).out
    assert SHORT not in shell.run("statdb", "info", str(shell.place / "long")).out
    served = shell.run("statdb", "serve", str(shell.place / "db"), "--get", "/health")
    assert re.search("warning: db was made with a seed that is short", served.err)
    served = shell.run("statdb", "serve", str(shell.place / "long"), "--get", "/health")
    assert "warning" not in served.err


def test_a_passphrase_and_its_file(shell: Shell) -> None:
    phrase = "four green turtles, swimming"
    assert shell.make(COMMANDS["boxes"], "a", "--seed", phrase).code == 0
    seed = shell.place / "phrase"
    seed.write_text(f"{phrase}\n")
    seed.chmod(0o600)
    assert shell.make(COMMANDS["boxes"], "b", "--seed-file", str(seed)).code == 0
    assert tables(shell.place / "a") == tables(shell.place / "b")


def test_a_short_passphrase_is_refused_and_not_shown(shell: Shell) -> None:
    done = shell.make(COMMANDS["boxes"], "out", "--seed", "hunter2", "--experiment")
    assert done.code == 2
    assert "hunter2" not in done.err
    assert "7 characters" in done.err


def test_seed_files_that_are_none(shell: Shell) -> None:
    def said(text: str, mode: int) -> str:
        path = shell.place / "seed"
        path.write_text(text)
        path.chmod(mode)
        done = shell.make(COMMANDS["boxes"], "out", "--seed-file", str(path))
        assert done.code == 2
        return done.err

    assert "chmod 600" in said(f"{long_seed(1)}\n", 0o640)
    assert "is empty" in said("\n", 0o600)
    assert "seed is short" in said("7\n", 0o600)
    both = shell.make(COMMANDS["boxes"], "out", "--seed", "7", "--seed-file", "x")
    assert both.code == 2
    assert "either" in both.err
    lost = shell.make(COMMANDS["boxes"], "out", "--seed-file", str(shell.place / "no" / "seed"))
    assert lost.code == 2
    assert not (shell.place / "out").exists()
