"""Write a page per command into docs/commands, and the menu of the site, from what --help says.

    make commands

tests/docs/test_command_pages.py fails if a page is not current.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from sfumato.cli.main import cli

FOLDER = Path(__file__).parents[1] / "docs" / "commands"
MENU = FOLDER.parents[1] / "mkdocs.yml"
_LISTED = re.compile(r"(?: +- commands/.*\n)+")
_WIDE = 10_000  # help is filled by whoever shows the page
_AS_IS = re.compile(r"^\x08\n(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
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
    lines = "".join(f"      - commands/{name}\n" for name in current)
    MENU.write_text(_LISTED.sub(lines, MENU.read_text("utf-8")), "utf-8")


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
    said = _said(command).split("\n\n")[0]
    return " ".join(said.split()).replace("|", "\\|")


def _said(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def _page(path: tuple[str, ...], command: click.Command) -> str:
    name = " ".join(("sfumato", *path))
    context = click.Context(
        command, info_name=name, max_content_width=_WIDE, terminal_width=_WIDE,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = (f"# {name}", f"```text\n{usage}\n```", _described(command), "## Options")
    return "\n\n".join((*parts, "".join(_options(command, context))))


def _described(command: click.Command) -> str:
    """The description, in which what is not to be filled stands as it is."""
    said = _AS_IS.sub(lambda found: f"```text\n{found[1].rstrip()}\n```\n\n", _said(command))
    return said.strip()


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for one in command.get_params(context):
        told = one.get_help_record(context) if isinstance(one, click.Option) else None
        if told is not None:
            names, said = told
            yield f"- `{names}`: {_harmless(said)}\n"


def _harmless(text: str) -> str:
    """Plain text, of which Markdown makes nothing else."""
    return re.sub(r"([\\`*_\[])", r"\\\1", " ".join(text.split()))


if __name__ == "__main__":
    main()
