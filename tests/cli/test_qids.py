"""--qid: several sets of columns, each with its own promise."""

import json
from pathlib import Path

import pytest

from tests.support.commands import sfumato

HERE = Path(__file__).parent
TABLE = "age,sex,zipcode,job,disease\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{100 + i * 7 % 30},{'abc'[i % 3]},{'xyz'[i * 5 % 3]}\n"
    for i in range(120)
)
SCHEMA = 'quasi = ["age", "sex", "zipcode", "job"]\nsensitive = ["disease"]\n'


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "s.toml").write_text(SCHEMA)
    return [str(tmp_path / "t.csv"), "-s", str(tmp_path / "s.toml"), "-o", str(tmp_path / "out")]


def promised(tmp_path: Path) -> list[tuple[int, list[str]]]:
    stated = json.loads((tmp_path / "out" / "release.json").read_text())
    return [(one["k"], one["within"]) for one in stated["promise"]]


@pytest.mark.parametrize("method", ["mondrian", "topdown", "full-domain", "single-dimensional"])
def test_each_qid_has_its_own_k(tmp_path: Path, files: list[str], method: str) -> None:
    qids = ["--qid", "age,sex", "--qid", "zipcode,job:k=20"]
    made = sfumato(HERE, "publish", *files, "--method", method, "--k", "5", *qids, "--no-audit")
    assert made.returncode == 0, made.stderr
    assert promised(tmp_path) == [(5, ["age", "sex"]), (20, ["zipcode", "job"])]
    assert sfumato(HERE, "verify", str(tmp_path / "out")).returncode == 0


def test_all_may_have_their_own(tmp_path: Path, files: list[str]) -> None:
    qids = ["--qid", "age,sex:k=7", "--qid", "zipcode,job:k=20"]
    assert sfumato(HERE, "publish", *files, *qids, "--no-audit").returncode == 0
    assert promised(tmp_path) == [(7, ["age", "sex"]), (20, ["zipcode", "job"])]


def test_full_domain_takes_those_that_share_columns(tmp_path: Path, files: list[str]) -> None:
    qids = ["--qid", "age,sex", "--qid", "age,zipcode,job"]
    made = sfumato(
        HERE, "publish", *files, "--method", "full-domain", "--k", "5", *qids, "--no-audit"
    )
    assert made.returncode == 0, made.stderr
    stated = json.loads((tmp_path / "out" / "release.json").read_text())
    assert stated["algorithm"]["name"] == "full-domain"


@pytest.mark.parametrize(
    ("qids", "said"),
    [
        (["--qid", ""], "names no column"),
        (["--qid", "age,,sex"], "names no column"),
        (["--qid", ":k=5"], "names no column"),
        (["--qid", "age,sex,zipcode,job:k=many"], "promises nothing that is known"),
        (["--qid", "age,sex,zipcode,job:moon=3"], "promises nothing that is known"),
        (["--qid", "age,sex"], "'zipcode' is in none of the QIDs"),
        (["--qid", "age,sex,zipcode,job,disease"], "'disease', which is sensitive"),
        (["--qid", "age,sex,zipcode,job", "--method", "anatomy"], "k-anonymity|strictest"),
        (["--qid", "age,sex,zipcode,job", "--means"], "no means"),
    ],
)
def test_what_makes_no_qid_is_refused(files: list[str], qids: list[str], said: str) -> None:
    found = sfumato(HERE, "publish", *files, "--k", "5", *qids)
    assert found.returncode != 0
    assert any(word in found.stderr for word in said.split("|"))
