"""sfumato query as a user meets it: four formats, exact for the owner, one line per refusal."""

from __future__ import annotations

import io
import json
import subprocess
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from tests.support.commands import ran
from tests.support.seeds import long_seed

ROWS = "age,sex,disease\n20,F,flu\n30,M,cold\n40,F,flu\n50,M,gout\n"
SCHEMA = 'quasi = ["age", "sex"]\nsensitive = "disease"\n'
ASKED = "SELECT sex, COUNT(*) FROM t WHERE age < 45 GROUP BY sex"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    (folder / "patients.csv").write_text(ROWS)
    (folder / "schema.toml").write_text(SCHEMA)
    table = sf.read(folder / "patients.csv", sf.read_schema(folder / "schema.toml"))
    sf.publish(table, sf.Mondrian(), sf.KAnonymity(2), seed=long_seed(0)).write(folder / "out")
    return folder


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return ran(place, "query", *arguments)


def test_a_table_says_which_is_which(place: Path) -> None:
    shown = run(place, "out", ASKED)
    assert shown.returncode == 0
    text = shown.stdout.decode()
    assert "lo" in text
    assert "hi" in text
    assert "estimate" in text
    exact = run(place, "out", "SELECT COUNT(*) FROM t").stdout.decode()
    assert "This answer is exact." in exact


def test_csv_json_and_arrow_agree(place: Path) -> None:
    csv = run(place, "out", ASKED, "--format", "csv").stdout.decode().splitlines()
    assert csv[0] == '"sex","count_estimate","count_lo","count_hi"'
    stated = json.loads(run(place, "out", ASKED, "--format", "json").stdout)
    stream = run(place, "out", ASKED, "--format", "arrow").stdout
    table = pa.ipc.open_stream(io.BytesIO(stream)).read_all()
    assert table.column("count_hi").to_pylist() == [line["count"]["hi"] for line in stated]
    assert [line.split(",")[3] for line in csv[1:]] == [str(line["count"]["hi"]) for line in stated]


def test_the_owner_is_answered_exactly(place: Path) -> None:
    shown = run(place, "patients.csv", ASKED, "-s", "schema.toml", "--format", "json")
    answers = json.loads(shown.stdout)
    assert [(line["sex"], line["count"]["lo"], line["count"]["hi"]) for line in answers] == [
        ("F", 2, 2),
        ("M", 1, 1),
    ]


def test_a_value_that_no_row_has_is_noted_beside_the_answer(place: Path) -> None:
    asked = "SELECT COUNT(*) FROM t WHERE disease = 'fluu'"
    shown = run(place, "out", asked, "--format", "json")
    assert shown.returncode == 0
    assert json.loads(shown.stdout)[0]["count"]["hi"] == 0
    note = "sfumato: note: no row can have disease = 'fluu'; did you mean 'flu'?"
    assert shown.stderr.decode().strip() == note
    right = asked.replace("fluu", "flu")
    assert not run(place, "out", right, "--format", "json").stderr


def test_the_table_can_be_the_result_of_a_query(place: Path) -> None:
    options = ("-s", "schema.toml", "--query", "SELECT * FROM t WHERE age < 45", "--format", "json")
    shown = run(place, "patients.csv", "SELECT COUNT(*) FROM t", *options)
    assert json.loads(shown.stdout)[0]["count"]["lo"] == 3
    refused = run(place, "out", "SELECT COUNT(*) FROM t", "--query", "SELECT * FROM t")
    assert refused.returncode == 2
    assert "--query is for a table" in refused.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("out", "SELECT COUNT(*) FROM t WHERE agee = 3"), "did you mean 'age'? (at position 30)"),
        (("out", "SELECT COUNT(*) FROM t JOIN u"), "joins are not supported"),
        (("patients.csv", ASKED), "add -s SCHEMA"),
        (("nowhere", ASKED), "does not exist"),
        (("out", ""), "(at position 1)"),
    ],
)
def test_bad_use_is_told_in_one_line(place: Path, arguments: tuple[str, ...], said: str) -> None:
    shown = run(place, *arguments)
    assert shown.returncode == 2
    assert not shown.stdout
    assert said in shown.stderr.decode()
    assert "Traceback" not in shown.stderr.decode()


