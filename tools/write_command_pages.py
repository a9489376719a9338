"""Write a page per command into docs/commands, from what --help says.

    make commands

tests/docs/test_command_pages.py fails if a page is not current.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from sfumato.cli.main import cli

FOLDER = Path(__file__).parents[1] / "docs" / "commands"
_WIDTH = 96
_START = """# Commands

A page for each, which says what `--help` says. Exit codes: 0 done, 1 a promise is broken, 2 bad
use or bad input, 70 a bug in sfumato, 130 interrupted, 143 terminated.

Commands, options and files are completed by the Tab key, once your shell is told so:

```text
eval "$(_SFUMATO_COMPLETE=bash_source sfumato)"               # in ~/.bashrc
eval "$(_SFUMATO_COMPLETE=zsh_source sfumato)"                # in ~/.zshrc
_SFUMATO_COMPLETE=fish_source sfumato | source                # in ~/.config/fish/config.fish
```

| command | |
|---|---|
"""


def pages() -> dict[str, str]:
    """The content of every page, by its name."""
    found = {_file(path): _page(path, command) for path, command in _commands(cli, ())}
    lines = (
        f"| [`sfumato {' '.join(path)}`]({_file(path)}) | {_summary(command)} |\n"
        for path, command in _commands(cli, ())
    )
    return {"README.md": _START + "".join(lines), **found}


def main() -> None:
    """Write all pages, and remove those of commands that are gone."""
    FOLDER.mkdir(exist_ok=True)
    current = pages()
    for page in FOLDER.glob("*.md"):
        if page.name not in current:
            page.unlink()
    for name, content in current.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


def _commands(
    group: click.Group, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, in the order in which help lists them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*above, name))
        else:
            yield (*above, name), command


def _file(path: tuple[str, ...]) -> str:
    return f"{'-'.join(path)}.md"


def _summary(command: click.Command) -> str:
    said = inspect.cleandoc(command.help or "").split("\n\n")[0]
    return " ".join(said.split()).replace("|", "\\|")


def _page(path: tuple[str, ...], command: click.Command) -> str:
    name = " ".join(("sfumato", *path))
    context = click.Context(
        command, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    return f"# {name}\n\n```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    main()
