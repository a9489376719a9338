"""What the shell is told when Tab is pressed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import sfumato


def completed(place: Path, *words: str) -> list[str]:
    """Lines of a kind and a text, for the last word that was typed."""
    typed = " ".join(("sfumato", *words))
    done = sfumato(
        place,
        _SFUMATO_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_commands_and_options_are_completed(tmp_path: Path) -> None:
    assert completed(tmp_path, "pub") == ["plain,publish"]
    assert "plain,--decimal" in completed(tmp_path, "publish", "--de")
    assert "plain,mondrian" in completed(tmp_path, "publish", "--method", "mon")
    assert "plain,create" in completed(tmp_path, "statdb", "cr")


@pytest.mark.parametrize(
    "words",
    [("publish", "pat"), ("publish", "-s", "pat"), ("verify", "pat"), ("statdb", "query", "pat"),
     ("evaluate", "out", "--truth", "pat")],
)  # fmt: skip
def test_files_are_left_to_the_shell(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert completed(tmp_path, *words) == ["file,pat"]


def test_the_shell_gets_its_script(tmp_path: Path) -> None:
    done = sfumato(tmp_path, _SFUMATO_COMPLETE="zsh_source")
    assert "#compdef sfumato" in done.stdout