def test_a_note_about_a_long_value_is_short(place: Path) -> None:
    shown = run(place, "out", f"SELECT COUNT(*) FROM t WHERE disease = '{'z' * 5000}'")
    assert shown.returncode == 0
    assert shown.stderr.startswith(b"sfumato: note: no row can have disease = 'zzz")
    assert len(shown.stderr) < 1000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    rows = pa.table({
        "age": range(12),
        "income": pa.array([18 * 10**18 + 7919 * n for n in range(12)], pa.uint64()),
        "uid": [2**63 - 1 - 3 * n for n in range(12)],
        "price": pa.array([Decimal("857459.99") + n for n in range(12)], pa.decimal128(12, 2)),
        "ill": list("abcdef") * 2,
    })  # fmt: skip
    schema = sf.Schema(quasi=["age", "income", "uid", "price"], sensitive="ill")
    table = sf.Microdata.from_arrow(rows, schema)
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(6), seed=long_seed(0))
    release.write(folder / "out")
    return folder


LARGE = "SELECT ill, SUM(income), MAX(uid), SUM(price) FROM t WHERE age > 1 GROUP BY ill"


def test_large_numbers_stand_in_full_and_in_one_piece(large: Path) -> None:
    answers = sf.load(large / "out").query(LARGE).answers
    text = run(large, "out", LARGE).stdout.decode()
    assert "e+" not in text
    for line, shown in zip(answers, text.splitlines()[3:], strict=False):
        cells = [cell[1:-1] for cell in shown.split("│")[2:-1]]
        wanted = [f"{end:,}" for one in line for end in (one.estimate, one.lo, one.hi)]
        assert [cell.strip() for cell in cells] == wanted
        assert [cell.rstrip() for cell in cells] == cells, "aligned to the right"
        assert line[0].lo <= line[0].estimate <= line[0].hi
        assert all(isinstance(one.estimate, int) for one in line[:2])


def test_large_estimates_are_whole_numbers_for_programs(large: Path) -> None:
    csv = run(large, "out", LARGE, "--format", "csv").stdout.decode().splitlines()
    stated = json.loads(run(large, "out", LARGE, "--format", "json").stdout)
    for line, one in zip(csv[1:], stated, strict=True):
        cells = line.split(",")
        assert cells[1] == str(one["sum_income"]["estimate"])
        assert cells[1].isdigit()
        assert cells[4] == str(one["max_uid"]["estimate"])


def test_a_name_longer_than_its_numbers_does_not_press_the_others(large: Path) -> None:
    name = "word " * 40
    asked = f'SELECT ill, SUM(income) AS "{name}", SUM(price) FROM t WHERE age > 1 GROUP BY ill'
    first = sf.load(large / "out").query(asked).answers[0]
    text = run(large, "out", asked).stdout.decode()
    for one in first:
        assert f" {one.hi:,} " in text


def test_estimates_can_be_sharpened_and_bounds_stay(place: Path) -> None:
    random = np.random.default_rng(0)
    age = random.integers(20, 60, 2_000)
    rows = pa.table({"age": age, "ill": age // 4 + random.integers(0, 3, 2_000)})
    table = sf.read(rows, sf.Schema(quasi=["age"], sensitive="ill"))
    release = sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(3), seed=long_seed(1))
    release.write(place / "apart")
    asked = "SELECT COUNT(*) FROM t WHERE age < 30 AND ill < 9"
    usual, sharper = (
        json.loads(run(place, "apart", asked, "--format", "json", *also).stdout)[0]["count"]
        for also in ([], ["--sharpen"])
    )
    assert (usual["lo"], usual["hi"]) == (sharper["lo"], sharper["hi"])
    truth = table.count("age < 30 AND ill < 9").lo
    assert abs(sharper["estimate"] - truth) < abs(usual["estimate"] - truth)


def test_boxes_and_tables_are_not_sharpened(place: Path) -> None:
    refused = run(place, "out", ASKED, "--sharpen")
    assert refused.returncode == 2
    assert b"generalized release has no groups of exact rows" in refused.stderr
    refused = run(place, "patients.csv", ASKED, "-s", "schema.toml", "--sharpen")
    assert refused.returncode == 2
    assert b"--sharpen learns from a release" in refused.stderr
