"""What lies on the desk is what the commands have: the same table, schema and risk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.algorithms.base import Stages
from sfumato.core.schema import Role
from sfumato.errors import DataError, Infeasible, OutputExists, ParameterError, SchemaError
from sfumato.exploring.grid import KNOWN, Setting
from sfumato.io.schema_writing import schema_text
from sfumato.server.http import to_json
from sfumato.studio.api import plain
from sfumato.studio.commands import Commands, Wish
from sfumato.studio.desk import Desk, file_name
from sfumato.studio.jobs import Job
from sfumato.studio.opened import Opened
from sfumato.studio.serving import new_desk
from tests.support.waiting import PATIENCE

PATIENTS = Path(__file__).parents[3] / "src" / "sfumato" / "data" / "patients.csv"


@pytest.fixture
def desk() -> Iterator[Desk]:
    with new_desk() as desk:
        desk.open(str(PATIENTS))
        yield desk


def ended(desk: Desk) -> dict[str, Any]:
    assert desk._job is not None
    desk._job.wait(PATIENCE)
    return desk.job()


# ----- the table


def test_the_table_is_the_one_that_read_has(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    n = 400
    rows = pa.table(
        {
            "age": pa.array(random.integers(10, 90, n), mask=random.random(n) < 0.1),
            "town": pa.array(random.choice(["a", "b ", " c"], n), mask=random.random(n) < 0.1),
            "level": random.choice(["low", "middle", "high"], n),
            "income": random.random(n) * 1000,
            "note": random.choice(["x", "y"], n),
            "wage": random.integers(0, 5, n),
        }
    )
    pa.csv.write_csv(rows, tmp_path / "t.csv")
    opened = Opened.of(str(tmp_path / "t.csv"), "t.csv", uploaded=False, reading={})
    draft = opened.draft
    for name, role in (
        ("note", Role.INSENSITIVE),
        ("wage", Role.SENSITIVE),
        ("income", Role.QUASI),
    ):
        draft = draft.with_role(name, role)
    draft = draft.with_order("level", ["low", "middle", "high"]).with_bins("income", 4)
    draft = draft.with_kind("wage", "categorical")
    mine, theirs = opened.microdata(draft), sf.read(tmp_path / "t.csv", draft.schema)
    assert mine.schema == theirs.schema
    assert mine.n_rows == theirs.n_rows
    for name, attribute in theirs.attributes.items():
        own = mine.attributes[name]
        assert own.values.equals(attribute.values)
        assert (own.kind, own.ordered, own.has_missing) == (
            attribute.kind, attribute.ordered, attribute.has_missing,
        )  # fmt: skip
        assert np.array_equal(mine.codes[name], theirs.codes[name])


def test_columns_are_encoded_once_for_each_way_to_read_them(desk: Desk) -> None:
    opened, draft = desk._open(), desk._draft
    first = opened.coded(draft, "age")
    assert opened.coded(draft.with_role("sex", None), "age") is first
    assert opened.coded(draft.with_bins("age", 3), "age") is not first
    for bins in range(3, 12):
        opened.coded(draft.with_bins("age", bins), "age")
    assert sum(key[0] == "age" for key in opened._codes) <= 3


def test_the_state_is_json_and_tells_every_column(desk: Desk) -> None:
    state = json.loads(to_json(plain(desk.state())))
    columns = {one["name"]: one for one in state["table"]["columns"]}
    assert list(columns) == [column.name for column in sf.profile(PATIENTS)]
    assert columns["name"]["role"] == "identifier"
    assert "bars" not in columns["name"]  # everybody's name would be a bar
    for name in ("age", "sex", "disease"):
        assert sum(bar["rows"] for bar in columns[name]["bars"]) == 1000
    zipcode = columns["zipcode"]
    assert zipcode["rest"]["rows"] + sum(bar["rows"] for bar in zipcode["bars"]) == 1000
    assert {one["name"] for one in state["methods"]} == set(KNOWN)
    risk = sf.assess(PATIENTS, sf.guess_schema(sf.profile(PATIENTS)))
    assert state["risk"]["unique_rows"] == risk.unique_rows
    assert desk.combinations()["sentences"] == list(risk.sentences)


def test_a_value_of_pages_is_not_sent_to_the_page(tmp_path: Path) -> None:
    notes = ["a", "b", "x" * 500_000] * 20
    table = {"note": notes, "age": [*range(60)]}
    pyarrow.csv.write_csv(pa.table(table), tmp_path / "long.csv")
    with new_desk() as desk:
        state = desk.open(str(tmp_path / "long.csv"))
        note = next(one for one in state["table"]["columns"] if one["name"] == "note")
        assert note["values"] is None
        assert [one["rows"] for one in note["bars"]] == [20, 20, 20]
        assert len(to_json(plain(state))) < 50_000


def test_numbers_that_are_none_are_not_told_as_such() -> None:
    assert plain({"a": (float("nan"), 1.5), 3: Role.QUASI}) == {"a": [None, 1.5], "3": "quasi"}


# ----- the draft


def test_what_was_said_about_a_column_outlives_its_role(desk: Desk) -> None:
    desk.how("education", "order", ["none", "primary", "secondary", "vocational", "university"])
    desk.role("education", "insensitive")
    assert desk._draft.schema.declarations == {}
    desk.role("education", "quasi")
    assert desk._draft.schema.declarations["education"].order is not None


def test_a_change_that_cannot_be_changes_nothing(desk: Desk) -> None:
    before = desk._draft
    changes: tuple[Callable[[], object], ...] = (
        lambda: desk.how("job", "numerical"),
        lambda: desk.how("age", "bins", [3, 1]),
        lambda: desk.how("age", "intervals", {"low": 0, "high": 9, "widths": [3, 4]}),
        lambda: desk.how("age", "intervals", {"low": "a"}),
        lambda: desk.how("job", "order", ["nobody"]),
        lambda: desk.how("job", "file", {"name": "a.csv", "text": "x;y;*\n"}),
        lambda: desk.how("job", "sideways"),
        lambda: desk.how("nobody", "found"),
        lambda: desk.role("age", "king"),
        lambda: desk.role("nobody", "quasi"),
    )
    for change in changes:
        with pytest.raises((SchemaError, DataError, ParameterError)):
            change()
    assert desk._draft is before


def test_a_schema_file_gives_the_draft(tmp_path: Path) -> None:
    path = PATIENTS.with_suffix(".toml")
    with new_desk() as desk:
        desk.open(str(PATIENTS), schema=str(path))
        desk.save_schema(str(tmp_path / "again.toml"))
    wanted = schema_text(sf.read_schema(path), {})
    assert (tmp_path / "again.toml").read_text() == wanted
    assert schema_text(sf.read_schema(tmp_path / "again.toml"), {}) == wanted


def test_the_schema_in_python_is_the_same(desk: Desk) -> None:
    desk.how("education", "order", ["none", "primary", "secondary", "vocational", "university"])
    desk.how("age", "intervals", {"low": 0, "high": 99, "widths": [10, 50]})
    desk.role("zipcode", "insensitive")
    desk.how("job", "categorical")
    made = eval(desk._draft.python(), {"sf": sf})
    assert schema_text(made, {}) == desk.toml()
    desk.how("age", "bins", [20, 40.5])
    assert schema_text(eval(desk._draft.python(), {"sf": sf}), {}) == desk.toml()


def test_files_are_replaced_only_when_that_is_asked_for(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text("mine")
    with pytest.raises(OutputExists):
        desk.save_schema(str(path))
    assert path.read_text() == "mine"
    desk.save_schema(str(path), force=True)
    assert sf.read_schema(path) == desk._draft.schema


# ----- releases


def test_a_release_is_verified_and_saved_as_it_was(desk: Desk, tmp_path: Path) -> None:
    desk.publish(Wish(Setting("mondrian", k=5, l=2.0), labels="text", format="csv"))
    (told,) = ended(desk)["releases"]
    assert told["kept"]
    made = desk.release(1)
    desk.save_release(1, str(tmp_path / "out"))
    for file in made.folder.iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    assert sf.verify(tmp_path / "out").ok
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "diary.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(OutputExists):
            desk.save_release(1, str(tmp_path / "other"), force=force)
    assert (tmp_path / "other" / "diary.txt").read_text() == "mine"


def test_only_what_is_saved_is_remembered(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    for k in (5, 6):
        desk.publish(Wish(Setting("mondrian", k=k)))
        assert ended(desk)["releases"][-1]["warnings"] == []
    assert desk.save_release(1, str(tmp_path / "one"))["warnings"] == []
    (said,) = desk.save_release(2, str(tmp_path / "two"))["warnings"]
    assert str(tmp_path / "one") in said
    assert "add up" in said


@pytest.mark.parametrize(
    "setting",
    [Setting("anatomy", l=3.0), Setting("perturb", m=4.0), Setting("full-domain", k=5)],
    ids=lambda one: one.method,
)
def test_every_kind_of_release_can_be_made_and_compared(desk: Desk, setting: Setting) -> None:
    for one in (setting, Setting("mondrian", k=5)):
        desk.publish(Wish(one))
        assert ended(desk)["job"]["trouble"] is None
    found = plain(desk.compare(1, 2))
    assert [side["kept"] for side in found["sides"]] == [True, True]
    assert len(found["conditionals"]) == 5
    for question in (*found["conditionals"], *found["distributions"]):
        assert all(len(one) == len(question["labels"]) for one in question["series"])


def test_releases_under_different_roles_are_compared_where_they_can_be(desk: Desk) -> None:
    desk.publish(Wish(Setting("mondrian", k=5)))
    ended(desk)
    desk.how("age", "bins", 4)
    desk.role("job", None)
    desk.publish(Wish(Setting("mondrian", k=5)))
    ended(desk)
    titles = [one["title"] for one in desk.compare(1, 2)["distributions"]]
    assert "job" not in titles
    assert {"sex", "zipcode"} <= set(titles)


def test_what_cannot_be_made_is_told_and_leaves_nothing(desk: Desk) -> None:
    desk.publish(Wish(Setting("anatomy", l=500.0)))
    told = ended(desk)
    assert told["job"]["state"] == "failed"
    assert "500" in told["job"]["trouble"]
    assert "releases" not in told
    for wish in (Wish(Setting("mondrian")), Wish(Setting("mondrian", k=0))):
        with pytest.raises(ParameterError):
            desk.publish(wish)
    for wish in (Wish(Setting("anatomy", l=2.0), labels="text"), Wish(Setting("perturb", k=4))):
        desk.publish(wish)
        assert ended(desk)["job"]["state"] == "failed"
    assert desk.state()["releases"] == []


def test_one_long_work_at_a_time(desk: Desk) -> None:
    leave = threading.Event()
    desk._job = Job("other", lambda _: leave.wait(PATIENCE), lambda _: None)
    beginnings: tuple[Callable[[], object], ...] = (
        lambda: desk.publish(Wish(Setting("mondrian", k=5))),
        lambda: desk.explore(["mondrian"]),
        lambda: desk.open(str(PATIENTS)),
    )
    for begin in beginnings:
        with pytest.raises(ParameterError, match="under way"):
            begin()
    leave.set()
    ended(desk)
    desk.explore(["mondrian"], {"k": [5]}, 1, None)
    ended(desk)
    found = desk.exploration()
    assert found is not None
    assert found["tried"] == 1


# ----- jobs


def test_a_job_is_stopped_at_its_next_word() -> None:
    begun, told = threading.Event(), list[Any]()

    def work(tell: Stages) -> None:
        begun.set()
        while True:
            tell("working", 0.5)

    job = Job("test", work, told.append)
    assert begun.wait(PATIENCE)
    assert job.running
    job.stop()
    job.wait(PATIENCE)
    assert job.told()["state"] == "stopped"
    assert told == []


@pytest.mark.parametrize(
    ("error", "said"),
    [(Infeasible("too much", model=None), "too much"), (ValueError("secret"), "a bug")],
)
def test_what_goes_wrong_in_a_job_is_told(error: Exception, said: str) -> None:
    def work(_: Stages) -> None:
        raise error

    job = Job("test", work, lambda _: None)
    job.wait(PATIENCE)
    assert job.state == "failed"
    assert said in str(job.trouble)
    assert "secret" not in str(job.trouble)


# ----- names


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a.csv", "a.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\a b.csv", "a b.csv"),
        ("..", "table.csv"),
        ("", "table.csv"),
        ("-rf.csv", "rf.csv"),
        ("a\n\x00b.csv", "ab.csv"),
        ("x" * 500 + ".csv", "x" * 146 + ".csv"),
    ],
)
def test_names_of_uploads(given: str, kept: str) -> None:
    assert file_name(given) == kept


def test_addresses_are_not_for_the_desk(desk: Desk) -> None:
    for source in ("https://example.org/t.csv", "postgresql://host/db"):
        with pytest.raises(DataError, match="files of this machine"):
            desk.open(source)


def test_numbers_stand_in_commands_as_they_were_said() -> None:
    commands = Commands("table.csv", {})
    told = commands.explored(["anatomy"], {"l": [2.3456789], "k": [2_000_000]}, 20261119, 1e6)
    assert "--l 2.3456789 --k 2000000 --seed 20261119 --time-limit 1000000 " in told["shell"]
    made = commands.published(Wish(Setting("mondrian", k=2_000_000, t=0.15)))
    assert "--k 2000000 --t 0.15 " in made["shell"]
    assert "sf.KAnonymity(2000000)" in made["python"]


def test_ways_of_writing_are_in_every_command() -> None:
    reading = {"missing": ["?", "-9"], "decimal": ",", "day_first": True, "names": ["a b", "c,d"]}
    commands = Commands("my table.csv", reading)
    for told in (commands.opened(), commands.published(Wish(Setting("mondrian", k=5)))):
        assert "'my table.csv'" in told["shell"]
        assert (
            """--decimal , --day-first --missing '?' --missing -9 --names 'a b,"c,d"'"""
            in told["shell"]
        )
    python = commands.published(Wish(Setting("mondrian", k=5)))["python"]
    assert "missing=['?', '-9'], decimal=',', day_first=True, names=['a b', 'c,d']" in python
