"""Several servers with one ledger: in PostgreSQL, a real one, or the workers of one machine."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sfumato as sf
from benchmarks import server_kills
from sfumato.cli.main import cli
from sfumato.errors import LedgerError, SfumatoError, StoreError
from sfumato.server.workers import Plan, Workers, reserved, sockets
from sfumato.statdb.access.ledger_checks import check_log
from sfumato.statdb.access.ledger_records import Entry, Record
from sfumato.statdb.access.moving import move_ledger
from sfumato.statdb.access.places import Place
from sfumato.statdb.access.postgres_ledger import PostgresLedger
from tests.server.kit import (
    ASKED,
    COUNT,
    FLU,
    Kit,
    bearer,
    copied,
    get,
    process,
    records,
    require_error,
    running,
    secret,
)
from tests.server.test_reload import change
from tests.server.wire.kit import serving
from tests.support.postgres import postgres_server
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def place(postgres: Any, folder_of_people: Path, tmp_path: Path) -> Place:
    """A database whose ledger nobody has begun yet; its name is its own."""
    name = f"people-{tmp_path.name}"
    return Place.of(copied(folder_of_people, tmp_path, name), postgres.get_uri())


def shared(place: Place) -> list[Record]:
    with place.ledger(read_only=True) as ledger:
        checked = ledger.verify()
        assert checked.ok, checked.problem
        return list(ledger.records())


def entry(**changes: Any) -> Entry:
    told = {"request_id": "r", "who": "local", "role": "analyst", "kind": "answer"}
    rest = {"question": FLU, "canonical": FLU, "answer": "[]", "generation": 1}
    return Entry(**{**told, **rest, **changes})


def test_a_shared_ledger_is_a_ledger(place: Place) -> None:
    texts = ["", "\0", "a\ud800b", "\N{PILE OF POO}" * 50, "'; DROP TABLE record; --", "x" * 1000]
    asked = [entry(question=text, canonical=text, answer=text, who=text) for text in texts]
    with pytest.raises(StoreError, match="nobody has asked"):
        place.ledger(read_only=True)
    with place.ledger() as ledger, place.ledger() as other:
        first = ledger.append(asked)
        second = other.append([entry()])
        assert second[0].previous == first[-1].digest
        assert [one.entry for one in other.records()] == [*asked, entry()]
        assert [other.answer(one) for one in asked] == [one.kept or one.answer for one in asked]
        assert str(ledger.head()) == str(second[0].receipt)
        assert len(ledger) == 7
        assert ledger.verify().ok
        assert ledger.can_write()
    with place.ledger(read_only=True) as reader, pytest.raises(LedgerError, match="not open"):
        reader.append([entry()])


def test_the_tables_refuse_what_breaks_the_chain(place: Place) -> None:
    import psycopg

    with place.ledger() as ledger:
        ledger.append([entry(), entry(answer="x" * 1000)])
    assert place.url is not None
    with psycopg.connect(place.url, autocommit=True) as connection:
        for sql, said in (
            ("UPDATE sfumato.record SET who = 'x'", "never changed"),
            ("DELETE FROM sfumato.record", "never changed"),
            ("TRUNCATE sfumato.record", "never changed"),
            ("UPDATE sfumato.answer SET text = 'x'", "never changed"),
            (
                "INSERT INTO sfumato.record SELECT database, number + 1, time, request_id, who, "
                "role, kind, question, canonical, answer, generation, previous, digest "
                "FROM sfumato.record ORDER BY number DESC LIMIT 1",
                "one after the other",
            ),
        ):
            with pytest.raises(psycopg.Error, match=said):
                connection.execute(sql.encode())
    assert len(shared(place)) == 2


def test_a_ledger_is_looked_for_where_it_is(
    place: Place, folder_of_people: Path, tmp_path: Path
) -> None:
    place.ledger().close()
    for wrong in (Place.of(place.folder), Place.of(place.folder, "mysql://somewhere")):
        for look in (wrong.ledger, wrong.tokens):
            with pytest.raises(StoreError, match=r"is in PostgreSQL|postgresql://"):
                look()
    # one in the folder is not left behind in silence
    other = copied(folder_of_people, tmp_path, "other")
    with running(other) as kit:
        kit.answer(FLU)
    with pytest.raises(StoreError, match="log move"):
        Place.of(other, place.url).ledger()
    # and one that was there is not begun anew
    renamed = place.folder.rename(tmp_path / "renamed.statdb")
    with pytest.raises(StoreError, match="was before"):
        Place.of(renamed, place.url).ledger()


def test_a_ledger_moves_and_goes_on(postgres: Any, folder_of_people: Path, tmp_path: Path) -> None:
    folder, url = copied(folder_of_people, tmp_path, "moves"), postgres.get_uri()
    own = bearer(secret(folder, "analyst"))
    long = 'SELECT "home town", job, COUNT(*) FROM t GROUP BY "home town", job'
    with running(folder) as kit:
        told = kit.answer(FLU, headers=own)
        kit.answer(long, headers=own)
        with pytest.raises(StoreError, match="another process"):
            move_ledger(folder, url)
    move = ["statdb", "log", "move", str(folder)]
    assert CliRunner().invoke(cli, move).exit_code == 2
    done = CliRunner().invoke(cli, [*move, "--ledger", url])
    assert done.exit_code == 0, done.output
    with pytest.raises(StoreError, match="is in PostgreSQL"):
        Place.of(folder).ledger()
    place = Place.of(folder, url)
    with running(folder, ledger=url) as kit:
        assert kit.answer(FLU, headers=own)["rows"] == told["rows"]
        parameters = {"receipt": told["receipt"]}
        assert kit.http.get("/v1/receipt", params=parameters, headers=own).status_code == 200
        kit.answer(long, headers=own)
    found = shared(place)
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert check_log(folder, ledger=url).ok
    with pytest.raises(StoreError, match="to move"):
        move_ledger(folder, url)
    # another one of the same name is not mixed with it
    other = copied(folder_of_people, tmp_path / "elsewhere", "moves")
    with running(other) as kit:
        kit.answer(FLU)
    with pytest.raises(StoreError, match="another ledger"):
        move_ledger(other, url)
    with running(other) as kit:
        kit.answer(FLU)


def test_nobody_there_tells_no_password(place: Place, tmp_path: Path) -> None:
    nobody = Place.of(place.folder, f"postgresql://me:secret@/x?host={tmp_path}")
    with pytest.raises(LedgerError) as caught:
        nobody.ledger()
    assert "secret" not in str(caught.value)
    assert "no server is listening" in str(caught.value)


def test_two_servers_write_one_chain_and_answer_alike(place: Place) -> None:
    with _two(place) as (one, other):
        for _ in range(3):
            assert one.answer(FLU)["rows"] == other.answer(FLU)["rows"]
        receipt = one.answer(COUNT)["receipt"]
        found = other.http.get("/v1/receipt", params={"receipt": receipt})
        assert found.json()["record"]["question"] == COUNT
        assert other.http.get("/ready").status_code == 200
    kinds = [one.entry.kind for one in shared(place)]
    assert kinds == ["start", "start", *["answer"] * 7, "stop", "stop"]
    assert check_log(place.folder, ledger=place.url).ok


def test_a_token_is_good_everywhere_until_it_is_revoked(place: Place) -> None:
    run, folder = CliRunner().invoke, str(place.folder)
    command = ["statdb", "token", "create", folder, "--name", "Ada", "--ledger", str(place.url)]
    own = bearer(run(cli, command).stdout.strip())
    with _two(place, require_tokens=True) as (one, other):
        one.answer(FLU, headers=own)
        other.answer(FLU, headers=own)
        with place.tokens() as tokens:
            (token,) = tokens.all()
            tokens.revoke(token.id)
        # at once, although neither server has looked since
        for kit in (one, other):
            require_error(kit.ask(FLU, headers=own), 401, "unauthorized")
    kinds = [one.entry.kind for one in shared(place)]
    assert kinds.index("token") == 0
    assert "answer" not in kinds[kinds.index("token", 1) :]


def test_no_answer_of_old_rows_follows_the_announcement(place: Place, tmp_path: Path) -> None:
    """Two folders: the second server's copy comes late, and it waits instead of answering."""
    far = tmp_path / "far"
    far.mkdir()
    copy = Place.of(far / place.folder.name, place.url)
    shutil.copytree(place.folder, copy.folder)
    seen: list[tuple[int, int]] = []
    stop = threading.Event()
    limits = server_kills.limits(seconds=0.5)
    with (
        running(place.folder, ledger=place.url) as near,
        running(copy.folder, ledger=place.url, limits=limits) as late,
    ):

        def ask(kit: Kit) -> None:
            while not stop.is_set():
                reply = kit.ask(COUNT)
                if reply.status_code == 200:
                    told = reply.json()
                    number = int(told["receipt"].partition("-")[0])
                    seen.append((number, told["generation"]))
                else:
                    require_error(reply, 503, "not_ready")

        clients = [threading.Thread(target=ask, args=(one,), daemon=True) for one in (near, late)]
        for one in clients:
            one.start()
        try:
            eventually(lambda: len(seen) > 4, "first answers")
            change(place.folder, 0, ledger=place.url)
            eventually(lambda: seen[-1][1] == 2, "new rows")
            require_error(late.ask(COUNT), 503, "not_ready")
            eventually(lambda: late.http.get("/ready").status_code == 503, "a look")
            with pytest.raises(StoreError, match="outdated"):
                change(copy.folder, 20, ledger=place.url)
            shutil.copytree(place.folder, far / "fresh")
            shutil.rmtree(copy.folder)
            (far / "fresh").rename(copy.folder)
            eventually(lambda: late.ask(COUNT).status_code == 200, "the copy")
            assert late.http.get("/ready").status_code == 200
        finally:
            stop.set()
        for one in clients:
            one.join(PATIENCE)
            assert not one.is_alive()
    kinds = [(one.number, one.entry.kind, one.entry.generation) for one in shared(place)]
    (switch,) = [number for number, kind, _ in kinds if kind == "apply"]
    for number, kind, generation in kinds:
        if kind in ASKED:
            assert generation == (1 if number < switch else 2)
    for number, generation in seen:
        assert generation == (1 if number < switch else 2)
    assert check_log(place.folder, ledger=place.url).ok
    with pytest.raises(StoreError, match="outdated"):
        _reopened_from_before(copy)


