"""--memory of the commands that only read: the same output, or one line that says what would do."""

from __future__ import annotations

import json
import warnings
from importlib import resources
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.breach import breach
from sfumato.cli.evaluate import evaluate
from sfumato.cli.inspect import inspect
from sfumato.engines import domains, parts
from sfumato.errors import OutOfMemory
from tests.support.memory import without_memory_only
from tests.support.seeds import long_seed

LITTLE = "40KB"  # of 1,000 patients with six columns, which seem to take 144 KB


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    for name in ("patients.csv", "patients.toml"):
        (folder / name).write_bytes(resources.files("sfumato.data").joinpath(name).read_bytes())
    table = sf.read(folder / "patients.csv", sf.read_schema(folder / "patients.toml"))
    for name, k in (("large", 100), ("small", 5)):
        release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(k), seed=long_seed(k))
        release.write(folder / name)
    return folder


def printed(command: click.Command, *words: str) -> Any:
    return json.loads(run(command, *words))


def run(command: click.Command, *words: str) -> str:
    done = CliRunner().invoke(command, [*words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def asked(command: click.Command, place: Path, release: str) -> list[str]:
    truth = [str(place / "patients.csv"), "-s", str(place / "patients.toml")]
    if command is inspect:
        return truth
    more = ["--seed", "1", "--queries", "9"] if command is evaluate else []
    return [str(place / release), "--truth", *truth, *more]


@pytest.mark.parametrize("command", [inspect, breach, evaluate])
def test_little_memory_shows_the_same(
    command: click.Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = asked(command, place, "large")
    there = printed(command, *words)
    opened: list[Any] = []

    def watched(*given: Any) -> domains.Counted:
        opened.append(given)
        return domains.count_values(*given)

    monkeypatch.setattr(parts, "count_values", watched)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        here = printed(command, *words, "--memory", LITTLE)
    assert opened
    if command is evaluate:  # combinations of columns do not fit, which is said
        assert any("is not measured" in str(one.message) for one in said)
        assert not here.pop("usefulness")
        assert there.pop("usefulness")
        assert not here.pop("joint_distributions")
        assert there.pop("joint_distributions")
    if command is breach:
        for level in ("rows", "persons"):
            mean = there["everybody"][level].pop("mean")
            assert here["everybody"][level].pop("mean") == pytest.approx(mean, rel=1e-12)
    assert without_memory_only(here) == without_memory_only(there)


@pytest.mark.parametrize(("command", "size"), [(breach, "20KB"), (evaluate, "20KB")])
def test_too_little_memory_is_one_line(command: click.Command, size: str, place: Path) -> None:
    with pytest.raises(OutOfMemory) as refused:
        run(command, *asked(command, place, "small"), "--memory", size)
    assert str(refused.value).startswith("20,000 bytes of memory are too few for the ")
    assert str(refused.value).count("; allow ") == 1
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("command", [inspect, breach, evaluate])
def test_a_size_that_is_none(command: click.Command, place: Path) -> None:
    done = CliRunner().invoke(command, [*asked(command, place, "large"), "--memory", "much"])
    assert done.exit_code == 2
    assert "write it as in 2GB or 500MiB" in done.output
