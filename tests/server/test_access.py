"""Who may do what: every route with every role, and everything that is not listed is denied."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sfumato.server import access
from sfumato.server.routes import ROUTES, Route
from sfumato.statdb.access.tokens import Role, Tokens
from tests.server.kit import COUNT, FLU, ROLES, Kit, bearer, copied, require_error, running, secret

# the table again, written down by hand: what access.py says is held against it
EXPECTED: dict[str, set[str]] = {
    "page": {"nobody", *ROLES},
    "about": {"nobody", *ROLES},
    "static": {"nobody", *ROLES},
    "health": {"nobody", *ROLES},
    "ready": {"nobody", *ROLES},
    "openapi": {"nobody", *ROLES},
    "databases": set(ROLES),
    "schema": set(ROLES),
    "query": set(ROLES),
    "ask": set(ROLES),
    "explain": set(ROLES),
    "receipt": set(ROLES),
    "ledger": {"auditor", "owner"},
    "metrics": {"auditor", "owner"},
    "tokens": {"owner"},
}


@pytest.fixture(scope="module")
def guarded(
    folder_of_people: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Kit, dict[str, str]]]:
    folder = copied(folder_of_people, tmp_path_factory.mktemp("guarded"))
    secrets: dict[str, str] = {role: secret(folder, role) for role in ROLES}
    with running(folder, require_tokens=True) as kit:
        yield kit, secrets


def request(kit: Kit, route: Route, headers: dict[str, str]) -> Any:
    path = route.path.replace("{name}", "index.html")
    if route.name == "ask":
        path = f"{path}?sql={COUNT}"
    if route.name == "receipt":
        path = f"{path}?receipt={kit.records()[-1].receipt}"
    body = {"json": {"sql": COUNT}} if route.method == "POST" else {}
    return kit.http.request(route.method, path, headers=headers, **body)


def test_every_route_is_in_one_table_only() -> None:
    names = [route.name for route in ROUTES]
    assert len(set(names)) == len(names)
    assert set(names) == access.PUBLIC | set(access.ALLOWED) == set(EXPECTED)
    assert not access.PUBLIC & set(access.ALLOWED)


@pytest.mark.parametrize("who", ["nobody", "stranger", *ROLES])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_access_is_denied_unless_listed(
    guarded: tuple[Kit, dict[str, str]], route: Route, who: str
) -> None:
    kit, secrets = guarded
    headers = {}
    if who == "stranger":
        headers = bearer("sfu_0123456789ab_" + "x" * 43)
    elif who != "nobody":
        headers = bearer(secrets[who])
    reply = request(kit, route, headers)
    if who in EXPECTED[route.name] or "nobody" in EXPECTED[route.name]:
        assert reply.status_code == 200 or route.name in ("page", "about", "static"), reply.text
    elif who in ROLES:
        require_error(reply, 403, "forbidden")
    else:
        require_error(reply, 401, "unauthorized")
        assert reply.headers["www-authenticate"].startswith("Bearer")


def test_a_route_that_is_in_no_table_is_denied(
    guarded: tuple[Kit, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kit, secrets = guarded
    monkeypatch.setattr(access, "ALLOWED", {})
    reply = kit.http.get("/v1/schema", headers=bearer(secrets["owner"]))
    require_error(reply, 403, "forbidden")


def test_who_is_denied_is_logged(guarded: tuple[Kit, dict[str, str]]) -> None:
    kit, secrets = guarded
    kit.http.get("/v1/tokens", headers=bearer(secrets["auditor"]))
    last = kit.records()[-1].entry
    assert (last.kind, last.role, last.question) == ("denied", "auditor", "GET tokens")


def test_a_revoked_token_stops_at_once(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    own = secret(folder, "analyst")
    with running(folder) as kit:
        kit.answer(FLU, headers=bearer(own))
        with Tokens.open(folder) as tokens:
            tokens.revoke(tokens.all()[0].id)
        time.sleep(2 * access.MOMENT)
        require_error(kit.ask(FLU, headers=bearer(own)), 401, "unauthorized")
        # without a valid token left, the door does not open to everybody again
        require_error(kit.ask(FLU), 401, "unauthorized")


def test_an_expired_token_is_none(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with Tokens.open(folder) as tokens:
        _, own = tokens.create("short", "owner", timedelta(microseconds=1))
    with running(folder) as kit:
        require_error(kit.ask(FLU, headers=bearer(own)), 401, "unauthorized")


def test_without_tokens_this_machine_may_ask_and_no_more(
    folder_of_people: Path, tmp_path: Path
) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        assert kit.answer(FLU)["rows"]
        assert kit.records()[-1].entry.who == "local"
        require_error(kit.http.get("/v1/ledger"), 403, "forbidden")
        require_error(kit.http.get("/v1/tokens"), 403, "forbidden")
        assert kit.http.get("/metrics").status_code == 200
        # the first token ends it, without a restart
        own = secret(kit.folder, "analyst")
        time.sleep(2 * access.MOMENT)
        require_error(kit.ask(FLU), 401, "unauthorized")
        kit.answer(FLU, headers=bearer(own))


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"X-Forwarded-Host": "data.example.org"},
        {"X-Forwarded-Proto": "https"},
        {"Host": "evil.example"},
        {"Host": "evil.example@localhost"},
        {"Host": "127.0.0.1.evil.example:8000"},
        {"Host": ""},
    ],
)
def test_what_a_proxy_or_another_name_brings_is_refused(
    folder_of_people: Path, tmp_path: Path, headers: dict[str, str]
) -> None:
    """Nobody has said --behind-proxy, so nobody is expected that way, with a token or without."""
    with running(copied(folder_of_people, tmp_path)) as kit:
        require_error(kit.ask(FLU, headers=headers), 421, "misdirected")
        own = bearer(secret(kit.folder, "owner"))
        for path in ("/", "/metrics", "/v1/schema"):
            require_error(kit.http.get(path, headers={**own, **headers}), 421, "misdirected")
        assert kit.http.get("/health", headers=headers).status_code == 200
        assert kit.http.get("/ready", headers=headers).status_code == 200


def test_each_database_has_its_own_tokens(
    folder_of_people: Path, folder_of_wages: Path, tmp_path: Path
) -> None:
    people, wages = copied(folder_of_people, tmp_path), copied(folder_of_wages, tmp_path, "wages")
    of_people, of_wages = secret(people, "owner"), secret(wages, "analyst")
    with running(people, wages) as kit:
        told = kit.http.get("/v1/databases", headers=bearer(of_people)).json()["databases"]
        assert [one["name"] for one in told] == ["people"]
        # the one that the token is for need not be named, another one does not exist for it
        assert kit.answer(FLU, headers=bearer(of_people))["database"] == "people"
        for name in ("wages", "nowhere"):
            reply = kit.ask(FLU, headers=bearer(of_people), params={"database": name})
            require_error(reply, 404, "unknown_database")
        reply = kit.http.get("/v1/ledger", headers=bearer(of_wages))
        require_error(reply, 403, "forbidden")
        assert kit.answer(COUNT, headers=bearer(of_wages))["database"] == "wages"


def test_metrics_are_of_the_databases_that_one_may_watch(
    folder_of_people: Path, folder_of_wages: Path, tmp_path: Path
) -> None:
    people, wages = copied(folder_of_people, tmp_path), copied(folder_of_wages, tmp_path, "wages")
    with running(people, wages) as kit:

        def seen(**headers: str) -> set[str]:
            text = kit.http.get("/metrics", headers=headers).text
            assert "sfumato_requests_running 0" in text or "sfumato_requests_running 1" in text
            return set(re.findall('database="([^"]*)"', text))

        for name in ("people", "wages"):
            assert kit.ask(COUNT, params={"database": name}).status_code == 200
            kit.app.service.metrics.reloads[name, "done"] += 1
        assert seen() == {"people", "wages"}
        # the first token takes a database out of what is shown without one
        of_people = secret(people, "auditor")
        time.sleep(2 * access.MOMENT)
        assert seen() == {"wages"}
        assert seen(**bearer(of_people)) == {"people"}
        of_wages = secret(wages, "analyst")
        time.sleep(2 * access.MOMENT)
        assert seen() == set()
        assert seen(**bearer(of_people)) == {"people"}
        reply = kit.http.get("/metrics", headers=bearer(of_wages))
        require_error(reply, 403, "forbidden")


def test_several_open_databases_must_be_named(
    folder_of_people: Path, folder_of_wages: Path, tmp_path: Path
) -> None:
    people, wages = copied(folder_of_people, tmp_path), copied(folder_of_wages, tmp_path, "wages")
    with running(people, wages) as kit:
        require_error(kit.ask(COUNT), 400, "invalid_request")
        body = {"sql": COUNT, "database": "wages"}
        assert kit.http.post("/v1/query", json=body).json()["database"] == "wages"
        reply = kit.http.post("/v1/query?database=people", json=body)
        require_error(reply, 400, "invalid_request")


@pytest.mark.parametrize("pair", ["{}:", "anybody:{}", ":{}"])
def test_a_token_may_be_a_password(guarded: tuple[Kit, dict[str, str]], pair: str) -> None:
    kit, secrets = guarded
    own = base64.b64encode(pair.format(secrets["analyst"]).encode()).decode()
    for kind in ("Basic", "basic"):
        assert kit.ask(COUNT, headers={"Authorization": f"{kind} {own}"}).status_code == 200
    for wrong in (own[:-8], f"{own}!", "é", "", base64.b64encode(b"\xff:\xff").decode()):
        headers = {"Authorization": f"Basic {wrong}".encode()}
        reply = kit.ask(COUNT, headers=headers)
        require_error(reply, 401, "unauthorized")
        # a browser that is asked for a password keeps it, and sends it for other pages
        assert "Basic" not in reply.headers["www-authenticate"]


def test_no_secret_is_told(guarded: tuple[Kit, dict[str, str]]) -> None:
    kit, secrets = guarded
    told = kit.http.get("/v1/tokens", headers=bearer(secrets["owner"])).text
    for own in secrets.values():
        part = own.split("_", 2)[2]  # it may have such signs of its own
        assert part not in told
        assert part not in kit.log()


def test_roles_are_those_of_the_tokens() -> None:
    used: set[Role] = set().union(*access.ALLOWED.values())
    assert used == set(ROLES)
