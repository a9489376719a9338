"""A real process on a real port: start, stop, refuse to start, and be killed."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from benchmarks import server_kills
from sfumato.cli.main import cli
from sfumato.errors import MissingExtra, ParameterError, StoreError
from sfumato.server import serving
from sfumato.statdb.access.ledger_checks import check_log
from tests.server.kit import (
    COUNT,
    FLU,
    bearer,
    copied,
    get,
    process,
    records,
    running,
    secret,
)
from tests.support.waiting import PATIENCE, eventually


def test_it_serves_and_stops_in_good_order(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    path = "/v1/query?sql=SELECT%20COUNT(*)%20FROM%20t"
    answered: list[str] = []

    def ask() -> None:
        try:
            while True:
                status, told = get(url, path)
                assert status == 200
                answered.append(told["request_id"])
        except (OSError, http.client.HTTPException):
            return  # it has stopped

    with process(folder, "--port", 0) as (server, url):
        assert url.startswith("http://127.0.0.1:")
        assert get(url, "/ready") == (200, {"status": "ready", "databases": 1})
        clients = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
        for one in clients:
            one.start()
        eventually(lambda: len(answered) >= 20, "twenty answers")
        server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=PATIENCE)
        for one in clients:
            one.join(PATIENCE)
        assert server.returncode == 0, err
    lines = [json.loads(line) for line in err.splitlines()]
    assert (lines[0]["event"], lines[-1]["event"]) == ("start", "stop")
    assert {line["event"] for line in lines[1:-1]} == {"request"}
    assert not (folder / "ledger.sqlite-wal").exists()  # it was closed
    # whoever was heard was answered
    assert sorted(answered) == sorted(one.entry.request_id for one in records(folder))


def test_the_address_is_in_a_file_while_it_is_served(
    folder_of_people: Path, tmp_path: Path
) -> None:
    file = tmp_path / "server.url"
    file.write_text("http://127.0.0.1:1\n")  # of a server that was killed
    folder = copied(folder_of_people, tmp_path)
    with process(folder, "--port", 0, "--address-file", file) as (server, url):
        assert get(url, "/health")[0] == 200
        assert file.read_text() == f"{url}\n"
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
        assert server.returncode == 0
    assert not file.exists()
    assert not list(tmp_path.glob(".server.url*"))


def test_an_address_file_that_cannot_be_written_stops_the_start(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    wrong = str(tmp_path / "nowhere" / "server.url")
    options = ["--port", "0", "--address-file", wrong]
    for _ in range(2):  # the database is let go
        found = CliRunner().invoke(cli, ["statdb", "serve", str(folder), *options])
        assert isinstance(found.exception, ParameterError)
        assert "--address-file" in str(found.exception)


@pytest.mark.parametrize("held", ["keep,this\n", "http://127.0.0.1:1\nand more\n", "x" * 5000])
def test_an_address_never_replaces_another_file(tmp_path: Path, held: str) -> None:
    file = tmp_path / "age.csv"
    file.write_text(held)
    refused = pytest.raises(ParameterError, match="is no address of a server that was stopped")
    with refused, serving.stated("http://127.0.0.1:2", str(file)):
        pass
    assert file.read_text() == held
    assert list(tmp_path.iterdir()) == [file]
    with refused, serving.stated("http://127.0.0.1:2", str(tmp_path)):
        pass


@pytest.mark.parametrize("former", ["", "http://[::1]:1\n", "http://127.0.0.1:1/?token=abc\n"])
def test_at_the_end_only_its_own_address_is_removed(tmp_path: Path, former: str) -> None:
    file = tmp_path / "url"
    file.write_text(former)
    with serving.stated("http://127.0.0.1:2", str(file)):
        assert file.read_text() == "http://127.0.0.1:2\n"
    assert not file.exists()
    with serving.stated("http://127.0.0.1:2", str(file)):
        file.write_text("keep this\n")
    assert file.read_text() == "keep this\n"
    file.unlink()
    with serving.stated("http://127.0.0.1:2", str(file)):
        file.unlink()  # somebody else did


def test_ctrl_c_is_no_failure(folder_of_people: Path, tmp_path: Path) -> None:
    with process(copied(folder_of_people, tmp_path), "--port", 0) as (server, url):
        assert get(url, "/health")[0] == 200
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=PATIENCE)
        assert server.returncode == 0
        assert "Traceback" not in err


def test_off_loopback_it_starts_with_tokens_only(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with pytest.raises(ParameterError, match="token create"):
        serving.create_app([folder], host="0.0.0.0")
    own = secret(folder, "analyst")
    with running(folder, host="0.0.0.0") as kit:
        assert kit.ask(FLU).status_code == 401
        assert kit.http.get("/metrics").status_code == 401
        assert kit.ask(FLU, headers=bearer(own)).status_code == 200


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_what_loopback_is(host: str, own: bool) -> None:
    assert serving.is_loopback(host) is own


def test_what_is_in_the_way_is_told(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    run = CliRunner().invoke
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = run(cli, ["statdb", "serve", str(folder), "--port", port])
        assert isinstance(found.exception, ParameterError)
        assert "--port" in str(found.exception)
    found = run(cli, ["statdb", "serve", str(tmp_path / "nowhere")])
    assert isinstance(found.exception, StoreError)
    found = run(cli, ["statdb", "serve", str(folder), str(folder)])
    assert isinstance(found.exception, ParameterError | StoreError)
    with running(folder):
        found = run(cli, ["statdb", "serve", str(folder), "--port", "0"])
        assert isinstance(found.exception, StoreError)
        assert "another process" in str(found.exception)
    found = run(cli, ["statdb", "serve"])
    assert found.exit_code == 2


def test_without_the_extra_it_says_what_to_install(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[server\]"):
        serving.create_app([copied(folder_of_people, tmp_path)])


def test_get_asks_without_a_server(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    run = CliRunner().invoke
    found = run(cli, ["statdb", "serve", str(folder), "--get", f"/v1/query?sql={FLU}&format=csv"])
    assert found.output.startswith('"count_estimate","count_lo","count_hi"')
    found = run(cli, ["statdb", "serve", str(folder), "--get", f"/v1/query?sql={COUNT}"])
    assert json.loads(found.stdout)["rows"][0]["answers"]["count"]["lo"] == 600
    found = run(cli, ["statdb", "serve", str(folder), "--get", "/nowhere"])
    assert json.loads(found.stdout)["error"]["code"] == "not_found"
    assert len(records(folder)) == 2


def test_kill_9_loses_no_answer(tmp_path: Path) -> None:
    path = server_kills.make_database(tmp_path, rows=400)
    tally = server_kills.kill(path, 4, random.Random(os.getpid()))
    assert tally.ok, tally
    assert tally.answers > 4
    found = check_log(path, versions=2)
    assert found.ok, "\n".join(found.lines())


def test_a_client_that_goes_away_stops_nothing(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with process(folder, "--port", 0) as (server, url):
        where = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        head = b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        for content in (b"", b"\r\n", b"GET", head, head + b'{"sql"', b"\x00" * 50):
            with socket.create_connection(where, 5) as connection:
                connection.sendall(content)
        assert get(url, "/ready")[0] == 200
        time.sleep(0.1)
        server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=PATIENCE)
        assert server.returncode == 0
    assert "Traceback" not in err
    assert "failure" not in err


def test_no_question_waits_for_the_compiler(folder_of_wages: Path, tmp_path: Path) -> None:
    """Kernels are there when the server is: in a process of its own, where nothing ran before."""
    code = (
        "import sys\n"
        "from sfumato.server.databases import open_all\n"
        "(served,) = open_all(sys.argv[1:]).values()\n"
        "ours = [one for name, one in sys.modules.items() if name.startswith('sfumato.')]\n"
        "found = {id(it): it for one in ours for it in vars(one).values()}.values()\n"
        "kernels = [one for one in found if isinstance(getattr(one, 'signatures', 0), list)]\n"
        "def made(): return sum(len(one.signatures) for one in kernels)\n"
        "before = made()\n"
        "served.state.statdb.query('SELECT COUNT(*), SUM(wage), AVG(wage), MAX(wage) FROM t')\n"
        "print(before > 0, made() - before)\n"
        "served.close()\n"
    )
    command = [sys.executable, "-c", code, str(copied(folder_of_wages, tmp_path, "wages"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "True 0\n", done.stderr
