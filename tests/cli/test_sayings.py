"""What commands tell beside their results: the method, what neighbours are good for, what leaks,
and what to promise next.
"""

from __future__ import annotations

import re
import shlex
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import sfumato

PUBLISH = ("publish", "patients.csv", "-s", "patients.toml", "-o", "out")


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    for name in ("patients.csv", "patients.toml"):
        (tmp_path / name).write_bytes(resources.files("sfumato.data").joinpath(name).read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("options", "method", "differ"),
    [
        ("--method anatomy --l 5", "anatomize, groups of neighbours, of at least 25 rows", True),
        (
            "--method anatomy --l 5 --no-near",
            "anatomize, groups of anybody, as in the paper, of at least 5 rows",
            True,
        ),
        ("--method frontier --l 5", "frontier, groups of neighbours, of at least 5 rows", False),
        ("--k 5", "mondrian, groups of at least 5 rows", False),
        ("--method perturb --m 3", "perturb", False),
    ],
)
def test_the_summary_says_how_groups_were_made(
    options: str, method: str, differ: bool, place: Path
) -> None:
    done = sfumato(place, *PUBLISH, *options.split())
    assert done.returncode == 0, done.stderr
    assert f"  method: {method}\n" in done.stdout
    assert ("two of a group differ by" in done.stdout) == differ


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--method anatomy --l 5", True),
        ("--method anatomy --form permuted --l 5", True),
        ("--k 5", False),
        ("--method perturb --m 3", False),
    ],
)
def test_what_the_papers_figures_mean_is_said_where_neighbours_look_worse(
    options: str, said: bool, place: Path
) -> None:
    done = sfumato(place, *PUBLISH, *options.split(), "--no-audit")
    assert done.returncode == 0, done.stderr
    assert ("C_DM and RCE grow with groups" in done.stdout) == said


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (["--method", "frontier", "--l", "4"], True),
        (["--method", "frontier", "--t", "0.4", "--json"], True),
        (["--method", "frontier", "--k", "5"], False),  # nobody is passed over
        (["--method", "anatomy", "--l", "4"], False),
    ],
)
def test_a_frontier_is_warned_of_once(options: list[str], warned: bool, place: Path) -> None:
    done = sfumato(place, *PUBLISH, *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("frontier takes people along an order") == warned


@pytest.mark.parametrize("distinct", [400, 100])
def test_inspect_warns_of_a_number_for_every_row_that_would_be_published(
    distinct: int, tmp_path: Path
) -> None:
    place = np.arange(400)
    columns = {"age": place % 40, "visit": place % distinct}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    (tmp_path / "s.toml").write_text('quasi = ["age"]\ninsensitive = ["visit"]\n')
    done = sfumato(tmp_path, "inspect", "in.parquet", "-s", "s.toml")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert ("Warning: 'visit' is published as it is" in told) == (distinct == 400)


def test_publish_counts_people_where_it_is_told_whose_rows_are_whose(tmp_path: Path) -> None:
    """Thirty rows of one person are a group of thirty, and one person."""
    rows = {"age": [*range(20, 50), *([70] * 30)], "who": [*range(30), *([99] * 30)]}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    (tmp_path / "s.toml").write_text('identifiers = ["who"]\nquasi = ["age"]\n')
    given = ("publish", "in.parquet", "-s", "s.toml", "--k", "10", "-o", "out", "--force")
    plain, told = sfumato(tmp_path, *given), sfumato(tmp_path, *given, "--person", "who")
    assert plain.returncode == told.returncode == 0, told.stderr
    assert "everybody is one of 15" in " ".join(plain.stdout.split())
    assert "1 person of 31 (3.2%) stands alone" in " ".join(told.stdout.split())
    warned = " ".join(told.stderr.split())
    assert "groups have fewer than 10 people, the smallest 1 person; --k 300 promises" in warned


@pytest.mark.parametrize("word", ["docs/neighbours.md", "people's values away"])
def test_help_says_so_too(word: str, place: Path) -> None:
    shown = " ".join(sfumato(place, "publish", "--help").stdout.split())
    assert word in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--k 5", True),
        ("--k 5 --l 2", False),
        ("--t 0.4", False),
        ("--qid age,sex,job:k=5,l=2 --qid zipcode,education:k=5,l=2", False),
        ("--method perturb --m 3", False),
        ("--method microaggregate --k 5", False),
    ],
)
def test_a_sensitive_column_of_which_nothing_is_promised_is_named(
    options: str, said: bool, place: Path
) -> None:
    done = sfumato(place, *PUBLISH, *options.split(), "--no-audit")
    assert done.returncode == 0, done.stderr
    assert ("nothing is promised of disease (--l, --t)" in done.stdout) == said


@pytest.mark.parametrize("beaten", [True, False])
def test_an_attack_that_beats_the_promise_is_a_warning(beaten: bool, place: Path) -> None:
    options = ["--method", "anatomy", "--l", "5", *(["--no-near"] if beaten else [])]
    told = " ".join(sfumato(place, *PUBLISH, *options).stdout.split())
    assert ("Warning: attacked, and the promise is beaten: an attacker who" in told) == beaten
    assert ("Attacked: an attacker who" in told) == (not beaten)


def test_the_quick_attack_measures_a_table_alike_in_every_run(place: Path) -> None:
    """Who is studied must not move the figure of a learner who has not seen the release."""
    told = [
        " ".join(sfumato(place, *PUBLISH, "--k", str(k), "--force").stdout.split()) for k in (5, 9)
    ]
    first, second = (re.findall("a learner is right for [0-9.]+ of 100", one) for one in told)
    assert first == second != []
    assert all("people (give or take " in one for one in told)


def test_a_limit_of_memory_that_would_be_ignored_is_refused(place: Path) -> None:
    done = sfumato(place, *PUBLISH, "--k", "5", "--engine", "memory", "--memory", "1GB")
    assert done.returncode == 2
    assert "the in-memory engine takes what it needs" in done.stderr
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("share", "promised"),
    [
        (None, ["--k", "10"]),  # no sensitive column
        (0.6, ["--k", "10", "--t", "0.3"]),
        (0.4, ["--k", "10", "--l", "2"]),
        (0.15, ["--k", "10", "--l", "3"]),
        (0.01, ["--k", "10", "--l", "5"]),
    ],
)
def test_inspect_suggests_promises_that_can_be_kept(
    share: float | None, promised: list[str], tmp_path: Path
) -> None:
    chance, n = np.random.default_rng(1), 400
    columns = {"age": chance.integers(20, 60, n), "sex": chance.choice(["f", "m"], n)}
    if share is not None:
        often = round(share * n)
        rest = np.arange(n - often) % max(1, round(1.2 / share))
        ills = [f"i{one}" for one in rest] if share < 0.5 else [f"i{one % 9}" for one in rest]
        columns["disease"] = chance.permutation(["often"] * often + ills)
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    done = sfumato(tmp_path, "inspect", "in.parquet", "-o", "s.toml")
    assert done.returncode == 0, done.stderr
    command = shlex.split(done.stdout[done.stdout.index("sfumato publish") :])
    assert command[5:-2] == promised
    again = sfumato(tmp_path, *command[1:])
    assert again.returncode == 0, again.stderr
