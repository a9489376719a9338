"""Sizes as people write them."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([kmgt]?i?)b?", re.IGNORECASE)


class Bytes(click.ParamType[int]):
    """A number of bytes, such as 2GB, 500MiB or 1.5g."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes, or a usage error."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(value.strip())
        unit = None if found is None else {**_UNITS, **_BINARY}.get(found[2].lower())
        if found is None or unit is None or not float(found[1]):
            self.fail(f"{value!r} is no size; write it as in 2GB or 500MiB", param, ctx)
        return int(float(found[1]) * unit)
