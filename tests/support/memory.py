"""Figures of a table or release, without those that take all rows in memory."""

from __future__ import annotations

from typing import Any

# which columns single people out, and the best that groups like those of a release could do
_IN_MEMORY = ("sets", "best")


def without_memory_only(figures: Any) -> Any:
    """Leave out, however deep, what is not computed of a table beyond memory."""
    if isinstance(figures, list):
        return [without_memory_only(one) for one in figures]
    if not isinstance(figures, dict):
        return figures
    kept = {
        name: without_memory_only(one) for name, one in figures.items() if name not in _IN_MEMORY
    }
    if "sentences" in kept and "prosecutor" in kept:
        kept["sentences"] = [one for one in kept["sentences"] if not _about_sets(one)]
    return kept


def _about_sets(sentence: str) -> bool:
    return "single" in sentence or sentence.startswith("Without ")
