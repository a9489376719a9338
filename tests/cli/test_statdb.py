"""sfumato statdb create and apply as an owner meets them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sfumato as sf
from sfumato.cli.main import main

HEADER = "age,since,disease\n"
ROWS = [
    f"{20 + i % 40},2020-01-{1 + i % 9:02},{('flu', 'cold', 'gout')[i % 3]}\n" for i in range(60)
]
SCHEMA = 'quasi = ["age", "since"]\nsensitive = ["disease"]\n'
TWO = "33,2020-01-03,flu\n33,2020-01-03,cold\n"
BINS = "[attributes.age]\nbins = 4\n"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """A folder to work in."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place, self.capsys = place, capsys
        self.folder = str(place / "people.statdb")

    def file(self, name: str, text: str) -> str:
        (self.place / name).write_text(text)
        return str(self.place / name)

    def run(self, *arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["statdb", *arguments])
        shown = self.capsys.readouterr()
        return Ran(int(str(ended.value.code)), shown.out, shown.err)

    def create(self, schema: str = SCHEMA, *options: str) -> Ran:
        rows, roles = (
            self.file("people.csv", HEADER + "".join(ROWS)),
            self.file("people.toml", schema),
        )
        return self.run("create", rows, "-s", roles, "--m", "2", "-o", self.folder, *options)

    def apply(self, *options: str, **files: str) -> Ran:
        given = [
            part
            for option, rows in files.items()
            for part in (f"--{option}", self.file(f"{option}.csv", HEADER + rows))
        ]
        return self.run("apply", self.folder, *given, *options)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def test_rows_come_and_go(shell: Shell) -> None:
    assert shell.create().code == 0
    done = shell.apply(insert=TWO * 5, delete="".join(ROWS[:4]))
    assert (done.code, "4 rows deleted, 10 inserted: 66 rows" in done.out) == (0, True)
    assert "wait" not in done.out


def test_a_file_may_be_read_part_by_part(shell: Shell) -> None:
    done = shell.create(SCHEMA, "--engine", "stream", "--memory", "1kB")
    assert done.code == 0, done.err
    assert "Stored 60 rows" in " ".join(done.out.split())
    shell.folder += "2"
    done = shell.create(SCHEMA, "--engine", "stream", "--memory", "100B")
    assert (done.code, "60 rows, which take 180 bytes as codes" in " ".join(done.err.split())) == (
        2,
        True,
    )


def test_rows_wait_until_they_can_hide_among_each_other(shell: Shell) -> None:
    shell.create()
    public = shell.run("info", shell.folder, "--json").out
    done = shell.apply(insert="33,2020-01-03,flu\n")
    assert done.code == 0
    said = " ".join(done.out.split())
    assert "0 rows deleted, 0 inserted: 60 rows" in said
    assert "1 rows wait, and nobody is told of them: they come in when at least 9 more rows" in said
    told = json.loads(shell.run("info", shell.folder, "--json").out)
    assert told.pop("for_you_only")["waiting"] == 1
    assert told == {k: v for k, v in json.loads(public).items() if k != "for_you_only"}
    assert "rows that wait" in shell.run("info", shell.folder).out
    done = shell.apply(delete="33,2020-01-03,flu\n")
    assert "1 rows deleted that were waiting" in done.out


def test_an_owner_can_let_rows_in_at_once(shell: Shell) -> None:
    shell.create()
    shell.apply(insert="33,2020-01-03,flu\n")
    done = shell.run("apply", shell.folder, "--accept-exposure")
    assert (done.code, "1 inserted: 61 rows, 1 counterfeits" in done.out) == (0, True)
    assert "warning: 1 rows came in at once" in " ".join(done.err.split())
    help = " ".join(shell.run("apply", "--help").out.split())
    assert "guesses right more often than 1/m" in help


def test_info_says_how_a_database_was_made(shell: Shell) -> None:
    assert "groups" in shell.create(SCHEMA, "--size", "6").out
    said = " ".join(shell.run("info", shell.folder).out.split())
    assert "neighbours, never regrouped" in said
    known = json.loads(shell.run("info", shell.folder, "--json").out)
    assert (known["size"], "cohort" in known) == (6, False)
    shell.folder += "2"
    assert "buckets" in shell.create(SCHEMA, "--first", "signatures").out
    assert "groups that are regrouped" in " ".join(shell.run("info", shell.folder).out.split())
    shell.folder += "3"
    refused = shell.create(SCHEMA, "--first", "neighbours", "--cohort", "8")
    assert (refused.code, "never regrouped" in " ".join(refused.err.split())) == (2, True)
    assert not Path(shell.folder).exists()