def test_a_tool_that_asks_at_the_switch_is_told_of_the_new_rows(place: Place) -> None:
    name = place.folder.name.removesuffix(".statdb")
    with (
        serving(place.folder, ledger=place.url) as served,
        served.connected(name) as session,
    ):
        asked = "SELECT COUNT(*) FROM t"
        assert session.execute(asked).fetchall() == [(600, 600)]
        for turn in range(3):
            change(place.folder, 10 * turn, ledger=place.url)
            left = 590 - 10 * turn
            assert session.execute(asked).fetchall() == [(left, left)]
    assert [one.entry.kind for one in shared(place)].count("answer") == 4


def _reopened_from_before(copy: Place) -> None:
    """A server on rows that do not hold any more does not start."""
    with copy.ledger() as ledger:
        ledger.announce(7)
    with running(copy.folder, ledger=copy.url):
        pass


def test_two_copies_are_not_changed_at_once(place: Place, tmp_path: Path) -> None:
    copy = Place.of(tmp_path / "far" / place.folder.name, place.url)
    shutil.copytree(place.folder, copy.folder)
    with (
        place.ledger() as ledger,
        ledger.changing(),
        pytest.raises(StoreError, match="elsewhere"),
    ):
        change(copy.folder, 0, ledger=copy.url)
    change(copy.folder, 0, ledger=copy.url)
    with pytest.raises(StoreError, match="outdated"):
        change(place.folder, 10, ledger=place.url)
    assert sf.StatDB.open(place.folder).generation == 1


