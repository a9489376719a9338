"""Tokens: shown once, stored hashed, useless when expired or revoked, whoever revoked them."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import ParameterError, StoreError
from sfumato.statdb.access import token_files, token_records
from sfumato.statdb.access import tokens as module
from sfumato.statdb.access.tokens import FILE, Tokens
from sfumato.statdb.store import HEADER
from tests.support.waiting import PATIENCE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "people.statdb"
    path.mkdir(0o700)
    (path / HEADER).write_text("{}")
    return path


@pytest.fixture
def tokens(folder: Path) -> Iterator[Tokens]:
    with Tokens.open(folder) as opened:
        yield opened


def test_a_secret_opens_for_its_token(tokens: Tokens) -> None:
    before = datetime.now(UTC)
    token, secret = tokens.create("Ada", "analyst")
    assert re.fullmatch(r"sfu_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", secret)
    assert tokens.verify(secret) == token
    assert (token.name, token.role, token.state, token.revoked) == ("Ada", "analyst", "valid", None)
    assert token.expires is not None
    assert token.expires - token.created == timedelta(days=90)
    assert before <= token.created <= datetime.now(UTC)
    assert token.created.utcoffset() == timedelta()


def test_every_token_differs(tokens: Tokens) -> None:
    made = [tokens.create("same name", "owner") for _ in range(20)]
    assert len({token.id for token, _ in made}) == 20
    assert len({secret for _, secret in made}) == 20
    assert tokens.all() == [token for token, _ in made]
    assert len(tokens) == 20
    for token, secret in made:
        assert tokens.verify(secret) == token


def test_the_secret_is_not_in_the_file(folder: Path, tokens: Tokens) -> None:
    _, secret = tokens.create("Ada", "analyst")
    part = secret[-43:]
    raw = b"".join(path.read_bytes() for path in folder.iterdir())
    assert part.encode() not in raw
    assert hashlib.sha256(part.encode()).digest() in raw


def test_hostile_secrets_open_nothing(tokens: Tokens) -> None:
    token, secret = tokens.create("Ada", "analyst")
    other, other_secret = tokens.create("Bob", "owner")
    last = "A" if secret[-1] != "A" else "B"
    hostile = [
        "",
        "sfu_",
        secret[:-1],
        secret[:-1] + last,
        secret + "A",
        secret.upper(),
        f" {secret}",
        f"{secret}\n",
        secret[:-1] + "\n",
        secret[:-1] + "\N{FULLWIDTH DIGIT ONE}",
        secret[:-1] + "\ud800",
        secret.replace("sfu", "ſfu"),
        secret.replace(token.id, "0" * 12),
        secret.replace(token.id, other.id),
        other_secret.replace(other.id, token.id),
        f"sfu_{token.id}_" + "A" * 43,
        f"sfu_' OR 1=1 --_{secret[-43:]}",
        "sfu_" + "٣" * 12 + "_" + secret[-43:],
        "x" * 10**6,
        secret * 20_000,
        "\0" * 60,
        "\N{SNOWMAN}" * 60,
    ]
    for one in hostile:
        assert tokens.verify(one) is None, one[:80]
    assert tokens.verify(secret) == token


def test_a_long_secret_is_not_even_hashed(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []

    def digest(secret: str) -> bytes:
        hashed.append(secret)
        return b""

    monkeypatch.setattr(module, "_digest", digest)
    assert tokens.verify("sfu_" + "a" * 10**6) is None
    assert tokens.verify("sfu_" + "a" * 12 + "_" + "b" * 10**6) is None
    assert hashed == []


def test_tokens_expire(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    token, secret = tokens.create("Ada", "analyst", timedelta(hours=1))
    assert tokens.verify(secret) == token

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + timedelta(hours=1)

    monkeypatch.setattr(token_records, "datetime", Later)
    assert tokens.verify(secret) is None
    assert tokens.all()[0].state == "expired"
    assert len(tokens) == 0


def test_a_token_may_live_for_ever(tokens: Tokens) -> None:
    token, secret = tokens.create("Ada", "auditor", None)
    assert token.expires is None
    assert tokens.verify(secret) == token


def test_a_door_with_expired_locks_is_still_locked(tokens: Tokens) -> None:
    before = tokens.in_use
    token, _ = tokens.create("Ada", "auditor", None)
    tokens.revoke(token.id)
    assert len(tokens) == 0
    assert bool(tokens)
    assert (before, tokens.in_use) == (False, True)


def test_a_revocation_elsewhere_is_seen_at_once(folder: Path, tokens: Tokens) -> None:
    with Tokens.open(folder) as server:
        token, secret = tokens.create("Ada", "analyst")
        assert server.verify(secret) == token
        revoked = tokens.revoke(token.id)
        assert revoked.state == "revoked"
        assert server.verify(secret) is None
        assert tokens.verify(secret) is None
        again, fresh = tokens.create("Ada", "analyst")
        assert server.verify(fresh) == again
        assert [one.state for one in server.all()] == ["revoked", "valid"]


def test_a_token_is_revoked_once(tokens: Tokens) -> None:
    token, _ = tokens.create("Ada", "analyst")
    assert tokens.revoke(token.id) == tokens.revoke(token.id)


@pytest.mark.parametrize("wrong", ["", "nobody", "' OR 1=1 --", "x" * 10**6, "\ud800", "\0"])
def test_who_is_not_there_cannot_be_revoked(tokens: Tokens, wrong: str) -> None:
    _, secret = tokens.create("Ada", "analyst")
    with pytest.raises(ParameterError, match="there is no token"):
        tokens.revoke(wrong)
    assert tokens.verify(secret)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "  "},
        {"name": "x" * 101},
        {"name": "bell\a"},
        {"name": "two\nlines"},
        {"name": "\ud800"},
        {"role": "root"},
        {"role": "Owner"},
        {"expires_in": timedelta(0)},
        {"expires_in": timedelta(days=-1)},
        {"expires_in": timedelta.max},
    ],
)
def test_senseless_tokens_are_refused(tokens: Tokens, changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        tokens.create(**{"name": "Ada", "role": "analyst", **changes})
    assert tokens.all() == []


def test_a_name_may_be_any_word(tokens: Tokens) -> None:
    for name in ("Zoë", "研究所", "'; DROP TABLE token; --", "x" * 100):
        token, secret = tokens.create(name, "analyst")
        found = tokens.verify(secret)
        assert found == token
        assert found.name == name


def test_what_a_list_tells(tokens: Tokens) -> None:
    token, secret = tokens.create("Ada", "analyst")
    stated = token.to_dict()
    assert list(stated) == ["id", "name", "role", "state", "created", "expires", "revoked"]
    assert secret[-43:] not in str(stated)
    assert secret[-43:] not in repr(token)


def test_only_the_owner_can_open_the_file(folder: Path) -> None:
    before = os.umask(0)
    try:
        with Tokens.open(folder) as tokens:
            tokens.create("Ada", "owner")
            for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
                assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    finally:
        os.umask(before)
    folder.chmod(0o755)
    with pytest.raises(StoreError, match="chmod 700"):
        Tokens.open(folder)


def test_tokens_of_what_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a statistical database"):
        Tokens.open(tmp_path / "nothing")


def test_a_damaged_file(folder: Path) -> None:
    Tokens.open(folder).close()
    (folder / FILE).write_bytes(b"what is this " * 1_000)
    with pytest.raises(StoreError, match="damaged"):
        Tokens.open(folder)


def test_a_role_that_there_is_not_opens_nothing(folder: Path, tokens: Tokens) -> None:
    _, secret = tokens.create("Ada", "analyst")
    other = sqlite3.connect(folder / FILE)
    other.execute("UPDATE token SET role = 'root'")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="damaged"):
        tokens.verify(secret)


def test_a_file_that_is_replaced_is_noticed(
    folder: Path, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revocation would go to the other one."""
    _, secret = tokens.create("Ada", "analyst")
    (folder / FILE).rename(folder / "elsewhere")
    monkeypatch.setattr(token_files, "_PERIOD", -1.0)
    with pytest.raises(StoreError, match="removed or replaced"):
        tokens.verify(secret)


def test_threads_may_share_them(tokens: Tokens) -> None:
    found: list[object] = []

    def use() -> None:
        for _ in range(10):
            token, secret = tokens.create("Ada", "analyst")
            found.append(tokens.verify(secret) == token)
            found.append(tokens.revoke(token.id).state == "revoked")
            found.append(tokens.verify(secret) is None)

    threads = [threading.Thread(target=use, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert len(found) == 120
    assert all(found)
