"""What lies on the desk: one table, what is said about it, what was tried and made of it.

There is one owner and one desk. Quick steps take turns; long ones are jobs, one at a time, and see
the table and the draft as they were when they began.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.schema import Role
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoError
from sfumato.exploring import Exploration, explore
from sfumato.exploring.page import drawable, table_of
from sfumato.exploring.plot import drawn, legend
from sfumato.io.paths import at_home
from sfumato.io.schema_files import read_schema
from sfumato.io.schema_writing import schema_text, write_schema
from sfumato.studio import described
from sfumato.studio.commands import OUT, SCHEMA, Commands, Wish
from sfumato.studio.comparing import side_by_side
from sfumato.studio.draft import Draft
from sfumato.studio.jobs import Job
from sfumato.studio.opened import Opened
from sfumato.studio.releases import Made, make, summary
from sfumato.studio.trees import built, uploaded

_PATIENCE = 30.0  # seconds that a job has to end when the desk is cleared


class Desk:
    """The state of one session, over an owner-only folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._turn = threading.RLock()
        self._table: Opened | None = None
        self._draft = Draft({})
        self._schema_name = SCHEMA
        self._found: tuple[Exploration, dict[str, str], Draft] | None = None
        self._made: list[Made] = []
        self._saved: dict[int, str] = {}
        self._job: Job | None = None
        self._count = 0

    # ----- opening

    def open(
        self,
        path: str,
        *,
        name: str | None = None,
        schema: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Put a table on the desk, in place of another; ``name`` is that of an uploaded file."""
        self._require_idle()
        found = str(at_home(path)) if path.startswith("~") else path
        try:
            table = Opened.of(
                found, name or found, uploaded=name is not None, reading=dict(reading or {})
            )
        except SfumatoError as error:
            # the place of an uploaded file means nothing to its owner
            raise DataError(str(error).replace(found, name or found), source=name) from None
        draft = table.draft
        if schema is not None:
            draft = Draft.of_schema(read_schema(schema), table.rows.column_names, schema)
        with self._turn:
            self._table, self._draft = table, draft
            self._schema_name = schema or SCHEMA
            self._found, self._made, self._saved = None, [], {}
            return self.state()

    def upload_place(self, name: str) -> Path:
        """Where an uploaded file goes: a folder of its own, under the name that it came with."""
        with self._turn:
            self._count += 1
            folder = self.home / "uploads" / str(self._count)
        folder.mkdir(parents=True)
        return folder / file_name(name)

    # ----- what is seen

    def state(self) -> dict[str, Any]:
        """Everything that the page shows."""
        with self._turn:
            if self._table is None:
                return {"table": None, "here": str(Path.cwd())}
            table, commands = self._table, self._commands()
            return {
                "table": {
                    "name": table.name,
                    "uploaded": table.uploaded,
                    "rows": table.rows.num_rows,
                    "columns": described.columns(table, self._draft),
                    "commands": commands.opened(),
                },
                "here": str(Path.cwd()),
                "methods": described.methods(),
                "schema": self._schema_name,
                "exploration": self.exploration(),
                "releases": [summary(one) for one in self._made],
                "job": None if self._job is None else self._job.told(),
                **self._effect(),
            }

    def combinations(self) -> dict[str, Any]:
        """Which combinations single people out: looked for when the rest is shown."""
        with self._turn:
            draft, table = self._draft, self._open()
            microdata = table.microdata(draft)
        return described.combinations(microdata)

    # ----- what is said about columns

    def role(self, column: str, role: str | None) -> dict[str, Any]:
        """Give a column another role."""
        try:
            wanted = None if role is None else Role(role)
        except ValueError:
            raise SchemaError(f"{role!r} is no role", column=column) from None
        table = self._open()
        if wanted is not None and column in self._draft.roles and not table.can_play(column):
            raise SchemaError(f"column {column!r} holds values that can play no role")
        return self._changed(column, lambda draft: draft.with_role(column, wanted))

    def how(self, column: str, how: str, told: Any = None) -> dict[str, Any]:
        """Say how the values of a column are read."""
        ways = {
            "found": lambda draft: draft.as_found(column),
            "numerical": lambda draft: draft.with_kind(column, "numerical"),
            "categorical": lambda draft: draft.with_kind(column, "categorical"),
            "order": lambda draft: draft.with_order(column, _texts(told)),
            "bins": lambda draft: draft.with_bins(column, told),
            "intervals": lambda draft: draft.with_tree(column, built(column, told)),
            "file": lambda draft: draft.with_tree(
                column, uploaded(self.upload_place, column, told)
            ),
        }
        if how not in ways:
            raise SchemaError(f"{how!r} is no way to read values", column=column)
        return self._changed(column, ways[how])

    def _changed(self, column: str, change: Any) -> dict[str, Any]:
        """Try a change on the column, keep it if it can be read so, and say what follows."""
        with self._turn:
            table = self._open()
            if column not in self._draft.roles:
                raise SchemaError(f"the table has no column {column!r}", column=column)
            draft = change(self._draft)
            if table.can_play(column):
                table.coded(draft, column)
            self._draft = draft
            return {"column": described.column(table, draft, column), **self._effect()}

    def _effect(self) -> dict[str, Any]:
        """What the draft amounts to: the risk, the schema file and the commands."""
        table, draft = self._open(), self._draft
        told: dict[str, Any] = {"repeats": described.repeats(table, draft)}
        try:
            schema = draft.schema
            risk = described.risk(table.microdata(draft))
        except (SchemaError, DataError) as error:
            return {**told, "risk": None, "why": str(error), "toml": None, "commands": None}
        toml = schema_text(schema, {})
        commands = self._commands().columns(toml, draft.python())
        stale = self._found is not None and self._found[2] != draft
        return {**told, "risk": risk, "why": None, "toml": toml, "commands": commands,
                "stale": stale}  # fmt: skip

    def toml(self) -> str:
        """The schema file."""
        with self._turn:
            return schema_text(self._draft.schema, {})

    def save_schema(self, path: str, *, force: bool = False) -> dict[str, Any]:
        """Write the schema file where its owner says."""
        with self._turn:
            target = at_home(path)
            write_schema(target, self._draft.schema, force=force)
            self._schema_name = str(target)
            return {"path": str(target.resolve()), **self._effect()}

    # ----- long work

    def explore(
        self,
        methods: Sequence[str] = (),
        grid: Mapping[str, Sequence[float]] | None = None,
        seed: int | None = None,
        time_limit: float | None = None,
    ) -> dict[str, Any]:
        """Begin to try many releases."""
        with self._turn:
            draft, table = self._draft, self._open().microdata(self._draft)
            commands = self._commands()
            asked = {name: list((grid or {}).get(name, ())) for name in ("k", "l", "t", "m")}
            told = commands.explored(methods, asked, seed, time_limit)

            def done(found: Exploration) -> None:
                named = replace(found, source=commands.source, schema=commands.schema)
                with self._turn:
                    self._found = named, told, draft

            return self._begin(
                "explore",
                lambda tell: explore(
                    table, methods=methods, k=[int(k) for k in asked["k"]], l=asked["l"],
                    t=asked["t"], m=asked["m"], seed=seed, time_limit=time_limit, progress=tell,
                ),
                done,
            )  # fmt: skip

    def exploration(self) -> dict[str, Any] | None:
        """What was tried: the plot, its points with their commands, and the recommendation."""
        if self._found is None:
            return None
        found, told, _ = self._found
        data = drawable(found)
        for place, one in enumerate(found.feasible):
            data["points"][place] |= {
                "commands": self._commands().published(Wish(one.setting)),
                "method": one.setting.method,
                "promises": one.setting.promises,
            }
        return {
            **data,
            "plot": drawn(found),
            "legend": legend(found),
            "all": table_of(found),
            "reasons": list(found.reasons),
            "tried": len(found.points),
            "left": len(found.left),
            "frontier": len(found.frontier),
            "refused": [
                {"name": f"{one.setting.method}, {one.setting.words}", "why": one.refused}
                for one in found.points
                if one.refused is not None
            ],
            "commands": told,
        }

    def publish(self, wish: Wish) -> dict[str, Any]:
        """Begin to make a release."""
        with self._turn:
            table, schema = self._open(), self._draft.schema
            if not wish.setting.promises:
                raise ParameterError("say what to promise: k, l, t or m", parameter="k")
            _ = None if wish.setting.m is not None else wish.setting.model
            number, commands = len(self._made) + 1, self._commands()
            home = self.home / "releases"
            home.mkdir(exist_ok=True)
            shutil.rmtree(home / str(number), ignore_errors=True)  # of one that failed

            def done(made: Made) -> None:
                with self._turn:
                    self._made.append(made)

            return self._begin(
                "publish",
                lambda tell: make(number, table, schema, wish, commands, home, tell),
                done,
            )

    def job(self) -> dict[str, Any]:
        """How far the long work is; with what it made, once it is done."""
        with self._turn:
            if self._job is None:
                return {"job": None}
            told: dict[str, Any] = {"job": self._job.told()}
            if self._job.state == "done" and self._job.kind == "explore":
                told["exploration"] = self.exploration()
            elif self._job.state == "done":
                told["releases"] = [summary(one) for one in self._made]
            return told

    def stop(self) -> dict[str, Any]:
        """Ask the long work to end."""
        if self._job is not None:
            self._job.stop()
        return self.job()

    # ----- releases

    def release(self, number: int) -> Made:
        """A release by its number."""
        with self._turn:
            found = next((one for one in self._made if one.number == number), None)
        if found is None:
            raise ParameterError(f"there is no release {number}", parameter="release")
        return found

    def save_release(self, release: int, path: str, *, force: bool = False) -> dict[str, Any]:
        """Write a release where its owner says."""
        made = self.release(release)
        target, said = made.save(path, force=force)
        self._saved[release] = path
        commands = made.commands.published(made.wish, path)
        return {"path": str(target), "warnings": said, "commands": commands}

    def compare(self, first: int, second: int) -> dict[str, Any]:
        """Two releases side by side."""
        pair = self.release(first), self.release(second)
        folders = [self._saved.get(one.number, f"{OUT}-{one.number}") for one in pair]
        return side_by_side(*pair) | {"commands": pair[0].commands.compared(*folders)}

    def clear(self) -> None:
        """Stop what is under way; the folder is its maker's to remove."""
        if self._job is not None:
            self._job.stop()
            self._job.wait(_PATIENCE)

    def _begin(self, kind: str, work: Any, done: Any) -> dict[str, Any]:
        self._require_idle()
        self._job = Job(kind, work, done)
        return {"job": self._job.told()}

    def _require_idle(self) -> None:
        if self._job is not None and self._job.running:
            raise ParameterError("something is under way; wait for it, or stop it", parameter="job")

    def _commands(self) -> Commands:
        table = self._open()
        return Commands(table.name, table.reading, self._schema_name)

    def _open(self) -> Opened:
        if self._table is None:
            raise DataError("no table is open yet")
        return self._table


def file_name(name: str) -> str:
    """The last part of a name that a browser tells, without what could steer a file system."""
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(sign for sign in last if sign.isprintable()).strip().lstrip(".-")
    short = plain.encode()[-_LONGEST:].decode(errors="ignore")
    return short.strip().lstrip(".-") or "table.csv"


_LONGEST = 150  # bytes of a file's name


def _texts(told: Any) -> list[str]:
    if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
        raise SchemaError("an order is a list of values, the lowest first")
    return told