def test_an_announcement_that_was_not_made_is_made_by_a_server(place: Place) -> None:
    """``apply`` has ended after the files were there, and before the ledger knew."""

    def lost(*_: Any) -> int:
        if sf.StatDB.open(place.folder).generation == 1:
            return 1
        raise LedgerError("the connection failed", path=place.folder)

    with running(place.folder, ledger=place.url) as kit:
        kit.answer(FLU)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PostgresLedger, "announce", lost)
            with pytest.raises(LedgerError):
                change(place.folder, 0, ledger=place.url)
            assert sf.StatDB.open(place.folder).generation == 2
            assert kit.answer(FLU)["generation"] == 1
        eventually(lambda: kit.answer(FLU)["generation"] == 2, "the new rows")
    assert [one.entry.kind for one in shared(place)].count("apply") == 1


def test_without_its_ledger_a_server_answers_nothing(
    folder_of_people: Path, tmp_path: Path
) -> None:
    with postgres_server() as server:
        place = Place.of(copied(folder_of_people, tmp_path), server.get_uri())
        with running(place.folder, ledger=place.url) as kit:
            known = kit.answer(FLU)["rows"]
            server.stop()
            require_error(kit.ask(FLU), 503, "ledger_unavailable")
            assert str(known) not in kit.ask(FLU).text
            require_error(kit.http.get("/ready"), 503, "ledger_unavailable")
            assert kit.http.get("/health").status_code == 200
            with pytest.raises(SfumatoError):
                change(place.folder, 0, ledger=place.url)
            server.start()
            eventually(lambda: kit.ask(FLU).status_code == 200, "the ledger")
            assert kit.answer(FLU)["rows"] == known
            eventually(lambda: kit.http.get("/ready").status_code == 200, "a look")
        told = [line for line in kit.logged() if line["event"] == "ledger"]
        assert [line.get("outcome") for line in told] == [None, "written again"]
        kinds = [one.entry.kind for one in shared(place)]
        assert kinds.count("answer") >= 3
        assert "apply" not in kinds


