"""Entry point: finds the command, and turns errors into one line and an exit code.

Exit codes: 0 done, 1 a promise is broken, 2 bad use or bad input, 70 a bug in sfumato,
130 interrupted, 143 terminated.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import traceback
import warnings
from importlib import import_module
from typing import Any

import click

import sfumato
from sfumato.cli.completion import completing
from sfumato.cli.guarded import guarded
from sfumato.cli.imports import without_needless
from sfumato.core.address_space import require_least
from sfumato.core.foreign import as_ours, out_of_memory
from sfumato.errors import PromiseBroken, SfumatoError, SfumatoWarning, shortened
from sfumato.io.hints import did_you_mean
from sfumato.io.unfinished import clear

# A command's module is imported when it is called: --help must not wait for NumPy.
_COMMANDS = {
    "inspect": "Guess roles, show the risk and what could be promised.",
    "explore": "Try many releases side by side; say which one to publish.",
    "publish": "Publish a table under a privacy model.",
    "convert": "Write a release in another file format: the same groups, no new chance.",
    "verify": "Check a release's promise from its files alone.",
    "query": "Ask a release in SQL: estimates and bounds.",
    "breach": "What an attacker may learn about a person.",
    "audit": "Attack a release; what attackers reach beside the promise.",
    "evaluate": "Measure what a release is still good for; write a report.",
    "studio": "A desk in the browser: look at a table, decide, publish.",
    "statdb": "A database that answers any number of questions with intervals.",
    "demo": "Everything on a bundled table, in seconds.",
    "reproduce": "Run the experiments of a paper again.",
    "doctor": "Say what is installed, which cluster answers, and what is missing.",
}

# figures are drawn with what is there; clusters and learners need what other commands do without
_WHOLE = frozenset({"reproduce", "dask", "spark", "doctor", "audit", "--learn"})
_THIS = "this command"
_SCHEMA = "schema_path"
# force=True (--force), names=[...] (--names), encoding='cp1252' (--encoding cp1252)
_IN_PYTHON = re.compile(
    r"\b\w+=(?:True|\.\.\.|\[\.\.\.\]|\{\.\.\.\}) \((--[\w-]+)\)|\b\w+=\S+ \((--[\w-]+ \S+)\)"
)


class _Lazy(click.Group):
    """A group that knows its commands by name and imports them on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        require_least()
        command = getattr(import_module(f"sfumato.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return completing(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, which knows no names to compare a mistyped one with."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            asked = did_you_mean(args[0], _COMMANDS)
            raise click.UsageError(f"{error.message} {asked}".rstrip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sfumato.__version__, prog_name="sfumato")
def cli() -> None:
    """Publish personal data without exposing anyone.

    Start with: sfumato demo, or: sfumato inspect patients.csv
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no name can end a command half-way
    with warnings.catch_warnings():
        warnings.simplefilter("always", SfumatoWarning)
        warnings.showwarning = _warn
        signal.signal(signal.SIGTERM, _terminate)
        if not _WHOLE.intersection(sys.argv[1:] if arguments is None else arguments):
            without_needless()
        clear()  # what a killed run has left, wherever it was: it may hold rows as they are
        sys.exit(guarded(lambda: _run(arguments), _refuse))


class _Terminated(KeyboardInterrupt):
    """Whoever ends a command by SIGTERM, as ``timeout`` and batch systems do, is as well served
    as with Ctrl-C.
    """


def _terminate(*_: object) -> None:
    raise _Terminated


def _run(arguments: list[str] | None) -> int:
    try:
        result: Any = cli.main(arguments, prog_name="sfumato", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        ended = isinstance(error.__cause__ or error, _Terminated)
        what, code = ("terminated", 143) if ended else ("interrupted", 130)
        return _fail(f"{what}; nothing half-written is left", code)
    except click.ClickException as error:
        return _misused(error)
    except PromiseBroken as error:
        return _fail(str(error), 1)
    except SfumatoError as error:
        return _fail(str(error), 2)
    except BrokenPipeError:
        # the reader of our output went away, as head does; say nothing, also at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        # never 1: a script would take that for a broken promise
        foreign = as_ours(error, _THIS)
        return _bug(error) if foreign is None else _fail(str(foreign), 2)
    return result if isinstance(result, int) else 0


def _refuse() -> int:
    return _fail(str(out_of_memory(_THIS)), 2)


def _misused(error: click.ClickException) -> int:
    """As click does, which shows values of any length."""
    said = io.StringIO()
    error.show(said)
    if isinstance(error, click.MissingParameter) and error.param and error.param.name == _SCHEMA:
        said.write(
            "A schema says which columns are what; sfumato inspect TABLE -o FILE writes one\n"
        )
    click.echo(shortened(said.getvalue()), nl=False, err=True)
    return 2


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"sfumato: warning: {shortened(_typed(str(message)))}", err=True)


def _fail(message: str, code: int) -> int:
    click.echo(f"sfumato: {shortened(_typed(message))}", err=True)
    return code


def _typed(message: str) -> str:
    """A message on one line, that names an option as it is typed and not as Python writes it."""
    return _IN_PYTHON.sub(lambda found: found[1] or found[2], " ".join(message.split()))


def _bug(error: Exception) -> int:
    said = next(iter(str(error).splitlines()), "")
    hint = "SFUMATO_DEBUG=1 shows where"
    if os.environ.get("SFUMATO_DEBUG", "0") not in ("", "0"):
        traceback.print_exception(error)
        hint = "the traceback is above"
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return _fail(f"internal error: {what}; this is a bug, please report it ({hint})", 70)