def test_an_owner_can_have_the_files_written_anew(shell: Shell) -> None:
    shell.create(SCHEMA, "--cohort", "8")
    shell.apply(delete="".join(ROWS[:4]))
    before = shell.run("info", shell.folder, "--json").out
    assert list(Path(shell.folder).glob("state-*/patch-*"))
    done = shell.run("compact", shell.folder)
    assert (done.code, "Written anew" in done.out) == (0, True)
    assert not list(Path(shell.folder).glob("state-*/patch-*"))
    assert shell.run("info", shell.folder, "--json").out == before


def test_a_new_sensitive_value_is_refused(shell: Shell) -> None:
    shell.create()
    done = shell.apply(insert="33,2020-01-03,rabies\n")
    assert done.code == 2
    assert "public domain lacks 'rabies'" in done.err
    assert "order, taxonomy or bins" in done.err
    assert sf.StatDB.open(shell.folder).generation == 1


@pytest.mark.parametrize("option", ["insert", "delete"])
def test_another_type_is_refused(shell: Shell, option: str) -> None:
    shell.create()
    done = shell.apply(**{option: "33,20200103,flu\n"})
    assert done.code == 2
    assert "column 'since' is date32[day] in the database and int64 in the rows" in done.err


def test_columns_with_bins_are_changed(shell: Shell) -> None:
    shell.create(SCHEMA + BINS)
    done = shell.apply(insert=5 * TWO.replace("33", "19"), delete="".join(ROWS[:4]))
    assert (done.code, "66 rows" in done.out) == (0, True)
    db: Any = sf.StatDB.open(shell.folder)
    assert db.info()["quasi"]["age"] == 4


def test_a_row_in_both_files_does_not_change(shell: Shell) -> None:
    shell.create()
    files = {"insert": "".join(ROWS[:4]), "delete": "".join(ROWS[:6])}
    asked = shell.apply(**files)
    assert (asked.code, "say whom they are about" in asked.err) == (2, True)
    done = shell.apply("--twins", "newcomer", **files)
    assert "2 rows deleted, 0 inserted: 58 rows" in done.out


def test_returning_is_warned_of_in_the_help(shell: Shell) -> None:
    said = " ".join(shell.run("apply", "--help").out.split())
    assert "Somebody who leaves and returns" in said


def test_boxes_warn_of_undeclared_domains(shell: Shell) -> None:
    made = shell.create(SCHEMA + BINS, "--framework", "generalization")
    assert made.code == 0
    assert "warning: the schema does not declare the domain of 'since'" in made.err


def test_who_has_no_schema_is_told_how_to_get_one(shell: Shell) -> None:
    done = shell.run("create", "patients.csv", "-o", "new.statdb")
    assert (done.code, "sfumato inspect TABLE -o FILE" in done.err) == (2, True)


def test_how_far_estimates_are_off_is_told_to_the_owner(shell: Shell) -> None:
    shell.create()
    asked = ("query", shell.folder, "SELECT COUNT(*) FROM t WHERE age < 40 AND disease = 'flu'")
    told = shell.run(*asked).out
    assert "For you only" in told
    assert "9 in 10 by" in told
    # the whole table is counted exactly, and other functions have no error that was measured
    assert "For you only" not in shell.run("query", shell.folder, "SELECT COUNT(*) FROM t").out
    # programs get what everybody may know
    for form in ("json", "csv"):
        assert "off" not in shell.run(*asked, "--format", form).out


def test_how_a_database_of_regions_was_made(shell: Shell) -> None:
    rows = "".join(f"{20 + i % 60},2020-01-{1 + i % 9:02},d{i % 7}\n" for i in range(600))
    source, roles = shell.file("many.csv", HEADER + rows), shell.file("many.toml", SCHEMA)
    made = shell.run("create", source, "-s", roles, "--m", "3", "--cohort", "4", "-o", shell.folder)
    # what a group hides is not all that regrouping tells
    assert "who shares a value with whom" in " ".join(made.out.split())
    told = shell.run("info", shell.folder).out
    assert "regrouped in regions of neighbours" in told
    assert "192" in told


def test_several_files_and_what_is_piped_in_are_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path, capsys)
    files = [
        shell.file(name, HEADER + "".join(rows))
        for name, rows in (("a.csv", ROWS[:20]), ("b.csv", ROWS[20:]))
    ]
    options = ("-s", shell.file("schema.toml", SCHEMA), "--m", "2")
    done = shell.run("create", *files, *options, "-o", str(tmp_path / "several"))
    assert (done.code, "Stored 60 rows" in done.out) == (0, True), done.err
    assert "stand alone" in done.out  # as counts show: nobody is hidden by a group
    assert "who shares" not in done.out  # nor regrouped
    content = (HEADER + "".join(ROWS)).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    done = shell.run("create", "-", *options, "-o", str(tmp_path / "piped"))
    assert (done.code, "Stored 60 rows" in done.out) == (0, True), done.err


def test_a_database_is_made_without_an_attack_if_so_asked(shell: Shell) -> None:
    done = shell.create(SCHEMA, "--no-audit")
    assert done.code == 0, done.err
    assert "ttacked" not in done.out
    assert "Ask it: " in done.out
