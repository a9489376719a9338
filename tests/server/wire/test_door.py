"""Who is let in over the PostgreSQL protocol, and what is recorded of it."""

from __future__ import annotations

import datetime
import ipaddress
import re
import subprocess
import threading
import time
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import sfumato as sf
from sfumato.errors import LedgerError, ParameterError
from sfumato.server.limits import Limits
from sfumato.server.serving import listen, tools
from sfumato.server.wire.startup import tls_context
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.tokens import Tokens
from sfumato.statdb.responder import Responder
from tests.server.kit import MAIN, copied, get, records, secret
from tests.server.wire.kit import Raw, fields, serving, startup
from tests.support.waiting import PATIENCE, eventually

COUNT = "SELECT COUNT(*) FROM people"


def certificate(place: Path) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (place / "cert.pem").write_bytes(made.public_bytes(pem))
    (place / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return str(place / "cert.pem"), str(place / "key.pem")


def test_a_token_is_the_password(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    token = secret(folder, "analyst")
    with serving(folder) as served:
        with served.connected("people", password=token) as connection:
            assert connection.execute(COUNT.encode()).fetchall() == [(600, 600)]
        for wrong in (f"{token[:-1]}{'a' if token[-1] != 'a' else 'b'}", "x", "sfu_"):
            with (
                pytest.raises(psycopg.OperationalError, match="token is unknown"),
                served.connected("people", password=wrong),
            ):
                pass
        with Raw(served.port) as raw:
            raw.send(startup("people"))
            assert raw.message() == (b"R", b"\0\0\0\3")
            raw.send(b"p" + (4 + 2).to_bytes(4) + b"x\0")
            kind, body = raw.message() or (b"", b"")
            assert (kind, fields(body)["C"], fields(body)["S"]) == (b"E", "28P01", "FATAL")
            assert raw.message() is None
        assert token not in served.log()
        (record,) = records(folder)
        with Tokens.open(folder) as tokens:
            assert record.entry.who == tokens.all()[0].id


def test_a_token_opens_its_own_database_alone(
    folder_of_people: Path, folder_of_wages: Path, tmp_path: Path
) -> None:
    people, wages = copied(folder_of_people, tmp_path), copied(folder_of_wages, tmp_path, "wages")
    token = secret(people, "analyst")
    secret(wages, "analyst")
    with serving(people, wages) as served:
        for name in ("wages", "nothing"):
            with (
                pytest.raises(psycopg.OperationalError, match=r"HINT:  you may ask people$"),
                served.connected(name, password=token),
            ):
                pass


def test_a_revoked_token_ends_its_sessions(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    token = secret(folder, "analyst")
    with serving(folder) as served, served.connected("people", password=token) as connection:
        connection.execute(COUNT.encode())
        with Tokens.open(folder) as tokens:
            tokens.revoke(token.split("_")[1])

        def is_out() -> bool:
            try:
                connection.execute(COUNT.encode())
            except psycopg.OperationalError as error:
                return "revoked" in str(error)
            return False

        eventually(is_out)
        assert connection.closed


def test_strangers_wait(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    token = secret(folder, "analyst")
    with serving(folder, limits=Limits(failures=0.001)) as served:
        states = []
        for _ in range(3):
            with Raw(served.port) as raw:
                raw.send(startup("people"))
                raw.message()
                raw.send(b"p" + (4 + 2).to_bytes(4) + b"x\0")
                states.append(fields((raw.message() or (b"", b""))[1])["C"])
        assert states == ["28P01", "53400", "53400"]
        # whoever has a token is none
        with served.connected("people", password=token) as connection:
            assert connection.execute(COUNT.encode()).fetchall() == [(600, 600)]


def test_tls(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    token = secret(folder, "analyst")
    chain, key = certificate(tmp_path)
    with serving(folder, tls=tls_context(chain, key)) as served:
        options = {"sslmode": "verify-full", "sslrootcert": chain}
        with served.connected("people", password=token, **options) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute(COUNT.encode()).fetchall() == [(600, 600)]
            assert connection.execute("SHOW ssl").fetchall() == [("on",)]
        # what is sent before the handshake is not believed after it
        with Raw(served.port) as raw:
            raw.send((8).to_bytes(4) + (80877103).to_bytes(4) + startup("people"))
            assert b"E" in raw.stream.read()[:2]


def test_a_certificate_is_needed_where_others_can_connect(tmp_path: Path) -> None:
    with (
        listen("127.0.0.1", 0) as sock,
        pytest.raises(ParameterError, match="postgres-certificate"),
    ):
        tools("0.0.0.0", sock, None, None)
    (tmp_path / "none.pem").write_text("?")
    with pytest.raises(ParameterError, match="cannot be used"):
        tls_context(str(tmp_path / "none.pem"), None)


def test_every_question_is_recorded_once_as_over_http(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    sql = f"{COUNT} WHERE disease = 'flu' /* who? */ ORDER BY 1 LIMIT 5"
    with serving(folder) as served:
        rows = served.rows("people", sql)
        with pytest.raises(psycopg.Error):
            served.rows("people", "SELECT * FROM people")
        served.rows("people", "SELECT relname FROM pg_class")
        get(served.url, "/v1/query?sql=SELECT+COUNT(*)+FROM+t+WHERE+disease+%3D+'flu'")
    wire, refusal, http = records(folder)
    assert wire.entry.question == sql
    assert (wire.entry.canonical, wire.entry.answer) == (http.entry.canonical, http.entry.answer)
    assert f'"lo":{rows[0][0]},"hi":{rows[0][1]}' in (wire.entry.answer or "")
    assert (refusal.entry.kind, refusal.entry.question) == ("refusal", "SELECT * FROM people")


@pytest.mark.parametrize("asked_before", [0, 3])
def test_nothing_leaves_that_cannot_be_recorded(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked_before: int
) -> None:
    folder = copied(folder_of_people, tmp_path)
    original = Ledger.append
    full = False

    def appending(ledger: Ledger, entries: object) -> object:
        if full:
            raise LedgerError("the disk is full", path=folder)
        return original(ledger, entries)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "append", appending)
    with serving(folder) as served, served.connected("people") as connection:
        for _ in range(asked_before):
            connection.execute(COUNT.encode())
        full = True
        with pytest.raises(psycopg.errors.CannotConnectNow, match="could not be recorded"):
            connection.execute(COUNT.encode())
        full = False
        assert connection.execute(COUNT.encode()).fetchall() == [(600, 600)]
        assert served.app.service.meter.running == 0
    assert len(records(folder)) == 1 + asked_before


def test_a_statement_is_cancelled_and_recorded_all_the_same(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(folder_of_people, tmp_path)
    counted, asked, go_on = Responder.counted, threading.Event(), threading.Event()

    def slowly(self: Responder, conditions: object) -> object:
        asked.set()
        go_on.wait(20)
        return counted(self, conditions)  # type: ignore[arg-type]

    with serving(folder) as served, served.connected("people") as connection:
        monkeypatch.setattr(Responder, "counted", slowly)

        def cancel() -> None:
            asked.wait(20)
            connection.cancel_safe()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
            connection.execute(f"{COUNT} WHERE age = 33".encode())
        canceller.join(PATIENCE)
        go_on.set()
        monkeypatch.undo()
        assert len(connection.execute(COUNT.encode()).fetchall()) == 1
        eventually(lambda: len(records(folder)) == 2)


def test_a_remembered_answer_is_cancelled_and_recorded_all_the_same(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(folder_of_people, tmp_path)
    original, asked, go_on = Ledger.append, threading.Event(), threading.Event()

    def slowly(ledger: Ledger, entries: object) -> object:
        asked.set()
        go_on.wait(20)
        return original(ledger, entries)  # type: ignore[arg-type]

    with serving(folder) as served, served.connected("people") as connection:
        for _ in range(2):
            connection.execute(COUNT.encode())
        monkeypatch.setattr(Ledger, "append", slowly)

        def cancel() -> None:
            asked.wait(20)
            connection.cancel_safe()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
            connection.execute(COUNT.encode())
        canceller.join(PATIENCE)
        go_on.set()
        assert connection.execute(COUNT.encode()).fetchall() == [(600, 600)]
        eventually(lambda: served.app.service.meter.running == 0)
    assert len(records(folder)) == 4


def test_answers_of_remembered_statements_are_as_the_session_wants_them(
    folder_of_people: Path, tmp_path: Path
) -> None:
    sql = f"{COUNT} WHERE disease = 'flu'".encode()
    with serving(copied(folder_of_people, tmp_path)) as served:
        with served.connected("people") as connection:
            found = {tuple(connection.execute(sql).fetchone() or ()) for _ in range(4)}
            receipts = connection.execute("SHOW sfumato.receipt").fetchall()
            connection.execute("SET sfumato.answers = 'midpoint'")
            middle = {connection.execute(sql).fetchone() for _ in range(4)}
            assert connection.execute("SHOW sfumato.receipt").fetchall() != receipts
        ((lo, hi),) = found
        assert middle == {((lo + hi) / 2,)}
    assert len(records(tmp_path / "people.statdb")) == 8


def test_a_tool_waits_for_its_quota(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with serving(folder, limits=Limits(rate=20, burst=1)) as served:
        started = time.monotonic()
        for _ in range(3):
            assert served.rows("people", COUNT) == [(600, 600)]
        assert time.monotonic() - started > 0.05
    with serving(folder, limits=Limits(rate=0.001, burst=1)) as served:
        served.rows("people", COUNT)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            served.rows("people", COUNT)


def test_a_stopping_server_says_so(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with serving(folder) as served:
        raw = Raw(served.port)
        raw.begin("people")
    kind, body = raw.until(b"E")[-1]
    assert (kind, fields(body)["C"]) == (b"E", "57P01")
    raw.__exit__()


@pytest.mark.slow
def test_workers_share_the_port_for_tools(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    options = ["--port", "0", "--postgres-port", "0", "--workers", "2"]
    with subprocess.Popen(
        [*MAIN, str(folder), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            assert started.stdout is not None
            started.stdout.readline()
            address = re.search(r"postgresql://127.0.0.1:(\d+)/people", started.stdout.readline())
            assert address is not None
            for age in range(6):
                with sf.connect(address[0]) as db:
                    assert db.count(f"age >= {age}").lo == db.count("age >= 0").lo
        finally:
            started.terminate()
            started.wait(PATIENCE)
    assert len(records(folder)) == 12