def test_a_ledger_that_hangs_is_not_waited_for(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.server.databases._HANGS", 0.5)
    with postgres_server() as server:
        place = Place.of(copied(folder_of_people, tmp_path), server.get_uri())
        main = int((server.pgdata / "postmaster.pid").read_text().split()[0])
        with running(place.folder, ledger=place.url) as kit:
            known = kit.answer(FLU)["rows"]
            frozen = [main, *children(main)]
            try:
                for pid in frozen:
                    os.kill(pid, signal.SIGSTOP)
                require_error(kit.ask(FLU), 503, "ledger_unavailable")
                assert kit.http.get("/health").status_code == 200
                eventually(lambda: kit.http.get("/ready").status_code == 503, "a look")
            finally:
                for pid in frozen:
                    os.kill(pid, signal.SIGCONT)
            eventually(lambda: kit.ask(FLU).status_code == 200, "the ledger")
            assert kit.answer(FLU)["rows"] == known
        shared(place)


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(one) for one in text.split()]


def test_a_shared_ledger_that_has_lost_answers_is_not_gone_on_with(place: Place) -> None:
    """As a replica that took over too early."""
    import psycopg

    assert place.url is not None
    with running(place.folder, ledger=place.url) as kit:
        kit.answer(FLU)
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")  # no triggers
            connection.execute(
                "DELETE FROM sfumato.record WHERE database = %s AND kind = 'answer'",
                (place.folder.name.removesuffix(".statdb"),),
            )
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'sfumato'"
            )
        require_error(kit.ask(FLU), 503, "ledger_unavailable")
        assert any("lost records" in line.get("reason", "") for line in kit.logged())


