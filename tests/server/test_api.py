"""What the addresses answer."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.statdb.access.ledger_checks import check_log
from tests.server.kit import COUNT, FLU, GENEROUS, Kit, copied, require_error, running

GROUPED = "SELECT sex, COUNT(*) FROM t WHERE disease = 'flu' GROUP BY sex"


@pytest.fixture(scope="module")
def kit(folder_of_people: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    with running(copied(folder_of_people, tmp_path_factory.mktemp("api"))) as found:
        yield found


def test_a_count_shows_all_that_was_promised(kit: Kit) -> None:
    young = f"{COUNT} WHERE age BETWEEN 18 AND 40 AND disease = 'flu'"
    told = kit.answer(young)
    truth = sf.StatDB.open(kit.folder).query(young).answer
    assert set(told) == {
        "request_id", "database", "generation", "guarantee", "canonical", "by",
        "aggregates", "sentence", "rows",
    }  # fmt: skip
    assert told["rows"] == [
        {
            "key": {},
            "answers": {
                "count": {
                    "lo": truth.lo,
                    "hi": truth.hi,
                    "estimate": truth.estimate,
                    "width": truth.hi - truth.lo,
                    "nullable": False,
                }
            },
        }
    ]
    assert told["canonical"] == young
    assert f"Between {truth.lo:,} and {truth.hi:,} of the 600 people" in told["sentence"]
    assert "1 in 3" in told["guarantee"]


def test_equal_questions_have_one_canonical_form_and_one_answer(kit: Kit) -> None:
    ways = [
        "SELECT COUNT(*) FROM t WHERE age >= 20 AND age < 31 AND disease IN ('flu', 'cold')",
        "select count(*) from x where disease in ('cold','flu') and age between 20 and 30.5;",
        "SELECT COUNT(*) FROM t WHERE NOT (age < 20 OR age > 30) AND disease IN ('cold', 'flu', "
        "'no such')",
    ]
    told = [kit.answer(way) for way in ways]
    assert len({one["canonical"] for one in told}) == 1
    assert len({str(one["rows"]) for one in told}) == 1
    query = {"where": {"age": {"between": [20, 30]}, "disease": ["flu", "cold"]}}
    by_json = kit.http.post("/v1/query", json={"query": query}).json()
    assert (by_json["canonical"], by_json["rows"]) == (told[0]["canonical"], told[0]["rows"])
    again = kit.answer(told[0]["canonical"])
    assert (again["canonical"], again["rows"]) == (told[0]["canonical"], told[0]["rows"])


def test_nobody_is_told_what_others_have_asked(folder_of_people: Path, tmp_path: Path) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        first, again = kit.answer(FLU), kit.answer(FLU)
        del first["request_id"], again["request_id"]
        assert first == again
        asked = {"queries": [{"sql": FLU}, {"sql": f"{FLU} AND age > 50"}]}
        told = kit.http.post("/v1/query", json=asked).json()["results"]
        assert set(told[0]) == set(told[1])
        assert "cached" not in kit.http.get("/v1/openapi.json").text
        # the owner sees whether it is worth the memory
        text = kit.http.get("/metrics").text
        assert 'sfumato_questions_total{database="people",outcome="cached"} 2' in text
        assert 'sfumato_questions_total{database="people",outcome="answered"} 2' in text


def test_groups_come_with_all_values_of_the_domain(kit: Kit) -> None:
    told = kit.answer("SELECT age, COUNT(*) FROM t WHERE disease = 'flu' GROUP BY age")
    keys = [row["key"]["age"] for row in told["rows"]]
    assert keys[-1] is None
    assert keys[:-1] == sorted(keys[:-1])
    assert "sentence" not in told


def test_an_address_is_a_question(kit: Kit) -> None:
    told = kit.http.get("/v1/query", params={"sql": GROUPED}).json()
    assert told["rows"] == kit.answer(GROUPED)["rows"]
    assert [row["key"] for row in told["rows"]] == [{"sex": "female"}, {"sex": "male"}]


@pytest.mark.parametrize("how", ["format", "accept"])
def test_csv_and_arrow_hold_the_same(kit: Kit, how: str) -> None:
    local = sf.StatDB.open(kit.folder).query(GROUPED).table
    for form, media in (("csv", "text/csv"), ("arrow", "application/vnd.apache.arrow.stream")):
        options: dict[str, Any] = {"params": {"sql": GROUPED}}
        if how == "format":
            options["params"]["format"] = form
        else:
            options["headers"] = {"Accept": media}
        reply = kit.http.get("/v1/query", **options)
        assert reply.headers["content-type"].startswith(media)
        if form == "csv":
            # whole fractions are written as whole numbers
            found = pyarrow.csv.read_csv(io.BytesIO(reply.content))
            assert found.cast(local.schema).equals(local)
        else:
            table = pa.ipc.open_stream(reply.content).read_all()
            assert table.equals(local)
            assert table.schema.metadata[b"canonical"] == GROUPED.encode()


def test_a_batch_answers_each_for_itself(kit: Kit) -> None:
    asked = [
        {"sql": FLU},
        {"sql": "SELECT nonsense"},
        {"query": {"where": {"sex": ["male"]}, "by": ["disease"]}},
        {"query": {"wher": {}}},
    ]
    before = len(kit.records())
    told = kit.http.post("/v1/query", json={"queries": asked}).json()
    assert told["results"][0]["rows"] == kit.answer(FLU)["rows"]
    assert told["results"][1]["error"]["code"] == "query_refused"
    assert len(told["results"][2]["rows"]) == 6
    assert told["results"][3]["error"]["code"] == "invalid_request"
    assert told["guarantee"]
    new = kit.records()[before : before + 4]
    assert [one.entry.kind for one in new] == ["answer", "refusal", "answer", "refusal"]
    assert {one.entry.request_id for one in new} == {told["request_id"]}
    assert kit.http.post("/v1/query", json={"queries": []}).json()["results"] == []


def test_explain_tells_what_would_be_used_and_logs_nothing(kit: Kit) -> None:
    before = len(kit.records())
    sql = "SELECT sex, COUNT(*) FROM t WHERE age < 40 AND disease = 'flu' GROUP BY sex"
    told = kit.http.post("/v1/explain", json={"sql": sql}).json()
    assert told["answerable"] is True
    assert told["groups"] == 2
    assert set(told["uses"]) == {"age", "disease", "sex"}
    assert told["canonical"] == kit.answer(sql)["canonical"]
    assert len(kit.records()) == before + 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE nobody = 3",
        "SELECT SUM(job) FROM t",
        "SELECT AVG(age) FROM t WHERE disease = 'flu'",
        "SELECT MAX(age), COUNT(*) FROM t WHERE disease = 'flu'",
        "SELECT age, since, job, COUNT(*) FROM t GROUP BY age, since, job, age",
        "SELECT COUNT(*) FROM t HAVING 1",
    ],
)
def test_explain_refuses_what_query_refuses(kit: Kit, sql: str) -> None:
    asked = require_error(kit.ask(sql), 422, "query_refused")
    explained = require_error(kit.http.post("/v1/explain", json={"sql": sql}), 422, "query_refused")
    for one in (asked, explained):
        del one["request_id"]
    assert asked == explained
    assert asked["position"] >= 1


def test_explain_reads_no_rows(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.statdb import responder

    def forbidden(*_: Any) -> Any:
        raise AssertionError("rows were read")

    for name in ("a_count", "a_tally", "matching_places", "g_types"):
        monkeypatch.setattr(responder, name, forbidden, raising=False)
    for sql in (GROUPED, "SELECT COUNT(age), COUNT(*) FROM t WHERE sex = 'male'"):
        reply = kit.http.post("/v1/explain", json={"sql": sql})
        assert reply.status_code == 200, reply.text


def test_the_schema_tells_public_domains_and_the_guarantee(kit: Kit) -> None:
    told = kit.http.get("/v1/schema").json()
    by_name = {one["name"]: one for one in told["attributes"]}
    assert (told["database"], told["rows"], told["m"]) == ("people", 600, 3)
    assert by_name["age"]["has_missing"]
    assert (by_name["age"]["min"], by_name["age"]["max"]) == (18, 90)
    assert (by_name["since"]["min"], by_name["since"]["max"]) == ("2020-01-01", "2020-12-01")
    assert by_name["sex"]["values"] == ["female", "male"]
    assert by_name["disease"]["role"] == "sensitive"
    assert "1 in 3" in told["guarantee"]["short"]


def test_aggregates_of_numbers(folder_of_wages: Path, tmp_path: Path) -> None:
    with running(copied(folder_of_wages, tmp_path, "wages")) as kit:
        sql = "SELECT AVG(wage), MIN(wage), SUM(wage) AS total FROM t WHERE age > 60"
        told = kit.answer(sql)
        assert told["aggregates"] == ["avg_wage", "min_wage", "total"]
        local = sf.StatDB.open(kit.folder).query(sql).answers[0]
        for name, answer in zip(told["aggregates"], local, strict=True):
            shown = told["rows"][0]["answers"][name]
            assert (shown["lo"], shown["hi"]) == (answer.lo, answer.hi)
        nobody = kit.answer("SELECT AVG(wage) FROM t WHERE age > 1000")
        assert nobody["rows"][0]["answers"]["avg_wage"]["lo"] is None


def test_every_question_is_in_the_ledger_as_it_was_answered(
    folder_of_people: Path, tmp_path: Path
) -> None:
    with running(copied(folder_of_people, tmp_path)) as kit:
        told = kit.answer(FLU)
        kit.ask("SELECT COUNT(*) FROM t WHERE aeg = 3")
        kit.answer(GROUPED)
        kit.answer(GROUPED, params={"format": "json"})
        kit.http.post("/v1/query", json={"query": {"where": {"age": {"<": 30}}}})
        first, refused, *_ = [record.entry for record in kit.records()]
        assert first.request_id == told["request_id"]
        assert (first.kind, first.question, first.canonical) == ("answer", FLU, FLU)
        assert (refused.kind, refused.answer) == ("refusal", "query_refused")
        assert len(kit.records()) == 5
    found = check_log(kit.folder)
    assert found.ok, "\n".join(found.lines())


def test_an_answer_leaves_after_its_record_is_on_disk(
    folder_of_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.server.http import Reply

    seen: list[tuple[str, bool]] = []
    send = Reply.send

    with running(copied(folder_of_people, tmp_path)) as kit:

        async def watched(self: Reply, call: Any, sending: Any) -> None:
            logged = {record.entry.request_id for record in kit.records()}
            seen.append((call.route, call.request_id in logged))
            await send(self, call, sending)

        monkeypatch.setattr(Reply, "send", watched)
        kit.answer(FLU)
        kit.answer(FLU)
        kit.ask("SELECT nothing")
        kit.http.post("/v1/query", json={"queries": [{"sql": FLU}]})
        kit.http.get("/v1/ledger")
    assert seen == [*[("query", True)] * 4, ("ledger", True)]


def test_the_ledger_is_read_in_pages(folder_of_people: Path, tmp_path: Path) -> None:
    from tests.server.kit import bearer, secret

    folder = copied(folder_of_people, tmp_path)
    own = bearer(secret(folder, "auditor"))
    with running(folder) as kit:
        for _ in range(5):
            kit.answer(FLU, headers=own)
        told = kit.http.get("/v1/ledger?first=2&limit=3", headers=own).json()
        assert [one["number"] for one in told["records"]] == [2, 3, 4]
        assert told["total"] == 5
        for bad in ("first=0", "limit=x", "limit=-1", "first=" + "9" * 30):
            reply = kit.http.get(f"/v1/ledger?{bad}", headers=own)
            require_error(reply, 400, "invalid_request")


def test_a_head_has_no_body(kit: Kit) -> None:
    reply = kit.http.head("/v1/schema")
    assert reply.status_code == 200
    assert reply.content == b""


def test_metrics_are_prometheus_text(kit: Kit) -> None:
    kit.answer(COUNT)
    text = kit.http.get("/metrics").text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0
    assert 'sfumato_requests_total{route="query",status="200"}' in text
    assert 'sfumato_questions_total{database="people",outcome="answered"}' in text
    assert 'sfumato_database_ready{database="people"} 1' in text


def test_the_limits_of_these_tests_are_no_accident() -> None:
    assert GENEROUS.rate > 1e6
