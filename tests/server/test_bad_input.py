"""Whatever comes in, what goes wrong goes out in one shape, without a word from the inside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.server import answering
from sfumato.server.errors import STATUS
from sfumato.server.headers import SECURITY
from sfumato.server.limits import Limits
from tests.server.kit import COUNT, FLU, Kit, copied, require_error, running

MARK = "Xq7-unlikely"  # put into questions, and looked for in logs
LIMITS = Limits(rate=1e9, burst=10**9, body=20_000, batch=10, groups=50)


@pytest.fixture(scope="module")
def kit(folder_of_people: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    folder = copied(folder_of_people, tmp_path_factory.mktemp("bad"))
    with running(folder, limits=LIMITS) as found:
        yield found


def post(kit: Kit, content: bytes | str, **headers: str) -> Any:
    told = {"Content-Type": "application/json", **headers}
    return kit.http.post("/v1/query", content=content, headers=told)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"sql": NaN}',
        b'{"sql": "SELECT COUNT(*) FROM t"',
        b"\xff\xfe\x00",
        b'{"sql": "\xff"}',
        b"[" * 10_000,
        b'{"a":' * 3_000,
        b"[]",
        b"null",
        b'"SELECT COUNT(*) FROM t"',
        b"{}",
        b'{"sql": 3}',
        b'{"sql": null}',
        b'{"query": "SELECT COUNT(*) FROM t"}',
        b'{"query": []}',
        b'{"sql": "SELECT COUNT(*) FROM t", "limit": 3}',
        b'{"sql": "SELECT COUNT(*) FROM t", "query": {}}',
        b'{"queries": {}}',
        b'{"queries": [3]}',
        b'{"queries": [{"queries": []}]}',
        b'{"queries": [], "sql": "x"}',
        b'{"sql": "SELECT COUNT(*) FROM t", "database": 3}',
        b'{"query": {"where": {"age": 3}}}',
        b'{"query": {"where": {"age": {"like": 3}}}}',
        b'{"query": {"where": {"age": {"between": [1]}}}}',
        b'{"query": {"select": [{"function": "median"}]}}',
        b'{"query": {"select": []}}',
        b'{"query": {"by": "sex"}}',
        b'{"query": {"by": [3]}}',
        b'{"query": {"where": {"since": {"=": {"date": "2020-99-99"}}}}}',
        b'{"query": {"where": {"\\ud800": [1]}}}',
        b'{"query": {"select": [{"function": "count", "as": "\\ud800"}]}}',
        b'{"query": ' + b'{"not":' * 500 + b"1" + b"}" * 501,
    ],
    ids=lambda content: content[:40].decode("latin-1"),
)
def test_a_body_that_is_no_question(kit: Kit, content: bytes) -> None:
    reply = post(kit, content)
    error = require_error(reply, 400, "invalid_request")
    assert "position" not in error


@pytest.mark.parametrize(
    ("query", "place", "reason"),
    [
        ({"wher": {}}, "'wher'", "unknown"),
        ({"where": {"age": [30], "sex": {"like": "m"}}}, "condition on 'sex'", "'like'"),
        ({"where": {"age": {"not": {"betwen": [1, 2]}}}}, "condition on 'age'", "'betwen'"),
        ({"where": {"age": 3}}, "condition on 'age'", ""),
        ({"where": {"age": {"between": [1]}}}, "condition on 'age'", ""),
        ({"where": {"since": {"=": {"dat": "2020-02-29"}}}}, "condition on 'since'", "'dat'"),
        ({"where": {"since": {"=": {"date": "2020-13-01"}}}}, "condition on 'since'", "month"),
        ({"where": [], "by": ["sex"]}, "'where'", ""),
        ({"where": {"age": [3]}, "by": "sex"}, "'by'", "names"),
        ({"select": [{"function": "median"}]}, "'select'", "median"),
        ({"select": [{"of": "age"}]}, "'select'", "'function'"),
        ({"where": {}, "by": "x" * 9_000}, "'by'", "names"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_a_query_object_is_told_its_mistake(
    kit: Kit, query: dict[str, Any], place: str, reason: str
) -> None:
    reply = kit.http.post("/v1/query", json={"query": query})
    message = require_error(reply, 400, "invalid_request")["message"]
    assert place in message
    assert reason in message
    assert "object has no" not in message
    assert "unpack" not in message
    assert len(message) < 300
    kept = kit.http.post("/v1/query", json={"queries": [{"query": query}]}).json()
    assert kept["results"][0]["error"]["message"] == message


def test_deep_nesting_is_no_bug(kit: Kit) -> None:
    for depth in (100, 300, 600, 900, 930, 950, 960, 970, 980, 1_100, 2_000):
        reply = post(
            kit, b'{"query":{"where":{"age":' + b'{"not":' * depth + b"[1]" + b"}" * (depth + 3)
        )
        assert reply.status_code in (200, 400, 422), reply.text


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("", 1),
        ("   ", 1),
        ("SELECT", None),
        ("SELECT * FROM t", None),
        ("SELECT disease FROM t", 8),
        ("SELECT COUNT(*) FROM t WHERE disease = flu", None),
        ("SELECT COUNT(*) FROM t WHERE nobody = 3", 30),
        ("SELECT COUNT(*) FROM t WHERE age = 'x'", None),
        ("SELECT COUNT(*) FROM t; DROP TABLE t", None),
        ("SELECT COUNT(*) FROM t WHERE age > 3 OR sex = 'male'", None),
        ("SELECT COUNT(*) FROM t -- hidden", None),
        ("SELECT COUNT(*) FROM t LIMIT 3", None),
        ("SELECT COUNT(*) FROM t WHERE age = \ud800", None),
        ("SELECT COUNT(*) FROM t WHERE age = \0", None),
        ("SELECT age, job, COUNT(*) FROM t GROUP BY age, job", None),
        ("SELECT COUNT(*) FROM t WHERE " + "(" * 60 + "age = 3" + ")" * 60, None),
        ("SELECT COUNT(*) FROM t WHERE age = " + "9" * 5_000, None),
        ("SELECT COUNT(*) FROM t WHERE age = 1e999999999", None),
        ("SELECT COUNT(*) AS n, COUNT(age) AS n_lo FROM t", None),
        ("SELECT sex, COUNT(*) AS sex FROM t GROUP BY SEX", None),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_a_question_that_is_refused(kit: Kit, sql: str, position: int | None) -> None:
    error = require_error(post(kit, json.dumps({"sql": sql})), 422, "query_refused")
    assert 1 <= error["position"] <= len(sql) + 1
    if position is not None:
        assert error["position"] == position


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v1/", 404, "not_found"),
        ("GET", "/v1/schema/", 404, "not_found"),
        ("GET", "/v2/query", 404, "not_found"),
        ("GET", "/static/", 404, "not_found"),
        ("GET", "/static/nothing.js", 404, "not_found"),
        ("GET", "/static/..%2Fapp.py", 404, "not_found"),
        ("GET", "/static/../app.py", 404, "not_found"),
        ("GET", "/static/%2e%2e/app.py", 404, "not_found"),
        ("GET", "/static/.hidden", 404, "not_found"),
        ("GET", "/static/a%00.js", 404, "not_found"),
        ("DELETE", "/v1/query", 405, "method_not_allowed"),
        ("PUT", "/v1/schema", 405, "method_not_allowed"),
        ("POST", "/v1/schema", 405, "method_not_allowed"),
        ("GET", "/v1/explain", 405, "method_not_allowed"),
        ("POST", "/", 405, "method_not_allowed"),
        ("POST", "/static/index.html", 405, "method_not_allowed"),
        ("OPTIONS", "/v1/query", 405, "method_not_allowed"),
        ("TRACE", "/v1/query", 405, "method_not_allowed"),
        ("GET", "/v1/query", 400, "invalid_request"),
        ("GET", "/v1/query?sql=", 422, "query_refused"),
        ("GET", "/v1/query?sql=%ff", 400, "invalid_request"),
        ("GET", "/v1/query?sql=a&sql=b", 400, "invalid_request"),
        ("GET", f"/v1/query?sql={COUNT}&limit=3", 400, "invalid_request"),
        ("GET", f"/v1/query?sql={COUNT}&format=xml", 400, "invalid_request"),
        ("GET", f"/v1/query?sql={COUNT}&database=nowhere", 404, "unknown_database"),
        ("GET", "/v1/schema?database=nowhere", 404, "unknown_database"),
        ("GET", "/v1/schema?sql=x", 400, "invalid_request"),
        ("GET", "/v1/schema?" + "&".join(f"a{i}=1" for i in range(50)), 400, "invalid_request"),
        ("GET", "/v1/databases?x", 400, "invalid_request"),
    ],
)
def test_addresses(kit: Kit, method: str, path: str, status: int, code: str) -> None:
    reply = kit.http.request(method, path)
    require_error(reply, status, code)
    if status == 405:
        assert reply.headers["allow"]


def test_bodies_of_other_kinds_and_sizes(kit: Kit) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"):
        reply = post(kit, json.dumps({"sql": FLU}), **{"Content-Type": media})
        require_error(reply, 415, "unsupported_media_type")
    good = post(
        kit, json.dumps({"sql": FLU}), **{"Content-Type": "application/json; charset=UTF-8"}
    )
    assert good.status_code == 200
    require_error(post(kit, b" " * 20_001), 413, "too_large")
    # without a stated length it is found out while reading
    parts = iter([b'{"sql": "', b"x" * 30_000, b'"}'])
    reply = kit.http.post("/v1/query", content=parts, headers={"Content-Type": "application/json"})
    require_error(reply, 413, "too_large")
    many = {"queries": [{"sql": FLU}] * 11}
    require_error(kit.http.post("/v1/query", json=many), 400, "invalid_request")
    few = {"queries": [{"sql": FLU}]}
    reply = kit.http.post("/v1/query?format=csv", json=few)
    require_error(reply, 400, "invalid_request")


def test_pages_of_other_sites_are_refused(kit: Kit) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9", "http://[", "x"):
        reply = kit.ask(FLU, headers={"Origin": origin})
        require_error(reply, 403, "forbidden")
    assert kit.ask(FLU, headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200
    reply = kit.http.get("/v1/query", params={"sql": FLU}, headers={"Sec-Fetch-Site": "cross-site"})
    require_error(reply, 403, "forbidden")


def test_every_response_has_the_security_headers(kit: Kit) -> None:
    for path in ("/", "/health", "/ready", "/nowhere", "/v1/schema", "/v1/query", "/metrics"):
        headers = kit.http.get(path).headers
        for name, value in SECURITY:
            assert headers[name.decode()] == value.decode()
        assert headers["x-request-id"]
        assert not any(name.startswith("access-control") for name in headers)
        assert "unsafe" not in headers["content-security-policy"]


def test_a_bug_tells_the_client_nothing_and_the_log_no_values(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError(f"{MARK} has the flu")

    with running(copied(folder_of_people, tmp_path)) as kit:
        monkeypatch.setattr(answering, "_rows", broken)
        require_error(kit.ask(FLU), 500, "internal")
        assert kit.records()[-1].entry.answer == "internal"
        monkeypatch.setattr("sfumato.server.api.info.schema_of", broken)
        require_error(kit.http.get("/v1/schema"), 500, "internal")
        failures = [line for line in kit.logged() if line["event"] == "failure"]
        assert [line["kind"] for line in failures] == ["KeyError", "KeyError"]
        assert all(line["at"] for line in failures)
        assert MARK not in kit.log()


def test_the_log_has_no_questions_no_values_and_no_paths(kit: Kit) -> None:
    kit.ask(f"SELECT COUNT(*) FROM t WHERE disease = '{MARK}'")
    kit.ask(f"SELECT COUNT(*) FROM t WHERE {MARK}")
    kit.http.get(f"/{MARK}?{MARK}")
    kit.http.request(MARK, "/v1/query")
    kit.http.get("/v1/query", params={"sql": f"'{MARK}"}, headers={"Authorization": MARK})
    post(kit, f'{{"{MARK}": 1}}')
    text = kit.log()
    assert MARK not in text
    assert "flu" not in text
    for line in kit.logged():
        assert set(line) <= {
            "time", "level", "event", "request_id", "method", "route", "status", "ms", "who",
        }  # fmt: skip


def test_codes_and_statuses() -> None:
    assert all(400 <= status < 600 for status in STATUS.values())
