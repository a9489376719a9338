"""The files in deploy/ are accepted by the programs they are for, and do what is documented."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.client import connect
from sfumato.errors import RemoteError
from tests.support.waiting import PATIENCE, eventually

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
OPENSSL = shutil.which("openssl")
ANALYZE = shutil.which("systemd-analyze")

needs_nginx = pytest.mark.skipif(
    NGINX is None or OPENSSL is None, reason="no nginx or no openssl: apt-get install nginx-light"
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    chain, key = folder / "fullchain.pem", folder / "privkey.pem"
    subprocess.run(
        [
            *(str(OPENSSL), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-out", str(chain), "-keyout", str(key)),
        ],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    return chain, key


def configured(
    folder: Path, certificate: tuple[Path, Path], *, plain: int, secure: int, behind: int
) -> Path:
    """The example with our certificate, ports and folders, inside of what a whole file needs."""
    site = (DEPLOY / "nginx.conf").read_text("utf-8")
    changes = {
        r"/etc/letsencrypt/\S+/fullchain.pem": str(certificate[0]),
        r"/etc/letsencrypt/\S+/privkey.pem": str(certificate[1]),
        r"/var/log/nginx/sfumato.log": str(folder / "access.log"),
        r"data\.example\.org": "localhost",
        r"    listen \[::\].*\n": "",
        r"listen 80;": f"listen 127.0.0.1:{plain};",
        r"listen 443": f"listen 127.0.0.1:{secure}",
        r"127\.0\.0\.1:8000;": f"127.0.0.1:{behind};",
    }
    for pattern, replacement in changes.items():
        site, found = re.subn(pattern, replacement, site)
        assert found, pattern
    whole = folder / "nginx.conf"
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\n{temporary}{site}}}\n"
    )
    return whole


@needs_nginx
def test_nginx_accepts_the_example(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    # free ones: the check binds them
    plain, secure, behind = free_ports(3)
    config = configured(tmp_path, certificate, plain=plain, secure=secure, behind=behind)
    command = [str(NGINX), "-t", "-c", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "[emerg]" not in done.stderr


@pytest.fixture
def behind_nginx(
    serve: Any, folder_of_wages: Path, tmp_path: Path, certificate: tuple[Path, Path]
) -> Iterator[tuple[str, str, Path]]:
    """An address with TLS, a token, and nginx's log."""
    from sfumato.statdb.access.tokens import Tokens

    folder = tmp_path / "wages.statdb"
    shutil.copytree(folder_of_wages, folder, ignore=shutil.ignore_patterns("access*", "ledger*"))
    _, secret = Tokens.open(folder).create("a test", "analyst")
    address = serve(folder, proxies=["127.0.0.1"])
    behind = int(address.rpartition(":")[2])
    process, secure = started(tmp_path, certificate, behind)
    try:
        yield f"https://localhost:{secure}", secret, tmp_path / "access.log"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def started(
    folder: Path, certificate: tuple[Path, Path], behind: int
) -> tuple[subprocess.Popen[bytes], int]:
    """nginx and its port; others may take a free port before nginx does, so a few are tried."""
    for _ in range(5):
        plain, secure = free_ports(2)
        config = configured(folder, certificate, plain=plain, secure=secure, behind=behind)
        process = subprocess.Popen([str(NGINX), "-c", str(config)], stderr=subprocess.DEVNULL)
        eventually(lambda: process.poll() is not None or listens(secure), "nginx")  # noqa: B023
        if process.poll() is None:
            return process, secure
    raise AssertionError("nginx does not start")


@needs_nginx
def test_the_server_behind_nginx(
    behind_nginx: tuple[str, str, Path],
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, secret, log = behind_nginx
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with pytest.raises(RemoteError) as error:
        connect(address)
    assert error.value.code == "unauthorized"
    with connect(address, secret) as db:
        assert db.count("sex = 'male' AND wage = 500").hi > 0
    host = address.removeprefix("https://")
    plain = http.client.HTTPSConnection(
        host, timeout=PATIENCE, context=ssl.create_default_context(cafile=certificate[0])
    )
    sql = "/v1/query?sql=SELECT+COUNT(*)+FROM+t"
    body, kind = b'{"sql": "SELECT COUNT(*) FROM t"}', {"Content-Type": "application/json"}
    access = {"Authorization": f"Bearer {secret}"}
    asked = [
        ("GET", "/", None, {}, 200),
        ("GET", "/metrics", None, access, 404),
        ("GET", sql, None, access, 200),
        ("POST", "/v1/query", body, {**access, **kind, "Origin": address}, 200),
        ("POST", "/v1/query", body, {**access, **kind, "Origin": "https://evil.example"}, 403),
    ]
    for method, path, content, headers, status in asked:
        plain.request(method, path, content, headers)
        response = plain.getresponse()
        response.read()
        assert (path, response.status) == (path, status)
        assert response.getheader("Strict-Transport-Security")
    plain.close()
    written = log.read_text("utf-8")
    assert "/v1/query" in written
    assert "SELECT" not in written


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if ANALYZE is None:
        pytest.skip("no systemd-analyze: apt-get install systemd")
    text = (DEPLOY / "sfumato-statdb.service").read_text("utf-8")
    ours = str(Path(sys.executable).parent / "sfumato")
    assert "/opt/sfumato/bin/sfumato statdb serve" in text
    unit = tmp_path / "sfumato-statdb.service"
    # the user of the example does not exist here, and neither does its installation
    text = text.replace("/opt/sfumato/bin/sfumato statdb", f"{ours} statdb")
    text = re.sub(r"^(User|Group)=sfumato\n", "", text, flags=re.MULTILINE)
    unit.write_text(text, "utf-8")
    command = [ANALYZE, "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    complaints = [line for line in done.stderr.splitlines() if unit.name in line]
    assert done.returncode == 0, done.stderr
    assert complaints == []


def test_the_commands_of_the_examples_exist() -> None:
    from click.testing import CliRunner

    from sfumato.cli.statdb_serve import serve

    options = CliRunner().invoke(serve, ["--help"]).output
    texts = [
        (DEPLOY / name).read_text("utf-8") for name in ("sfumato-statdb.service", "Containerfile")
    ]
    used = {option for text in texts for option in re.findall(r"serve[^\n]*", text)}
    for option in re.findall(r"--[a-z-]+", " ".join(used)):
        assert option in options


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
