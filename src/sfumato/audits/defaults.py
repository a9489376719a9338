"""What an audit is like unless it is asked for otherwise."""

from __future__ import annotations

from typing import Any

KNOWN = 0.02  # the share of people whose values an attacker knows
TIME_LIMIT = 180.0  # seconds
FAILING = 1.5  # times what is promised, or guessed without the release

# The attack that is made without being asked for: seconds for so many rows, and longer than
# somebody waits for more.
QUICK_ROWS = 100_000
QUICK: dict[str, Any] = {"attacks": ("learner",), "known": 0.0, "control": False, "seed": 0}
