"""sfumato statdb log head and check, and a check from a head that is remembered."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

from sfumato.statdb.access.ledger import FILE, Ledger
from tests.cli.test_statdb_admin import asked, folder, log, made, run

__all__ = ["folder", "made", "run"]


def pem(path: Path, key: Any) -> Path:
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(text)
    return path


def tampered(folder: str, statement: str) -> None:
    connection = sqlite3.connect(Path(folder) / FILE)
    for name in ("record_stays", "record_remains"):
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_receipt_is_checked_in_the_folder(folder: str, run: Any) -> None:
    log(folder, asked(folder), asked(folder, "SELECT COUNT(*) FROM t"), asked(folder))
    with Ledger.open(folder, read_only=True) as ledger:
        first, second, _ = (str(record.receipt) for record in ledger.records())
    for receipt in (first, second):
        found = run("log", "check", folder, receipt)
        assert found.code == 0
        assert "kept" in found.out
    told = json.loads(run("log", "check", folder, second, "--json").out)
    assert told["record"]["question"] == "SELECT COUNT(*) FROM t"
    assert json.loads(told["answer"])[0]["answers"]["count"]["lo"] == 60
    wrong = run("log", "check", folder, f"9{second}")
    assert (wrong.code, "no such record" in wrong.out) == (1, True)
    assert run("log", "check", folder, "what").code == 2
    tampered(folder, "UPDATE record SET who = 'x' WHERE number = 3")
    later = run("log", "check", folder, first)
    assert (later.code, "record 3 was changed" in later.out) == (1, True)


def test_a_signed_head_is_published_and_checked(folder: str, run: Any, tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    file = pem(tmp_path / "owner.pem", key)
    public = key.public_key().public_bytes_raw().hex()
    log(folder, asked(folder))
    published = run("log", "head", folder, "--key", str(file))
    assert published.code == 0
    told = json.loads(published.out)
    assert told["public_key"] == public
    signature = bytes.fromhex(told.pop("signature"))
    signed = json.dumps(told, sort_keys=True, separators=(",", ":")).encode()
    key.public_key().verify(signature, signed)
    head = tmp_path / "head.json"
    head.write_text(published.out)
    log(folder, asked(folder))
    assert run("log", "check", folder, str(head), "--signed-by", public).code == 0
    # somebody else's, changed, and not signed at all
    assert "another key" in run("log", "check", folder, str(head), "--signed-by", "0" * 64).err
    head.write_text(published.out.replace(told["head"], f"9{told['head']}"))
    assert "signature is wrong" in run("log", "check", folder, str(head)).err
    head.write_text(run("log", "head", folder).out)
    assert run("log", "check", folder, str(head)).code == 0
    assert "not signed" in run("log", "check", folder, str(head), "--signed-by", public).err
    # what was cut off is missed
    head.write_text(run("log", "head", folder, "--key", str(file)).out)
    tampered(folder, "DELETE FROM record WHERE number = 2")
    assert run("log", "check", folder, str(head), "--signed-by", public).code == 1


def test_keys_that_are_none(folder: str, run: Any, tmp_path: Path) -> None:
    log(folder, asked(folder))
    other = pem(tmp_path / "other.pem", x25519.X25519PrivateKey.generate())
    (tmp_path / "text.pem").write_text("what")
    for file, message in (
        (other, "of another kind"),
        (tmp_path / "text.pem", "no private key"),
        (tmp_path / "nowhere.pem", "No such file"),
    ):
        found = run("log", "head", folder, "--key", str(file))
        assert (found.code, message in found.err) == (2, True)


def test_only_what_came_later_is_read(folder: str, run: Any) -> None:
    log(folder, asked(folder), asked(folder))
    head = json.loads(run("log", "verify", folder, "--json").out)["head"]
    log(folder, asked(folder, "SELECT COUNT(*) FROM t"))
    tampered(folder, "UPDATE record SET who = 'x' WHERE number = 1")
    assert run("log", "verify", folder).code == 1
    later = run("log", "verify", folder, "--since", head)
    assert later.code == 0
    assert "Records up to 2 were not read again" in later.out
    tampered(folder, "UPDATE record SET who = 'x' WHERE number = 3")
    assert "record 3 was changed" in run("log", "verify", folder, "--since", head).out
    wrong = f"2-{'0' * 64}"
    assert "record 2 is another one" in run("log", "verify", folder, "--since", wrong).out
    assert run("log", "verify", folder, "--since", "2").code == 2


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_long_answers_are_exported(folder: str, run: Any, form: str) -> None:
    text = json.dumps([{"key": {}, "answers": {"count": {"lo": "x" * 900}}}])
    log(folder, asked(folder, answer=text), asked(folder, answer=text))
    out = run("log", "export", folder, "--format", form).out
    if form == "jsonl":
        kept, first, second = (json.loads(line) for line in out.splitlines())
        assert kept["answer"] == text
        assert json.loads(first["answer"]) == {"sha256": kept["sha256"]}
        assert first["answer"] == second["answer"]
    assert out.count("x" * 900) == (1 if form == "jsonl" else 2)
