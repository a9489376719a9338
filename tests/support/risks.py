"""Figures of risk, without those that are looked for in memory only."""

from __future__ import annotations

from typing import Any


def without_sets(figures: Any) -> Any:
    """Leave out of all risks, however deep, which columns single people out."""
    if isinstance(figures, list):
        return [without_sets(one) for one in figures]
    if not isinstance(figures, dict):
        return figures
    kept = {name: without_sets(one) for name, one in figures.items() if name != "sets"}
    if "sentences" in kept and "prosecutor" in kept:
        kept["sentences"] = [one for one in kept["sentences"] if not _about_sets(one)]
    return kept


def _about_sets(sentence: str) -> bool:
    return "single" in sentence or sentence.startswith("Without ")
