"""How a table is read, spelled out: as options of a command, and as arguments in Python."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any


def as_options(
    query: str | None = None,
    missing: Sequence[str] = (),
    names: Sequence[str] | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    day_first: bool = False,
) -> list[str]:
    """The options of ``sfumato inspect`` and ``sfumato publish``."""
    told = [] if query is None else ["--query", query]
    told += [] if encoding is None else ["--encoding", encoding]
    told += ["--decimal", decimal] if decimal != "." else []
    told += ["--day-first"] if day_first else []
    for marker in missing:
        told += ["--missing", marker]
    if names is not None:
        told += ["--names", stated_names(names)]
    return [*told, "--header"] if header else told


def as_arguments(**said: Any) -> str:
    """The same as keyword arguments of ``sf.read``, each after a comma."""
    usual: dict[str, Any] = {"missing": (), "decimal": ".", "day_first": False}
    return "".join(
        f", {name}={list(value) if isinstance(value, tuple) else value!r}"
        for name, value in said.items()
        if value is not None and value != usual.get(name) and value != []
    )


def stated_names(names: Sequence[str]) -> str:
    """The names as --names takes them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
