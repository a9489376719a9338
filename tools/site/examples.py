"""Examples in docstrings stand in the reference as code, not as quotations of quotations."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

# an example ends with its paragraph, as it does for doctest
EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
SKETCH = re.compile(r"^::\n\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)


class Examples(Extension):
    """Fence whatever begins with ``>>>``."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with fences around its examples."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
