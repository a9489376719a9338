"""What the desk does, as commands: each step for a shell and for Python, ready to be copied.

Files are named as their owner knows them, relative to where the desk was started; what was uploaded
goes by its name.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.exploring.grid import PERTURB, Setting, typed_number
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.io.spelled import as_arguments, as_options

SCHEMA, OUT, PAGE = "schema.toml", "out", "explore.html"
_IMPORT = "import sfumato as sf\n\n"
_MARK = "SCHEMA"  # ends the text of a schema in a shell


@dataclass(frozen=True, slots=True)
class Wish:
    """How a release is wanted: what is tried in an exploration, and how it is shown."""

    setting: Setting
    labels: Labels | None = None
    format: FileFormat = "parquet"
    seed_file: str | None = None


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands about one table; ``schema`` is what its schema file is called."""

    source: str
    reading: Mapping[str, Any]
    schema: str = SCHEMA

    def opened(self) -> dict[str, str]:
        """Look at the table, and write a schema of guesses."""
        shell = ["sfumato", "inspect", self.source, *self._options, "-o", self.schema]
        python = (
            f"{_IMPORT}columns = sf.profile({self.source!r})\n"
            f"sf.write_schema({self.schema!r}, sf.guess_schema(columns))\n"
        )
        if self._arguments:
            python = (
                f"{_IMPORT}# a file that is written in a way of its own is inspected in the shell\n"
                f"# {shlex.join(shell)}\n"
            )
        return {"shell": shlex.join(shell), "python": python}

    def columns(self, text: str, python: str) -> dict[str, str]:
        """Say what the columns are, and see who is exposed."""
        mark = _MARK
        while mark in text.splitlines():
            mark += "_"
        shell = ["sfumato", "inspect", self.source, *self._options, "-s", self.schema]
        return {
            "shell": f"cat > {shlex.quote(self.schema)} <<'{mark}'\n{text}{mark}\n"
            f"{shlex.join(shell)}",
            "python": f"{_IMPORT}schema = {python}\nsf.write_schema({self.schema!r}, schema)\n"
            f"table = sf.read({self.source!r}, schema{self._arguments})\n"
            'print(*sf.assess(table).sentences, sep="\\n")\n',
        }

    def explored(
        self,
        methods: Sequence[str],
        grid: Mapping[str, Sequence[float]],
        seed: int | None,
        time_limit: float | None,
    ) -> dict[str, str]:
        """Try many releases."""
        asked = {name: values for name, values in grid.items() if values}
        shell = ["sfumato", "explore", self.source, "-s", self.schema, *self._options]
        for method in methods:
            shell += ["--method", method]
        for name, values in asked.items():
            shell += [f"--{name}", ",".join(map(typed_number, values))]
        rest = {"seed": seed, "time_limit": time_limit}
        for name, value in rest.items():
            shell += [] if value is None else [f"--{name.replace('_', '-')}", typed_number(value)]
        given = [f"methods={list(methods)!r}"] if methods else []
        given += [f"{name}={list(values)!r}" for name, values in asked.items()]
        given += [f"{name}={value!r}" for name, value in rest.items() if value is not None]
        return {
            "shell": shlex.join([*shell, "-o", PAGE]),
            "python": f"{_IMPORT}{self._read}"
            f"found = sf.explore({', '.join(['table', *given])})\n"
            f'print(found.recommended, *found.reasons, sep="\\n")\nfound.write_html({PAGE!r})\n',
        }

    def published(self, wish: Wish, output: str = OUT) -> dict[str, str]:
        """Make a release, write it and verify it."""
        shell = ["sfumato", "publish", self.source, "-s", self.schema, *self._options]
        shell += ["--method", wish.setting.method]
        for name, value in wish.setting.promises.items():
            shell += [f"--{name}", typed_number(value)]
        shell += [] if wish.labels is None else ["--labels", wish.labels]
        shell += [] if wish.format == "parquet" else ["--format", wish.format]
        shell += [] if wish.seed_file is None else ["--seed-file", wish.seed_file]
        written = [repr(output), *([] if wish.format == "parquet" else [f"format={wish.format!r}"])]
        seed, load = "", _IMPORT
        if wish.seed_file is not None:
            load = f"from pathlib import Path\n\n{_IMPORT}"
            seed = f"seed = Path({wish.seed_file!r}).read_text().strip()\n"
        return {
            "shell": f"{shlex.join([*shell, '-o', output])}\n"
            f"{shlex.join(['sfumato', 'verify', output])}",
            "python": f"{load}{self._read}{seed}release = {_made(wish)}\n"
            f"release.write({', '.join(written)})\nsf.verify({output!r}).require()\n",
        }

    def compared(self, first: str, second: str) -> dict[str, str]:
        """Measure two releases beside the table."""
        lines = [
            shlex.join(
                ["sfumato", "evaluate", one, "--truth", self.source, "-s", self.schema,
                 *self._options, "-o", f"{one.rstrip('/')}.html"]
            )
            for one in (first, second)
        ]  # fmt: skip
        return {
            "shell": "\n".join(lines),
            "python": f"{_IMPORT}{self._read}for folder in ({first!r}, {second!r}):\n"
            "    print(folder, sf.assess(folder), sf.usefulness(folder, table))\n",
        }

    @property
    def _options(self) -> list[str]:
        return as_options(**self.reading)

    @property
    def _arguments(self) -> str:
        return as_arguments(**self.reading)

    @property
    def _read(self) -> str:
        return f"table = sf.read({self.source!r}, {self.schema!r}{self._arguments})\n"


def _made(wish: Wish) -> str:
    """The call that publishes, with what it is told besides."""
    extra = "" if wish.seed_file is None else ", seed=seed"
    if wish.labels is not None and wish.setting.method != PERTURB:
        extra = f", labels={wish.labels!r}{extra}"
    return f"{wish.setting.python[:-1]}{extra})"
