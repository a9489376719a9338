"""sfumato statdb token and log as an owner meets them."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sfumato as sf
from sfumato.cli.main import main
from sfumato.statdb.access.ledger import FILE, Ledger
from sfumato.statdb.access.ledger_records import Entry
from sfumato.statdb.access.tokens import Tokens
from tests.support.waiting import PATIENCE

ROWS = "age,sex,disease\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{('flu', 'cold', 'gout')[i % 3]}\n" for i in range(60)
)
ASKED = "SELECT COUNT(*) FROM t WHERE age < 40 AND disease = 'flu'"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("statdb")
    (place / "patients.csv").write_text(ROWS)
    schema = sf.Schema(quasi=["age", "sex"], sensitive="disease")
    table = sf.read(place / "patients.csv", schema)
    return sf.StatDB.create(place / "some people.statdb", table, m=2).path


@pytest.fixture
def folder(tmp_path: Path, made: Path) -> str:
    return str(shutil.copytree(made, tmp_path / made.name))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["statdb", *arguments])
        shown = capsys.readouterr()
        return Ran(int(str(ended.value.code)), shown.out, shown.err)

    return run


def asked(folder: str, sql: str = ASKED, **changes: Any) -> Entry:
    one = sf.StatDB.open(folder).query(sql).answer
    told = {"lo": one.lo, "hi": one.hi, "estimate": one.estimate, "nullable": one.nullable}
    text = json.dumps([{"key": {}, "answers": {"count": told}}])
    stated: dict[str, Any] = {"question": sql, "canonical": sql, "answer": text, **changes}
    return Entry(request_id="r", who="local", role="analyst", kind="answer", generation=1, **stated)


def log(folder: str, *entries: Entry) -> None:
    with Ledger.open(folder) as ledger:
        ledger.append(entries)


def test_a_secret_can_be_piped(folder: str) -> None:
    command = [sys.executable, "-m", "sfumato", "statdb", "token", "create", folder]
    made = subprocess.run(
        [*command, "--name", "Ada", "--role", "auditor"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    secret = made.stdout.removesuffix("\n")
    with Tokens.open(folder) as tokens:
        token = tokens.verify(secret)
    assert token is not None
    assert (token.name, token.role) == ("Ada", "auditor")
    assert secret not in made.stderr
    assert f"sfumato statdb token revoke '{folder}' {token.id}" in made.stderr


def test_a_secret_goes_into_a_file_for_its_owner(folder: str, run: Any, tmp_path: Path) -> None:
    target = tmp_path / "ada.token"
    before = os.umask(0o022)
    try:
        made = run("token", "create", folder, "--name", "Ada", "-o", str(target))
    finally:
        os.umask(before)
    assert (made.code, made.out) == (0, "")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    secret = target.read_text().removesuffix("\n")
    with Tokens.open(folder) as tokens:
        assert tokens.verify(secret) is not None
    assert secret not in made.err
    assert str(target) in made.err
    # what exists stays, and no token is made that nobody has
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for taken, reason in ((target, "exists"), (link, "exists"), (tmp_path / "no" / "t", "No such")):
        again = run("token", "create", folder, "--name", "Bob", "-o", str(taken))
        assert (again.code, again.out, reason in again.err) == (2, "", True)
    assert target.read_text() == f"{secret}\n"
    assert not (tmp_path / "elsewhere").exists()
    assert not list(tmp_path.glob(".*"))
    assert len(json.loads(run("token", "list", folder, "--json").out)) == 1


def test_tokens_are_made_listed_and_revoked(folder: str, run: Any) -> None:
    assert "no tokens" in run("token", "list", folder).out
    secrets = [
        run("token", "create", folder, "--name", name, "--expires", life).out.strip()
        for name, life in (("[bold]Ada", "12h"), ("Zoë", "4w"), ("Bob", "never"))
    ]
    shown = run("token", "list", folder)
    assert shown.code == 0
    for word in ("[bold]Ada", "Zoë", "analyst", "valid", "never"):
        assert word in shown.out
    for secret in secrets:
        assert secret[-43:] not in shown.out
    stated = json.loads(run("token", "list", folder, "--json").out)
    assert [one["state"] for one in stated] == ["valid"] * 3
    ended = run("token", "revoke", folder, stated[0]["id"])
    assert (ended.code, "revoked" in ended.out) == (0, True)
    states = [one["state"] for one in json.loads(run("token", "list", folder, "--json").out)]
    assert states == ["revoked", "valid", "valid"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "FOLDER"], "--name"),
        (["create", "FOLDER", "--name", " "], "1 to 100 printable letters"),
        (["create", "FOLDER", "--name", "A", "--role", "root"], "analyst"),
        (["create", "FOLDER", "--name", "A", "--expires", "soon"], "90d, 12h, 4w or never"),
        (["create", "FOLDER", "--name", "A", "--expires", "-1d"], "90d, 12h, 4w or never"),
        (["create", "FOLDER", "--name", "A", "--expires", "0d"], "some time from now"),
        (["create", "FOLDER", "--name", "A", "--expires", "999999w"], "some time from now"),
        (["create", "nothing", "--name", "A"], "not a statistical database"),
        (["revoke", "FOLDER", "nobody"], "there is no token 'nobody'"),
        (["list", "nothing"], "not a statistical database"),
    ],
)
def test_bad_use_of_tokens(folder: str, run: Any, arguments: list[str], message: str) -> None:
    ran = run("token", *(folder if one == "FOLDER" else one for one in arguments))
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_a_log_is_exported(folder: str, run: Any, tmp_path: Path) -> None:
    log(folder, asked(folder), asked(folder, question='=cmd|"/c calc"!A1', canonical=None))
    lines = run("log", "export", folder).out.splitlines()
    with Ledger.open(folder, read_only=True) as ledger:
        assert [json.loads(line) for line in lines] == [one.to_dict() for one in ledger.records()]
    rows = list(csv.DictReader(io.StringIO(run("log", "export", folder, "--format", "csv").out)))
    assert [row["number"] for row in rows] == ["1", "2"]
    assert [row["question"] for row in rows] == [ASKED, '\'=cmd|"/c calc"!A1']
    target = tmp_path / "log.jsonl"
    assert run("log", "export", folder, "-o", str(target)).code == 0
    assert target.read_text().splitlines() == lines
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    again = run("log", "export", folder, "-o", str(target))
    assert (again.code, "exists" in again.err) == (2, True)
    lost = run("log", "export", folder, "-o", str(tmp_path / "nowhere" / "log.jsonl"))
    assert (lost.code, "No such file" in lost.err) == (2, True)
    assert not list(tmp_path.glob(".log*"))


def test_a_good_log_is_verified(folder: str, run: Any) -> None:
    log(folder, asked(folder), asked(folder, "SELECT COUNT(*) FROM t"))
    shown = run("log", "verify", folder)
    assert shown.code == 0
    assert "BROKEN" not in shown.out
    stated = json.loads(run("log", "verify", folder, "--json", "--versions", "1").out)
    assert stated["ok"]
    assert stated["records"] == 2
    assert stated["head"] in shown.out
    log(folder, asked(folder))
    assert run("log", "verify", folder, "--head", stated["head"]).code == 0


def test_a_bad_log_is_found(folder: str, run: Any) -> None:
    log(folder, asked(folder), asked(folder))
    head = json.loads(run("log", "verify", folder, "--json").out)["head"]
    connection = sqlite3.connect(Path(folder) / FILE)
    connection.execute("DROP TRIGGER record_remains")
    connection.execute("DELETE FROM record WHERE number = 2")
    connection.commit()
    connection.close()
    assert run("log", "verify", folder).code == 0  # nobody can know
    shown = run("log", "verify", folder, "--head", head)
    assert shown.code == 1
    assert "BROKEN the digest that was noted is in the chain" in shown.out
    log(folder, asked(folder, answer="[]"))
    shown = run("log", "verify", folder, "--json")
    assert shown.code == 1
    assert not json.loads(shown.out)["ok"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "FOLDER"], "has no ledger"),
        (["export", "FOLDER"], "has no ledger"),
        (["verify", "FOLDER", "--head", "abc"], "64 hexadecimal digits"),
        (["verify", "nothing"], "not a statistical database"),
        (["export", "nothing", "--format", "xml"], "jsonl"),
    ],
)
def test_bad_use_of_logs(folder: str, run: Any, arguments: list[str], message: str) -> None:
    ran = run("log", *(folder if one == "FOLDER" else one for one in arguments))
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
