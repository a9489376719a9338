"""What an audit is like unless it is asked for otherwise."""

from __future__ import annotations

KNOWN = 0.02  # the share of people whose values an attacker knows
TIME_LIMIT = 180.0  # seconds
FAILING = 1.5  # times what is promised, or guessed without the release
