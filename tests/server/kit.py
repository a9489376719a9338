"""What the server's tests share: applications over copies of a database, and requests to them."""

from __future__ import annotations

import http.client
import io
import json
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sfumato.server.app import App
from sfumato.server.limits import Limits
from sfumato.server.logs import Log
from sfumato.server.serving import create_app
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_records import Record
from sfumato.statdb.access.tokens import Role, Tokens
from tests.support.waiting import PATIENCE

with warnings.catch_warnings():
    # it would rather have httpx2, which few have
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

COUNT = "SELECT COUNT(*) FROM t"
FLU = f"{COUNT} WHERE disease = 'flu'"
ASKED = ("answer", "refusal", "denied")
ROLES: tuple[Role, ...] = ("analyst", "auditor", "owner")
GENEROUS = Limits(rate=1e9, burst=10**9)


@dataclass(frozen=True)
class Kit:
    """A running application without a network, and its log."""

    app: App
    http: TestClient
    lines: io.StringIO
    folder: Path

    def ask(self, sql: str, **options: Any) -> Any:
        return self.http.post("/v1/query", json={"sql": sql}, **options)

    def answer(self, sql: str, **options: Any) -> Any:
        reply = self.ask(sql, **options)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def records(self) -> list[Record]:
        return records(self.folder)

    def log(self) -> str:
        self.app.service.log.flush()
        return self.lines.getvalue()

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log().splitlines()]


def copied(folder: Path, into: Path, name: str = "people") -> Path:
    """A database of its own, without the tokens and the ledger that other tests have left."""
    target = into / f"{name}.statdb"
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("access*", "ledger*"))
    return target


@contextmanager
def running(*folders: Path, **options: Any) -> Iterator[Kit]:
    lines = io.StringIO()
    app = create_app(folders, **{"limits": GENEROUS, **options}, log=Log(lines))
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as http:
        yield Kit(app, http, lines, folders[0])


def records(folder: Path) -> list[Record]:
    with Ledger.open(folder, read_only=True) as ledger:
        checked = ledger.verify()
        assert checked.ok, checked.problem
        return [one for one in ledger.records() if one.entry.kind in ASKED]


def secret(folder: Path, role: Role) -> str:
    with Tokens.open(folder) as tokens:
        return tokens.create(f"a test's {role}", role)[1]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def require_error(reply: Any, status: int, code: str) -> dict[str, Any]:
    """The one shape, and nothing of the inside in it."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    body = reply.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert {"code", "message", "hint", "request_id"} <= set(error)
    assert set(error) <= {"code", "message", "hint", "request_id", "position"}
    assert error["code"] == code
    assert error["message"]
    assert error["hint"]
    assert error["request_id"] == reply.headers["x-request-id"]
    for word in ("Traceback", 'File "', ".py", "Error("):
        assert word not in reply.text
    return error


MAIN = [sys.executable, "-m", "sfumato", "statdb", "serve"]


@contextmanager
def process(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(
        [*MAIN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            found = re.search(r"on (http://\S+)", started.stdout.readline())
            assert found is not None, started.communicate(timeout=PATIENCE)
            # read here: it may be in the buffer already, where communicate() does not look
            assert "Ctrl-C" in started.stdout.readline()
            yield started, found[1]
        finally:
            started.kill()


def get(url: str, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
    connection.request("GET", path)
    reply = connection.getresponse()
    told = json.loads(reply.read())
    connection.close()
    return reply.status, told
