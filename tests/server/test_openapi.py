"""The description fits the addresses, and the addresses fit the description."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from sfumato.server.api.openapi import OPERATIONS, described
from sfumato.server.http import Call
from sfumato.server.routes import ROUTES
from tests.server.kit import GENEROUS, bearer, copied, running, secret


def test_every_route_is_described_and_nothing_else(folder_of_people: Path, tmp_path: Path) -> None:
    told = described(ROUTES)
    assert set(OPERATIONS) == {route.name for route in ROUTES}
    stated = {(m.upper(), path) for path, found in told["paths"].items() for m in found}
    assert stated == {(route.method, route.path) for route in ROUTES}
    with running(copied(folder_of_people, tmp_path)) as kit:
        assert kit.http.get("/v1/openapi.json").json() == told
        registered = {
            (method, route.path)
            for route in kit.app._router.routes
            for method in route.methods - {"HEAD"}
        }
        assert registered == stated


def test_bodies_that_do_not_come_are_described() -> None:
    for path, found in described(ROUTES)["paths"].items():
        for operation in found.values():
            stated = operation["responses"].get("408", {}).get("description")
            assert stated == ("request_timeout" if "requestBody" in operation else None), path


def test_parameters_are_those_that_handlers_know(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, set[str]] = {}
    parameters = Call.parameters

    def noted(self: Call, *names: str) -> dict[str, str]:
        known[self.route] = set(names)
        return parameters(self, *names)

    monkeypatch.setattr(Call, "parameters", noted)
    with running(copied(folder_of_people, tmp_path)) as kit:
        for route in ROUTES:
            body = {"json": {"sql": "SELECT COUNT(*) FROM t"}} if route.method == "POST" else {}
            kit.http.request(route.method, route.path, **body)
    for name, names in known.items():
        assert set(OPERATIONS[name].parameters) == names, name


def test_schemathesis_finds_no_5xx_and_no_surprise(
    serve: Any, folder_of_people: Path, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import schemathesis
        from schemathesis.specs.openapi.checks import positive_data_acceptance

    folder = copied(folder_of_people, tmp_path)
    own = bearer(secret(folder, "owner"))
    url = serve(folder, limits=GENEROUS)
    schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json")
    tried: set[str] = set()
    found: Any
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=25,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def conforms(case: Any) -> None:
            # a text that is no SQL is a fair refusal, though JSON Schema takes it for a question
            case.call_and_validate(headers=own, excluded_checks=[positive_data_acceptance])

        conforms()
        tried.add(operation.label)
    # where the description comes from is not tried
    stated = {f"{route.method} {route.path}" for route in ROUTES}
    assert tried == stated - {"GET /v1/openapi.json"}
