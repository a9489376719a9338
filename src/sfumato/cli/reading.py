"""The options of all commands that read the owner's table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sfumato.cli.sizes import Bytes
from sfumato.engines.choice import CLUSTERS, address_of
from sfumato.engines.opening import open_workers
from sfumato.engines.parts import Work
from sfumato.forms.load import is_joined

_WRITTEN = ("names", "header", "encoding", "decimal", "day_first")


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a table, which may be the result of a query: those of ``read``."""
    query = click.option(
        "--query", metavar="SQL", help="Read the result of a query (files are table t)."
    )
    return query(file_options(command))


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says how a file is read: --missing, --names and so on, as ``read`` takes them."""
    missing = click.option(
        "--missing",
        multiple=True,
        metavar="TEXT",
        help="Text that stands for a missing value; may be repeated.",
    )
    names = click.option(
        "--names",
        metavar="NAME,...",
        callback=lambda _context, _option, given: _divided(given),
        help="The CSV file has no header line; these are its columns.",
    )
    header = click.option(
        "--header",
        is_flag=True,
        callback=lambda _context, _option, given: True if given else None,
        help="The first line of the CSV file is the header, even if it looks like a row; with "
        "--names, replace it.",
    )
    encoding = click.option(
        "--encoding", metavar="NAME", help="How the CSV file is encoded, if not in UTF-8."
    )
    decimal = click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        help="What stands before the decimals of numbers in a CSV file.",
    )
    day_first = click.option(
        "--day-first", is_flag=True, help="Dates in a CSV file are written as 31.12.2020."
    )
    return missing(names(header(encoding(decimal(day_first(command))))))


def taken(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a table out of all that a command was given."""
    return {name: options.pop(name) for name in ("query", "missing", *_WRITTEN)}


def address_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add where a cluster is."""
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="--engine dask: the cluster's scheduler, such as tls://host:8786; without one, "
        "processes of this machine work.",
    )
    master = click.option(
        "--master",
        metavar="ADDRESS",
        help="--engine spark: the cluster's master, such as spark://host:7077; as above without "
        "one.",
    )
    return scheduler(master(command))


def engine_options(*own: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add who reads what is too large for memory: this process, or the workers of a cluster."""

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        engine = click.option(
            "--engine",
            type=click.Choice([*own, *CLUSTERS]),
            default=own[0],
            show_default=True,
            help="dask, spark: the workers of a cluster read (docs/cluster.md).",
        )
        return engine(address_options(command))

    return added


@contextmanager
def workers_of(
    asked: tuple[str, str | None, str | None], beside: str, memory: int | None
) -> Iterator[Work | None]:
    """The workers that were asked for (``taken_engine``), or None."""
    with open_workers(asked[0], address_of(*asked), memory) as workers:
        yield None if workers is None else Work(workers, Path(beside).resolve())


def taken_engine(options: dict[str, Any], folder: str) -> tuple[str, str | None, str | None]:
    """Take what ``engine_options`` added out of all that a command was given."""
    engine, scheduler, master = (options.pop(name) for name in ("engine", "scheduler", "master"))
    if engine in CLUSTERS and is_joined(folder):
        raise click.UsageError(
            f"--engine {engine} is not for a release that was joined with a list: that needs the "
            "whole table in memory"
        )
    return engine, scheduler, master


def memory_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --memory, for tables that may be larger."""
    return click.option(
        "--memory",
        type=Bytes(),
        metavar="SIZE",
        help="How much memory to take, such as 2GB or 500MiB; by default half of what is free. "
        "A larger file is read part by part.",
    )(command)


def _divided(given: str | None) -> list[str] | None:
    """Names between commas; one with a comma of its own stands in quotes."""
    return None if given is None else next(csv.reader([given], skipinitialspace=True), [])
