"""docs/cluster.md says of every command and method whether the workers of a cluster do it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sfumato.algorithms.base import Planner
from sfumato.cli.main import cli
from sfumato.cli.methods import MASKS, METHODS, algorithm_of
from sfumato.engines.choice import CLUSTERS

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def lines() -> list[tuple[set[str], str]]:
    """What is typed, and what workers do then."""
    (table,) = re.findall(r"## What runs where\n\n(.*?)\n\n", PAGE.read_text(), re.DOTALL)
    cells = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    return [(set(re.findall(r"`([^`]+)`", what)), does.strip()) for what, does in cells]


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", one) for below, one in command.commands.items())
        elif command is not None:
            yield name, command


def takes_a_cluster(command: click.Command) -> bool:
    return any(
        isinstance(option.type, click.Choice) and {*CLUSTERS} <= {*option.type.choices}
        for option in command.params
    )


def test_every_command_that_takes_a_cluster_is_there_and_no_other() -> None:
    known = dict(commands())
    on_workers = {word for what, does in lines() if not does.startswith("nothing") for word in what}
    assert {name for name, one in known.items() if takes_a_cluster(one)} == on_workers & {*known}
    alone = {word for what, does in lines() if does == "nothing" for word in what}
    assert alone
    assert not any(takes_a_cluster(known[name]) for name in alone)


@pytest.mark.parametrize("method", [*METHODS, *MASKS, "perturb"])
def test_methods_are_where_they_belong(method: str) -> None:
    (does,) = (does for what, does in lines() if method in what)
    command = dict(commands())["publish"]
    asked = ["in.csv", "-s", "schema.toml", "-o", "out", "--method", method]
    with command.make_context("publish", asked) as context:
        made = algorithm_of(method, context.params) if method in METHODS else None
    plans = isinstance(made, Planner)
    assert does.startswith("everything" if plans else "nothing: refused")
