"""The files in deploy/ are accepted by the programs they are for, and do what is documented."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from sfumato.client import connect
from sfumato.errors import RemoteError
from sfumato.statdb.access.ledger_checks import check_log
from sfumato.statdb.access.places import Place
from tests.server.kit import copied, process
from tests.support.postgres import postgres_server
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
    folder: Path, certificate: tuple[Path, Path], *, plain: int, secure: int, behind: Sequence[int]
) -> Path:
    """The example with our certificate, ports and folders, inside of what a whole file needs."""
    site = (DEPLOY / "nginx.conf").read_text("utf-8")
    if len(behind) > 1:
        two = (DEPLOY / "upstream-two.conf").read_text("utf-8")
        for name, port in zip("ab", behind, strict=True):
            two = two.replace(f"sfumato-{name}:8000", f"127.0.0.1:{port}")
        site = re.sub(r"upstream sfumato \{.*?\n\}\n", lambda _: two, site, flags=re.DOTALL)
    changes = {
        r"/etc/letsencrypt/\S+/fullchain.pem": str(certificate[0]),
        r"/etc/letsencrypt/\S+/privkey.pem": str(certificate[1]),
        r"/var/log/nginx/sfumato.log": str(folder / "access.log"),
        r"data\.example\.org": "localhost",
        r"    listen \[::\].*\n": "",
        r"listen 80;": f"listen 127.0.0.1:{plain};",
        r"listen 443": f"listen 127.0.0.1:{secure}",
    }
    if len(behind) == 1:
        changes[r"127\.0\.0\.1:8000;"] = f"127.0.0.1:{behind[0]};"
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
@pytest.mark.parametrize("servers", [1, 2])
def test_nginx_accepts_the_example(
    tmp_path: Path, certificate: tuple[Path, Path], servers: int
) -> None:
    # free ones: the check binds them
    plain, secure, *behind = free_ports(4)
    config = configured(tmp_path, certificate, plain=plain, secure=secure, behind=behind[:servers])
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
    nginx, secure = started(tmp_path, certificate, [behind])
    try:
        yield f"https://localhost:{secure}", secret, tmp_path / "access.log"
    finally:
        nginx.terminate()
        nginx.wait(PATIENCE)


def started(
    folder: Path, certificate: tuple[Path, Path], behind: Sequence[int]
) -> tuple[subprocess.Popen[bytes], int]:
    """nginx and its port; others may take a free port before nginx does, so a few are tried."""
    for _ in range(5):
        plain, secure = free_ports(2)
        config = configured(folder, certificate, plain=plain, secure=secure, behind=behind)
        nginx = subprocess.Popen([str(NGINX), "-c", str(config)], stderr=subprocess.DEVNULL)
        eventually(lambda: nginx.poll() is not None or listens(secure), "nginx")  # noqa: B023
        if nginx.poll() is None:
            return nginx, secure
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


@needs_nginx
def test_two_servers_behind_nginx_are_one_while_either_dies(
    folder_of_wages: Path,
    tmp_path: Path,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with postgres_server() as ledger, ExitStack() as running:
        place = Place.of(copied(folder_of_wages, tmp_path, "wages"), ledger.get_uri())
        with place.tokens() as tokens:
            _, secret = tokens.create("a test", "analyst")
        command = [place.folder, "--port", 0, "--behind-proxy", "--ledger", place.url]
        servers = [running.enter_context(process(*command)) for _ in range(2)]
        behind = [int(url.rpartition(":")[2]) for _, url in servers]
        nginx, secure = started(tmp_path, certificate, behind)
        try:
            answers = []
            for killed in (None, *servers):
                if killed is servers[1]:
                    servers[0] = running.enter_context(
                        process(*command[:2], behind[0], *command[3:])
                    )
                if killed is not None:
                    killed[0].kill()
                    killed[0].wait(PATIENCE)
                url = f"https://localhost:{secure}"
                # for a second after a start, nginx may still pass over who is back
                eventually(lambda: _lives(url, secret), "an answer")  # noqa: B023
                with connect(url, secret) as db:
                    answers += [db.count("sex = 'male' AND wage = 500") for _ in range(6)]
        finally:
            nginx.terminate()
            nginx.wait(PATIENCE)
        found = check_log(place.folder, ledger=place.url)
    assert len(set(answers)) == 1
    assert found.ok, "\n".join(found.lines())


def _lives(url: str, secret: str) -> bool:
    try:
        connect(url, secret).close()
    except RemoteError:
        return False
    return True


def test_the_compose_file_names_what_there_is() -> None:
    told = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    upstream = (DEPLOY / "upstream-two.conf").read_text("utf-8")
    servers = re.findall(r"server (\S+):8000", upstream)
    assert servers == ["sfumato-a", "sfumato-b"]
    assert {*servers, "ledger", "nginx", "owner"} == set(told["services"])
    (subnet,) = told["networks"]["inside"]["ipam"]["config"]
    for name in servers:
        service = told["services"][name]
        words = service["command"].split()
        assert words[words.index("--proxy-address") + 1] == subnet["subnet"]
        assert urlsplit(service["environment"]["SFUMATO_LEDGER"]).hostname == "ledger"
        assert service["read_only"]
        assert service["volumes"][0].endswith(":ro,z")  # the ledger is elsewhere


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
        (DEPLOY / name).read_text("utf-8")
        for name in ("sfumato-statdb.service", "Containerfile", "compose.yaml")
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
