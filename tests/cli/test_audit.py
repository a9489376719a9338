"""sfumato audit as a user meets it: a table, a page, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.audit import audit
from sfumato.errors import DataError, OutputExists, SfumatoError
from tests.support.attacks import planted
from tests.support.seeds import long_seed

SCHEMA = """
quasi = ["age", "place", "job"]
sensitive = "illness"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    for name, seed in (("people", 1), ("others", 2)):
        table = planted(2_000, 0.5, seed)
        columns = {a: table.attributes[a].decode(table.codes[a]) for a in table.codes}
        pc.write_csv(pa.table(columns), folder / f"{name}.csv")
    (folder / "schema.toml").write_text(SCHEMA)
    people = sf.read(folder / "people.csv", sf.read_schema(folder / "schema.toml"))
    for name, near in (("near", True), ("far", False)):
        release = sf.publish(people, sf.Anatomize(near=near), sf.LDiversity(4), seed=long_seed(1))
        release.write(folder / name)
    return folder


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


def run(*arguments: str) -> Result:
    given = [*arguments, "--truth", "people.csv", "-s", "schema.toml", "--seed", "1"]
    return CliRunner().invoke(audit, given, standalone_mode=False)


def refusal(*arguments: str) -> str:
    found = run(*arguments)
    assert isinstance(found.exception, SfumatoError | click.UsageError), found.output
    return str(found.exception)


def test_groups_of_anybody_fail_and_groups_of_neighbours_pass() -> None:
    given = ("--others", "others.csv", "--fail-above", "1.25")
    far, near = run("far", *given), run("near", *given)
    assert (far.return_value, near.return_value) == (1, 0), far.output + near.output
    assert "beaten" in far.output
    assert "beaten" not in near.output
    for output in (far.output, near.output):
        assert "the promise says 25 of 100" in " ".join(output.split())


def test_the_threshold_is_the_users() -> None:
    assert run("far", "--fail-above", "9").return_value == 0
    assert run("near", "--attack", "reader", "--fail-above", "0.1").return_value == 1


@pytest.mark.parametrize("times", ["nan", "inf", "-1"])
def test_a_threshold_that_nothing_is_above_is_refused(times: str) -> None:
    assert "no number of times" in refusal("far", "--attack", "learner", "--fail-above", times)


def test_an_audit_that_tried_nothing_is_no_success() -> None:
    found = run("near", "--time-limit", "0")
    assert found.return_value == 1
    assert "Nothing is proved" in found.output