def test_workers_share_the_ledger_of_the_folder(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    path = "/v1/query?sql=SELECT%20COUNT(*)%20FROM%20t"
    with process(folder, "--port", 0, "--workers", 2) as (server, url):
        for _ in range(8):
            assert get(url, path)[1]["rows"][0]["answers"]["count"]["lo"] == 600
        change(folder, 0)
        assert get(url, path)[1]["rows"][0]["answers"]["count"]["lo"] == 590
        found = CliRunner().invoke(cli, ["statdb", "serve", str(folder), "--port", "0"])
        assert "another process" in str(found.exception)
        server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=PATIENCE)
        assert server.returncode == 0, err
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert (events[0], events[-1]) == ("start", "stop")
    assert len(records(folder)) == 9
    assert check_log(folder).ok


def test_a_worker_that_is_killed_comes_back(folder_of_people: Path, tmp_path: Path) -> None:
    import io

    from sfumato.server.logs import Log
    from sfumato.server.serving import address_of

    folder = copied(folder_of_people, tmp_path)
    plan = Plan([str(folder)], "127.0.0.1")
    lines = io.StringIO()
    with reserved(plan), ExitStack() as listening:
        socks = [listening.enter_context(one) for one in sockets("127.0.0.1", 0, 2)]
        url = address_of(socks[0])
        workers = Workers(plan, socks, Log(lines))
        workers.start()
        try:
            for _ in range(2):
                before = workers.pids()
                os.kill(before[0], signal.SIGKILL)

                def another(known: list[int] = before) -> bool:
                    workers.look()
                    return workers.pids() != known

                eventually(another, "another worker")
                assert [get(url, "/ready")[0] for _ in range(4)] == [200] * 4
        finally:
            workers.stop()
    assert lines.getvalue().count("started anew") == 2


def test_a_worker_that_cannot_start_says_why(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    command = ["statdb", "serve", str(folder), "--port", "0", "--workers", "2"]
    found = CliRunner().invoke(cli, [*command, "--require-tokens", "--behind-proxy"])
    assert isinstance(found.exception, SfumatoError)
    assert "token create" in str(found.exception)


def test_workers_end_with_who_started_them(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with process(folder, "--port", 0, "--workers", 2) as (server, url):
        assert get(url, "/ready")[0] == 200
        server.kill()
        server.wait(PATIENCE)

        def gone() -> bool:
            try:
                get(url, "/health")
            except OSError:
                return True
            return False

        eventually(gone, "the end of the workers")
    time.sleep(0.1)
    with running(folder) as kit:  # and the ledger can be written again
        kit.answer(FLU)


def test_kill_9_of_either_of_two_servers_loses_no_answer(postgres: Any, tmp_path: Path) -> None:
    path = server_kills.make_database(tmp_path, rows=400)
    chance = random.Random(1)
    tally = server_kills.kill_several(path, postgres.get_uri(), 3, chance)
    assert tally.ok, tally
    assert tally.kills == 3
    assert tally.answers > 3
    found = check_log(path, versions=2, ledger=postgres.get_uri())
    assert found.ok, "\n".join(found.lines())


class _Two:
    """Two servers on one folder and one ledger."""

    def __init__(self, place: Place, options: dict[str, Any]) -> None:
        self._place, self._options, self._stack = place, options, ExitStack()

    def __enter__(self) -> tuple[Kit, Kit]:
        place, options = self._place, self._options
        one, other = (
            self._stack.enter_context(running(place.folder, ledger=place.url, **options))
            for _ in range(2)
        )
        return one, other

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _two(place: Place, **options: Any) -> _Two:
    return _Two(place, options)
