"""What the page may ask the desk to do, by name; what comes is checked before it is believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from sfumato.exploring.grid import Setting
from sfumato.forms.files import require_format
from sfumato.server.errors import ApiError, invalid
from sfumato.studio.commands import Wish
from sfumato.studio.desk import Desk

Told = Mapping[str, Any]
_READING = {"missing": list, "names": list, "header": bool, "encoding": str, "decimal": str,
            "day_first": bool}  # fmt: skip
_PROMISES = ("k", "l", "t", "m")


def plain(value: Any) -> Any:
    """What JSON can say: there are no numbers there that are none."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, Enum):
        return value.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _open(desk: Desk, told: Told) -> Any:
    path, name = told.get("path"), told.get("name")
    schema, reading = _some_text(told, "schema"), _reading(told)
    if isinstance(path, Path) and isinstance(name, str):  # an uploaded file, never said by a page
        return desk.open(str(path), name=name, schema=schema, reading=reading)
    return desk.open(_text(told, "path"), schema=schema, reading=reading)


def _how(desk: Desk, told: Told) -> Any:
    return desk.how(_text(told, "column"), _text(told, "how"), told.get("told"))


def _role(desk: Desk, told: Told) -> Any:
    return desk.role(_text(told, "column"), _some_text(told, "role"))


def _explore(desk: Desk, told: Told) -> Any:
    methods = told.get("methods") or []
    if not isinstance(methods, list) or not all(isinstance(one, str) for one in methods):
        raise _wrong("methods")
    grid = {name: _numbers(told, name) for name in _PROMISES}
    for k in grid["k"]:
        _counted({"k": k}, "k")
    return desk.explore(methods, grid, _counted(told, "seed"), _number(told, "time_limit"))


def _publish(desk: Desk, told: Told) -> Any:
    setting = Setting(
        _text(told, "method"),
        k=_counted(told, "k"),
        **{name: _number(told, name) for name in ("l", "t", "m")},
    )
    shown: Any = _some_text(told, "format") or "parquet"
    require_format(shown)
    labels: Any = _some_text(told, "labels")
    return desk.publish(Wish(setting, labels, shown, _some_text(told, "seed_file")))


def _save(desk: Desk, told: Told) -> Any:
    number = _whole(told, "release")
    return desk.save_release(number, _text(told, "path"), force=told.get("force") is True)


def _save_schema(desk: Desk, told: Told) -> Any:
    return desk.save_schema(_text(told, "path"), force=told.get("force") is True)


def _compare(desk: Desk, told: Told) -> Any:
    return desk.compare(_whole(told, "first"), _whole(told, "second"))


ACTIONS: Mapping[str, Callable[[Desk, Told], Any]] = {
    "state": lambda desk, _: desk.state(),
    "open": _open,
    "role": _role,
    "how": _how,
    "combinations": lambda desk, _: desk.combinations(),
    "save-schema": _save_schema,
    "explore": _explore,
    "publish": _publish,
    "job": lambda desk, _: desk.job(),
    "stop": lambda desk, _: desk.stop(),
    "save": _save,
    "compare": _compare,
}


def _reading(told: Told) -> dict[str, Any]:
    """How a file is written, of what is said about it."""
    given = told.get("reading") or {}
    if not isinstance(given, Mapping):
        raise _wrong("reading")
    found = {name: value for name, value in given.items() if value not in (None, "", [], False)}
    for name, value in found.items():
        kind = _READING.get(name)
        texts = not isinstance(value, list) or all(isinstance(one, str) for one in value)
        if kind is None or not isinstance(value, kind) or not texts:
            raise _wrong(name)
    return found


def _text(told: Told, name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _wrong(name)
    return value


def _some_text(told: Told, name: str) -> str | None:
    return _text(told, name) if told.get(name) else None


def _number(told: Told, name: str) -> float | None:
    value = told.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(name)
    return value


def _counted(told: Told, name: str) -> int | None:
    """A number of something, or none; half a row more would be promised than is kept."""
    value = _number(told, name)
    if value is not None and value != int(value):
        raise invalid(f"{name} is a whole number, not {value}", "leave out what is after the point")
    return None if value is None else int(value)


def _whole(told: Told, name: str) -> int:
    value = told.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(name)
    return value


def _numbers(told: Told, name: str) -> list[float]:
    values = told.get(name) or []
    if not isinstance(values, list):
        raise _wrong(name)
    return [value for one in values if (value := _number({name: one}, name)) is not None]


def _wrong(name: str) -> ApiError:
    return invalid(f"{name} is missing, or is not what it should be", "look at the field")
