"""Waits that end. A busy machine is slow, so they are long; nothing is asserted about time."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600.0  # seconds; below the time limit of a test, so that what was waited for is told


def eventually(happens: Callable[[], object], what: str = "it") -> None:
    """Return as soon as something is true; fail if it never is."""
    until = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < until, f"{what} did not happen in {PATIENCE:.0f} seconds"
        time.sleep(0.01)
