"""Libraries that other libraries import wherever they are installed, and that no command needs.

Arrow imports pandas to see whether a list is a column of it, Numba imports SciPy to see whether its
linear algebra is there, YAML to read settings from a file that nobody has, and colorama to colour
errors of the compiler. Both do without, and a command starts in two thirds of the time.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

_NEEDLESS = frozenset({"pandas", "scipy", "yaml"})
if sys.platform != "win32":  # where colours of the terminal need it
    _NEEDLESS |= {"colorama"}


class _NotHere:
    """Finds nothing, and lets nobody else look."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """Raise for a library that no command needs."""
        if name in _NEEDLESS:
            raise ModuleNotFoundError(f"no command needs {name}", name=name)
        return None


def without_needless() -> None:
    """Let nothing import them in this process; what is imported already stays."""
    sys.meta_path.insert(0, _NotHere)