def test_of_what_is_done_or_not_there_are_no_shares(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    told = run("near", "--attack", "files", "--attack", "reader", "-o", str(page)).output
    words = " ".join(told.split())
    assert "files: looks at what stands in the files" in words
    assert "finds nothing there that the tables do not say" in words
    assert "1 people" not in words
    drawn = page.read_text().partition("<svg")[2].partition("</svg>")[0]
    assert ">reader<" in drawn
    assert ">files<" not in drawn
    assert "cannot be made" not in page.read_text()


def test_a_page_and_its_figures(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    told = run("near", "--attack", "reader", "-o", str(page))
    assert "keep it to yourself" in told.output
    seen = json.loads(page.with_suffix(".json").read_text())
    assert [one["attack"] for one in seen["findings"]] == ["reader"]
    assert "<svg" in page.read_text()
    assert "exists" in refusal("near", "--attack", "reader", "-o", str(page))
    assert run("near", "--attack", "reader", "-o", str(page), "--force").return_value == 0
    assert "page" in refusal("near", "-o", str(page.with_suffix(".json")))
    assert "part of the release" in refusal("near", "-o", "near/audit.html")


def test_a_file_that_is_no_report_is_never_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "audit.json"
    mine.write_text("{}")
    found = run("near", "-o", str(tmp_path / "audit.html"), "--force")
    assert isinstance(found.exception, OutputExists)
    assert mine.read_text() == "{}"


def test_json_and_another_release() -> None:
    found = run("far", "--json", "--attack", "composition 2", "--release", "near")
    (one,) = json.loads(found.output)["findings"]
    assert one["who"] == "has near, too"
    assert one["control"]["right"] < 0.3


def test_what_beats_a_promise_is_said_with_its_figures() -> None:
    told = " ".join(run("far", "--attack", "learner").output.split())
    assert "learner (1,000 people): has studied half of the table; guesses" in told
    assert "times the" in told


def test_every_attack_is_said_in_words_with_its_people() -> None:
    told = " ".join(run("near", "--attack", "reader", "--known", "0.1").output.split())
    assert "reader (1,000 people): takes all ways to hand out a group's values for alike. " in told
    assert "the promise says 25 of 100" in told
    assert "25.0%" in told
    for column in ("surest 5%", "claimed", "control"):
        assert column in told


def test_a_database_is_audited_with_a_release_beside_it_and_not_the_other_way(
    tmp_path: Path,
) -> None:
    people = sf.read("people.csv", sf.read_schema("schema.toml"))
    sf.StatDB.create(tmp_path / "db", people, m=4, seed=long_seed(2))
    given = [str(tmp_path / "db"), "--release", "far", "--attack", "composition 2", "--json"]
    found = CliRunner().invoke(audit, given, standalone_mode=False)
    (one,) = json.loads(found.output)["findings"]
    assert one["who"] == "has far, too"
    assert one["control"]["right"] < 0.3
    assert "is a database; audit it" in refusal("far", "--release", str(tmp_path / "db"))


def test_refusals() -> None:
    assert "did you mean 'learner'" in refusal("near", "--attack", "lerner")
    found = CliRunner().invoke(
        audit, ["near", "--truth", "others.csv", "-s", "schema.toml"], standalone_mode=False
    )
    assert isinstance(found.exception, DataError)


def test_a_list_tells_who_is_in_a_join_and_who_is_not(tmp_path: Path) -> None:
    people = pc.read_csv("people.csv")
    people = people.append_column("id", pa.array(range(people.num_rows)))
    pc.write_csv(people, tmp_path / "voters.csv")
    pc.write_csv(people.slice(0, 500), tmp_path / "own.csv")
    schema = 'identifiers = ["id"]\nquasi = ["age", "place", "job"]\nsensitive = "illness"\n'
    (tmp_path / "own.toml").write_text(schema)
    table = sf.read(tmp_path / "own.csv", sf.read_schema(tmp_path / "own.toml"), id="id")
    voters = people.drop_columns("illness")
    release = sf.publish_join(table, voters, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5))
    release.write(tmp_path / "join")
    given = [
        str(tmp_path / "join"), "--truth", str(tmp_path / "own.csv"), "-s",
        str(tmp_path / "own.toml"), "--list", str(tmp_path / "voters.csv"),
    ]  # fmt: skip
    page = tmp_path / "audit.html"
    found = CliRunner().invoke(audit, [*given, "-o", str(page)], standalone_mode=False)
    assert found.return_value == 0, found.output
    told = " ".join(found.output.split())
    assert "not promised" in told
    assert "to be absent" in told
    seen = json.loads(page.with_suffix(".json").read_text())
    assert [one["attack"] for one in seen["findings"]] == [
        "linkage", "presence", "absence", "files",
    ]  # fmt: skip
    text = page.read_text()
    assert "tells of people" in text
    assert "whose value an attacker guesses" not in text
    assert "Learners studied" not in text
    assert "Files:" not in found.output.partition("Linkage:")[2]  # nothing was found there
    assert "leave it out" in refusal("near", "--list", "people.csv")


def test_a_search_for_a_seed_is_about_nobody_and_each_attack_is_said_by_itself() -> None:
    done = run("near", "--attack", "seed search", "--attack", "logistic deFinetti")
    assert done.exception is None, done.output
    told = " ".join(done.output.split())
    assert "seed search: " in told
    assert "logistic deFinetti (" in told
    assert "1 people" not in told
    assert "does the same" not in told
