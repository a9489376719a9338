"""Strangers at the desk: other programs of this machine, and pages of other sites."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

import sfumato as sf
from sfumato.io.schema_writing import schema_text
from sfumato.studio.serving import listen_near, new_desk
from tests.server.studio_kit import PATIENTS, Running, enter, post, request, served


@pytest.fixture(scope="module")
def desk() -> Iterator[tuple[Running, str]]:
    with served(PATIENTS / "patients.csv") as running:
        yield running, enter(running)


def test_the_address_works_once() -> None:
    with served() as running:
        query = "/?" + urlsplit(running.address).query
        wrong = request(running, "GET", "/?token=" + "A" * 43)
        assert (wrong.status, wrong.code) == (401, "unauthorized")
        first = request(running, "GET", query)
        assert first.status == 200
        cookie = first.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict", f"Path={running.room}"} <= set(cookie.split("; "))
        assert running.room.encode() in first.body
        second = request(running, "GET", query)
        assert (second.status, second.code) == (401, "unauthorized")
        assert "set-cookie" not in second.headers


def test_the_page_and_all_it_needs_are_for_who_has_the_cookie(desk: tuple[Running, str]) -> None:
    running, cookie = desk
    other = f"{cookie[:-1]}{'B' if cookie.endswith('A') else 'A'}"
    for path in ("", "static/studio.js", "static/look.css", "static/frontier.js", "schema.toml"):
        known = request(running, "GET", running.room + path, Cookie=cookie)
        assert known.status == 200
        for header in ("", "sfumato-desk=", other, "sfumato-desk=\u00e9"):
            stranger = request(running, "GET", running.room + path, Cookie=header)
            assert (stranger.status, stranger.code) == (401, "unauthorized")


@pytest.mark.parametrize("path", ["/static/studio.js", "/schema.toml", "/state", "/nowhere/", "//"])
def test_outside_of_the_room_there_is_nothing(desk: tuple[Running, str], path: str) -> None:
    running, cookie = desk
    assert request(running, "GET", path, Cookie=cookie).status == 404


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "app.py", "grid.py", ".html", "a/b.js"]
)
def test_no_other_file_is_given_out(desk: tuple[Running, str], name: str) -> None:
    running, cookie = desk
    assert request(running, "GET", f"{running.room}static/{name}", Cookie=cookie).status == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80", ""]
)
def test_another_name_for_this_machine_is_refused(desk: tuple[Running, str], host: str) -> None:
    """A page that makes its own name point here would read what is answered (DNS rebinding)."""
    running, cookie = desk
    for path in ("/?token=x", running.room):
        told = request(running, "GET", path, Cookie=cookie, Host=host)
        assert (told.status, told.code) == (421, "misdirected")
    if host:
        assert post(running, cookie, "state", Host=host, Origin=f"http://{host}").status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Sec_Fetch_Site": ""},
        {"Origin": "http://127.0.0.1:1", "Sec_Fetch_Site": "same-site"},
        {"Origin": "null", "Sec_Fetch_Site": ""},
        {"Origin": "", "Sec_Fetch_Site": ""},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_other_sites_can_do_nothing(desk: tuple[Running, str], headers: dict[str, str]) -> None:
    running, cookie = desk
    before = running.desk.state()["table"]["columns"][1]["role"]
    told = post(running, cookie, "role", {"column": "age", "role": "insensitive"}, **headers)
    assert (told.status, told.code) == (403, "forbidden")
    assert running.desk.state()["table"]["columns"][1]["role"] == before


def test_forms_and_links_of_other_sites_can_do_nothing(desk: tuple[Running, str]) -> None:
    running, cookie = desk
    plain = post(running, cookie, "state", Content_Type="text/plain")
    assert (plain.status, plain.code) == (415, "unsupported_media_type")
    read = request(
        running, "GET", f"{running.room}schema.toml",
        Cookie=cookie, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors",
    )  # fmt: skip
    assert (read.status, read.code) == (403, "forbidden")
    assert request(running, "GET", f"{running.room}role", Cookie=cookie).status == 404
    assert (
        request(running, "PUT", f"{running.room}role", Cookie=cookie, Origin=running.origin).status
        == 405
    )


def test_every_answer_forbids_other_hosts_and_frames(desk: tuple[Running, str]) -> None:
    running, cookie = desk
    for path in (running.room, "/", f"{running.room}static/studio.js"):
        headers = request(running, "GET", path, Cookie=cookie).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("open", {"path": 5}),
        ("open", {"path": "x.csv", "reading": {"decimal": 5}}),
        ("open", {"path": "x.csv", "reading": {"engine": "spark"}}),
        ("role", {"column": "age"} | {"role": 7}),
        ("explore", {"methods": "mondrian"}),
        ("explore", {"k": ["a"]}),
        ("publish", {"method": "mondrian", "k": True}),
        ("publish", {"method": "mondrian", "k": 5.5}),
        ("explore", {"k": [5, 7.5]}),
        ("explore", {"seed": 0.5}),
        ("save", {"release": "1", "path": "x"}),
        ("compare", {"first": 1}),
    ],
)
def test_words_that_are_not_the_page_s(
    desk: tuple[Running, str], action: str, words: object
) -> None:
    running, cookie = desk
    told = post(running, cookie, action, words)
    assert (told.status, told.code) == (400, "invalid_request")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'"a"'])
def test_bodies_that_are_no_objects(desk: tuple[Running, str], body: bytes) -> None:
    running, cookie = desk
    told = request(
        running, "POST", f"{running.room}state", body,
        Cookie=cookie, Origin=running.origin, Content_Type="application/json",
    )  # fmt: skip
    assert (told.status, told.code) == (400, "invalid_request")


def sent(
    running: Running, cookie: str, name: str, content: bytes, words: str = "{}"
) -> tuple[int, dict[str, object]]:
    told = request(
        running, "POST", f"{running.room}upload", content, Cookie=cookie, Origin=running.origin,
        Content_Type="application/octet-stream", X_File_Name=quote(name), X_Words=quote(words),
    )  # fmt: skip
    return told.status, json.loads(told.body)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("photo.png", b"\x89PNG\r\n\x1a\n", "photo.png"),
        ("empty.csv", b"", "empty.csv"),
        ("broken.parquet", b"PAR1 and no more", "broken.parquet"),
        ("head.csv", b"age,sex\n", "no rows"),
        ("noise.csv", bytes(range(256)) * 20, "noise.csv"),
    ],
)
def test_an_upload_that_is_no_table_is_told(name: str, content: bytes, said: str) -> None:
    with served() as running:
        cookie = enter(running)
        status, told = sent(running, cookie, name, content)
        assert status == 422
        message = told["error"]["message"]  # type: ignore[index]
        assert said in message
        assert str(running.desk.home) not in message  # where it lay means nothing to its owner
        assert not [path for path in running.desk.home.rglob("*") if path.is_file()]
        assert running.desk.state()["table"] is None


def test_the_name_of_an_upload_leads_nowhere() -> None:
    with served() as running:
        cookie = enter(running)
        content = (PATIENTS / "patients.csv").read_bytes()
        status, told = sent(running, cookie, "../../..\\..\x00/.evil name.csv", content)
        assert status == 200
        assert told["table"]["name"] == "evil name.csv"  # type: ignore[index]
        files = [path for path in running.desk.home.rglob("*") if path.is_file()]
        assert [path.name for path in files] == ["evil name.csv"]


def test_an_upload_comes_with_words_about_it() -> None:
    with served() as running:
        cookie = enter(running)
        content = b"age;wage\n" + b"1,5;2\n2,5;3\n" * 20
        words = {"reading": {"decimal": ","}, "schema": str(PATIENTS / "patients.toml")}
        status, told = sent(running, cookie, "t.csv", content, json.dumps({**words, "schema": ""}))
        assert status == 200
        columns = {one["name"]: one["type"] for one in told["table"]["columns"]}  # type: ignore[index]
        assert columns == {"age": "double", "wage": "int64"}
        content = (PATIENTS / "patients.csv").read_bytes()
        del words["reading"]
        status, told = sent(running, cookie, "patients.csv", content, json.dumps(words))
        assert status == 200
        assert running.desk.toml() == schema_text(sf.read_schema(words["schema"]), {})  # type: ignore[arg-type]


def test_what_the_desk_keeps_is_its_owner_s_and_goes() -> None:
    with new_desk() as desk:
        home = desk.home
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        (desk.upload_place("a.csv")).write_text("x")
    assert not home.exists()


def test_a_second_desk_takes_a_free_port() -> None:
    first, wanted = listen_near(0)
    with first:
        assert wanted
        port = first.getsockname()[1]
        second, wanted = listen_near(port)
        with second:
            assert not wanted
            assert second.getsockname()[1] != port
            assert second.getsockname()[0] == "127.0.0.1"


def test_the_log_names_no_value(desk: tuple[Running, str], monkeypatch: pytest.MonkeyPatch) -> None:
    running, cookie = desk

    def breaking() -> None:
        raise RuntimeError("Alice Smith has the flu")

    monkeypatch.setattr(running.desk, "combinations", breaking)
    told = post(running, cookie, "combinations")
    assert (told.status, told.code) == (500, "internal")
    assert "RuntimeError" in running.log.getvalue()
    assert "flu" not in running.log.getvalue()


def test_no_file_of_the_page_names_another_host() -> None:
    from sfumato.studio.app import STATIC

    texts = [path for folder in STATIC for path in Path(folder).glob("*.*") if path.suffix != ".py"]
    assert len(texts) > 8
    for path in texts:
        found = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in found
        assert "https://" not in found
