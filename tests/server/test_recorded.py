"""What stands in the ledger beside questions, receipts, and a server that knows whether it can."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.receipts import Head, is_shown
from sfumato.errors import LedgerError, StoreError
from sfumato.server.serving import create_app
from sfumato.statdb.access.ledger import FILE, Ledger
from sfumato.statdb.access.ledger_checks import check_log
from sfumato.statdb.access.ledger_files import NAME
from sfumato.statdb.access.tokens import Tokens
from tests.server.conftest import people
from tests.server.kit import COUNT, FLU, bearer, copied, require_error, running, secret
from tests.support.seeds import long_seed
from tests.support.waiting import eventually

GROUPED = "SELECT age, job, COUNT(*) FROM t WHERE disease = 'flu' GROUP BY age, job"


def entries(folder: Path) -> list[Any]:
    with Ledger.open(folder, read_only=True) as ledger:
        return [record.entry for record in ledger.records()]


def test_start_stop_tokens_and_changes_are_entries(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        kit.answer(FLU)
        own = secret(folder, "analyst")  # beside the server that writes
        with Tokens.open(folder) as tokens:
            (token,) = tokens.all()
            tokens.revoke(token.id)
        rows = sf.Microdata.from_arrow(
            people().slice(0, 5), sf.StatDB.open(folder).responder.schema
        )
        sf.StatDB.open(folder).apply(deleted=rows)
        eventually(lambda: kit.app.service.databases["people"].state.generation == 2, "a reload")
    kinds = [(one.kind, one.generation) for one in entries(folder)]
    assert kinds == [
        *(("start", 1), ("answer", 1), ("token", 1), ("token", 1), ("apply", 2), ("stop", 2))
    ]
    said = " ".join(one.question for one in entries(folder))
    assert f"create {token.id}, analyst" in said
    assert f"revoke {token.id}" in said
    assert own not in said
    assert token.name not in said
    assert check_log(folder).ok


def test_rows_that_wait_leave_no_trace(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder):
        pass
    database = sf.StatDB.open(folder)
    newcomer = sf.Microdata.from_arrow(people().slice(0, 1), database.responder.schema)
    assert database.apply(newcomer).waiting == 1
    assert [one.kind for one in entries(folder)] == ["start", "stop"]


def test_a_long_answer_is_stored_once(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        first = kit.answer(GROUPED)
        sizes = []
        for _ in range(60):
            assert kit.answer(GROUPED)["rows"] == first["rows"]
            sizes.append(len(kit.records()[-1].entry.answer or ""))
        with Ledger.open(folder, read_only=True) as ledger:
            found = [ledger.answer(one.entry) for one in kit.records()]
    assert set(sizes) == {len('{"sha256":""}') + 64}
    assert {json.dumps(json.loads(one or "")) for one in found} == {json.dumps(first["rows"])}
    assert (folder / FILE).stat().st_size < 3 * len(json.dumps(first["rows"])) + 200_000
    assert check_log(folder, versions=1).ok


def test_a_receipt_finds_its_record(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        for sql in (FLU, GROUPED):
            told = kit.answer(sql)
            found = kit.http.get("/v1/receipt", params={"receipt": told["receipt"]}).json()
            assert is_shown(found, Head.of(told["receipt"]))
            assert json.loads(found["answer"]) == told["rows"]
            assert found["record"]["question"] == sql
            assert found["record"]["request_id"] == told["request_id"]
        table = kit.ask(FLU, params={"format": "csv"})
        number = Head.of(table.headers["x-receipt"]).number
        assert number == Head.of(told["receipt"]).number + 1
        many = kit.http.post("/v1/query", json={"queries": [{"sql": FLU}, {"sql": COUNT}]}).json()
        numbers = [Head.of(one["receipt"]).number for one in many["results"]]
        assert numbers == [number + 1, number + 2]
        # whoever has no receipt sees nothing, whatever is guessed
        last = many["results"][1]["receipt"]
        for wrong in (last[:-1] + "0123456789abcdef"[last[-1] == "0"], f"9{last}", "0-" + "0" * 64):
            reply = kit.http.get("/v1/receipt", params={"receipt": wrong})
            require_error(reply, 404, "not_found")
        require_error(kit.http.get("/v1/receipt?receipt=7"), 400, "invalid_request")


def test_what_is_shown_for_a_receipt_is_computed_again(
    folder_of_people: Path, tmp_path: Path
) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        receipt = kit.answer(GROUPED)["receipt"]
        found = kit.http.get("/v1/receipt", params={"receipt": receipt}).json()
    wanted = Head.of(receipt)
    assert is_shown(found, wanted)
    assert not is_shown({**found, "answer": found["answer"].replace("0", "1")}, wanted)
    assert not is_shown({**found, "record": {**found["record"], "who": "x"}}, wanted)
    assert not is_shown({**found, "record": {**found["record"], "number": 1}}, wanted)
    assert not is_shown(found, Head(wanted.number, "0" * 64))


def test_a_missing_ledger_stops_the_start(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        kit.answer(FLU)
    (folder / FILE).rename(tmp_path / "kept")
    database = sf.StatDB.open(folder)
    rows = sf.Microdata.from_arrow(people().slice(0, 5), database.responder.schema)
    for refused in (
        lambda: create_app([folder]),
        lambda: secret(folder, "owner"),
        lambda: check_log(folder),
        lambda: database.apply(deleted=rows),
    ):
        with pytest.raises(StoreError, match=r"the ledger of .* is missing"):
            refused()
    assert not (folder / FILE).exists()
    assert sf.StatDB.open(folder).generation == 1
    # one of another database is none
    other = copied(folder_of_people, tmp_path, "other")
    with running(other):
        pass
    shutil.copy(other / FILE, folder / FILE)
    with pytest.raises(StoreError, match="another one than before"):
        create_app([folder])
    (folder / FILE).unlink()
    (tmp_path / "kept").rename(folder / FILE)
    with running(folder) as kit:
        kit.answer(FLU)
    assert (folder / NAME).stat().st_mode & 0o777 == 0o600


def test_ready_in_both_directions(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    own = bearer(secret(folder, "analyst"))
    with running(folder) as kit:
        ready = lambda: kit.http.get("/ready").status_code == 200  # noqa: E731
        kit.answer(FLU, headers=own)
        for name, code in ((FILE, "ledger_unavailable"), ("access.sqlite", "not_ready")):
            (folder / name).rename(tmp_path / name)
            require_error(kit.http.get("/ready"), 503, code)
            if code == "not_ready":
                eventually(lambda: kit.ask(FLU, headers=own).status_code == 503, "a look")
            else:
                require_error(kit.ask(FLU, headers=own), 503, code)
            (tmp_path / name).rename(folder / name)
            eventually(ready, f"{name} is back")
            kit.answer(FLU, headers=own)
        # the whole folder, and then a copy of it
        folder.rename(tmp_path / "away")
        require_error(kit.http.get("/ready"), 503, "not_ready")
        (tmp_path / "away").rename(folder)
        eventually(ready, "the folder is back")
        kit.answer(FLU, headers=own)
        folder.rename(tmp_path / "away")
        shutil.copytree(tmp_path / "away", folder)
        eventually(ready, "a copy is there")
        kit.answer(FLU, headers=own)
    assert sum(one.kind == "answer" for one in entries(folder)) >= 5
    assert check_log(folder).ok


def test_a_ledger_without_what_was_answered_is_not_gone_on_with(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        kit.answer(FLU)
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    with running(folder) as kit:
        kit.answer(FLU)
        folder.rename(tmp_path / "away")
        shutil.copytree(before, folder)
        require_error(kit.ask(FLU), 503, "ledger_unavailable")
        require_error(kit.http.get("/ready"), 503, "ledger_unavailable")


def test_an_empty_file_of_tokens_opens_no_door(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    secret(folder, "analyst")
    with running(folder) as kit:
        require_error(kit.ask(FLU), 401, "unauthorized")
        (folder / "access.sqlite").rename(tmp_path / "kept")
        Tokens.open(folder).close()  # made anew, by a look at the list
        require_error(kit.http.get("/ready"), 503, "not_ready")
        eventually(lambda: kit.ask(FLU).status_code == 503, "a look")


def test_the_reason_is_in_the_log_once(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Ledger.append

    def full(*_: Any) -> Any:
        raise LedgerError("cannot write the ledger: database or disk is full", path=tmp_path)

    with running(copied(folder_of_people, tmp_path)) as kit:
        monkeypatch.setattr(Ledger, "append", full)
        for _ in range(3):
            require_error(kit.ask(FLU), 503, "ledger_unavailable")
        monkeypatch.setattr(Ledger, "append", append)
        kit.answer(FLU)
        told = [line for line in kit.logged() if line["event"] == "ledger"]
    assert len(told) == 2
    assert "disk is full" in told[0]["reason"]
    assert told[1]["outcome"] == "written again"


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    values = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain", "x=1"]
    rows = pa.table({"a": values * 10, "=b": [1, 2] * 40, "s": ["u", "v", "w", "x"] * 20})
    schema = sf.Schema(quasi=["a", "=b"], sensitive="s")
    table = sf.Microdata.from_arrow(rows, schema)
    path = sf.StatDB.create(tmp_path / "cells.statdb", table, m=2, seed=long_seed(1)).path
    with running(path) as kit:
        reply = kit.ask(
            'SELECT a, "=b", COUNT(*) FROM t GROUP BY a, "=b"', params={"format": "csv"}
        )
    lines = list(csv.reader(io.StringIO(reply.text, newline="")))
    cells = [cell for line in lines for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert {"'=1+1", "'-1", "plain", "x=1", "'=b"} <= set(cells)
